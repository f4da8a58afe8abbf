"""Errors a user can act on are caught as the usual kinds of Python."""

from __future__ import annotations

import pytest

from sargnn.errors import Diverged, InputError


def test_an_input_error_is_a_value_error_of_one_line() -> None:
    with pytest.raises(ValueError, match=r"^got 3, expected 1 or 2$"):
        raise InputError("got 3, expected 1 or 2")


def test_a_diverged_run_is_no_error_of_the_input() -> None:
    assert issubclass(Diverged, RuntimeError)
    assert not issubclass(Diverged, InputError)
