"""Trainings as jobs, and what is known once they are done."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from sargnn.studies.store import Job, Row
from sargnn.training.settings import Settings

__all__ = ["TrainingJob", "TrainingRow"]


@dataclass(frozen=True)
class TrainingJob(Job):
    """One training: of a system, on a fold of a data set."""

    stage: str
    """``select``: validation scores alone. ``assess``: test scores too. ``vectors``: what the test graphs become."""
    data: str
    """A known name or a path."""
    fingerprint: str
    """Of the graphs."""
    splits: str | None
    """A split file; none: the protocol's own folds for this set."""
    fold: int
    repeat: int
    settings: Settings
    """With the seed of this training."""
    curves: bool = False
    """Whether the row keeps the learning curves."""

    @property
    def system(self) -> str:
        return self.settings.name

    @property
    def trains_on_all(self) -> bool:
        """In the assessment of settings that keep the last epoch, validation graphs decide nothing and are trained
        on."""
        return self.stage == "assess" and self.settings.training.monitor == "last"

    @cached_property
    def changes(self) -> Row:
        """The settings in which the job differs from the defaults of its system."""
        return self.settings.changes()

    def to_json(self) -> Row:
        """Says nothing that the defaults say."""
        job = {
            "stage": self.stage, "data": self.data, "fingerprint": self.fingerprint, "splits": self.splits,
            "fold": self.fold, "repeat": self.repeat, "system": self.system, "settings": self.changes,
        }  # fmt: skip
        return {**job, "curves": True} if self.curves else job


@dataclass(frozen=True, eq=False)
class TrainingRow:
    """What a training found. Test scores, confusion and history are those of the assessment."""

    job: TrainingJob
    validation_accuracy: float | None = None
    """Of the epoch that is kept; none where the validation graphs were trained on."""
    validation_loss: float | None = None
    best_epoch: int = 0
    """0: it diverged at once."""
    epochs: int = 0
    diverged: str | None = None
    """What happened to the loss, if it stopped being finite."""
    seconds: float = 0.0
    parameters: int = 0
    device: str = ""
    """In words."""
    scores: dict[str, dict[str, Any]] | None = None
    """By test part."""
    confusion: list[list[int]] | None = None
    """[true, predicted]: counts of the test graphs."""
    history: dict[str, list[float]] | None = None
    """Learning curves: by name, one number per epoch."""
    version: str = ""
    """Of this package, when it made the row."""
    commit: str = ""

    @property
    def fold(self) -> int:
        return self.job.fold

    @property
    def test(self) -> dict[str, Any]:
        """The scores of the test graphs."""
        assert self.scores is not None
        return self.scores["test"]

    @classmethod
    def from_json(cls, job: TrainingJob, content: Row) -> TrainingRow:
        """Of a row of the store; what the job says is not read again."""
        return cls(job, **{name: content[name] for name in _FOUND if name in content})

    def to_json(self) -> Row:
        """What the store keeps beside the job; who made it is added where that is known."""
        found = {name: getattr(self, name) for name in _FOUND if name not in ("version", "commit")}
        return {name: value for name, value in found.items() if value is not None or name not in _ASSESSED}


_FOUND = tuple(field.name for field in fields(TrainingRow) if field.name != "job")
_ASSESSED = ("scores", "confusion", "history")
"""What a row of the selection does not have at all."""
