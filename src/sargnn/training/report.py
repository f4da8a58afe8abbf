"""The content of a finished run's page, for :mod:`sargnn.pages.training_report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.pages.training_report import GalleryItem, TrainingReport, choose_gallery
from sargnn.tasks import Task
from sargnn.tasks.thresholds import Threshold, thresholds
from sargnn.training.hardware import versions
from sargnn.training.trained_model import Prediction

if TYPE_CHECKING:
    from sargnn.training.run import TrainingRun

__all__ = ["training_report"]

COMPARED = 2000
"""Graphs whose distance from the training graphs is shown: of more, so many are drawn."""


def training_report(run: TrainingRun) -> TrainingReport:
    """Scores of all parts, and a gallery of graphs that the run was not trained on."""
    trained, graphs, settings = run.trained, run.graphs, run.trained.settings
    part = "test" if "test" in run.scores else list(run.scores)[-1]
    index, prediction = run.parts[part], run.prediction
    assert prediction is not None
    targets = trained.task.targets(graphs)
    configs = settings.to_json()
    return TrainingReport(
        model=settings.name,
        settings={section: configs[section] for section in ("model", "data", "training")},
        graphs=graphs,
        history=run.state.history,
        best_epoch=run.state.best_epoch,
        results=run.scores,
        task=trained.task,
        targets=targets[index],
        values=prediction.values[index],
        gallery=_gallery(trained.task, graphs, prediction, targets, index),
        parameters=sum(p.numel() for p in trained.model.parameters()),
        train_seconds=run.seconds,
        versions=versions(),
        notes=run.told,
        command=run.command,
        distances=_distances(run, part, index),
        similarity=run.trust_reference.similarity,
        thresholds=_thresholds(run),
        reliance=None if run.reliance is None else run.reliance.to_json(),
    )


def _thresholds(run: TrainingRun) -> list[Threshold]:
    """Chosen on the validation graphs and measured on the test graphs, where there are both."""
    if not {"validation", "test"} <= run.scores.keys():
        return []
    assert run.prediction is not None
    targets, values = run.trained.task.targets(run.graphs), run.prediction.values
    held_out, test = (
        run.trained.task.questions(targets[run.parts[part]], values[run.parts[part]]) for part in ("validation", "test")
    )
    return thresholds(held_out, test)


def _distances(run: TrainingRun, part: str, index: np.ndarray) -> np.ndarray | None:
    """float64 [K, 2]: of the graphs at ``index``, at most :data:`COMPARED` of them, the distance from the nearest
    training graph and whether the prediction is wrong; none where the part is that of the training graphs."""
    if part == "train":
        return None
    some = np.sort(np.random.default_rng(0).permutation(index)[:COMPARED])
    assert run.prediction is not None
    targets = run.trained.task.targets(run.graphs)[some]
    wrong = ~run.trained.task.right(targets, run.prediction.values[some])
    return np.stack([run.trust_reference.nearest(run.graphs.subset(some))[0][:, 0], wrong], axis=1)


def _gallery(
    task: Task, graphs: GraphSet, prediction: Prediction, targets: np.ndarray, index: np.ndarray
) -> list[GalleryItem]:
    """Some of the graphs at ``index`` with their saliency; empty where the model has none."""
    saliency = prediction.mean_saliency
    if saliency is None:
        return []
    verdicts = [task.verdict(prediction.values[g]) for g in index.tolist()]
    right = task.right(targets[index], prediction.values[index])
    confidence = np.array([verdict.confidence or 0.0 for verdict in verdicts])
    items = []
    for position in choose_gallery(task.strata(targets[index]), right, confidence):
        g, said = int(index[position]), (verdicts[position], bool(right[position]))
        items.append(GalleryItem(g, task.truth(targets[g]), *said, saliency[graphs.nodes_of(g)]))
    return items
