"""Rows of a table, some at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sargnn.data.io.table_chunks import Chunk, SplitTable


def test_chunks_joined() -> None:
    some = [Chunk(np.array([2, 3]), [["a", "b"]]), Chunk(np.array([4]), [["c"]])]
    joined = Chunk.joined(some, 1)
    assert (joined.lines.tolist(), joined.columns) == ([2, 3, 4], [["a", "b", "c"]])
    assert len(Chunk.joined([], 2).lines) == 0


def test_rows_are_sorted_by_graph_and_keep_their_order() -> None:
    chunk = Chunk(np.array([2, 3, 4, 5]), [["a", "b", "c", "d"]], graph=np.array([1, 0, 1, 0]))
    assert chunk.sorted().columns == [["b", "d", "a", "c"]]
    assert chunk.sorted().lines.tolist() == [3, 5, 2, 4]
    assert chunk.sorted().sorted() is not chunk


def test_a_split_table_gives_every_row_once(tmp_path: Path) -> None:
    split = SplitTable(tmp_path / "nodes", [0, 1, 3], width=1)
    split.fill([Chunk(np.array([line]), [[f"é{line}"]], graph=np.array([line % 3])) for line in range(6)])
    first, second = split.read(0), split.read(1)
    assert (first.columns, second.columns) == ([["é0", "é3"]], [["é1", "é2", "é4", "é5"]])
    assert second.graph.tolist() == [1, 2, 1, 2]
    assert not list(tmp_path.iterdir())
    assert len(split.read(0).lines) == 0
