"""Files of rows under a header, read some rows at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from graph_inputs import TRIO
from sargnn.data.io.table_files import Chunk, CsvTable, ParquetTable, SplitTable
from sargnn.data.problems import Problems
from sargnn.data.sources import load
from sargnn.errors import InputError


def test_a_csv_table_finds_its_columns_in_capitals_or_not(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Graph,LABEL\na,1\n")
    table = CsvTable(tmp_path / "x.csv", Problems())
    assert (table.column("graph"), table.column("y", "label"), table.column("z")) == (0, 1, None)


def test_a_name_as_it_is_written_goes_before_one_in_other_capitals(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("LABEL,label,Smiles\n1,2,C\n")
    table = CsvTable(tmp_path / "x.csv", Problems())
    assert (table.column("label"), table.column("LABEL"), table.column("smiles")) == (1, 0, 2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "a\tlogP, measured, twice\n1\t2\n"),
        ("x.csv", '"a, b, c";d\n1;2\n'),
        ("x.csv", "\ufeffa,b\r\n1,2\r\n"),
        ("x.csv", "a,b\r1,2\r"),
        ("x.csv", "a\tb\n1\t2\n"),
    ],
)
def test_the_mark_between_cells_is_found(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, newline="")
    assert [row for _, row in CsvTable(tmp_path / name, Problems()).rows()] == [["1", "2"]]


def test_rows_of_another_width_are_problems_and_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a;b\n1;2\n3\n\n4;5\n")
    problems = Problems()
    assert list(CsvTable(tmp_path / "x.csv", problems).rows()) == [(2, ["1", "2"]), (5, ["4", "5"])]
    assert [str(problem) for problem in problems.found] == [
        f"{tmp_path}/x.csv line 3: got 1 cells, expected 2 as in the header"
    ]


def test_an_empty_file_has_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("")
    with pytest.raises(InputError, match=r"x.csv: got an empty file, expected a header line$"):
        CsvTable(tmp_path / "x.csv", Problems())


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


def test_the_rows_of_one_chunk_go_to_several_parts(tmp_path: Path) -> None:
    split = SplitTable(tmp_path / "nodes", [0, 2, 4], width=1)
    split.fill([Chunk(np.array([2, 3, 4]), [["a", "b", "c"]], graph=np.array([0, 3, 1]))])
    found = [(part.graph.tolist(), part.lines.tolist(), part.columns) for part in map(split.read, (0, 1))]
    assert found == [([0, 1], [2, 4], [["a", "c"]]), ([3], [3], [["b"]])]
