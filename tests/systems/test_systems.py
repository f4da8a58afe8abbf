"""The table of systems: the recommended model takes any set of graphs, and message passing tells no pair of the graphs
that expressivity is tested on apart."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import sargnn
from expressive import PAIRS, constant_batch, gap, randomised
from literal import LAYOUTS
from sargnn import Settings
from sargnn.data.graphs import GraphSet
from sargnn.nn.ensemble import Ensemble
from sargnn.systems import SYSTEMS

SHORT = {"training.epochs": 1, "model.hidden": 8}


def some(count: int = 24, **inputs: Any) -> list[nx.Graph]:
    """Rings and paths; ``inputs`` name what they bring: labels or attributes of nodes or edges."""
    rng = np.random.default_rng(0)
    graphs = []
    for n in range(count):
        graph = nx.cycle_graph(3 + n % 7) if n % 2 else nx.path_graph(3 + n % 7)
        for node in graph:
            if "node_label" in inputs:
                graph.nodes[node]["label"] = "CNO"[rng.integers(3)]
            if "node_attr" in inputs:
                graph.nodes[node]["place"] = rng.normal()
        for edge in graph.edges:
            if "edge_label" in inputs:
                graph.edges[edge]["bond"] = "ab"[rng.integers(2)]
            if "edge_attr" in inputs:
                graph.edges[edge]["length"] = rng.normal()
        graphs.append(graph)
    return graphs


def points() -> list[nx.Graph]:
    return [nx.empty_graph(1 + n % 2) for n in range(24)]


def large() -> list[nx.Graph]:
    """Trees of 2,000 nodes, a star of 2,000, and graphs of three nodes beside them."""
    trees = [nx.barabasi_albert_graph(2000, 1, seed=n) for n in range(3)]
    return [*trees, nx.star_graph(2000), *(nx.path_graph(3) for _ in range(20))]


SETS: dict[str, list[nx.Graph]] = {
    "neither labels nor attributes": some(),
    "node labels": some(node_label=True),
    "node attributes": some(node_attr=True),
    "both": some(node_label=True, node_attr=True),
    "edge labels": some(edge_label=True),
    "everything": some(node_label=True, node_attr=True, edge_label=True, edge_attr=True),
    "points": points(),
    "large": large(),
}


def loaded(name: str) -> GraphSet:
    graphs = SETS[name]
    return sargnn.load(graphs, labels=[("x", "y")[n % 2] for n in range(len(graphs))])


@pytest.mark.parametrize("name", SETS)
def test_any_set_is_trained_on_and_explained(name: str) -> None:
    graphs = loaded(name)
    run = sargnn.train(graphs, Settings.of("sargnn-plus", SHORT))
    said = run.trained.predict(graphs)
    assert np.isfinite(said.probabilities).all()
    assert said.saliency.shape == (1, graphs.num_nodes)
    np.testing.assert_allclose(np.add.reduceat(said.saliency[0], graphs.node_ptr[:-1]), 1, rtol=1e-5)


def test_what_is_not_salient_is_not_classified() -> None:
    """The vector is made of Σ_j s_j h_j and a multiple of it, batch-normalised: nothing else of the nodes is read."""
    graphs = loaded("node attributes")
    run = sargnn.train(graphs, Settings.of("sargnn-plus", SHORT))
    assert isinstance(run.trained.model, Ensemble)
    member: Any = run.trained.model.members[0]
    batch = run.data.packed(np.arange(1))
    encoding = member.eval().encode(batch)
    (saliency,) = encoding.saliency
    mean = (saliency.unsqueeze(-1) * encoding.nodes).sum(0)
    norm = member.gates[0].norm
    raw = (encoding.graph[0] - norm.bias) / norm.weight * (norm.running_variance + norm.epsilon).sqrt()
    first, second = (raw + norm.running_mean).chunk(2)
    torch.testing.assert_close(first, mean, rtol=1e-4, atol=1e-5)
    opened = second[mean > 1e-2] / mean[mean > 1e-2]  # Σ_j g_j
    torch.testing.assert_close(opened, opened.mean().expand_as(opened), rtol=1e-3, atol=1e-4)
    assert 0 < opened.mean() < len(saliency)


def test_the_pairs_are_what_they_are_called() -> None:
    graphs = {name: [nx.Graph(edges) for _, edges in pair] for name, pair in PAIRS.items()}
    assert [sum(nx.triangles(g).values()) // 3 for g in graphs["triangles"]] == [0, 2]
    assert [sorted(map(len, nx.minimum_cycle_basis(g))) for g in graphs["molecules"]] == [[6, 6], [5, 5]]
    for g in graphs["regular"]:
        assert nx.is_strongly_regular(g)
        assert (len(g), g.number_of_edges()) == (16, 48)
    assert [sum(len(c) == 4 for c in nx.find_cliques(g)) for g in graphs["regular"]] == [8, 0]


PASSING = [name for name, system in SYSTEMS.items() if system.place.startswith("sargnn.nn") and name != "as-published"]
"""The base models and the SAR models; the authors' code draws its saliency at random."""
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def small(name: str) -> torch.nn.Module:
    return SYSTEMS[name].model.build(SYSTEMS[name].config(**{**SYSTEMS[name].values, "hidden": 8}), inputs=1, classes=2)


@every_layout
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", PASSING)
def test_message_passing_tells_no_pair_apart(name: str, pair: str, layout: str) -> None:
    assert gap(small(name), pair, layout) < 1e-6


@every_layout
@pytest.mark.parametrize("name", ["gcn", "gin", "sage", "gat"])
def test_the_vector_of_two_graphs_in_one_is_the_sum_of_theirs(name: str, layout: str) -> None:
    model = randomised(small(name), 0)
    (n, edges), (m, others) = PAIRS["molecules"][0], PAIRS["triangles"][1]
    union = n + m, [*edges, *((u + n, v + n) for u, v in others)]
    with torch.no_grad():
        one, other, both = model.encode(constant_batch([(n, edges), (m, others), union], layout)).graph
    torch.testing.assert_close(both, one + other)
