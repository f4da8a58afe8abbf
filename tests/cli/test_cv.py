"""``sargnn cv``: wrong calls; its numbers are in ``tests/studies``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "no workers": (["cv", "DATA", "--workers", 0], "--workers: got 0, expected at least 1"),
    "empty grid": (["cv", "DATA", "--grid", "model.layers"], "--grid"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
