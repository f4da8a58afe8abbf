"""Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph_inputs import TRIO
from sargnn.data.io.parquet_files import ParquetTable
from sargnn.data.problems import Problems
from sargnn.data.sources import load


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TRIO:
        (tmp_path / f"{name}.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ValueError, match=r"graphs.parquet: reading Parquet needs pyarrow: pip install 'sargnn\[parquet\]'$"
    ):
        load(tmp_path)


def test_rows_are_counted_from_1_and_keep_their_types(tmp_path: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    parquet.write_table(arrow.table({"graph": [7, 8], "label": ["a", None]}), tmp_path / "x.parquet")
    table = ParquetTable(tmp_path / "x.parquet", Problems())
    (chunk,) = table.chunks()
    assert (table.header, chunk.lines.tolist(), chunk.columns) == (["graph", "label"], [1, 2], [[7, 8], ["a", None]])
    assert table.size > 0
