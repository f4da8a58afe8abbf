"""Trainings as jobs, and their results."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
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
    task: str | None = None
    """The kind of task; none: that of the targets."""

    @property
    def system(self) -> str:
        return self.settings.name

    @property
    def trains_on_all(self) -> bool:
        """Whether validation graphs decide nothing and are trained on: the assessment keeps the last epoch."""
        return self.stage == "assess" and self.settings.training.monitor == "last"

    @cached_property
    def changes(self) -> Row:
        """The settings in which the job differs from the defaults of its system."""
        return self.settings.changes()

    def to_json(self) -> Row:
        """Without what the defaults say."""
        job = {
            "stage": self.stage, "data": self.data, "fingerprint": self.fingerprint, "splits": self.splits,
            "fold": self.fold, "repeat": self.repeat, "system": self.system, "settings": self.changes,
        }  # fmt: skip
        return job | ({"curves": True} if self.curves else {}) | ({"task": self.task} if self.task else {})


@dataclass(frozen=True, eq=False)
class TrainingRow:
    """What a training found. Test scores, details and history are those of the assessment."""

    job: TrainingJob
    validation_accuracy: float | None = None
    """Of the kept epoch; none where the validation graphs were trained on."""
    validation_loss: float | None = None
    validation_value: float | None = None
    """Of the kept epoch, lower is better: what selects instead of the accuracy, where the job says so or has none."""
    best_epoch: int = 0
    """0: it diverged at once."""
    epochs: int = 0
    diverged: str | None = None
    """What happened, if the loss became infinite or not a number."""
    seconds: float = 0.0
    parameters: int = 0
    device: str = ""
    """In words."""
    scores: dict[str, dict[str, Any]] | None = None
    """By test part."""
    details: Row = field(default_factory=dict)
    """What else the task says of the test graphs, such as ``confusion``; each is a field of the JSON."""
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
        """Of a row of the store; fields that are neither the job's nor known here are details."""
        details = content.keys() - job.to_json().keys() - {*_FOUND, "id"}
        found = {name: content[name] for name in _FOUND if name in content}
        return cls(job, **found, details={name: content[name] for name in sorted(details)})

    def to_json(self) -> Row:
        """What the store keeps beside the job; version and commit are added where they are known."""
        found = {name: getattr(self, name) for name in _FOUND if name not in ("version", "commit")}
        known = {name: value for name, value in found.items() if value is not None or name not in UNSET}
        return known | self.details


UNSET = ("scores", "history", "validation_value")
"""Fields that a row leaves out where there is nothing: a row of the selection has no scores and no history."""
_FOUND = tuple(field.name for field in fields(TrainingRow) if field.name not in ("job", "details"))
