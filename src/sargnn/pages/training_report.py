"""A training run as one HTML file that opens anywhere: the score, the errors, and what the model looked at.

The file needs no network and runs no script. Names and notes come from data and are escaped by the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from sargnn import viz
from sargnn.data.graphs import GraphSet
from sargnn.pages.environment import render as render_template
from sargnn.tasks import Metric, Task, Verdict
from sargnn.tasks.thresholds import Threshold
from sargnn.viz.distance import distance_groups, error_by_distance
from sargnn.viz.molecules import draw_molecule, is_molecule

__all__ = ["GalleryItem", "TrainingReport", "chart", "choose_gallery", "facts_of", "render", "ribbon"]

VARIABLES = {
    viz.INK: "ink", viz.MUTED: "muted", viz.LINE: "line",
    viz.PAPER: "card", viz.ACCENT: "accent", viz.CONTRAST: "right",
}  # fmt: skip
"""The charts' colours to the style sheet's variables, which differ in the dark."""
THIRDS = 3
"""Groups of graphs by their distance from the training graphs."""


@dataclass(frozen=True, eq=False)
class GalleryItem:
    """One graph to show, with what the model said of it."""

    graph: int
    """Its position in the report's graphs."""
    true: str
    verdict: Verdict
    right: bool
    saliency: np.ndarray
    """float [n]: the mean of the layers."""


@dataclass(frozen=True, eq=False)
class TrainingReport:
    """What :func:`render` shows."""

    model: str
    settings: Mapping[str, Mapping[str, object]]
    """Sections ``model``, ``data`` and ``training``: name of a setting to its value."""
    graphs: GraphSet
    history: Sequence[Mapping[str, Any]]
    """One row per epoch, as :func:`sargnn.viz.learning_curves` takes them."""
    best_epoch: int
    results: Mapping[str, Mapping[str, Any]]
    """Part to what :meth:`Task.measure` gives, ``graphs``, and, where the truth is known, ``saliency_auc``: how well
    saliency ranks the nodes that truly matter; 1 is perfect, 0.5 is chance. The headline is ``test``, or the last part
    if there is none."""
    task: Task
    targets: np.ndarray
    """Of the headline's part, as the task stores them."""
    values: np.ndarray
    """What the model predicts for the same graphs."""
    gallery: Sequence[GalleryItem]
    parameters: int
    train_seconds: float
    versions: Mapping[str, str]
    notes: Sequence[str] = ()
    command: str | None = None
    """What to type to have this run again."""
    distances: np.ndarray | None = None
    """float64 [K, 2], of some graphs of the headline's part: how far each is from the nearest training graph, and
    whether its prediction is wrong (1); none where the part was trained on."""
    reliance: Mapping[str, Any] | None = None
    """Whether the model relies on what its saliency shows; none without saliency."""
    thresholds: Sequence[Threshold] = ()
    """Chosen on the validation graphs and measured on those of the headline's part."""
    similarity: bool = False
    """Whether distances are 1 less a similarity, as those of molecules."""


def render(report: TrainingReport) -> str:
    """The report as HTML text, complete in itself; the same report gives the same bytes."""
    headline = "test" if "test" in report.results else list(report.results)[-1]
    task, curves, score = report.task, None, report.results[headline]
    main, *more = task.headline(report.targets)
    others = [*more, *(metric for metric in task.metrics if metric not in (main, *more))]
    if report.history:
        drawn = viz.learning_curves(report.history, best_epoch=report.best_epoch, score=task.score_name)
        curves = chart(drawn, "curves")
    return render_template(
        "report.html.j2",
        report=report,
        headline=headline,
        score=score,
        main=main,
        others=others,
        ends={part: _ends(result, main, task) for part, result in report.results.items()},
        bounded="%" in main.form,
        sentence=task.sentence(report.results[headline]),
        baseline=_baseline(report, main, score),
        baselines=score.get("baselines", {}),
        intervals=score.get("intervals", {}),
        own=score.get("targets", {}),
        figures=[
            (text, chart(drawn, f"scores{number}"))
            for number, (text, drawn) in enumerate(task.figures(report.targets, report.values))
        ],
        seeds=[section["seed"] for section in report.settings.values() if "seed" in section],
        facts=facts_of(report.graphs),
        sizes=chart(viz.size_histogram(report.graphs), "sizes"),
        figure=chart(task.figure(report.targets, report.values), "confusion"),
        curves=curves,
        gallery=[(item, _drawing(report.graphs, item, f"graph{i}")) for i, item in enumerate(report.gallery)],
        trust=_trust(report),
        reliance=report.reliance,
        colours=ribbon(),
    )


