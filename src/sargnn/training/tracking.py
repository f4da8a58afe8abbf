"""Following a run with TensorBoard, MLflow or Weights & Biases.

The three services are extras (``pip install 'sargnn[tracking]'``) and are imported only when named. Each is left to
its own settings: where MLflow and Weights & Biases keep their runs is said by their environment variables.
"""

from __future__ import annotations

import importlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from sargnn.errors import InputError
from sargnn.training.progress import Row
from sargnn.training.run import TrainingRun

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "WeightsAndBiases", "tracking"]


class Tracker(ABC):
    """Takes down one run: each epoch as it comes, and the scores when it is done.

    >>> class Losses(Tracker):
    ...     def log(self, row):
    ...         print(row["epoch"], row["train_loss"])
    >>> Losses().log({"epoch": 1, "train_loss": 0.7})
    1 0.7
    """

    @abstractmethod
    def log(self, row: Row) -> None:
        """An epoch."""

    def log_scores(self, run: TrainingRun) -> None:  # noqa: B027 (nothing to do is an answer)
        """The scores of every part, when the run is finished."""

    def close(self) -> None:  # noqa: B027
        """Finished, or given up."""


@contextmanager
def tracking(run: TrainingRun, names: Sequence[str] = ()) -> Iterator[list[Tracker]]:
    """The trackers of ``run``, closed when the block ends.

    >>> with tracking(run, ["tensorboard"]) as trackers:  # doctest: +SKIP
    ...     for row in run:
    ...         for tracker in trackers:
    ...             tracker.log(row)
    """
    for name in names:
        if name not in TRACKERS:
            raise InputError(f"--track: got {name!r}, expected one of {', '.join(TRACKERS)}")
    with ExitStack() as stack:
        trackers: list[Tracker] = []
        for name in names:
            trackers.append(TRACKERS[name](run))
            stack.callback(trackers[-1].close)
        yield trackers


class TensorBoard(Tracker):
    """Curves for TensorBoard in the run's folder ``tensorboard``.

    >>> with tracking(run, ["tensorboard"]) as (board,): ...  # doctest: +SKIP
    """

    def __init__(self, run: TrainingRun) -> None:
        if run.folder is None:
            raise InputError("--track: got tensorboard for a run without a folder, expected one")
        writer = _imported("tensorboard", "torch.utils.tensorboard").SummaryWriter
        self.writer = writer(str(run.folder / "tensorboard"), purge_step=len(run.state.history) + 1)
        self.writer.add_text("settings", json.dumps(run.trained.settings.to_json(), indent=1))

    def log(self, row: Row) -> None:
        for name, value in _metrics(row).items():
            self.writer.add_scalar(name, value, row["epoch"])

    def log_scores(self, run: TrainingRun) -> None:
        for name, value in _final(run).items():
            self.writer.add_scalar(name, value, run.state.best_epoch)

    def close(self) -> None:
        self.writer.close()


class MLflow(Tracker):
    """A run of MLflow, inside the active one if there is one; ``MLFLOW_TRACKING_URI`` says where.

    >>> with tracking(run, ["mlflow"]) as trackers: ...  # doctest: +SKIP
    """

    def __init__(self, run: TrainingRun) -> None:
        self.mlflow = _imported("mlflow")
        self.mlflow.start_run(run_name=_name(run), nested=self.mlflow.active_run() is not None)
        self.status = "KILLED"
        self.mlflow.log_params(_flat(run))

    def log(self, row: Row) -> None:
        self.mlflow.log_metrics(_metrics(row), step=row["epoch"])

    def log_scores(self, run: TrainingRun) -> None:
        self.mlflow.log_metrics(_final(run))
        self.status = "FINISHED"

    def close(self) -> None:
        self.mlflow.end_run(status=self.status)


class WeightsAndBiases(Tracker):
    """A run of Weights & Biases, grouped by data set; ``WANDB_MODE=offline`` keeps it on this machine.

    >>> with tracking(run, ["wandb"]) as trackers: ...  # doctest: +SKIP
    """

    def __init__(self, run: TrainingRun) -> None:
        self.run = _imported("wandb").init(
            project=os.environ.get("WANDB_PROJECT", "sargnn"),
            group=run.graphs.name,
            job_type="train",
            name=_name(run),
            config=_flat(run),
            dir=None if run.folder is None else str(run.folder),
        )
        self.status = 1

    def log(self, row: Row) -> None:
        self.run.log(_metrics(row), step=row["epoch"])

    def log_scores(self, run: TrainingRun) -> None:
        self.run.summary.update(_final(run))
        self.status = 0

    def close(self) -> None:
        self.run.finish(exit_code=self.status)


TRACKERS: dict[str, type[Any]] = {"tensorboard": TensorBoard, "mlflow": MLflow, "wandb": WeightsAndBiases}
"""What ``--track`` can name."""


def _imported(package: str, module: str | None = None) -> Any:
    try:
        return importlib.import_module(module or package)
    except ImportError as error:
        raise InputError(f"--track: got {package}, which is not installed: pip install 'sargnn[tracking]'") from error


def _metrics(row: Row) -> dict[str, float]:
    """An epoch's numbers under the names that the services use."""
    return {_named(*field.rpartition("_")[::2]): float(value) for field, value in row.items() if field != "epoch"}


def _named(part: str, number: str) -> str:
    """
    >>> _named("validation", "accuracy"), _named("", "seconds"), _named("learning", "rate")
    ('val/acc', 'seconds', 'learning_rate')
    """
    if part not in ("train", "validation", "test", "test-large"):
        return f"{part}_{number}" if part else number
    return f"{'val' if part == 'validation' else part}/{'acc' if number == 'accuracy' else number}"


def _final(run: TrainingRun) -> dict[str, float]:
    """The headline score of the best weights on every part; that on the validation part is in the curves."""
    headline = run.trained.task.metrics[0].key
    scores = {_named(part, headline): score[headline] for part, score in run.scores.items() if part != "validation"}
    return {**scores, "best_epoch": run.state.best_epoch}


def _flat(run: TrainingRun) -> dict[str, Any]:
    """Every setting as ``--set`` would name it."""
    sections = run.trained.settings.to_json()
    flat: dict[str, Any] = {"model": sections.pop("name"), "data": run.graphs.name}
    return flat | {f"{name}.{field}": value for name, table in sections.items() for field, value in table.items()}


def _name(run: TrainingRun) -> str:
    return f"{run.graphs.name}-{run.trained.settings.name}" if run.folder is None else run.folder.name
