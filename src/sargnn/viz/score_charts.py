"""Charts of predictions against the truth: a score of each target, parity of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from sargnn.viz.style import ACCENT, COLOURS, INK, LINE, MUTED, house_style, printable

__all__ = ["parity", "ranking_curves", "reliability", "target_bars"]

MOST_TARGETS = 40
"""Bars of a chart."""
MOST_PANELS = 6
"""Panels of a chart."""
MOST_NAMED = 14
"""Curves with a legend."""


@house_style()
def target_bars(names: Sequence[str], values: Sequence[float | None], score: str, *, chance: float = 0.0) -> Figure:
    """One score of each target as a bar from ``chance`` on; a target without a value has none.

    >>> target_bars(["a", "b"], [0.9, None], "AUROC", chance=0.5).axes[0].get_title(loc="left")
    'AUROC of each target'
    """
    shown = [(name, value) for name, value in zip(names, values, strict=True)][:MOST_TARGETS]
    figure = Figure(figsize=(4.6, max(1.6, 0.3 * len(shown) + 0.9)), layout="constrained")
    axes = figure.subplots()
    for row, (_, value) in enumerate(shown):
        if value is not None:
            axes.barh(row, value - chance, left=chance, height=0.6, color=ACCENT)
            axes.text(max(value, chance), row, f" {value:.2f}", va="center", color=INK, fontsize=8)
    axes.set_yticks(range(len(shown)), [printable(name, 24) for name, _ in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    furthest = max([value for _, value in shown if value is not None], default=1.0)
    axes.set_xlim(chance, max(furthest, chance + 1e-9) * 1.12)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    more = len(names) - len(shown)
    axes.set_title(f"{score} of each target" + (f" ({more} not shown)" if more else ""))
    return figure


@house_style()
def parity(true: np.ndarray, predicted: np.ndarray, names: Sequence[str]) -> Figure:
    """Predicted against true numbers ``[G, T]``, a panel for each target; the line is where they agree.

    >>> parity(np.array([[1.0], [2.0]]), np.array([[1.1], [1.8]]), ["logS"]).axes[0].get_xlabel()
    'true'
    """
    names = names[:MOST_PANELS]
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.2 * columns, 4.0 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for column, (axes, name) in enumerate(zip(panels, names, strict=False)):
        there = ~np.isnan(true[:, column])
        x, y = true[there, column], predicted[there, column]
        both = np.concatenate([x, y]) if len(x) else np.array([0.0, 1.0])
        axes.plot([both.min(), both.max()], [both.min(), both.max()], color=LINE, linewidth=1.2)
        axes.scatter(x, y, s=9, alpha=0.6, color=ACCENT, linewidths=0)
        axes.set_title(printable(name, 40))
        axes.set_xlabel("true")
        axes.set_ylabel("predicted")
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    return figure


@house_style()
def ranking_curves(curves: Sequence[tuple[str, np.ndarray, np.ndarray]]) -> Figure:
    """The ROC and the precision-recall curve of each target: its name, which graphs are positive, and their scores.
    The grey line is chance.

    >>> figure = ranking_curves([("toxic", np.array([True, False]), np.array([0.9, 0.2]))])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['ROC', 'Precision and recall']
    """
    from sklearn.metrics import precision_recall_curve, roc_curve

    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color=LINE, linewidth=1.2)
    for number, (name, positive, score) in enumerate(curves):
        look = {"color": COLOURS[number % len(COLOURS)] if len(curves) > 1 else ACCENT, "linewidth": 1.4}
        false, found, _ = roc_curve(positive, score)
        precision, recall, _ = precision_recall_curve(positive, score)
        left.plot(false, found, label=printable(name, 24), **look)
        right.plot(recall, precision, **look)
        if len(curves) == 1:
            right.axhline(positive.mean(), color=LINE, linewidth=1.2, zorder=0)
    if len(curves) <= MOST_NAMED:
        left.legend(loc="lower right", labelcolor=MUTED, fontsize=7)
    left.set(xlabel="false positives", ylabel="true positives", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    right.set(xlabel="recall", ylabel="precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
    left.set_title("ROC")
    right.set_title("Precision and recall")
    return figure


@house_style()
def reliability(true: np.ndarray, probability: np.ndarray, bins: int = 10) -> Figure:
    """How often what has a ``probability`` is ``true``, in bins of equal width; on the line it means what it says. The
    bars below count.

    >>> figure = reliability(np.array([True, False]), np.array([0.95, 0.05]))
    >>> figure.axes[0].get_ylabel()
    'how often'
    """
    number = np.clip((probability * bins).astype(int), 0, bins - 1)
    counts = np.bincount(number, minlength=bins)
    filled = np.flatnonzero(counts)
    mean, often = (np.bincount(number, values, bins)[filled] / counts[filled] for values in (probability, true))
    figure = Figure(figsize=(4.4, 4.2), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    axes.plot([0, 1], [0, 1], color=LINE, linewidth=1.2)
    axes.plot(mean, often, color=ACCENT, marker="o", markersize=4, linewidth=1.4)
    axes.set(ylabel="how often", xlim=(0, 1), ylim=(-0.02, 1.02))
    axes.set_title("Reliability")
    below.bar((filled + 0.5) / bins, counts[filled], width=0.9 / bins, color=MUTED)
    below.set(xlabel="probability", ylabel="count")
    return figure
