"""``sargnn export``: wrong calls; its files are in ``tests/test_export.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "unknown form": (["export", "RUN", "--to", "tflite", "--out", "new"], "'tflite'"),
    "no run": (["export", "file", "--to", "onnx", "--out", "new"], "file/config.json"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
