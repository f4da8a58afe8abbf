"""Classes, binary targets and measured numbers told apart; and what is none of them, refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.io.columns import natural_order, text_of
from sargnn.data.io.targets import TargetColumn, TargetColumns
from sargnn.data.problems import InputErrors, Problem, Problems
from sargnn.data.sources import load
from sargnn.errors import InputError

nan = float("nan")


def tell(column: str, row: int, got: str, expected: str) -> Problem:
    return Problem(f"got {got} in {column!r}, expected {expected}", "x.csv", row + 2)


def read(task: str | None = None, labelled: bool = True, **columns: list[Any]) -> tuple[dict[str, Any], list[str]]:
    problems = Problems()
    targets = TargetColumns(problems, task)
    targets.add(columns, len(next(iter(columns.values()))), tell)
    found = targets.finish(labelled=labelled)
    problems.stop()
    return found, targets.notes


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"a": ["0", "1", "1", "0"]}, "classes"),
        ({"a": ["yes", "no", "yes", "no"]}, "classes"),
        ({"a": [3, 1, 2, 3]}, "classes"),
        ({"a": list(range(10))}, "classes"),
        ({"a": ["C", "7", "7", "N"]}, "classes"),  # a text among few whole numbers is a name among names
        ({"a": list(range(11))}, "measured"),  # of 11 graphs, no class can have two
        ({"a": [g % 30 for g in range(300)]}, "classes"),
        ({"a": [g % 31 for g in range(300)]}, "measured"),
        ({"a": [0.5, 1, 1, 0]}, "measured"),
        ({"a": ["0.5", "", "NaN", None]}, "measured"),
        ({"a": [0, 1, 1, nan], "b": [None, "1", "", "0"]}, "binary"),
        ({"a": [0, 1, "NA", "N/A"], "b": ["null", "1", "<NA>", "0"]}, "binary"),
        ({"a": [0, 1, 1, 2], "b": [0, 1, 1, 0]}, "measured"),
    ],
)
def test_what_the_values_say(columns: dict[str, list[Any]], kind: str) -> None:
    found, notes = read(**columns)
    if kind == "classes":
        assert found["y"].dtype == np.int64
        number = len(found["classes"])
        several = number > 2 and all(name.isdigit() for name in found["classes"])
        assert notes == ([f"took 'a' as {number} classes (task classification)"] if several else [])
    else:
        assert found["targets"].dtype == np.float64
        assert found["targets"].shape == (len(columns["a"]), len(columns))
        [note] = notes
        assert ("(task multilabel)" if kind == "binary" else "(task regression)") in note


@pytest.mark.parametrize(
    ("task", "columns", "message"),
    [
        (None, {"a": [0.5, 1.5, "x", 2.5]}, "line 4: got 'x' in 'a', expected a number"),
        ("regression", {"a": [1, "x", 2, 2]}, "line 3: got 'x' in 'a', expected a number"),
        (None, {"a": [0, 1, 1, 0], "b": [0, 1, "maybe", 1]}, "line 4: got 'maybe' in 'b', expected a number"),
        (None, {"a": [0.5, "inf", 1, 2]}, "line 3: got inf in 'a', expected a finite number"),
        ("regression", {"a": [0.5, float("-inf"), 1, 2]}, "line 3: got -inf in 'a', expected a finite number"),
        ("multilabel", {"a": [0, 1, 2, 0]}, "line 4: got 2 in 'a', expected 0, 1 or nothing"),
        ("classification", {"a": [0.5, 1, 2, 0]}, "line 2: got 0.5 in 'a', expected a whole number or a text as"),
        (None, {"a": [0.5, 1, -1e300, 2]}, "line 4: got -1e+300 in 'a', expected a number between -1e+30 and 1e+30"),
        ("classification", {"a": ["", None, "NA"]}, "x.csv: got no value in 'a' for any graph, expected some"),
        ("regression", {"a": [1, 2, 3, {}]}, "line 5: got a dict in 'a', expected a number or a text"),
        (None, {"a": ["0,51", "1,3", "2", "0,7"]}, "line 2: got '0,51' in 'a', expected a number such as 0.5, or"),
        (None, {"a": ["15%", "15%", "10 %", "3"]}, "line 2: got '15%' in 'a', expected a number such as 0.5, or"),
        (None, {"a": ["1,200", "900", "1,300.5", "7"]}, "line 2: got '1,200' in 'a', expected a number such as 0.5"),
        (None, {"a": [0.5, ">10", 1.5, 2]}, "line 3: got '>10' in 'a', expected a number"),
        (None, {"a": ["x", "y", "", "x"]}, "line 4: got no class in 'a', expected one for every graph"),
        (None, {"a": [0, 1, 0, 1], "b": ["", "", "", ""]}, "got no value in 'b' for any graph, expected some"),
        (None, {name: [0, 1, 0, 1] for name in "abcde"}, "x.csv: got 5 targets for 4 graphs, expected fewer"),
    ],
)
def test_what_is_refused(task: str | None, columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputErrors) as error:
        read(task, **columns)
    assert message in str(error.value)
    found, _ = read(task, labelled=False, **columns)  # to predict, nobody needs them
    assert found.get("y") is None
    assert "a" not in found.get("target_names", ()) or task is None


def test_many_texts_are_told_and_one_for_each_graph_must_be_said_to_be_a_class() -> None:
    dates = [f"2026-03-{day % 31 + 1:02}" for day in range(62)]
    assert read(a=dates)[1] == ["took 'a' as 31 classes (task classification)"]
    assert read("classification", a=dates)[1] == []
    with pytest.raises(InputErrors, match="got 31 different texts in 'a', one for each graph, expected classes"):
        read(a=dates[:31])
    assert len(read("classification", a=dates[:31])[0]["classes"]) == 31


def test_classes_may_be_larger_than_any_measured_number() -> None:
    assert len(read(a=[-1e300, 1e300, 1e300])[0]["classes"]) == 2


def test_late_and_missing_columns_leave_gaps() -> None:
    problems = Problems()
    targets = TargetColumns(problems)
    targets.add({}, 1, tell)
    targets.add({"b": [1.5]}, 1, tell)
    targets.add({"a": [2.5], "b": [3.5]}, 1, tell)
    targets.add({"a": [4.5]}, 1, tell)
    found = targets.finish(labelled=True)
    assert found["target_names"] == ("a", "b")
    np.testing.assert_array_equal(found["targets"], [[nan, nan], [nan, 1.5], [2.5, 3.5], [4.5, nan]])


def test_lists_become_columns() -> None:
    found, _ = read(y=[[0, None], [1, 1], [0, 0]])
    assert found["target_names"] == ("y_0", "y_1")
    np.testing.assert_array_equal(found["targets"], [[0, nan], [1, 1], [0, 0]])


values = st.one_of(st.integers(-9, 9), st.text(max_size=3), st.booleans(), st.floats(-4, 4).map(round).map(float))


@given(st.lists(values, min_size=1, max_size=10), st.integers(1, 10))
def test_classes_are_the_texts_in_their_order(rows: list[Any], cut: int) -> None:
    """A second, literal reading; and the parts in which a column comes do not matter."""
    column = TargetColumn("a")
    for part in (rows[:cut], rows[cut:]):
        column.add(part, tell)
    texts = ["" if text_of(row).lower() in ("", "nan") else text_of(row) for row in rows]
    y, classes = column.classes()
    assert list(classes) == sorted(set(texts) - {""}, key=natural_order)
    assert [classes[code] if code >= 0 else "" for code in y.tolist()] == texts


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    path = tmp_path / "assays.csv"
    path.write_text("smiles,one,two,size\nCCO,1,,0.5\nCC,0,1,0.25\nC,,,\nCCC,0,0,1\n")
    return path


def test_several_columns_of_a_table(molecules: Path) -> None:
    graphs = load(molecules, labels=["two", "one"])
    assert graphs.target_names == ("one", "two")
    np.testing.assert_array_equal(graphs.targets, [[1, nan], [0, 1], [0, 0]])
    assert graphs.smiles == ("CCO", "CC", "CCC")
    kept = load(molecules, labels=["two", "one"], labelled=False)
    assert len(kept) == 4
    assert load(molecules, labels="size").targets.tolist() == [[0.5], [0.25], [1]]
    assert load(molecules, labels="one").classes == ("0", "1")


def test_all_other_columns_are_taken_where_they_are_binary(molecules: Path) -> None:
    molecules.write_text("smiles,one,two\nCCO,1,\nCC,0,1\nC,,1\nCCC,0,0\n")
    graphs = load(molecules)
    assert graphs.target_names == ("one", "two")
    assert graphs.notes == ("took 'one', 'two' as 2 targets of 0 and 1 (task multilabel)",)
    molecules.write_text("smiles,size\nCCO,1.5\nCC,0.25\nCCC,7\n")
    assert load(molecules).notes == ("took 'size' as a measured number (task regression)",)


def test_a_column_that_is_not_there(molecules: Path) -> None:
    with pytest.raises(InputError) as error:
        load(molecules, labels="won")
    names = "'two', 'one', 'smiles', 'size'"
    assert str(error.value) == f"{molecules} line 1: got no column 'won', expected one of {names}"
    with pytest.raises(InputError, match="got 'smiles' as a label, expected another: it holds the SMILES"):
        load(molecules, labels="smiles")


@pytest.mark.parametrize(
    ("values", "classes", "doubt"),
    [
        ([0, 1, 1, "?"], ("0", "1", "?"), "'a' has texts among numbers, as classes of their own: '?'"),
        (["TRUE", "true", False, "False"], ("False", "True"), ""),
        (["0,5", "1,5", "0,5", "x"], ("0,5", "1,5", "x"), ""),
    ],
)
def test_what_is_odd_about_classes_is_told(values: list[Any], classes: tuple[str, ...], doubt: str) -> None:
    task = "classification" if "0,5" in values else None  # which is what the user said
    found, notes = read(task, a=values)
    assert found["classes"] == classes
    assert notes == ([doubt] if doubt else [])
