"""Charts: learning curves, a confusion matrix, the sizes of graphs and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import SetChunks
from sargnn.errors import InputError
from sargnn.viz.style import (
    ACCENT,
    CONTRAST,
    INK,
    MUTED,
    PAPER,
    SALIENCY,
    house_style,
    logarithmic,
    printable,
    readable_on,
)

__all__ = ["confusion_matrix", "learning_curves", "size_histogram"]

LEGIBLE = 40
"""Classes of a confusion matrix that can be read."""


@house_style()
def learning_curves(
    history: Sequence[Mapping[str, Any]], *, best_epoch: int | None = None, score: str = "accuracy"
) -> Figure:
    """Loss and validation score by epoch; the epoch that was kept is marked.

    Rows have ``epoch``, ``train_loss``, ``validation_loss`` and ``validation_SCORE``; a value may be missing.

    >>> row = {"epoch": 1, "train_loss": 0.9, "validation_loss": 1.1, "validation_accuracy": 0.7}
    >>> [axes.get_title(loc="left") for axes in learning_curves([row], best_epoch=1).axes]
    ['Loss', 'Validation accuracy']
    """
    if not history:
        raise InputError("got a history without epochs, expected at least one row")
    columns = {
        key: np.array([np.nan if row.get(key) is None else row[key] for row in history], dtype=float)
        for key in ("epoch", "train_loss", "validation_loss", f"validation_{score}")
    }
    figure = Figure(figsize=(9, 2.7), layout="constrained")
    loss, right = figure.subplots(1, 2)
    marker = "o" if len(history) < 3 else ""
    look: dict[str, Any] = {"linewidth": 1.6, "marker": marker, "markersize": 4}
    loss.plot(columns["epoch"], columns["train_loss"], color=CONTRAST, label="train", **look)
    loss.plot(columns["epoch"], columns["validation_loss"], color=ACCENT, label="validation", **look)
    right.plot(columns["epoch"], columns[f"validation_{score}"], color=ACCENT, **look)
    loss.legend(loc="upper right", labelcolor=MUTED)
    loss.set_title("Loss")
    right.set_title(f"Validation {score}")
    for axes in (loss, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
    if score == "accuracy":
        right.yaxis.set_major_formatter(PercentFormatter(1))
    if best_epoch is not None:
        _mark_best(loss, best_epoch, columns["epoch"], columns["validation_loss"])
        _mark_best(right, best_epoch, columns["epoch"], columns[f"validation_{score}"])
        right.set_title(f"kept: epoch {best_epoch}", loc="right", color=MUTED, fontsize=8)
    return figure


@house_style()
def confusion_matrix(matrix: np.ndarray, classes: Sequence[str]) -> Figure:
    """Counts ``matrix[true, predicted]``, each with its fraction of the row; the shade is the fraction. Of very many
    classes, those with most graphs.

    >>> figure = confusion_matrix(np.array([[8, 2], [0, 5]]), ["no", "yes"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['8', '80%', '2', '20%', '5', '100%']
    """
    matrix = np.asarray(matrix)
    count = len(classes)
    if matrix.shape != (count, count):
        raise InputError(f"got a matrix of shape {matrix.shape}, expected {(count, count)}: a row and column per class")
    fraction = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    often = matrix.sum(axis=0) + matrix.sum(axis=1)
    most = np.sort(np.argsort(-often, kind="stable")[:LEGIBLE])
    what = f"predicted ({LEGIBLE} of {count} classes, those with most graphs)" if count > LEGIBLE else "predicted"
    matrix, fraction, count = matrix[np.ix_(most, most)], fraction[np.ix_(most, most)], len(most)
    cell = float(np.clip(3.4 / count, 0.44, 0.95))
    names = [printable(classes[c], 18) for c in most]
    figure = Figure(figsize=(cell * count + 1.4, cell * count + 1.0), layout="constrained")
    axes = figure.subplots()
    seen = np.ma.masked_where(matrix == 0, fraction)
    axes.pcolormesh(seen, cmap=SALIENCY, vmin=0, vmax=1, edgecolors=PAPER, linewidth=1.5)
    font = float(np.clip(cell * 14, 6.2, 12))
    for true, predicted in np.argwhere(matrix > 0):
        part = fraction[true, predicted]
        look: dict[str, Any] = {"ha": "center", "color": readable_on(part)}
        axes.text(predicted + 0.5, true + 0.5, f"{matrix[true, predicted]}", va="bottom", fontsize=font, **look)
        axes.text(predicted + 0.5, true + 0.54, f"{part:.0%}", va="top", fontsize=0.8 * font, **look)
    ticks = np.arange(count) + 0.5
    crowded = max(len(name) for name in names) * 5 > cell * 72
    slanted: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(ticks, names, **slanted if crowded else {})
    axes.set_yticks(ticks, names)
    axes.set(xlabel=what, ylabel="true", aspect="equal")
    axes.invert_yaxis()
    axes.tick_params(length=0, labelcolor=INK)
    axes.spines[:].set_visible(False)
    return figure


@house_style()
def size_histogram(graphs: GraphSet) -> Figure:
    """How many nodes and edges the graphs have, and how many graphs each class; an undirected edge counts once.

    >>> from sargnn.data.graphs import pack
    >>> graphs = pack([(1, []), (2, [(0, 1), (1, 0)])], y=[0, 1], classes=["dot", "edge"])
    >>> [axes.get_title(loc="left") for axes in size_histogram(graphs).axes]
    ['Nodes per graph', 'Edges per graph', 'Graphs per class']
    """
    if not len(graphs):
        raise InputError(f"got no graphs, expected at least one, in {graphs.name}")
    y = graphs.y if graphs.classes else None
    figure = Figure(figsize=(9, 2.3), layout="constrained")
    axes = figure.subplots(1, 2 if y is None else 3)
    _histogram(axes[0], graphs.sizes, "Nodes per graph")
    _histogram(axes[1], np.concatenate(list(map(_undirected_edges, SetChunks(graphs)))), "Edges per graph")
    if y is not None:
        _class_bars(axes[2], np.bincount(y, minlength=len(graphs.classes)), graphs.classes)
    return figure


def _undirected_edges(graphs: GraphSet) -> np.ndarray:
    """int64 [G]: edges of each graph, those that go both ways counted once."""
    low, high = np.sort(graphs.edges.astype(np.int64), axis=0)
    _, first = np.unique((graphs.node_ptr[graphs.edge_graph] + low) * graphs.sizes.max() + high, return_index=True)
    return np.bincount(graphs.edge_graph[first], minlength=len(graphs))


def _mark_best(axes: Axes, best_epoch: int, epochs: np.ndarray, values: np.ndarray) -> None:
    axes.axvline(best_epoch, color=MUTED, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
    kept = epochs == best_epoch
    axes.plot(epochs[kept], values[kept], "o", color=ACCENT, markersize=5, markeredgecolor=PAPER, zorder=4)


def _histogram(axes: Axes, values: np.ndarray, title: str) -> None:
    """Bars of whole numbers; on a logarithmic axis when a few graphs are far larger than most."""
    low, high = int(values.min()), int(values.max())
    if high > 20 * max(float(np.median(values)), 1.0):
        edges = np.geomspace(max(low, 1) - 0.5, high + 1, 25).tolist()
        logarithmic(axes)
    else:
        step = max(1, int(np.ceil((high - low + 1) / 24)))
        edges = (np.arange(low, high + step + 1, step) - 0.5).tolist()
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.hist(np.maximum(values, edges[0]), bins=edges, color=CONTRAST, rwidth=0.92)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title)


def _class_bars(axes: Axes, counts: np.ndarray, classes: Sequence[str], most: int = 15) -> None:
    shown = np.sort(np.argsort(-counts, kind="stable")[:most])
    names = [printable(classes[c], 16) for c in shown]
    bars = axes.barh(np.arange(len(shown)), counts[shown], color=ACCENT, height=0.7)
    axes.bar_label(bars, [f"{count:,}" for count in counts[shown]], padding=4, color=MUTED, fontsize=7)
    axes.set_yticks(np.arange(len(shown)), names, fontsize=7 if len(shown) > 6 else 8)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xticks([])
    axes.tick_params(length=0, labelcolor=INK)
    axes.spines[:].set_visible(False)
    more = len(counts) - len(shown)
    axes.set_title("Graphs per class" + (f" ({more} smaller not shown)" if more else ""))
