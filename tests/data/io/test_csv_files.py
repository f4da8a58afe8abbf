"""CSV with a header."""

from __future__ import annotations

from pathlib import Path

import pytest

from sargnn.data.io.csv_files import CsvTable
from sargnn.data.problems import Problems
from sargnn.errors import InputError


def test_a_csv_table_finds_its_columns_in_capitals_or_not(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Graph,LABEL\na,1\n")
    table = CsvTable(tmp_path / "x.csv", Problems())
    assert (table.column("graph"), table.column("y", "label"), table.column("z")) == (0, 1, None)


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
