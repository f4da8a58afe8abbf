"""Nested cross-validation, after Errica et al. (2020): select on an inner hold-out, re-train the winner, test.

For each outer fold, every setting of a grid is trained on the fold's training graphs and judged on its validation
graphs. The best one is trained again, several times, with early stopping on the same validation graphs, and tested at
its best validation epoch; where the settings keep the last epoch, the validation graphs decide nothing and are trained
on too. A fold's score is the mean of the repeats; the result is mean and standard deviation over folds. No choice ever
sees a test label: selection jobs do not even compute test scores.

Work is cut into jobs (:mod:`sargnn.studies.jobs`), so that any engine can run them and a store knows which are done.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from sargnn.batching.layouts import has_stacked_layout
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.data.protocol_splits import protocol_folds
from sargnn.data.sources import load
from sargnn.data.splits import Fold, read_splits
from sargnn.errors import Diverged, InputError
from sargnn.studies.jobs import TrainingJob, TrainingRow
from sargnn.studies.store import Row
from sargnn.systems import find_system
from sargnn.tasks import Classification, Task, task_of
from sargnn.training.baselines import baselines
from sargnn.training.hardware import find_device, hardware
from sargnn.training.progress import Progress, decisive
from sargnn.training.run import TrainingRun, parts_of, score
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import OWN, Fitted, Member, ModelStack, fit_together

__all__ = ["Cell", "CellResult", "assessment_jobs", "bundles", "collect", "planned_graphs", "selection_jobs", "work"]

BY_ACCURACY = ("loss", "accuracy", "last")
"""What training may monitor for settings to be selected by their accuracy, where there is one."""


@dataclass(frozen=True)
class Cell:
    """One number of a table: a system on a data set, its grid, and how much is computed."""

    data: str
    """A known name or a path."""
    fingerprint: str
    """Of the graphs: rows of other data are never mistaken for these."""
    system: str
    grid: tuple[Settings, ...]
    folds: int
    """Number of outer folds."""
    repeats: int = 3
    splits: str | None = None
    """A split file; none: the protocol's own folds for this set."""
    curves: bool = False
    """Whether rows of the assessment keep their learning curves."""
    seed: int = 0
    """The seed of a training is this plus the repeat."""
    selection_epochs: int | None = None
    """Epochs of the trainings that select; none: those of the settings."""
    task: str | None = None
    """The kind of task; none: that of the targets."""
    headline: str = "accuracy"
    """The score that a fold is given."""

    def job(self, stage: str, fold: int, settings: Settings, repeat: int) -> TrainingJob:
        epochs = (stage == "select" and self.selection_epochs) or settings.training.epochs
        own = replace(settings, training=replace(settings.training, seed=self.seed + repeat, epochs=epochs))
        curves = self.curves and stage == "assess"
        return TrainingJob(stage, self.data, self.fingerprint, self.splits, fold, repeat, own, curves, self.task)


@dataclass(frozen=True, eq=False)
class CellResult:
    """What the rows of a cell say."""

    cell: Cell
    folds: np.ndarray
    """The headline score of each fold, the mean over repeats (of each repeat where there is one fold only); NaN where
    the test graphs of a fold do not define it."""
    selected: tuple[Settings, ...]
    """The setting chosen in each fold."""
    rows: tuple[TrainingRow, ...]
    """Of the assessment."""

    @property
    def mean(self) -> float:
        return float(self.defined.mean())

    @property
    def std(self) -> float:
        """Standard deviation over folds (population form, as published tables use)."""
        return float(self.defined.std())

    @property
    def defined(self) -> np.ndarray:
        """The scores of the folds that have one."""
        return np.asarray(self.folds[~np.isnan(self.folds)])


def selection_jobs(cell: Cell) -> list[TrainingJob]:
    """One training per fold and setting of the grid; none where the grid leaves no choice."""
    if len(cell.grid) == 1:
        return []
    return [cell.job("select", fold, settings, 0) for settings in cell.grid for fold in range(cell.folds)]


def assessment_jobs(cell: Cell, selected: Sequence[Settings]) -> list[TrainingJob]:
    """The winner of each fold, once per repeat."""
    return [
        cell.job("assess", fold, settings, repeat)
        for fold, settings in enumerate(selected)
        for repeat in range(1, cell.repeats + 1)
    ]


