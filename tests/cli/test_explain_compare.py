"""``sargnn explain-compare``: wrong calls; its rows are in ``tests/studies``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "rows under a file": (
        ["explain-compare", "DATA", "--out", "file/rows.jsonl"],
        "file/rows.jsonl: cannot write (Not a directory)",
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
