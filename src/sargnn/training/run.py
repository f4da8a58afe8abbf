"""A training run: graphs in, a model folder out. Iterate over it for one row per epoch, then ``finish()``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sargnn import metrics
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.duplicates import twins_in_words, twins_of_tests
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import PARTS, GraphSet
from sargnn.data.roles import USUAL
from sargnn.data.splits import Fold, holdout, official
from sargnn.errors import InputError
from sargnn.explain.reliance import Reliance, reliance
from sargnn.files import write_file
from sargnn.pages.training_report import render
from sargnn.processes import FolderLock
from sargnn.tasks import Task, task_of
from sargnn.tasks.calibration import Calibration
from sargnn.training import model_folder, transfer
from sargnn.training.baselines import baselines
from sargnn.training.calibration import save_calibration
from sargnn.training.hardware import hardware, versions
from sargnn.training.loop import TrainingState, check_supervision, fit
from sargnn.training.monitor import check_monitor
from sargnn.training.progress import Row
from sargnn.training.report import training_report
from sargnn.training.settings import DEFAULT_MODEL, Settings
from sargnn.training.trained_model import Prediction, TrainedModel
from sargnn.training.trust import TrustReference, save_trust

__all__ = ["TrainingRun", "parts_of", "save_run", "score", "train"]

REPORT = "report.html"
RELIED, RELIED_NODES = 200, 2**17
"""Held-out graphs, and nodes of them, on which the saliency is tested: of more, so many are drawn."""


def train(
    graphs: GraphSet, settings: Settings | str = DEFAULT_MODEL, folder: Path | str | None = None, **options: Any
) -> TrainingRun:
    """Train a model on part of ``graphs`` and score it on the rest; with ``folder``, save it there.

    ``options`` are those of :meth:`TrainingRun.start`.

    >>> from sargnn.data.synthetic import motifs
    >>> run = train(motifs(20), Settings.of("sar-gcn", {"training.epochs": 2, "model.hidden": 8}))
    >>> run.scores["test"]["graphs"], len(run.state.history)
    (2, 2)
    """
    if not isinstance(graphs, GraphSet):
        raise InputError(f"graphs: got a {type(graphs).__name__}, expected a GraphSet, as sargnn.load gives")
    chosen = Settings.of(settings) if isinstance(settings, str) else settings
    run = TrainingRun.start(graphs, chosen, folder, **options)
    for _ in run:
        pass
    return run.finish()


@dataclass(eq=False)
class TrainingRun:
    """One model from untrained to scored: iterate for one dictionary per epoch.

    >>> from sargnn.data.synthetic import motifs
    >>> run = TrainingRun.start(motifs(20), Settings.of("sar-gcn", {"training.epochs": 2, "model.hidden": 8}))
    >>> [row["epoch"] for row in run]
    [1, 2]
    >>> sorted(run.finish().scores)
    ['test', 'train', 'validation']
    """

    graphs: GraphSet
    fold: Fold
    trained: TrainedModel
    data: TensorSet
    state: TrainingState
    folder: Path | None = None
    command: str | None = None
    """The command line of this run, for its report."""
    notes: list[str] = field(default_factory=list)
    """What the training graphs do not teach."""
    origin: dict[str, Any] = field(default_factory=dict)
    """The run whose weights were the first ones (``from``), what was not trained (``freeze``), but for ``anew``."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By part (train, validation, test, ...): graphs, what :meth:`Task.measure` gives, and saliency_auc where the truth
    is known. This and what follows is made by :meth:`finish`."""
    prediction: Prediction | None = None
    """Of the best weights for all graphs."""
    calibration: Calibration | None = None
    """Fitted on the validation graphs, if there are any."""
    lock: FolderLock | None = None
    """Of the folder: while the run lasts, no other process writes to it."""

    @classmethod
    def start(
        cls,
        graphs: GraphSet,
        settings: Settings,
        folder: Path | str | None = None,
        *,
        fold: Fold | None = None,
        device: torch.device | str = "cpu",
        resume: bool = False,
        task: Task | None = None,
        command: str | None = None,
        start_from: Path | str | None = None,
        freeze: str | None = None,
    ) -> TrainingRun:
        """Ready to train: the encoder fitted on the training graphs, the weights drawn from the seed or read back.

        ``fold``: which graphs to train, validate and test on; by default the set's official split, or else a stratified
        hold-out of 10 % and 10 % drawn from the seed. ``task``: by default that of the targets of the graphs.
        ``start_from``: a run whose weights are the first ones, as far as they fit (:mod:`sargnn.training.transfer`);
        ``freeze``: "backbone" trains what reads it alone.
        """
        folder = None if folder is None else Path(folder)
        lock = None if folder is None or not folder.is_dir() else FolderLock.of(folder)
        origin: dict[str, Any] = {"from": None if start_from is None else str(start_from), "freeze": freeze}
        task = task or task_of(graphs)
        check_monitor(task, settings.training)
        targets = task.targets(graphs)
        fold = fold or official(graphs) or holdout(graphs, seed=settings.training.seed, strata=task.strata(targets))
        notes = task.unlearned(targets, fold.train)
        task = task.fitted(targets[fold.train], settings.training.number_loss)
        resumed = folder if folder is not None and model_folder.prepare(folder, resume) else None
        if resumed is None:
            roles = graphs.origin.roles if graphs.origin else USUAL
            trained = TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs, fold.train), task, roles)
            if start_from is not None:
                told, origin["anew"] = transfer.start_from(trained, start_from)
                notes += told
            lacking, attributes = trained.encoder.new_gaps(graphs)
            if lacking.any():
                without = f"{', '.join(attributes[:5])}, which the training graphs have not"
                notes.append(f"{int(lacking.sum())} graphs that are held out have gaps in {without}: read as the mean")
        else:
            trained = _same_run(resumed, graphs, settings, fold, origin)
            origin["anew"] = model_folder.read_training(resumed).get("anew", [])
        transfer.freeze_part(trained, freeze, origin.get("anew", ()))
        data = trained.tensors(graphs, device, often=True)
        data.set_targets(task.encode(targets))
        trained.model.to(device)
        check_supervision(trained.model, data, settings.training)
        state = TrainingState.start(trained.model, task, settings.training)
        run = cls(graphs, fold, trained, data, state, folder, command, notes, origin)
        if resumed is not None:
            model_folder.load_checkpoint(resumed, state)
        if folder is not None:
            run.notes += filter(None, [twins_in_words(run.test_twins, len(fold.test))])
            run.lock = lock or model_folder.take(folder)
            model_folder.save_config(folder, trained)
            model_folder.save_training(folder, run.record("started"))
        return run

    def __iter__(self) -> Iterator[Row]:
        """Train; one row per epoch, each saved before it is given."""
        for row in fit(self.state, self.data, self.fold, self.trained.settings.training):
            if self.folder is not None:
                model_folder.save_checkpoint(self.folder, self.trained, self.state)
                model_folder.save_history(self.folder, self.state.history)
                if row["epoch"] == self.state.best_epoch:
                    model_folder.save_weights(self.folder, self.trained)
            yield row

    def finish(self) -> TrainingRun:
        """Score the best weights on every part, calibrate them on the validation part, and save all with a report."""
        self.prediction = self.trained.predict_tensors(self.data)
        self.scores = {
            part: score(self.trained, self.graphs, self.prediction, index)
            for part, index in self.parts.items()
            if len(index)
        }
        if "test" in self.scores:
            posed = self.trained.task, self.graphs, self.fold.train, self.fold.test
            self.scores["test"]["baselines"] = baselines(*posed)
        if len(held_out := self.fold.validation) and (kind := self.trained.task.calibration):
            found, targets = self.prediction, self.trained.task.targets(self.graphs)
            spread = None if found.spread is None else found.spread[held_out]
            self.calibration = kind.fit(targets[held_out], found.values[held_out], spread)
        if self.folder is not None:
            record, reference = self.record("finished"), self.trust_reference
            save_run(self.folder, self.trained, record, self.calibration, self.page, reference)
            self.lock = None
        return self

    @property
    def page(self) -> str:
        """The report of the finished run, an HTML page."""
        return render(training_report(self))

    @cached_property
    def trust_reference(self) -> TrustReference:
        """What new graphs are compared with, to tell how far they are from the training graphs."""
        return TrustReference.of(self.trained, self.graphs, self.fold.train, self.data)

    @cached_property
    def reliance(self) -> Reliance | None:
        """Whether the model relies on what its saliency shows, on some of the graphs that it was not trained on; none
        for a model without saliency."""
        held_out = next((part for part in ("test", "validation") if len(self.parts[part])), None)
        if self.prediction is None or self.prediction.mean_saliency is None or held_out is None:
            return None
        some = np.sort(np.random.default_rng(0).permutation(self.parts[held_out])[:RELIED])
        some = some[np.cumsum(self.data.sizes[some]) <= RELIED_NODES]
        return reliance(self.trained.model, self.data, some, self.prediction.mean_saliency, self.trained.task.predict)

    @cached_property
    def test_twins(self) -> int:
        """Test graphs that equal a training or validation graph."""
        return twins_of_tests(self.graphs, [self.fold])

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """The graphs of each part by name."""
        return parts_of(self.graphs, self.fold)

    @property
    def told(self) -> list[str]:
        """All notes of the run, each once: of the graphs, of their inputs, and of what training does not teach."""
        return list(dict.fromkeys([*self.graphs.notes, *self.trained.encoder.notes, *self.notes]))

    @property
    def seconds(self) -> float:
        """Time spent training, before and after interruptions."""
        return float(sum(row["seconds"] for row in self.state.history))

    def record(self, status: str) -> dict[str, Any]:
        """The content of ``training.json``."""
        return {
            "status": status,
            "data": {"name": self.graphs.name, "graphs": len(self.graphs), "fingerprint": self.graphs.fingerprint},
            "split": _split(self.fold),
            "seed": self.trained.settings.training.seed,
            **{key: value for key, value in self.origin.items() if value},
            "versions": versions(),
            "hardware": hardware(self.data.device),
            "best_epoch": self.state.best_epoch,
            "train_seconds": self.seconds,
            "notes": self.told,
            "scores": self.scores,
            "reliance": self.reliance.to_json() if status == "finished" and self.reliance else None,
            "history": self.state.history,
        }


def save_run(
    folder: Path,
    trained: TrainedModel,
    record: dict[str, Any],
    calibration: Calibration | None,
    page: str,
    reference: TrustReference | None,
) -> None:
    """Write a finished run: settings, weights, history, scores, calibration, report, trust."""
    model_folder.save_config(folder, trained)
    model_folder.save_weights(folder, trained)
    model_folder.save_history(folder, record["history"])
    model_folder.save_training(folder, record)
    if calibration is not None:
        save_calibration(folder, calibration)
    if reference is not None:
        save_trust(folder, reference)
    write_file(folder / REPORT, page)


def _same_run(folder: Path, graphs: GraphSet, settings: Settings, fold: Fold, origin: dict[str, Any]) -> TrainedModel:
    """The model of ``folder``; its graphs, fold, origin and settings (except the number of epochs) must be these."""
    name = settings.name if ":" in settings.name else None
    trained = model_folder.load_untrained(folder, folder / model_folder.CHECKPOINT, name)
    record = model_folder.read_training(folder)
    if record["data"]["fingerprint"] != graphs.fingerprint:
        raise InputError(
            f"{folder}: got other graphs ({graphs.name}), expected those it was started with: {record['data']['name']}"
        )
    before = trained.settings.flat()
    for key, value in settings.flat().items():
        if before.get(key) != value and key != "training.epochs":
            raise InputError(f"{folder}: got {key} = {value}, expected {before.get(key)} as it was started with")
    for key, value in origin.items():
        if record.get(key) != value:
            raise InputError(f"{folder}: got --{key} {value}, expected {record.get(key)} as it was started with")
    if record["split"] != _split(fold):
        raise InputError(f"{folder}: got another split, expected the one it was started with (its training.json)")
    return TrainedModel(settings, trained.encoder, trained.task, trained.model, trained.roles)


def _split(fold: Fold) -> dict[str, list[int]]:
    return {name: getattr(fold, name).tolist() for name in ("train", "validation", "test")}


def parts_of(graphs: GraphSet, fold: Fold) -> dict[str, np.ndarray]:
    """The graphs of each part by name: the fold, and further test parts of the official split that it does not use."""
    parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
    used = np.concatenate(list(parts.values()))
    if graphs.part is not None:
        for code, name in enumerate(PARTS):
            if name not in parts:
                parts[name] = np.setdiff1d(np.flatnonzero(graphs.part == code), used)
    return parts


def score(trained: TrainedModel, graphs: GraphSet, prediction: Prediction, index: np.ndarray) -> dict[str, Any]:
    """The scores of ``prediction`` on the graphs at ``index``."""
    measured = trained.task.measure(trained.task.targets(graphs)[index], prediction.values[index])
    scores = {"graphs": len(index), **measured}
    if graphs.true_saliency is not None and prediction.mean_saliency is not None:
        nodes = np.isin(prediction.node_graph, index)
        scores["saliency_auc"] = metrics.node_auc(
            prediction.mean_saliency[nodes], graphs.true_saliency[nodes], prediction.node_graph[nodes]
        )
    return scores
