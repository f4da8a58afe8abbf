"""Limits by name, and how a user raises one."""

from __future__ import annotations

import pytest

from sargnn.errors import InputError
from sargnn.limits import LIMITS, limit_of, over


def test_a_limit_is_raised_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "columns=50000, line=7")
    assert (limit_of("columns"), limit_of("line"), limit_of("json")) == (50_000, 7, LIMITS["json"])


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_told_is_what_lets_it_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    got = LIMITS[name] + 1
    assert over(name, LIMITS[name], "things") == ""
    told = over(name, got, "things")
    assert told.startswith(f"got {got} things, expected at most {LIMITS[name]} (")
    variable, _, value = told.partition("(")[2].removesuffix(" allows them)").partition("=")
    monkeypatch.setenv(variable, value)
    assert over(name, got, "things") == ""
    assert over(name, got + 1, "things") != ""


@pytest.mark.parametrize(
    "text", ["column=5", "columns", "columns=-1", "columns=1e9", "columns=٣", "columns=" + "9" * 19]
)
def test_a_limit_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", text)
    with pytest.raises(InputError, match=r"^SARGNN_LIMITS: got .* expected NAME=NUMBER"):
        limit_of("columns")
