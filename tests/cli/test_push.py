"""``sargnn push``: wrong calls; what it publishes is in ``tests/training/test_hub.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "no address": (["push", "RUN", "--to", "runs/mine"], "got 'runs/mine', expected hf://OWNER/NAME"),
    "no run": (["push", "file", "--to", "hf://a/b"], "file/config.json"),
    "no demo": (["push", "demo:nothing", "--to", "hf://a/b"], "expected demo: and one of mutag, triangles"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
