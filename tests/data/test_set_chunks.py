"""Sets in pieces: every graph once, no piece too large, nothing held that is not asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sargnn.data import set_chunks
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.set_chunks import SetChunks


def paths(*sizes: int) -> GraphSet:
    """Directed paths: a graph of n nodes takes 1 + n + (n - 1) numbers, an empty one 1."""
    return pack([(n, [(i, i + 1) for i in range(n - 1)]) for n in sizes])


@settings(derandomize=True, deadline=None)
@given(sizes=st.lists(st.integers(0, 6), max_size=12), cells=st.integers(1, 30), data=st.data())
def test_each_graph_is_in_one_piece_of_bounded_size(sizes: list[int], cells: int, data: st.DataObject) -> None:
    graphs = paths(*sizes)
    index = np.array(data.draw(st.permutations(range(len(sizes)))), np.int64)[: len(sizes) // 2 + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_chunks, "CELLS", cells)
        found = SetChunks(graphs, index)
    assert sorted(np.concatenate(found.indices).tolist()) == sorted(index.tolist())
    for some in found.indices:
        assert (2 * graphs.sizes[some[1:]]).clip(min=1).sum() <= cells
    made = list(found)
    assert [piece.sizes.tolist() for piece in made] == [graphs.sizes[some].tolist() for some in found.indices]


def test_a_small_set_is_one_piece_as_it_is() -> None:
    graphs = paths(3, 1, 2)
    [piece] = SetChunks(graphs)
    assert piece is graphs
    [piece] = some = SetChunks(graphs, [2, 0])
    assert piece.sizes.tolist() == [2, 3]
    assert [piece] == list(some)  # made once


def test_pieces_of_a_large_set_follow_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 6)
    graphs = paths(3, 1, 2, 3)
    found = SetChunks(graphs, [3, 2, 0])
    assert [some.tolist() for some in found.indices] == [[0], [2], [3]]
    assert [piece.num_nodes for piece in found] == [piece.num_nodes for piece in found] == [3, 2, 3]


def test_attributes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 20)
    graphs = paths(2, 2, 2, 2)
    assert len(SetChunks(graphs).indices) == 1
    assert len(SetChunks(replace(graphs, node_attributes=np.zeros((8, 8), np.float32))).indices) == 4
    assert len(SetChunks(replace(graphs, edge_attributes=np.zeros((4, 16), np.float32))).indices) == 4
    assert len(SetChunks(replace(graphs, graph_attributes=np.zeros((4, 16), np.float32))).indices) == 4


def test_rows_are_those_of_the_whole_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 1)
    found = SetChunks(paths(1, 3, 0, 2), [3, 2, 1, 0])
    rows = {of: [some.tolist() for some in found.rows(of)] for of in ("node", "edge", "graph")}
    assert rows == {"node": [[0], [1, 2, 3], [4, 5]], "edge": [[0, 1], [2]], "graph": [[0], [1], [2], [3]]}
    assert [some.tolist() for some in SetChunks(paths(1, 1)).rows("edge")] == [[]]
    assert [some.tolist() for some in SetChunks(paths()).rows("node")] == [[]]
