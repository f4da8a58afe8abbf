"""The rows of an input follow the graphs that were read from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.origin import Origin, SourceRows
from sargnn.data.roles import USUAL


def test_rows_follow_a_subset() -> None:
    rows = SourceRows({"id": list("abcde")}, np.array([2, -1, 0, 1, 3]), {1: "broken"})
    graphs = pack([(n, []) for n in (1, 2, 3, 4)])
    some = GraphSet(**{**vars(graphs), "origin": Origin(USUAL, rows)}).subset([3, 2])
    assert some.origin is not None
    assert some.origin.rows is not None
    assert some.origin.rows.graph.tolist() == [1, -1, -1, -1, 0]
    assert some.origin.rows.columns["id"] == list("abcde")
    one = some.origin.subset(np.array([0]))
    assert one.rows is not None
    assert one.rows.graph.tolist() == [-1, -1, -1, -1, 0]


def test_no_rows_stay_none() -> None:
    assert Origin().subset(np.array([1])).rows is None


def test_an_origin_is_no_content(tmp_path: Path) -> None:
    graphs = pack([(1, []), (2, [])])
    known = GraphSet(**{**vars(graphs), "origin": Origin(USUAL, SourceRows({}, np.arange(2)))})
    assert known.fingerprint == graphs.fingerprint
    known.save(tmp_path / "set")
    assert GraphSet.open(tmp_path / "set").origin is None
