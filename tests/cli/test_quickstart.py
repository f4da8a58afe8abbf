"""``sargnn quickstart``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Command
from sargnn.cli import quickstart


def test_quickstart_in_small(sargnn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quickstart, "SIZES", (40, 10, 20, 0))
    small = {**quickstart.SETTINGS, "training.epochs": 2, "model.hidden": 8}
    monkeypatch.setattr(quickstart, "SETTINGS", small)
    done = sargnn("quickstart", "--json")
    answer = done.answer
    assert {"test_accuracy", "saliency_auc", "train_seconds", "report"} <= answer.keys()
    assert answer["run"] == "runs/quickstart"
    assert Path(answer["report"]).read_text().startswith("<!")
    assert "generating triangle graphs" in done.err
    assert sargnn("quickstart", "--out", "runs/quickstart").status == 2
    people = sargnn("quickstart", "--seed", 1)
    assert "test accuracy" in people.out
    assert "runs/quickstart-2/report.html" in people.out
