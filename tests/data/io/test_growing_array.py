"""Arrays that grow: like concatenation, with the type and the width they were made for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.io.growing_array import GrowingArray


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