def _ends(result: Mapping[str, Any], main: Metric, task: Task) -> tuple[float, float]:
    """The 95 % interval of the headline."""
    if main == task.metrics[0]:
        return result["low"], result["high"]
    return tuple(result["intervals"][main.key] or (result[main.key],) * 2)


def _baseline(report: TrainingReport, main: Metric, score: Mapping[str, Any]) -> tuple[str, float] | None:
    """What the headline would be without a model, and that in words."""
    if main == report.task.metrics[0]:
        return report.task.baseline(report.targets)
    known = [(f"the {name} alone has", found[main.key]) for name, found in score.get("baselines", {}).items()]
    return next((each for each in known if each[1] is not None), None)


def _trust(report: TrainingReport) -> dict[str, Any] | None:
    """The nearest and the farthest third of the graphs, and a chart of all three; none of fewer than three graphs."""
    if report.distances is None or len(report.distances) < THIRDS:
        return None
    groups = distance_groups(report.distances[:, 0], report.distances[:, 1], THIRDS)
    drawn = chart(error_by_distance(groups, similarity=report.similarity), "trust")
    return {"nearest": groups[0], "farthest": groups[-1], "chart": drawn}


def choose_gallery(
    strata: np.ndarray, right: np.ndarray, confidence: np.ndarray, *, count: int = 12, seed: int = 0
) -> list[int]:
    """Positions of ``count`` graphs worth showing, right ones first.

    A third of them are wrong, if there are that many: the most confident mistakes of each stratum (class). Right ones
    are drawn at random, so that the picture does not flatter. Both kinds take one graph of every stratum before a
    second of any.

    >>> right = np.array([True, True, True, False])
    >>> choose_gallery(np.array([0, 0, 1, 1]), right, np.array([0.9, 0.8, 0.7, 0.6]), count=3)
    [2, 0, 3]
    """
    order = np.random.default_rng(seed).permutation(len(strata)).tolist()
    good = [i for i in order if right[i]]
    wrong = sorted((i for i in order if not right[i]), key=lambda i: -confidence[i])
    wrongs = min(len(wrong), count, max(1, count // 3, count - len(good)))
    return _spread(good, strata)[: count - wrongs] + _spread(wrong, strata)[:wrongs]


def _spread(positions: Sequence[int], strata: np.ndarray) -> list[int]:
    """The same positions with every stratum's first before any stratum's second."""
    turn: dict[int, int] = {}
    turns = {}
    for position in positions:
        kind = int(strata[position])
        turns[position] = turn[kind] = turn.get(kind, -1) + 1
    return sorted(turns, key=lambda position: turns[position])


def ribbon() -> list[Any]:
    """The colours across the top of a report."""
    return [viz.SALIENCY(level, bytes=True)[:3] for level in np.linspace(0, 1, 9)]


def chart(figure: Figure, prefix: str) -> Markup:
    """A chart in the page's own colours, light or dark."""
    svg = viz.to_svg(figure, prefix=prefix)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(f": {colour}", f": var(--{variable})")
    return Markup(svg)


def _drawing(graphs: GraphSet, item: GalleryItem, prefix: str) -> Markup:
    if graphs.true_saliency is None and is_molecule(graphs, item.graph):
        drawn = draw_molecule(graphs, item.graph, item.saliency, caption="").decode()
        return Markup(drawn[drawn.index("<svg") :])  # without the XML declaration, which HTML does not have
    truth = None if graphs.true_saliency is None else graphs.true_saliency[graphs.nodes_of(item.graph)]
    return Markup(viz.to_svg(viz.draw_graph(graphs, item.graph, item.saliency, true_saliency=truth), prefix=prefix))


def facts_of(graphs: GraphSet) -> dict[str, str]:
    """What a data set is, in a few words each."""
    inputs = []
    for kind, labels, names, attributes in (
        ("node", graphs.node_labels, graphs.node_label_names, graphs.node_attributes),
        ("edge", graphs.edge_labels, graphs.edge_label_names, graphs.edge_attributes),
    ):
        if labels is not None:
            inputs.append(_count(len(names) or int(labels.max(initial=-1)) + 1, f"{kind} label"))
        if attributes is not None:
            inputs.append(_count(attributes.shape[1], f"{kind} attribute"))
    sizes = graphs.sizes if len(graphs) else np.zeros(1, int)
    return {
        "graphs": f"{len(graphs):,}",
        "classes": f"{len(graphs.classes):,}",
        "nodes": f"{graphs.num_nodes:,}",
        "nodes per graph": f"{np.median(sizes):g} (median), {sizes.min():,} to {sizes.max():,}",
        "given with the graphs": ", ".join(inputs) or "edges only",
    }


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + "s" * (number != 1)
