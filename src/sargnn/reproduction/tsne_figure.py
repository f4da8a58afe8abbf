"""Graph vectors of base and SAR models: t-SNE maps of the test graphs of one fold, and how well classes separate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import Diverged
from sargnn.reproduction import paper
from sargnn.reproduction.figure_notes import Claim, FigureNotes, Measured, judge
from sargnn.reproduction.studies import Facts, cell, grid, load_facts
from sargnn.studies.jobs import TrainingJob
from sargnn.studies.protocol import planned_graphs
from sargnn.studies.store import Row
from sargnn.studies.study import Results, Study
from sargnn.training.hardware import find_device, hardware
from sargnn.training.run import TrainingRun
from sargnn.viz import COLOURS, house_style

__all__ = ["WORK", "draw", "jobs", "judged", "notes", "separation", "study", "tsne", "work"]

WORK = "sargnn.reproduction.tsne_figure:work"
PERPLEXITY = 30.0
NEIGHBOURS = 5
DRAWN_CLASSES = 5
"""As many as the paper draws; here the first ones, there random ones."""
CAPTION = (
    "Test graphs of the first fold, of each system with the settings selected on its validation graphs; t-SNE "
    f"(scikit-learn, perplexity {PERPLEXITY:.0f}) of the vector that is classified, first seed, first {DRAWN_CLASSES} "
    "classes drawn. Numbers are of the vectors themselves, of all classes, mean ± standard deviation over seeds: the "
    f"mean silhouette of the classes (-1 to 1), and the fraction of graphs that their {NEIGHBOURS} nearest other test "
    "graphs would classify correctly."
)


def study(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """The systems on the first fold of their set, selected as in Table 2."""
    cells = {}
    for data, systems in paper.MAPPED.items():
        for system in systems:
            settings = grid(system, "sar" if system.startswith("sar-") else "base", data, preset)
            cells[system, data] = replace(cell(facts(data), data, system, settings, preset), folds=1)
    return Study("Figure: t-SNE of graph vectors", cells, {})


@dataclass(frozen=True)
class Vectors:
    """What the test graphs of one training become."""

    silhouette: float
    """As :func:`separation` defines it."""
    neighbours: float
    accuracy: float
    map: list[list[float]]
    """[G, 2]."""
    classes: list[int]
    device: str
    seconds: float

    @classmethod
    def from_json(cls, content: Row) -> Vectors:
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})


def jobs(study: Study, results: Results) -> list[TrainingJob]:
    """The trainings of the assessment once more, to look at their vectors."""
    return [
        result.cell.job("vectors", 0, result.selected[0], repeat)
        for result in results.values()
        for repeat in range(1, result.cell.repeats + 1)
    ]


def work(jobs: list[TrainingJob], device: str) -> Iterator[tuple[TrainingJob, Row]]:
    for job in jobs:
        yield job, asdict(_vectors(job, find_device(device)))


def _vectors(job: TrainingJob, device: torch.device) -> Vectors:
    """Train, and map the vectors of the test graphs."""
    graphs, (fold, *_) = planned_graphs(job.data, job.fingerprint)
    run = TrainingRun.start(graphs, job.settings, fold=fold, device=device)
    with suppress(Diverged):  # the model keeps its best weights
        for _ in run:
            pass
    vectors, predicted = judged(run.trained.model, run.data, fold.test)
    assert run.data.y is not None
    classes = run.data.y.cpu().numpy()[fold.test]
    return Vectors(
        **separation(vectors, classes), accuracy=float(np.mean(predicted == classes)),
        map=np.round(tsne(vectors), 2).tolist(), classes=classes.tolist(), device=hardware(device),
        seconds=run.seconds,
    )  # fmt: skip


def judged(model: Any, data: TensorSet, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 [G, d], int64 [G]: the vectors that a model classifies graphs by, and the classes it gives them."""
    model.eval()
    with torch.inference_mode():
        vectors = model.encode(data.batch(index, model.layouts)).graph
        return vectors.double().cpu().numpy(), model.head(vectors).argmax(1).cpu().numpy()


