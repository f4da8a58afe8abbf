"""Nested cross-validation, after Errica et al. (2020): select on an inner hold-out, re-train the winner, test.

For each of the outer folds, every setting of a declared grid is trained on the fold's training graphs and judged on
its validation graphs. The best one is trained again, several times, with early stopping on the same validation graphs,
and tested at its best validation epoch; where the settings keep the last epoch whatever it is, the validation graphs
have nothing left to decide and are trained on too. A fold's score is the mean of the repeats; the result is mean and
standard deviation over folds. No choice ever sees a test label: selection jobs do not even compute test scores.

Work is cut into *jobs*, plain dictionaries that say all there is to compute, so that any engine can run them and a
store can tell which are done.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sargnn.batching.layouts import has_stacked_layout
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.data.protocol_splits import protocol_folds
from sargnn.data.sources import load
from sargnn.data.splits import Fold, read_splits
from sargnn.errors import Diverged, InputError
from sargnn.systems import find_system
from sargnn.training.hardware import find_device, hardware
from sargnn.training.progress import Progress
from sargnn.training.run import TrainingRun, parts_of, score
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import OWN, Fitted, Member, ModelStack, fit_together

__all__ = ["Cell", "CellResult", "assessment_jobs", "bundles", "collect", "planned_graphs", "selection_jobs", "work"]

Job = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One number of a table: a system on a data set, its grid, and how much is computed."""

    data: str
    """A known name or a path."""
    fingerprint: str
    """Of the graphs, so that rows of other data are never mistaken for these."""
    system: str
    grid: tuple[Settings, ...]
    folds: int
    """How many of the outer folds."""
    repeats: int = 3
    splits: str | None = None
    """A split file; none: the protocol's own folds for this set."""
    curves: bool = False
    """Whether rows of the assessment keep their learning curves."""
    seed: int = 0
    """Added to the repeat, it is the seed of a training."""

    def job(self, stage: str, fold: int, settings: Settings, repeat: int) -> Job:
        """The job of one training, which says nothing that the config's defaults say."""
        own = replace(settings, training=replace(settings.training, seed=self.seed + repeat))
        job = {
            "stage": stage, "data": self.data, "fingerprint": self.fingerprint, "splits": self.splits, "fold": fold,
            "repeat": repeat, "system": self.system, "settings": own.changes(),
        }  # fmt: skip
        return {**job, "curves": True} if self.curves and stage == "assess" else job


@dataclass(frozen=True, eq=False)
class CellResult:
    """What the rows of a cell say."""

    cell: Cell
    folds: np.ndarray
    """Test accuracy of each fold, the mean over repeats (of each repeat where there is one fold only)."""
    selected: tuple[Settings, ...]
    """The setting chosen in each fold."""
    rows: tuple[Row, ...]
    """Of the assessment."""

    @property
    def mean(self) -> float:
        return float(self.folds.mean())

    @property
    def std(self) -> float:
        """Standard deviation over folds (population form, as published tables use)."""
        return float(self.folds.std())


def selection_jobs(cell: Cell) -> list[Job]:
    """One training per fold and setting of the grid; none where the grid leaves no choice."""
    if len(cell.grid) == 1:
        return []
    return [cell.job("select", fold, settings, 0) for settings in cell.grid for fold in range(cell.folds)]


def assessment_jobs(cell: Cell, selected: Sequence[Settings]) -> list[Job]:
    """The winner of each fold, once per repeat."""
    return [
        cell.job("assess", fold, settings, repeat)
        for fold, settings in enumerate(selected)
        for repeat in range(1, cell.repeats + 1)
    ]


def select(cell: Cell, rows: Sequence[Row]) -> tuple[Settings, ...]:
    """The setting of each fold with the best validation accuracy; ties go to the lower loss, then to the grid's order.

    ``rows`` are those of :func:`selection_jobs`, in the same order.
    """
    if len(cell.grid) == 1:
        return cell.grid * cell.folds
    chosen = []
    for fold in range(cell.folds):
        candidates = [row for row in rows if row["fold"] == fold]
        ranks = [(-row["validation_accuracy"], row["validation_loss"], at) for at, row in enumerate(candidates)]
        chosen.append(cell.grid[min(ranks)[2]])
    return tuple(chosen)


