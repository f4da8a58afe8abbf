"""Names and numbers of settings, refused in one line."""

from __future__ import annotations

import pytest

from sargnn.data.features.base import check_each, check_number
from sargnn.errors import InputError


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match=r"^x: got 'labls', expected one of labels, degree; did you mean 'labels'\?$"):
        check_each(("degree", "labls"), ("labels", "degree"), "x")


def test_a_name_may_have_to_be_there_once() -> None:
    check_each(("a", "a"), ("a",), "x")
    with pytest.raises(InputError, match=r"^x: got a, a, expected each name once$"):
        check_each(("a", "a"), ("a",), "x", once=True)


@pytest.mark.parametrize(("value", "most", "expected"), [(0, None, "1 or more"), (5, 4, r"1\.\.4")])
def test_a_number_out_of_range_is_refused(value: int, most: int | None, expected: str) -> None:
    with pytest.raises(InputError, match=rf"^x: got {value}, expected {expected}$"):
        check_number("x", value, 1, most)
