"""Accuracy against cost: at equal parameters, at equal operations, and with a growing memory on one backbone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sargnn.reproduction import paper
from sargnn.reproduction.costs import Cost, CostJob, cost_job
from sargnn.reproduction.figure_notes import Claim, FigureNotes, Measured, judge_results
from sargnn.reproduction.studies import Facts, cell, grid_of, load_facts
from sargnn.studies.protocol import Cell, CellResult
from sargnn.studies.study import Results, Study
from sargnn.viz import ACCENT, CONTRAST, house_style, logarithmic

__all__ = [
    "complexity", "complexity_notes", "draw_complexity", "draw_model_size", "jobs", "model_size", "model_size_notes",
]  # fmt: skip

GROWING, NO_MEMORY = "growing memory", "no memory"
COMPARABLE = 2.0
"""SAR takes a comparable time up to this factor; less is no objection."""
_PROTOCOL = (
    "Three layers; the learning rate is selected on the validation graphs. Accuracy is the mean ± standard deviation "
    "over seeds (folds, on a set without an official split). "
)
SIZE_CAPTION = (
    _PROTOCOL
    + "Features of GCN are chosen to give it as many parameters as SAR-GCN has. The memory grows on a backbone of "
    f"{paper.BACKBONE_WIDTH} features: its own width and that of its queries and keys. Time: a forward pass in batches "
    "of 512 graphs, per graph, of one model alone on the named device."
)
FLOPS_CAPTION = (
    _PROTOCOL
    + "Operations of a forward pass over the mean test graph, counted by formula from the equations as the paper "
    "writes them (matrix products and sums over neighbourhoods; keys and values of the memory are formed). Features of "
    "the backbone alone are chosen to cost as much as SAR."
)


def model_size(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """SAR-GCN and GCN at equal parameters, and SAR-GCN with a growing memory on a constant backbone."""
    cells = {}
    for width in preset.widths:
        cells["sar-gcn", f"{width} features"] = _cell("sar-gcn", preset, facts, hidden=width)
        cells["gcn", f"{width} features"] = _cell("gcn", preset, facts, hidden=paper.EQUAL_PARAMETERS[width])
        # A memory as wide as the backbone is the default: named so, its trainings are those of Table 2.
        own = {} if width == paper.BACKBONE_WIDTH else {"memory": width, "attention": width}
        memory = _cell("sar-gcn", preset, facts, hidden=paper.BACKBONE_WIDTH, **own)
        cells[GROWING, f"memory of {width}"] = memory
    cells[GROWING, NO_MEMORY] = _cell("gcn", preset, facts, hidden=paper.BACKBONE_WIDTH)
    return Study(f"Figure: accuracy and model size on {preset.cost_set}", cells, {})


def complexity(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """SAR and its backbone alone at equal operations, for GCN and GAT."""
    cells = {}
    for backbone, widths in paper.EQUAL_FLOPS.items():
        for width in preset.widths:
            cells[f"sar-{backbone}", f"{width} features"] = _cell(f"sar-{backbone}", preset, facts, hidden=width)
            cells[backbone, f"{width} features"] = _cell(backbone, preset, facts, hidden=widths[width])
    return Study(f"Figure: accuracy and computational complexity on {preset.cost_set}", cells, {})


def _cell(system: str, preset: paper.Preset, facts: Facts, **sizes: int) -> Cell:
    data = preset.cost_set
    settings = grid_of(system, ({f"model.{name}": value for name, value in sizes.items()},), data, preset)
    return cell(facts(data), data, system, settings, preset)


def jobs(study: Study, results: Results) -> list[CostJob]:
    """What to measure besides accuracy: the cost of every model."""
    return [cost_job(cell) for cell in study.cells.values()]


@dataclass(frozen=True, eq=False)
class Point:
    """A model of a figure: how well it does, and what it costs."""

    result: CellResult
    cost: Cost

    @property
    def accuracies(self) -> np.ndarray:
        """Per cent, of each fold or seed."""
        return 100 * self.result.folds


Points = dict[tuple[str, str], Point]


def _points(study: Study, results: Results, rows: Measured) -> Points:
    """The cells that have both."""
    costs = {where: rows.get(cost_job(cell)) for where, cell in study.cells.items()}
    return {where: Point(result, Cost.from_json(cost)) for where, result in results.items() if (cost := costs[where])}


def _pairs(points: Points, first: str, second: str) -> Iterator[tuple[str, Point, Point]]:
    """Cells of two rows in the same column."""
    for (row, column), point in points.items():
        if row == first and (second, column) in points:
            yield column, point, points[second, column]


def _notes(study: Study, caption: str, claims: Iterable[Claim], points: Points) -> FigureNotes:
    """The claims, and the numbers of the points."""
    columns = (
        "model", "budget of SAR with", "features", "parameters", "kFLOPs per graph", "µs per graph", "device",
        "accuracy, %",
    )  # fmt: skip
    lines = tuple(
        (
            *where, str(point.result.selected[0].model.hidden), f"{point.cost.parameters:,}",
            f"{point.cost.flops / 1e3:,.0f}", f"{1e6 * point.cost.seconds_per_graph:.1f}", point.cost.device,
            f"{point.accuracies.mean():.1f} ± {point.accuracies.std():.1f}",
        )
        for where, point in points.items()
    )  # fmt: skip
    return FigureNotes(study.title, caption, tuple(claims), columns, lines)


def model_size_notes(study: Study, results: Results, rows: Measured) -> FigureNotes:
    """What the paper says of model size, and the numbers."""
    points = _points(study, results, rows)
    return _notes(study, SIZE_CAPTION, _size_claims(points), points)


def _size_claims(points: Points) -> Iterator[Claim]:
    for column, sar, base in _pairs(points, "sar-gcn", "gcn"):
        yield judge_results(paper.CLAIMS["parameters"], f"SAR-GCN at {column}", sar.result, base.result)
        ratio = sar.cost.seconds_per_graph / base.cost.seconds_per_graph
        verdict = "reproduced" if ratio <= COMPARABLE else "contradicted"
        text = f"{paper.CLAIMS['time']} (here: at most {COMPARABLE:g} times as much)"
        yield Claim(text, f"SAR-GCN at {column}: {ratio:.2f} times that of GCN", None, verdict)
    grown = {column: point.result for (row, column), point in points.items() if row == GROWING}
    none = grown.pop(NO_MEMORY, None)
    if none is None or not grown:
        return
    small, large = next(iter(grown)), list(grown)[-1]
    yield judge_results(paper.CLAIMS["memory"], f"{small} against none", grown[small], none)
    if large != small:
        yield judge_results(paper.CLAIMS["larger memory"], f"{large} against {small}", grown[large], grown[small])


def complexity_notes(study: Study, results: Results, rows: Measured) -> FigureNotes:
    """What the paper says of complexity, and the numbers."""
    points = _points(study, results, rows)
    claims = [
        judge_results(paper.CLAIMS["flops"], f"sar-{backbone} at {column}", sar.result, base.result)
        for backbone in paper.EQUAL_FLOPS
        for column, sar, base in _pairs(points, f"sar-{backbone}", backbone)
    ]
    return _notes(study, FLOPS_CAPTION, claims, points)


@house_style()
def draw_model_size(study: Study, results: Results, rows: Measured) -> Figure:
    """Accuracy and time over parameters, and accuracy over the size of the memory."""
    points = _points(study, results, rows)
    figure = Figure(figsize=(10, 3), layout="constrained")
    accuracy, seconds, memory = figure.subplots(1, 3)
    accuracy.set(xlabel="parameters", ylabel="test accuracy, %", title="Equal parameters")
    seconds.set(xlabel="parameters", ylabel="µs per graph", title="Time")
    memory.set(xlabel="parameters beyond the backbone's, %", ylabel="test accuracy, %", title="Growing memory")
    for row, colour in (("sar-gcn", ACCENT), ("gcn", CONTRAST)):
        own, sizes = _by_cost(points, row, "parameters")
        _draw_accuracy(accuracy, own, sizes, colour, row)
        times = [1e6 * point.cost.seconds_per_graph for point in own]
        seconds.plot(sizes, times, "o-", color=colour, markersize=4)
    if (GROWING, NO_MEMORY) in points:
        own, sizes = _by_cost(points, GROWING, "parameters")
        growth = 100 * (sizes / points[GROWING, NO_MEMORY].cost.parameters - 1)
        _draw_accuracy(memory, own, growth, ACCENT, GROWING)
    logarithmic(accuracy)
    logarithmic(seconds)
    accuracy.legend(loc="best")
    return figure


@house_style()
def draw_complexity(study: Study, results: Results, rows: Measured) -> Figure:
    """Accuracy over operations, a panel for each backbone."""
    points = _points(study, results, rows)
    figure = Figure(figsize=(8, 3), layout="constrained")
    for axes, backbone in zip(figure.subplots(1, 2), paper.EQUAL_FLOPS, strict=True):
        axes.set(xlabel="kFLOPs per graph", ylabel="test accuracy, %", title=backbone.upper())
        for row, colour in ((f"sar-{backbone}", ACCENT), (backbone, CONTRAST)):
            own, flops = _by_cost(points, row, "flops")
            _draw_accuracy(axes, own, flops / 1e3, colour, row)
        logarithmic(axes)
        axes.legend(loc="best")
    return figure


def _by_cost(points: Points, row: str, cost: str) -> tuple[list[Point], np.ndarray]:
    """The points of a row from the cheapest on, and what they cost."""
    own = (point for where, point in points.items() if where[0] == row)
    ordered = sorted(own, key=lambda point: getattr(point.cost, cost))
    return ordered, np.array([getattr(point.cost, cost) for point in ordered])


def _draw_accuracy(axes: Axes, own: list[Point], costs: np.ndarray, colour: str, label: str) -> None:
    means, deviations = ([f(point.accuracies) for point in own] for f in (np.mean, np.std))
    axes.errorbar(costs, means, yerr=deviations, fmt="o-", markersize=4, color=colour, elinewidth=0.8, label=label)