def collect(cell: Cell, selected: Sequence[Settings], rows: Sequence[Row]) -> CellResult:
    """The result of a cell from the rows of :func:`assessment_jobs`."""
    by_fold: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        by_fold[row["fold"]].append(row["scores"]["test"]["accuracy"])
    scores = [by_fold[0]] if len(by_fold) == 1 else [[np.mean(by_fold[fold])] for fold in sorted(by_fold)]
    return CellResult(cell, np.array(scores, dtype=float).ravel(), tuple(selected), tuple(rows))


def bundles(jobs: Iterable[Job], at_once: int | None = None) -> list[tuple[Job, ...]]:
    """Jobs grouped into what is computed by one call: each by itself, or, to fill a GPU, those of ``at_once`` systems
    or variants on one data set."""
    if at_once is None:
        return [(job,) for job in jobs]
    groups: dict[tuple[Any, ...], dict[str, list[Job]]] = defaultdict(lambda: defaultdict(list))
    for job in jobs:
        model = job["settings"].get("model", {})
        variant = json.dumps([job["system"], *(model.get(key) for key in ("saliency", "readout", "normalize", "norm"))])
        groups[job["data"], job["splits"]][variant].append(job)
    made = []
    for variants in groups.values():
        lists = list(variants.values())
        for start in range(0, len(lists), at_once):
            made.append(tuple(job for own in lists[start : start + at_once] for job in own))
    return made


def work(jobs: list[Job]) -> Iterator[tuple[Job, Row]]:
    """Compute jobs of one data set, K at once where that is possible. The device is that of ``SARGNN_DEVICE``."""
    device = find_device(os.environ.get("SARGNN_DEVICE", "cpu"))
    graphs, folds = planned_graphs(jobs[0]["data"], jobs[0]["fingerprint"], jobs[0]["splits"])
    ensembles, alone = _ensembles(graphs, folds, jobs, device)
    start = time.perf_counter()
    fit_together([ensemble for ensemble, _ in ensembles])
    spent = (time.perf_counter() - start) / max(1, sum(len(own) for _, own in ensembles))
    for ensemble, own in ensembles:
        for job, fitted in zip(own, ensemble.results(), strict=True):
            yield job, _row(graphs, _fold(folds, job), job, fitted, device, spent)
    for job in alone:
        start = time.perf_counter()
        fitted = _fit_alone(graphs, _fold(folds, job), job, device)
        yield job, _row(graphs, _fold(folds, job), job, fitted, device, time.perf_counter() - start)


def _fold(folds: list[Fold], job: Job) -> Fold:
    """The graphs of a job. In the assessment of settings that keep the last epoch, the validation graphs are trained on
    too; they are watched still, but what is seen there means nothing."""
    fold = folds[job["fold"]]
    return replace(fold, train=np.sort(np.concatenate([fold.train, fold.validation]))) if _trains_on_all(job) else fold


def _trains_on_all(job: Job) -> bool:
    return job["stage"] == "assess" and Settings.from_json(job["settings"]).training.monitor == "last"


