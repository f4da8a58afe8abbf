"""The history of a training, and what follows from it: the learning rate, the best epoch, when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, inf, pi
from typing import TYPE_CHECKING, Any

from sargnn.tasks.scores import LOWER

if TYPE_CHECKING:
    from sargnn.training.loop import TrainingConfig

__all__ = ["Progress", "Row", "decisive", "lower_is_better", "monitored"]

Row = dict[str, Any]


@dataclass
class Progress:
    """The history of one model's training. Everything here is a function of it, so only the history is saved."""

    best_epoch: int = 0
    """0: no epoch has been evaluated yet."""
    history: list[Row] = field(default_factory=list)
    """One row per epoch: epoch, train_loss, validation_loss, validation_accuracy (or another score), learning_rate,
    seconds."""

    def record(self, row: Row, config: TrainingConfig) -> bool:
        """Add the row of an epoch; whether it is the best so far. Of equal ones the earlier is kept."""
        alone = config.monitor == "last" or not self.best_epoch
        better = alone or decisive(row, config) < decisive(self.history[self.best_epoch - 1], config)
        self.history.append(row)
        self.best_epoch = row["epoch"] if better else self.best_epoch
        return better

    def finished(self, config: TrainingConfig) -> bool:
        """Whether the epochs or the patience have run out."""
        done = len(self.history)
        return done >= config.epochs or (0 < config.patience <= done - self.best_epoch)

    def learning_rate(self, config: TrainingConfig) -> float:
        """Of the next epoch."""
        done = len(self.history)
        if config.schedule == "step":
            return config.learning_rate * 0.5 ** (done // config.schedule_epochs)
        if config.schedule == "cosine":
            return config.learning_rate * 0.5 * (1 + cos(pi * done / config.epochs))
        if config.schedule == "plateau":
            return config.learning_rate * 0.5 ** self._plateaus(config)
        return config.learning_rate

    def _plateaus(self, config: TrainingConfig) -> int:
        """How often `schedule_epochs` passed without an improvement or a halving."""
        best, since, halvings = float("inf"), 0, 0
        for row in self.history:
            since = 0 if decisive(row, config) < best else since + 1
            best = min(best, decisive(row, config))
            if since >= config.schedule_epochs:
                halvings, since = halvings + 1, 0
        return halvings


def decisive(row: Row, config: TrainingConfig) -> float:
    """The monitored value, lower being better; infinite where it is not defined."""
    value = row[monitored(config)]
    if value is None:
        return inf
    return float(value) if lower_is_better(config) else -float(value)


def lower_is_better(config: TrainingConfig) -> bool:
    """Whether a lower value of what is monitored is better."""
    return config.monitor in ("loss", "last", *LOWER)


def monitored(config: TrainingConfig) -> str:
    """The field of an epoch's row that decides; the loss where the last epoch is kept, whatever it is.

    >>> from sargnn.training.loop import TrainingConfig
    >>> monitored(TrainingConfig(monitor="auroc")), monitored(TrainingConfig(monitor="last"))
    ('validation_auroc', 'validation_loss')
    """
    return "validation_loss" if config.monitor == "last" else f"validation_{config.monitor}"
