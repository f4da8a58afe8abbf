"""Joint and alternating training."""

from __future__ import annotations

from sargnn.reproduction import optimization_figure
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


def test_policies_have_the_same_epochs_and_are_not_stopped_early() -> None:
    study = optimization_figure.study(PRESETS["quick"], facts)
    training = [settings.training for cell in study.cells.values() for settings in cell.grid]
    assert {(t.epochs, t.patience) for t in training} == {(100, 0)}
    assert {(t.policy, t.alternate_epochs) for t in training} == {
        ("joint", 1), ("alternating", 1), ("alternating", 10)
    }  # fmt: skip
    assert all(cell.curves for cell in study.cells.values())