def select(cell: Cell, rows: Sequence[TrainingRow]) -> tuple[Settings, ...]:
    """The setting of each fold with the best validation accuracy, or monitored metric; ties go to the lower loss, then
    to the grid's order.

    ``rows`` are those of :func:`selection_jobs`, in the same order.
    """
    if len(cell.grid) == 1:
        return cell.grid * cell.folds
    ranks: dict[int, list[tuple[float, float]]] = defaultdict(list)  # the lower, the better
    for row in rows:
        assert row.validation_loss is not None
        value = -(row.validation_accuracy or 0.0) if row.validation_value is None else row.validation_value
        ranks[row.fold].append((value, row.validation_loss))
    return tuple(cell.grid[ranks[fold].index(min(ranks[fold]))] for fold in range(cell.folds))


def collect(cell: Cell, selected: Sequence[Settings], rows: Sequence[TrainingRow]) -> CellResult:
    """The result of a cell from the rows of :func:`assessment_jobs`."""
    by_fold: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        by_fold[row.fold].append(np.nan if row.test[cell.headline] is None else row.test[cell.headline])
    scores = [by_fold[0]] if len(by_fold) == 1 else [[np.mean(by_fold[fold])] for fold in sorted(by_fold)]
    return CellResult(cell, np.array(scores, dtype=float).ravel(), tuple(selected), tuple(rows))


def bundles(jobs: Iterable[TrainingJob], at_once: int | None = None) -> list[tuple[TrainingJob, ...]]:
    """Jobs grouped into what is computed by one call: one each, or, to fill a GPU, those of ``at_once`` systems or
    variants on one data set."""
    if at_once is None:
        return [(job,) for job in jobs]
    groups: dict[tuple[str, str | None], dict[str, list[TrainingJob]]] = defaultdict(lambda: defaultdict(list))
    for job in jobs:
        model = job.changes.get("model", {})
        variant = json.dumps([job.system, *(model.get(key) for key in ("saliency", "readout", "normalize", "norm"))])
        groups[job.data, job.splits][variant].append(job)
    lists = [list(variants.values()) for variants in groups.values()]
    parts = [some[start : start + at_once] for some in lists for start in range(0, len(some), at_once)]
    return [tuple(job for own in part for job in own) for part in parts]


def work(jobs: list[TrainingJob], device: str) -> Iterator[tuple[TrainingJob, Row]]:
    """Compute jobs of one data set, K at once where that is possible."""
    for row in _rows(jobs, find_device(device)):
        yield row.job, row.to_json()


def _rows(jobs: list[TrainingJob], device: torch.device) -> Iterator[TrainingRow]:
    graphs, folds = planned_graphs(jobs[0].data, jobs[0].fingerprint, jobs[0].splits)
    task = task_of(graphs, jobs[0].task)
    stacks, alone = _stacks(graphs, folds, jobs, device, task)
    start = time.perf_counter()
    fit_together([stack for stack, _ in stacks])
    spent = (time.perf_counter() - start) / max(1, sum(len(own) for _, own in stacks))
    for stack, own in stacks:
        for job, fitted in zip(own, stack.results(), strict=True):
            yield _row(graphs, _fold(folds, job), job, fitted, device, spent)
    for job in alone:
        start = time.perf_counter()
        fitted = _fit_alone(graphs, _fold(folds, job), job.settings, device, task)
        yield _row(graphs, _fold(folds, job), job, fitted, device, time.perf_counter() - start)


def _fold(folds: list[Fold], job: TrainingJob) -> Fold:
    """The graphs of a job. Validation graphs that are trained on are still scored, but the scores mean nothing."""
    fold = folds[job.fold]
    return replace(fold, train=np.sort(np.concatenate([fold.train, fold.validation]))) if job.trains_on_all else fold


def _stacks(
    graphs: GraphSet, folds: list[Fold], jobs: list[TrainingJob], device: torch.device, task: Task
) -> tuple[list[tuple[ModelStack, list[TrainingJob]]], list[TrainingJob]]:
    """Jobs that can train together, by architecture and width of inputs, and those that cannot."""
    groups: dict[str, list[TrainingJob]] = defaultdict(list)
    alone = []
    widths: dict[tuple[str, int, str], int] = {}
    for job in jobs:
        settings = job.settings
        if not _vectorises(settings, graphs, device):
            alone.append(job)
            continue
        fold = _fold(folds, job)
        inputs = json.dumps(job.changes.get("data"))
        key = (job.stage, job.fold, inputs)
        if key not in widths:
            widths[key] = Encoder.fit(settings.data, graphs, fold.train).width
        shared = {k: v for k, v in job.changes.get("training", {}).items() if k not in OWN}
        size = settings.training.graphs_per_step(len(fold.train))
        architecture = json.dumps([job.system, job.changes.get("model"), inputs, shared, widths[key], size])
        groups[architecture].append(job)
    made = []
    for group in groups.values():
        members = [Member(_fold(folds, job), job.settings.training) for job in group]
        made.append((ModelStack(graphs, group[0].settings, members, device, task), group))
    return made, alone