def tsne(vectors: np.ndarray) -> np.ndarray:
    """[G, 2]: a map on which near vectors are near, the same for the same vectors."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    mapping = TSNE(perplexity=perplexity, init="pca", learning_rate="auto", random_state=0)
    return np.asarray(mapping.fit_transform(vectors))


def separation(vectors: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """How well the classes separate, by distances between vectors.

    ``silhouette``: the mean over graphs of (b - a) / max(a, b), where a is the mean distance to its own class and b
    that to the nearest other class. ``neighbours``: the fraction of graphs whose nearest others vote for its class.

    >>> corners = np.array([[0, 0], [0, 1], [0, 2], [9, 0], [9, 1], [9, 2]])
    >>> separation(np.repeat(corners, 2, axis=0), np.repeat([0, 1], 6))["neighbours"]
    1.0
    """
    from sklearn.metrics import silhouette_score
    from sklearn.model_selection import LeaveOneOut, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    voters = KNeighborsClassifier(min(NEIGHBOURS, len(classes) - 1))
    voted = cross_val_predict(voters, vectors, classes, cv=LeaveOneOut())
    silhouette = silhouette_score(vectors, classes)
    return {"silhouette": float(silhouette), "neighbours": float(np.mean(voted == classes))}


OfCells = dict[tuple[str, str], list[Vectors]]
"""By system and data set, one per seed, the first seed first."""


def notes(study: Study, results: Results, rows: Measured) -> FigureNotes:
    """The numbers of the systems whose vectors are measured."""
    measured = _by_cell(study, rows)
    numbers = [
        (*where, _spread(own, "accuracy", 100), _spread(own, "silhouette"), _spread(own, "neighbours", 100))
        for where, own in measured.items()
    ]
    columns = ("system", "data", "test accuracy, %", "silhouette", f"{NEIGHBOURS} nearest, %")
    return FigureNotes(study.title, CAPTION, tuple(_claims(measured)), columns, tuple(numbers))


def _by_cell(study: Study, rows: Measured) -> OfCells:
    by_cell: OfCells = {where: [] for where in study.cells}
    for job, row in rows.items():
        assert isinstance(job, TrainingJob)
        by_cell[job.system, job.data].append(Vectors.from_json(row))
    return {where: own for where, own in by_cell.items() if own}


def _claims(measured: OfCells) -> Iterator[Claim]:
    for data, (base, sar) in paper.MAPPED.items():
        if (base, data) in measured and (sar, data) in measured:
            for name, scale, unit in (("silhouette", 1, ""), ("neighbours", 100, "points")):
                ours, theirs = (_values(measured[system, data], name, scale) for system in (sar, base))
                yield judge(f"{paper.CLAIMS['vectors']} ({data})", f"{name}, {sar} against {base}", ours, theirs, unit)


def _values(own: list[Vectors], name: str, scale: int) -> np.ndarray:
    return scale * np.array([getattr(vectors, name) for vectors in own])


def _spread(own: list[Vectors], name: str, scale: int = 1) -> str:
    scaled = _values(own, name, scale)
    digits = 1 if scale > 1 else 3
    return f"{scaled.mean():.{digits}f} ± {scaled.std():.{digits}f}"


@house_style()
def draw(study: Study, results: Results, rows: Measured) -> Figure:
    """A map of each system."""
    measured = _by_cell(study, rows)
    figure = Figure(figsize=(2.6 * max(len(measured), 1), 2.8), layout="constrained")
    for number, ((system, data), (first, *_)) in enumerate(measured.items(), 1):
        axes = figure.add_subplot(1, len(measured), number, title=f"{system}, {data}")
        places, classes = np.array(first.map), np.array(first.classes)
        for which, colour in zip(np.unique(classes)[:DRAWN_CLASSES], COLOURS, strict=False):
            x, y = places[classes == which].T
            axes.scatter(x, y, s=12, color=colour, linewidths=0)
        axes.set(xticks=[], yticks=[], xlabel=f"silhouette {first.silhouette:.2f}, accuracy {first.accuracy:.0%}")
    return figure
