"""Limits have names, and can be raised."""

from __future__ import annotations

import pytest

from sargnn.errors import InputError
from sargnn.limits import LIMITS, limit_of, over


def test_each_limit_can_be_raised_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, usual in LIMITS.items():
        monkeypatch.setenv("SARGNN_LIMITS", f" {name}={usual + 7}")
        assert limit_of(name) == usual + 7
        assert over(name, usual + 7, "things") == ""
        assert f"(SARGNN_LIMITS={name}={usual + 8} allows them)" in over(name, usual + 8, "things")


def test_what_raises_one_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "file=1,json=2")
    assert [limit_of(name) for name in ("file", "json", "columns")] == [1, 2, LIMITS["columns"]]


@pytest.mark.parametrize(
    "text", ["evil=1", "file", "file=", "file=-1", "file=1_0", "file=١", "file=" + "9" * 19, ",", "file=1,"]
)
def test_what_is_no_limit_is_said(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", text)
    with pytest.raises(InputError, match=r"SARGNN_LIMITS: got .*, expected NAME=NUMBER,\.\.\. with names file, json"):
        limit_of("file")
