"""Counts of rings and cliques: by hand, by two algorithms, and by NetworkX."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from expressive import PAIRS, undirected
from sargnn.data.features import component_features as structure
from sargnn.data.features import kept, substructures
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.features.substructures import PATTERNS, count_dense, count_sparse
from sargnn.data.graphs import pack
from sargnn.errors import InputError

TAIL = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])


def counts(graph: nx.Graph, pattern: str) -> list[float]:
    """Dense and sparse, which must agree."""
    adjacency = nx.to_numpy_array(graph, nodelist=sorted(graph))
    (dense,) = count_dense(adjacency[None], pattern).tolist()
    assert count_sparse(csr_array(adjacency), pattern).tolist() == dense
    return dense


@pytest.mark.parametrize(
    ("graph", "pattern", "expected"),
    [
        (TAIL, "ring3", [1, 1, 1, 0]),
        (TAIL, "ring4", [0, 0, 0, 0]),
        (nx.complete_graph(4), "ring3", [3] * 4),
        (nx.complete_graph(4), "ring4", [3] * 4),
        (nx.complete_graph(4), "clique4", [1] * 4),
        (nx.cycle_graph(4), "ring4", [1] * 4),
        (nx.complete_graph(6), "ring6", [60] * 6),
        (nx.complete_graph(6), "ring5", [60] * 6),
        (nx.complete_graph(6), "clique4", [10] * 6),
    ],
)
def test_by_hand(graph: nx.Graph, pattern: str, expected: list[float]) -> None:
    assert counts(graph, pattern) == expected


@pytest.mark.parametrize("seed", range(3))
def test_rings_are_those_that_networkx_lists(seed: int) -> None:
    graph = nx.gnm_random_graph(9, 18, seed=seed)
    for k in range(3, 7):
        through = np.zeros(9)
        for ring in nx.simple_cycles(graph, length_bound=k):
            through[ring] += len(ring) == k
        assert counts(graph, f"ring{k}") == through.tolist()
    cliques = [c for c in nx.enumerate_all_cliques(graph) if len(c) == 4]
    assert counts(graph, "clique4") == [sum(v in c for c in cliques) for v in range(9)]


def test_totals_of_the_pairs() -> None:
    """Rings are k times their number when summed over nodes."""

    def totals(pattern: str, pair: str, size: int) -> list[float]:
        return [sum(counts(nx.Graph(edges), pattern)) / size for _, edges in PAIRS[pair]]

    assert totals("ring3", "triangles", 3) == [0, 2]
    assert totals("ring6", "triangles", 6) == [1, 0]
    assert totals("ring5", "molecules", 5) == [0, 2]
    assert totals("ring6", "molecules", 6) == [2, 0]
    assert totals("ring3", "regular", 3) == [32, 32]
    assert totals("ring4", "regular", 4) == [60, 60]
    assert totals("ring5", "regular", 5) == [288, 288]
    assert totals("ring6", "regular", 6) == [1248, 1248]
    assert totals("clique4", "regular", 4) == [8, 0]


def test_the_encoding_is_counts_over_their_deviation() -> None:
    graphs = pack([(4, undirected(list(TAIL.edges))), (1, [])])
    encoder = Encoder.fit(DataConfig(("substructures",), substructures=("ring3", "ring4")), graphs)
    got = encoder.encode(graphs)
    assert got[:, 0] == pytest.approx(np.array([1, 1, 1, 0, 0]) / np.std([1, 1, 1, 0, 0]))
    assert not got[:, 1].any()
    assert encoder.feature_names == ("ring3 count", "ring4 count")
    assert Encoder.from_json(encoder.to_json()) == encoder


def test_an_unknown_pattern_is_refused() -> None:
    with pytest.raises(InputError, match=r"data.substructures: got 'ring7', expected one of ring3, .*"):
        DataConfig(substructures=("ring7",))


def test_long_counts_are_kept_and_damaged_ones_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    graphs = pack([(4, undirected(list(TAIL.edges)))])
    encoder = Encoder.fit(DataConfig(("substructures",)), graphs)
    expected = encoder.encode(graphs)
    (file,) = (tmp_path / "substructures").iterdir()
    monkeypatch.setattr(structure, "count_dense", lambda *_: pytest.fail("counted again"))
    assert np.array_equal(encoder.encode(graphs), expected)
    monkeypatch.undo()
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    file.write_bytes(b"nonsense")
    assert np.array_equal(encoder.encode(graphs), expected)


def test_a_complete_graph_of_89_nodes_is_counted_by_algebra() -> None:
    complete = 1.0 - np.eye(89)
    assert count_dense(complete[None], "ring6")[0, 0] == 88 * 87 * 86 * 85 * 84 / 2
    assert count_dense(complete[None], "clique4")[0, 0] == 88 * 87 * 86 / 6
    assert PATTERNS[-1] == "clique4"


def test_a_large_dense_graph_is_not_listed_path_by_path() -> None:
    """Of 320 nodes, all joined, ten billion paths of five nodes."""
    complete = csr_array(1.0 - np.eye(320))
    assert count_sparse(complete, "ring5").tolist() == [319 * 318 * 317 * 316 / 2] * 320


def test_too_many_paths_at_once_are_listed_in_parts_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.gnm_random_graph(60, 150, seed=0)
    adjacency, expected = csr_array(nx.to_numpy_array(graph)), counts(graph, "ring5")
    monkeypatch.setattr(substructures, "MATRIX_NODES", 10)
    monkeypatch.setattr(substructures, "PATHS", 5000)
    assert count_sparse(adjacency, "ring5").tolist() == expected
    monkeypatch.setattr(substructures, "PATHS", 50)
    with pytest.raises(InputError, match=r"data\.substructures: got a graph of 60 nodes with more than 50 paths from"):
        count_sparse(adjacency, "ring5")
