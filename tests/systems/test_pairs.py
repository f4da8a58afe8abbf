"""The pairs that expressivity is tested on are what they are called, and message passing tells none of them apart."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from expressive import PAIRS, constant_batch, gap, randomised
from literal import LAYOUTS
from sargnn.systems import SYSTEMS


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
    return SYSTEMS[name].build(SYSTEMS[name].config(**{**SYSTEMS[name].values, "hidden": 8}), inputs=1, classes=2)


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
