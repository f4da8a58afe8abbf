"""``sargnn reproduce``: wrong calls; its tables are in ``tests/reproduction``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "no such table": (["reproduce", "table9"], "NAME: got 'table9', expected one of table1, table2, "),
    "no such preset": (["reproduce", "table1", "--preset", "fast"], "--preset: got 'fast', expected one of "),
    "page of nothing": (["reproduce", "page"], "--rows: got none, expected the files of rows that the page is made of"),
    "sets of all": (
        ["reproduce", "all", "--data", "MUTAG"],
        "--data: got MUTAG with all, expected a table or a figure",
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
