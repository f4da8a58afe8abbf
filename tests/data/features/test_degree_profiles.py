"""Profiles of nodes: hand-worked numbers, networkx as a second implementation, and bounded memory."""

from __future__ import annotations

from math import log
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sargnn.data.features import component_features as structure
from sargnn.data.features import degree_profiles as topology
from sargnn.data.features import kept
from sargnn.data.features.degree_profiles import COLUMNS, local_profile
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError


def graph_set(*graphs: nx.Graph) -> GraphSet:
    return pack([(len(g), [*g.edges, *((v, u) for u, v in g.edges)]) for g in graphs])


def profiles(*graphs: nx.Graph) -> np.ndarray:
    return structure.node_profiles(graph_set(*graphs))


def literal(g: nx.Graph) -> np.ndarray:
    """The definitions, node by node and edge by edge."""
    between = nx.edge_betweenness_centrality(g, normalized=False)

    def score(u: int, v: int) -> float:
        rank = 1 + sum(g.degree[w] > g.degree[v] for w in g[u])
        return 1 - log(rank) / log(g.degree[u]) if g.degree[u] > 1 else 1.0

    rows = []
    for u in g:
        around = [g.degree[v] for v in g[u]]
        if not around:
            rows.append([0.0] * len(COLUMNS))
            continue
        edges = [
            (
                between[min(u, v), max(u, v)],
                len(set(g[u]) & set(g[v])) / len(set(g[u]) | set(g[v])),
                max(score(u, v), score(v, u)),
            )
            for v in g[u]
        ]
        rows.append([len(around), min(around), max(around), np.mean(around), np.std(around), *np.mean(edges, axis=0)])
    return np.array(rows).reshape(len(g), len(COLUMNS))


def test_a_triangle_with_a_tail_by_hand() -> None:
    """Nodes 0, 1, 2 joined to each other, 3 to 2. Edge 2-3 is on three paths, 0-2 and 1-2 on two, 0-1 on one."""
    found = profiles(nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)]))
    np.testing.assert_allclose(
        found[:, :5], [[2, 2, 3, 2.5, 0.5]] * 2 + [[3, 1, 2, 5 / 3, 2**0.5 / 3], [1, 3, 3, 3, 0]]
    )
    np.testing.assert_allclose(found[:, 5], [1.5, 1.5, 7 / 3, 3])
    np.testing.assert_allclose(found[:, 6], [1 / 3 - 1 / 24, 1 / 3 - 1 / 24, 1 / 6, 0])  # 1/3, and 1/4 to node 2
    np.testing.assert_allclose(found[:, 7], [0.5, 0.5, 1, 1])  # 0-1: the second of both; to node 2: the first


@given(st.integers(1, 9), st.integers(0, 30), st.integers(0, 10**6))
def test_profiles_are_the_definitions(nodes: int, edges: int, seed: int) -> None:
    g = nx.gnm_random_graph(nodes, min(edges, nodes * (nodes - 1) // 2), seed)
    np.testing.assert_allclose(profiles(g), literal(g), atol=1e-9)


def test_many_graphs_at_once_are_each_alone() -> None:
    graphs = [nx.gnm_random_graph(n, 2 * n, n) for n in (1, 5, 12, 12, 30)]
    np.testing.assert_allclose(profiles(*graphs), np.concatenate([profiles(g) for g in graphs]), atol=1e-9)


def test_large_and_small_graphs_are_computed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparsely, from a few nodes at a time, and in pieces of a few edges."""
    g = nx.gnm_random_graph(60, 120, 0)
    dense = profiles(g)
    monkeypatch.setattr(structure, "DENSE_NODES", 2)
    monkeypatch.setattr(structure, "CELLS", 300)
    monkeypatch.setattr(topology, "CELLS", 7)
    np.testing.assert_allclose(profiles(g), dense, atol=1e-9)


def test_no_edges_at_all() -> None:
    assert not local_profile(csr_array((3, 3))).any()
    assert not profiles(nx.empty_graph(3)).any()


def test_columns_are_standardised_on_the_training_nodes() -> None:
    graphs = graph_set(nx.path_graph(3), nx.star_graph(5))
    encoder = Encoder.fit(DataConfig(("topology",)), graphs.subset([0]))
    assert encoder.feature_names == COLUMNS
    np.testing.assert_allclose(encoder.encode(graphs)[:3, 0], (np.array([1, 2, 1]) - 4 / 3) / (2**0.5 / 3), rtol=1e-6)
    assert Encoder.from_json(encoder.to_json()) == encoder


@pytest.mark.parametrize("field", ["mean", "std"])
def test_a_fitted_record_of_another_width_is_refused(field: str) -> None:
    content = Encoder.fit(DataConfig(("topology",)), graph_set(nx.path_graph(3))).to_json()
    content["encodings"][0][field] = [1.0]
    with pytest.raises(InputError, match=r"expected 8"):
        Encoder.from_json(content)


def test_profiles_that_took_long_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    g = nx.gnm_random_graph(20, 40, 0)
    first = profiles(g)
    monkeypatch.setattr(structure, "local_profile", None)
    np.testing.assert_array_equal(profiles(g), first)
