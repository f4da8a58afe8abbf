"""Joint against alternating training: validation accuracy by epoch, and the test accuracy of each policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from sargnn.reproduction import paper
from sargnn.reproduction.figure_notes import FigureNotes, Measured, judge_results
from sargnn.reproduction.studies import Facts, cell, grid_of, load_facts
from sargnn.studies.study import Results, Study
from sargnn.viz import COLOURS, house_style

__all__ = ["curve", "draw", "notes", "study"]

SETS = ("MUTAG", "Letter-high")
JOINT = next(iter(paper.POLICIES))
CAPTION = (
    "SAR-GCN, every policy with the same number of epochs; an alternating epoch moves one of the two blocks (the "
    "backbone; the memory with saliency and classifier) and leaves the other alone. Training is not stopped early. "
    "Lines: mean validation accuracy over folds and repeats; bands: its standard deviation. Numbers: test accuracy at "
    "the best validation epoch, mean over folds ± standard deviation over folds, in per cent."
)


def study(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """The policies on MUTAG and Letter-high, with learning curves in their rows."""
    cells = {}
    for (policy, values), data in product(paper.POLICIES.items(), SETS):
        settings = grid_of("sar-gcn", ({},), data, preset, **{**values, "training.patience": 0})
        cells[policy, data] = replace(cell(facts(data), data, "sar-gcn", settings, preset), curves=True)
    return Study("Figure: joint and alternating training", cells, {})


def notes(study: Study, results: Results, rows: Measured) -> FigureNotes:
    """The numbers of all cells."""
    numbers: dict[tuple[str, str], tuple[str, str]] = dict.fromkeys(study.cells, ("not measured", "-"))
    for where, result in results.items():
        best_epoch = np.mean([row.best_epoch for row in result.rows])
        numbers[where] = f"{100 * result.mean:.1f} ± {100 * result.std:.1f}", f"{best_epoch:.0f}"
    claims = tuple(
        judge_results(f"{paper.CLAIMS['optimization']} ({data})", f"joint against {policy}", joint, other)
        for (policy, data), other in results.items()
        if policy != JOINT and (joint := results.get((JOINT, data)))
    )
    columns = ("policy", "data", "test accuracy, %", "best epoch, mean")
    return FigureNotes(study.title, CAPTION, claims, columns, tuple((*where, *own) for where, own in numbers.items()))


def curve(histories: Sequence[Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over trainings of the value of each epoch; one that diverged counts as long as it
    lasted.

    >>> mean, deviation = curve([[0.5, 0.75], [0.25]])
    >>> mean.tolist(), deviation.tolist()
    ([0.375, 0.75], [0.125, 0.0])
    """
    table = np.full((len(histories), max(map(len, histories))), np.nan)
    for number, history in enumerate(histories):
        table[number, : len(history)] = history
    return np.nanmean(table, axis=0), np.nanstd(table, axis=0)


@house_style()
def draw(study: Study, results: Results, rows: Measured) -> Figure:
    """Learning curves, a panel for each data set that is measured."""
    sets = list(dict.fromkeys(data for _, data in results))
    figure = Figure(figsize=(4.5 * max(len(sets), 1), 3), layout="constrained")
    for axes, data in zip(figure.subplots(1, max(len(sets), 1), squeeze=False)[0], sets, strict=False):
        axes.set(title=data, xlabel="epoch", ylabel="validation accuracy")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        for policy, colour in zip(paper.POLICIES, COLOURS, strict=False):
            if (policy, data) in results:
                histories = [row.history for row in results[policy, data].rows if row.history]
                mean, deviation = curve([history["validation_accuracy"] for history in histories])
                epochs = np.arange(1, len(mean) + 1)
                axes.plot(epochs, mean, color=colour, linewidth=1.4, label=policy)
                axes.fill_between(epochs, mean - deviation, mean + deviation, color=colour, alpha=0.12, linewidth=0)
        if axes.lines:
            axes.legend(loc="lower right")
    return figure
