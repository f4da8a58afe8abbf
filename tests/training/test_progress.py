"""What follows from a history alone: the best epoch, when to stop, the next learning rate."""

from __future__ import annotations

from math import cos, inf, pi
from typing import Any

import pytest

from sargnn.training.loop import TrainingConfig
from sargnn.training.progress import Progress, decisive


def row(epoch: int, loss: float, score: float = 0.5) -> dict[str, Any]:
    return {"epoch": epoch, "validation_loss": loss, "validation_accuracy": score}


def test_a_row_is_kept_where_it_is_better_and_of_equal_ones_the_first() -> None:
    progress, config = Progress(), TrainingConfig(epochs=10)
    assert [progress.record(row(n, loss), config) for n, loss in enumerate([0.5, 0.4, 0.4, 0.3], 1)] == [
        True, True, False, True,
    ]  # fmt: skip
    assert progress.best_epoch == 4


@pytest.mark.parametrize(("monitor", "best"), [("loss", 1), ("accuracy", 2), ("last", 3)])
def test_the_monitor_decides(monitor: Any, best: int) -> None:
    progress, config = Progress(), TrainingConfig(monitor=monitor)
    for n, (loss, score) in enumerate([(0.1, 0.6), (0.3, 0.9), (0.2, 0.7)], 1):
        progress.record(row(n, loss, score), config)
    assert progress.best_epoch == best


def test_the_end_is_by_epochs_or_by_patience() -> None:
    progress = Progress(best_epoch=2, history=[row(n, 0.5) for n in range(1, 6)])
    assert progress.finished(TrainingConfig(epochs=5, patience=0))
    assert progress.finished(TrainingConfig(epochs=9, patience=3))
    assert not progress.finished(TrainingConfig(epochs=9, patience=4))
    assert not progress.finished(TrainingConfig(epochs=9, patience=0))


def test_rates_by_hand() -> None:
    after_three = Progress(best_epoch=1, history=[row(n, 0.5) for n in (1, 2, 3)])
    common: dict[str, Any] = {"learning_rate": 0.8, "epochs": 6, "schedule_epochs": 2}
    assert after_three.learning_rate(TrainingConfig(schedule="constant", **common)) == 0.8
    assert after_three.learning_rate(TrainingConfig(schedule="step", **common)) == 0.4
    assert after_three.learning_rate(TrainingConfig(schedule="plateau", **common)) == 0.4
    cosine = 0.8 * (1 + cos(pi / 2)) / 2
    assert after_three.learning_rate(TrainingConfig(schedule="cosine", **common)) == pytest.approx(cosine)


def test_what_decides_is_lower_for_the_better() -> None:
    seen = {"validation_loss": 0.5, "validation_auroc": 0.75, "validation_rmse": 2.0, "validation_f1": None}
    found = {key: decisive(seen, TrainingConfig(monitor=key)) for key in ("loss", "last", "auroc", "rmse", "f1")}
    assert found == {"loss": 0.5, "last": 0.5, "auroc": -0.75, "rmse": 2.0, "f1": inf}