def _vectorises(settings: Settings, graphs: GraphSet, device: torch.device) -> bool:
    """Whether K at once is possible and wanted: not on a CPU, where it pays less, and where rows must be the same bits
    whatever was killed: the rounding depends on K."""
    layouts = find_system(settings.name).model.stacked_layouts
    return device.type == "cuda" and has_stacked_layout(layouts, graphs.sizes)


def _fit_alone(graphs: GraphSet, fold: Fold, settings: Settings, device: torch.device, task: Task) -> Fitted:
    run = TrainingRun.start(graphs, settings, fold=fold, device=device, task=task)
    diverged = None
    try:
        for _ in run:
            pass
    except Diverged as error:
        diverged = str(error)
    return Fitted(run.trained, Progress(run.state.best_epoch, run.state.history), diverged)


def _row(
    graphs: GraphSet, fold: Fold, job: TrainingJob, fitted: Fitted, device: torch.device, seconds: float
) -> TrainingRow:
    """The result of a job. Test graphs are scored in the assessment alone."""
    history, best = fitted.progress.history, fitted.progress.best_epoch
    training = job.settings.training
    at_best = history[best - 1] if best else {"validation_accuracy": 0.0, "validation_loss": 1e9}
    row = TrainingRow(
        job, best_epoch=best, epochs=len(history), diverged=fitted.diverged, seconds=seconds,
        parameters=sum(p.numel() for p in fitted.trained.model.parameters()), device=hardware(device),
    )  # fmt: skip
    if not job.trains_on_all:  # scores of graphs that were trained on would mislead
        accuracy, loss = at_best.get("validation_accuracy"), at_best["validation_loss"]
        curves = _curves(history) if job.curves else None
        row = replace(row, validation_accuracy=accuracy, validation_loss=loss, history=curves)
        if training.monitor not in BY_ACCURACY or fitted.trained.task.kind != Classification.kind:
            row = replace(row, validation_value=min(decisive(at_best, training), 1e9) if best else 1e9)
    return row if job.stage == "select" else replace(row, **_tested(graphs, fold, fitted))


def _curves(history: Sequence[Row]) -> dict[str, list[float]]:
    """The losses and the validation scores of every epoch."""
    names = [name for name in (history[0] if history else ()) if name == "train_loss" or name.startswith("validation_")]
    return {name: [round(row[name], 5) for row in history if row[name] is not None] for name in names}


def _tested(graphs: GraphSet, fold: Fold, fitted: Fitted) -> Row:
    """Scores on every test part, and the task's details of the test graphs."""
    scores: dict[str, Row] = {}
    details: Row = {}
    for name, index in parts_of(graphs, fold).items():
        if not name.startswith("test") or not len(index):
            continue
        part = graphs.subset(index)
        prediction = fitted.trained.predict(part)
        scores[name] = score(fitted.trained, part, prediction, np.arange(len(part)))
        if name == "test":
            task = fitted.trained.task
            details = task.details(task.targets(part), prediction.values)
            scores[name]["baselines"] = baselines(task, graphs, fold.train, fold.test)
    return {"scores": scores, "details": details}


@lru_cache(maxsize=2)
def planned_graphs(data: str, fingerprint: str, splits: str | None = None) -> tuple[GraphSet, list[Fold]]:
    """The graphs that a job names, refused if they have changed since it was planned, and their folds."""
    graphs = load(data)
    found = graphs.fingerprint
    if found != fingerprint:
        raise InputError(f"{data}: got graphs with fingerprint {found}, expected {fingerprint}, as planned")
    return graphs, read_splits(Path(splits), graphs) if splits else protocol_folds(graphs)


def digest(folds: Sequence[Fold]) -> str:
    """Sixteen hex digits that name a list of folds."""
    parts = b"|".join(part.tobytes() for fold in folds for part in (fold.train, fold.validation, fold.test))
    return hashlib.sha256(parts).hexdigest()[:16]