def _ensembles(
    graphs: GraphSet, folds: list[Fold], jobs: list[Job], device: torch.device
) -> tuple[list[tuple[ModelStack, list[Job]]], list[Job]]:
    """Jobs that can train together, by architecture and width of inputs, and those that cannot."""
    groups: dict[str, list[tuple[Job, Settings]]] = defaultdict(list)
    alone = []
    widths: dict[tuple[str, int, str], int] = {}
    for job in jobs:
        settings = Settings.from_json(job["settings"])
        if not _vectorises(settings, graphs, device):
            alone.append(job)
            continue
        fold = _fold(folds, job)
        inputs = json.dumps(job["settings"].get("data"))
        key = (job["stage"], job["fold"], inputs)
        if key not in widths:
            widths[key] = Encoder.fit(settings.data, graphs, fold.train).width
        shared = {k: v for k, v in job["settings"].get("training", {}).items() if k not in OWN}
        size = settings.training.graphs_a_step(len(fold.train))
        architecture = json.dumps([job["system"], job["settings"].get("model"), inputs, shared, widths[key], size])
        groups[architecture].append((job, settings))
    made = []
    for group in groups.values():
        members = [Member(_fold(folds, job), settings.training) for job, settings in group]
        made.append((ModelStack(graphs, group[0][1], members, device), [job for job, _ in group]))
    return made, alone


def _vectorises(settings: Settings, graphs: GraphSet, device: torch.device) -> bool:
    """Whether K at once is possible and wanted: on a CPU, where it pays less, rows must be the same bits whatever was
    killed, and the rounding of K at once depends on K."""
    layouts = find_system(settings.name).model.stacked_layouts
    return device.type == "cuda" and has_stacked_layout(layouts, graphs.sizes)


def _fit_alone(graphs: GraphSet, fold: Fold, job: Job, device: torch.device) -> Fitted:
    run = TrainingRun.start(graphs, Settings.from_json(job["settings"]), fold=fold, device=device)
    diverged = None
    try:
        for _ in run:
            pass
    except Diverged as error:
        diverged = str(error)
    return Fitted(run.trained, Progress(run.state.best_epoch, run.state.history), diverged)


def _row(graphs: GraphSet, fold: Fold, job: Job, fitted: Fitted, device: torch.device, seconds: float) -> Row:
    """The result of a job. Test graphs are looked at in the assessment alone."""
    history, best = fitted.progress.history, fitted.progress.best_epoch
    at_best = history[best - 1] if best else {"validation_accuracy": 0.0, "validation_loss": float("1e9")}
    row: Row = {
        "validation_accuracy": at_best["validation_accuracy"], "validation_loss": at_best["validation_loss"],
        "best_epoch": best, "epochs": len(history), "diverged": fitted.diverged, "seconds": seconds,
        "parameters": sum(p.numel() for p in fitted.trained.model.parameters()), "device": hardware(device),
    }  # fmt: skip
    if _trains_on_all(job):
        row |= {"validation_accuracy": None, "validation_loss": None}
    if job["stage"] == "select":
        return row
    tested = {name: index for name, index in parts_of(graphs, fold).items() if name.startswith("test") and len(index)}
    row["scores"] = {}
    for name, index in tested.items():
        part = graphs.subset(index)
        prediction = fitted.trained.predict(part)
        row["scores"][name] = score(fitted.trained, part, prediction, np.arange(len(part)))
        if name == "test":
            task = fitted.trained.task
            row |= task.details(task.targets(part), prediction.values)
    if job.get("curves") and not _trains_on_all(job):  # a curve of watched graphs that were trained on would mislead
        keys = ("train_loss", "validation_loss", "validation_accuracy")
        row["history"] = {key: [round(entry[key], 5) for entry in history] for key in keys}
    return row


@lru_cache(maxsize=2)
def planned_graphs(data: str, fingerprint: str, splits: str | None = None) -> tuple[GraphSet, list[Fold]]:
    """The graphs that a job names, refused if they have changed since it was planned, and their folds."""
    graphs = load(data)
    if graphs.fingerprint != fingerprint:
        raise InputError(
            f"{data}: got graphs with fingerprint {graphs.fingerprint}, expected {fingerprint}, as planned"
        )
    return graphs, read_splits(Path(splits), graphs) if splits else protocol_folds(graphs)


def digest(folds: Sequence[Fold]) -> str:
    """Sixteen hex digits that name a list of folds."""
    parts = b"|".join(part.tobytes() for fold in folds for part in (fold.train, fold.validation, fold.test))
    return hashlib.sha256(parts).hexdigest()[:16]
