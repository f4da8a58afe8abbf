"""Columns of values: when they are numbers, when categories, and what is said of those that are neither."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.io import columns
from sargnn.data.io.columns import Column, GrowingArray, natural_order, text_of
from sargnn.data.problems import Problem


def tell(row: int, got: str, expected: str) -> Problem:
    return Problem(f"row {row}: got {got}, expected {expected}")


def column(*parts: list[Any], **options: Any) -> Column:
    made = Column("c", "node", **options)
    for part in parts:
        made.add(part, tell)
    return made


def complaints(made: Column) -> list[str]:
    return [str(problem) for problem in made.check().found]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, True],
        [np.float32(1), np.int64(2), np.bool_(True)],
        [torch.tensor(1.0), torch.tensor(2), 3],
        [Decimal("1.5"), 2, 3],
    ],
)
def test_numbers_of_every_kind(values: list[Any]) -> None:
    made = column(values)
    assert made.is_numeric
    assert complaints(made) == []
    assert made.numbers().dtype == np.float32
    assert column(values).numbers().tolist() == [float(value) for value in values]


def test_cells_are_numbers_where_texts_are_not() -> None:
    assert column(["1", " 2.5 ", "-1e3"], cells=True).numbers().tolist() == [1, 2.5, -1000]
    assert column(["true", "FALSE", "1"], cells=True).numbers().tolist() == [1, 0, 1]
    assert column(["1", "2", "1"]).categories() == (pytest.approx(np.array([0, 1, 0])), ("1", "2"))


def test_python_numbers_with_underscores_are_texts() -> None:
    made = column(["1_0", "2_0"], cells=True)
    assert not made.is_numeric
    assert made.categories()[1] == ("1_0", "2_0")


def test_categories_are_in_natural_order_whatever_order_they_came_in() -> None:
    one = column(["C10", "C2", "-1"], ["7", "10"])
    other = column(["10", "C2"], ["7", "-1", "C10"])
    assert one.categories()[1] == other.categories()[1] == ("-1", "7", "10", "C2", "C10")


def test_a_number_has_one_name() -> None:
    made = column(["7", "007", "7.0"], kind="categories", cells=True)
    assert made.categories() == (pytest.approx(np.zeros(3)), ("7",))
    assert column([7, 7.0, "7"], kind="categories").categories()[1] == ("7",)
    assert text_of(10**30) == str(10**30)
    assert text_of("1" * 40) == "1" * 40


def test_numbers_and_texts_in_different_parts() -> None:
    made = column([1.0, 2.5], ["a", "b"], ["c"])
    assert not made.is_numeric
    codes, names = made.categories()
    assert [names[code] for code in codes] == ["1", "2.5", "a", "b", "c"]


def test_a_text_among_numbers_is_a_problem_and_a_number_among_texts_is_not() -> None:
    made = column(["1", "2"], ["many", "3"], cells=True)
    assert made.is_numeric
    assert complaints(made) == ["row 0: got 'many', expected a number, as most others are"]
    made = column(["1", "A", "B"], cells=True)
    assert complaints(made) == []
    assert made.categories()[1] == ("1", "A", "B")


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([1, None, 2], {"kind": "numbers"}, "got no value, expected one for every node"),
        ([1.0, float("nan")], {"kind": "numbers"}, "got no value, expected one for every node"),
        ([1, "nan"], {"kind": "numbers"}, "got 'nan', expected a number"),
        (["a", "", "b"], {}, "got no value, expected one for every node"),
        (["1", "", "a"], {"cells": True}, "got no value, expected one for every node"),
        (["a", float("nan")], {"kind": "categories"}, "got no value, expected one for every node"),
        ([1.0, float("inf")], {}, "got inf, expected a finite number"),
        ([1, 1e39], {}, "got 1e+39, expected a finite number"),
        ([1, 10**400], {}, "got inf, expected a finite number"),
        (["a", 1], {"kind": "numbers"}, "got 'a', expected a number"),
        ([1, {}], {}, "got a dict, expected a number or a text"),
        (["a", [1, 2]], {}, "got a list, expected a number or a text"),
        (["a", np.ones(2)], {}, "got a list, expected a number or a text"),
        ([1, 2j], {}, "got a complex, expected a number or a text"),
    ],
)
def test_what_has_no_meaning_is_named(values: list[Any], options: dict[str, Any], said: str) -> None:
    found = complaints(column(values, **options))
    assert len(found) == 1
    assert found[0].split(": ", 1)[1] == said


@pytest.mark.parametrize(
    ("parts", "options"),
    [
        ([[1, None, 2]], {}),
        ([[1, float("nan"), 2]], {}),
        ([["1", "", "2"]], {"cells": True}),
        ([["1", "nan", "2"]], {"cells": True}),
        ([["1", "-nan", "2"]], {"cells": True}),
        ([["1", "NA", "2"]], {"cells": True}),
        ([["1"], [" ", "2"]], {"cells": True}),
        ([["1"], ["NaN"], ["2"]], {"cells": True}),
        ([[1], [None], [2]], {}),
        ([[1, "N/A", 2]], {}),
    ],
)
def test_a_number_that_is_missing_is_a_gap(parts: list[list[Any]], options: dict[str, Any]) -> None:
    made = column(*parts, **options)
    assert made.is_numeric
    assert complaints(made) == []
    assert made.numbers().tobytes() == np.array([1, np.nan, 2], np.float32).tobytes()  # one kind of NaN alone


def test_a_column_that_comes_late_and_one_of_gaps_alone() -> None:
    late = Column("c", "node")
    late.skip(2, Problem("no value"))
    late.add([5], tell)
    assert complaints(late) == []
    np.testing.assert_array_equal(late.numbers(), [np.nan, np.nan, 5])
    late = Column("c", "node")
    late.skip(2, Problem("no value"))
    late.add(["a"], tell)
    assert (late.check().count, complaints(late)[0]) == (2, "no value")
    nothing = column([None, None], [float("nan")])
    assert nothing.is_numeric
    assert np.isnan(nothing.numbers()).all()
    assert not column([None, {}]).is_numeric


def test_what_stands_for_nothing_is_a_category_among_texts() -> None:
    assert column(["C", "NA", "nan"], cells=True).categories()[1] == ("C", "NA", "nan")
    assert column(["1", "2", "NA", "NA", "b"], cells=True).categories()[1] == ("1", "2", "NA", "b")
    assert column(["NA", "NA"], cells=True).categories()[1] == ("NA",)


def test_all_problems_are_counted_and_some_are_kept() -> None:
    made = column([None] * 5000 + ["a"] * 6000)
    assert (made.check().count, len(made.check().found)) == (5000, 1000)


def test_too_many_texts_are_no_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CATEGORIES", 3)
    assert complaints(column(list("abc"))) == []
    assert complaints(column(list("abcd"))) == ["got 4 different values in 'c', expected at most 3 categories"]


def test_rows_that_are_not_kept_are_looked_at_and_forgotten() -> None:
    made = Column("c", "edge")
    made.add(["a", "b", "c"], tell, np.array([2, 0, 0]))
    codes, names = made.categories()
    assert (codes.tolist(), names) == ([1, 0, 0], ("a", "c"))


@given(st.lists(st.text(max_size=6)))
def test_natural_order_is_an_order(texts: list[str]) -> None:
    backwards = texts[::-1]
    assert sorted(texts, key=natural_order) == sorted(backwards, key=natural_order)


@given(st.lists(st.integers(-(10**6), 10**6)))
def test_natural_order_of_numbers_is_by_value(numbers: list[int]) -> None:
    assert sorted(map(str, numbers), key=natural_order) == [str(number) for number in sorted(numbers)]
    pairs = [(number, -number) for number in numbers]
    texts = sorted((f"{a},{b}" for a, b in pairs), key=natural_order)
    assert texts == [f"{a},{b}" for a, b in sorted(pairs)]


@given(st.lists(st.one_of(st.integers(-5, 5), st.sampled_from(["a", "b", "10"])), min_size=1), st.integers(1, 4))
def test_parts_make_no_difference(values: list[Any], size: int) -> None:
    whole = column(values)
    parts = column(*(values[i : i + size] for i in range(0, len(values), size)))
    assert whole.is_numeric == parts.is_numeric
    if not whole.is_numeric:
        (one, names), (other, same_names) = whole.categories(), parts.categories()
        assert (one.tolist(), names) == (other.tolist(), same_names)
        assert [names[code] for code in one] == [text_of(value) for value in values]


@given(st.lists(st.lists(st.integers(-100, 100), max_size=9), max_size=9))
def test_parts_are_concatenated(parts: list[list[int]]) -> None:
    growing = GrowingArray(np.int32)
    for part in parts:
        growing.extend(np.array(part, np.int64))
    expected = [value for part in parts for value in part]
    assert len(growing) == len(expected)
    found = growing.take()
    assert (found.dtype, found.tolist()) == (np.int32, expected)
    assert len(growing) == 0


def test_rows_of_some_width() -> None:
    growing = GrowingArray(np.float32, 2)
    growing.extend(np.ones((3, 2)))
    growing.fill(1, 7)
    assert growing.take().tolist() == [[1, 1], [1, 1], [1, 1], [7, 7]]


def test_what_was_taken_is_not_touched_again() -> None:
    growing = GrowingArray(np.int64)
    growing.extend(np.arange(5))
    taken = growing.take()
    growing.extend(np.zeros(100))
    assert taken.tolist() == [0, 1, 2, 3, 4]
