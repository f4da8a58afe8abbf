"""Graph vectors of four systems: t-SNE maps of the test graphs of a fold, and how well classes separate in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import Diverged
from sargnn.reproduction import paper
from sargnn.reproduction.figure_notes import Claim, FigureNotes, Measured, judge
from sargnn.reproduction.studies import Facts, load_facts, table2
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
    "Test graphs of every fold, each system trained once with the settings selected on the fold's validation graphs. "
    f"Drawn: t-SNE (scikit-learn, perplexity {PERPLEXITY:.0f}) of the vector that is classified, first fold, first "
    f"{DRAWN_CLASSES} classes. Numbers are of the vectors themselves, of all classes, mean ± standard deviation over "
    f"folds: the mean silhouette of the classes (-1 to 1), and the fraction of graphs that their {NEIGHBOURS} nearest "
    "other test graphs would classify correctly. The paper draws four methods and names its own alone. The other three "
    "are our choice: the base model, and the two systems with the best published accuracy that are neither base nor "
    "SAR models."
)


def study(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """The systems on all folds of their set, selected as in Table 2, and trained once."""
    cells = {}
    for data, systems in paper.MAPPED.items():
        for where, own in table2(preset, facts, systems, (data,)).cells.items():
            cells[where] = replace(own, repeats=1)
    return Study("Figure: t-SNE of graph vectors", cells, {})


@dataclass(frozen=True)
class Vectors:
    """What the test graphs of one training become."""

    silhouette: float
    """As :func:`separation` defines it."""
    neighbours: float
    accuracy: float
    map: list[list[float]]
    """[G, 2]; empty but of the first fold."""
    classes: list[int]
    device: str
    seconds: float

    @classmethod
    def from_json(cls, content: Row) -> Vectors:
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})


def jobs(study: Study, results: Results) -> list[TrainingJob]:
    """The trainings of the assessment once more, to look at their vectors."""
    return [
        result.cell.job("vectors", fold, settings, 1)
        for result in results.values()
        for fold, settings in enumerate(result.selected)
    ]


def work(jobs: list[TrainingJob], device: str) -> Iterator[tuple[TrainingJob, Row]]:
    for job in jobs:
        yield job, asdict(_vectors(job, find_device(device)))


def _vectors(job: TrainingJob, device: torch.device) -> Vectors:
    """Train, and map the vectors of the test graphs."""
    graphs, folds = planned_graphs(job.data, job.fingerprint)
    fold = folds[job.fold]
    run = TrainingRun.start(graphs, job.settings, fold=fold, device=device)
    with suppress(Diverged):  # the model keeps its best weights
        for _ in run:
            pass
    vectors, predicted = judged(run.trained.model, run.data, fold.test)
    assert run.data.y is not None
    classes = run.data.y.cpu().numpy()[fold.test]
    drawn = np.round(tsne(vectors), 2).tolist() if job.fold == 0 else []
    return Vectors(
        **separation(vectors, classes), accuracy=float(np.mean(predicted == classes)), map=drawn,
        classes=classes.tolist(), device=hardware(device), seconds=run.seconds,
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


OfCells = dict[tuple[str, str], dict[int, Vectors]]
"""By system and data set, then by fold."""


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
    by_cell: OfCells = {where: {} for where in study.cells}
    for job, row in rows.items():
        assert isinstance(job, TrainingJob)
        by_cell[job.system, job.data][job.fold] = Vectors.from_json(row)
    return {where: own for where, own in by_cell.items() if own}


def _claims(measured: OfCells) -> Iterator[Claim]:
    """Of the SAR model against each other system, over the folds that both have."""
    for data, (sar, *others) in paper.MAPPED.items():
        for other in others:
            ours, theirs = measured.get((sar, data), {}), measured.get((other, data), {})
            if folds := sorted(ours.keys() & theirs.keys()):
                for name, scale, unit in (("silhouette", 1, ""), ("neighbours", 100, "points")):
                    better, worse = (_values([own[f] for f in folds], name, scale) for own in (ours, theirs))
                    text, what = f"{paper.CLAIMS['vectors']} ({data})", f"{name}, {sar} against {other}"
                    claim = judge(text, what, better, worse, unit, folds=True)
                    yield claim if len(folds) > 1 else replace(claim, verdict="one fold, no verdict")


def _values(own: Iterable[Vectors], name: str, scale: int) -> np.ndarray:
    return scale * np.array([getattr(vectors, name) for vectors in own])


def _spread(own: dict[int, Vectors], name: str, scale: int = 1) -> str:
    scaled = _values(own.values(), name, scale)
    digits = 1 if scale > 1 else 3
    spread = f" ± {scaled.std():.{digits}f}" if len(own) > 1 else ", one fold"
    return f"{scaled.mean():.{digits}f}{spread}"


@house_style()
def draw(study: Study, results: Results, rows: Measured) -> Figure:
    """A map of each system on the first fold, a row for each data set."""
    drawn = {where: own[0] for where, own in _by_cell(study, rows).items() if 0 in own}
    sets = list(dict.fromkeys(data for _, data in drawn))
    width = max((sum(data == name for _, data in drawn) for name in sets), default=1)
    figure = Figure(figsize=(2.6 * width, 2.8 * max(len(sets), 1)), layout="constrained")
    for line, name in enumerate(sets):
        for place, (where, own) in enumerate(((w, own) for w, own in drawn.items() if w[1] == name), 1):
            _draw_map(figure.add_subplot(len(sets), width, line * width + place, title=", ".join(where)), own)
    return figure


def _draw_map(axes: Axes, own: Vectors) -> None:
    places, classes = np.array(own.map), np.array(own.classes)
    for which, colour in zip(np.unique(classes)[:DRAWN_CLASSES], COLOURS, strict=False):
        x, y = places[classes == which].T
        axes.scatter(x, y, s=12, color=colour, linewidths=0)
    axes.set(xticks=[], yticks=[], xlabel=f"silhouette {own.silhouette:.2f}, accuracy {own.accuracy:.0%}")
