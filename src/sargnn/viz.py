"""Drawings, each a matplotlib ``Figure``: a graph with its saliency, learning curves, a confusion matrix, sizes.

No function touches ``pyplot``, so all of them work without a display and none keeps a figure alive. The look is defined
once, by the colours and ``STYLE`` below.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter
from PIL import Image
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial import cKDTree

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file

__all__ = ["confusion_matrix", "draw_graph", "learning_curves", "save", "size_histogram", "to_svg"]

INK = "#26313d"
MUTED = "#6b7885"
LINE = "#d9dfe5"
PAPER = "#ffffff"
ACCENT = "#9c2a5e"
CONTRAST = "#2f7f86"
COLOURS = (ACCENT, CONTRAST, "#d9853b", "#4a6fa5", "#7f8f3a")
"""Of curves and classes that stand side by side."""
SALIENCY = LinearSegmentedColormap.from_list(
    "saliency",
    ["#f8f3ec", "#f3d3b3", "#f2b083", "#f3875e", "#e4625b", "#ca415d", "#a42d60", "#79235c", "#4d1c51"],
)
"""Cream to plum. CIELAB lightness falls evenly from 96 to 20: equal steps of saliency look equal, in grey too."""

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,  # class names are user data: a dollar sign is a dollar sign
    "text.usetex": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.color": LINE,
    "ytick.labelcolor": MUTED,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's own font
    "svg.hashsalt": "sargnn",
}

PANEL = (3.4, 2.7)
"""Width and height of one drawn graph, in inches; the colour bar's strip comes below."""
STRIP = 0.35
MARGIN = 16.0
"""Around a drawn graph, in points."""
HEADING = 0.3

EXACT_LAYOUT = 60
"""Most nodes laid out by all their distances (Kamada-Kawai)."""
LABELLED = 40
"""Most nodes that carry their label's name."""
SIZE_LEVELS = 9
"""Distinct node sizes: nodes of one size share one SVG outline."""
VECTOR_BYTES = 40_000
"""A graph whose SVG would be longer is drawn as pixels: browsers stall on thousands of shapes."""


@contextmanager
def house_style() -> Iterator[None]:
    """The look of every figure; also a decorator."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        yield


@house_style()
def draw_graph(
    graphs: GraphSet,
    graph: int,
    saliency: np.ndarray,
    *,
    title: str | None = None,
    true_saliency: np.ndarray | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Graph number ``graph`` with node colour and size by ``saliency`` [n]; the truth, where given, in a second panel.

    The colour scale starts at zero (or at the least value, if negative) and ends at the largest value of the graph or
    at twice the mean, whichever is larger: where no node stands out, none is dark. Nodes with exactly two attributes
    are drawn at those coordinates; other layouts depend on the edges alone.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    >>> figure = draw_graph(path, 0, np.array([0.1, 0.8, 0.1]), title="a path")
    >>> to_svg(figure)[:4]
    '<svg'
    """
    one = graphs[graph]
    panels = {"saliency": _checked(saliency, one, graph, "saliency")}
    if true_saliency is not None:
        panels["true saliency"] = _checked(true_saliency, one, graph, "true saliency")
    positions = _positions(one)
    if ax is None:
        figure, axes = _panels(len(panels), title)
    elif len(panels) == 1:
        figure, axes = ax.figure.figure, [ax]  # the first may be a part of the second
        if title:
            ax.set_title(_printable(title, 60))
    else:
        raise InputError("got both ax and true_saliency, expected one: two panels need a figure of their own")
    for panel, (name, values) in zip(axes, panels.items(), strict=True):
        _draw_panel(panel, one, positions, values)
        _draw_scale(panel, name, *_limits(values))
    return figure


@house_style()
def learning_curves(history: Sequence[Mapping[str, Any]], *, best_epoch: int | None = None) -> Figure:
    """Loss and validation accuracy by epoch; the epoch that was kept is marked.

    Rows have ``epoch``, ``train_loss``, ``validation_loss`` and ``validation_accuracy``; a value may be missing.

    >>> row = {"epoch": 1, "train_loss": 0.9, "validation_loss": 1.1, "validation_accuracy": 0.7}
    >>> [axes.get_title(loc="left") for axes in learning_curves([row], best_epoch=1).axes]
    ['Loss', 'Validation accuracy']
    """
    if not history:
        raise InputError("got a history without epochs, expected at least one row")
    columns = {
        key: np.array([np.nan if row.get(key) is None else row[key] for row in history], dtype=float)
        for key in ("epoch", "train_loss", "validation_loss", "validation_accuracy")
    }
    figure = Figure(figsize=(9, 2.7), layout="constrained")
    loss, accuracy = figure.subplots(1, 2)
    marker = "o" if len(history) < 3 else ""
    look: dict[str, Any] = {"linewidth": 1.6, "marker": marker, "markersize": 4}
    loss.plot(columns["epoch"], columns["train_loss"], color=CONTRAST, label="train", **look)
    loss.plot(columns["epoch"], columns["validation_loss"], color=ACCENT, label="validation", **look)
    accuracy.plot(columns["epoch"], columns["validation_accuracy"], color=ACCENT, **look)
    loss.legend(loc="upper right", labelcolor=MUTED)
    loss.set_title("Loss")
    accuracy.set_title("Validation accuracy")
    accuracy.yaxis.set_major_formatter(PercentFormatter(1))
    for axes in (loss, accuracy):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
    if best_epoch is not None:
        _mark_best(loss, best_epoch, columns["epoch"], columns["validation_loss"])
        _mark_best(accuracy, best_epoch, columns["epoch"], columns["validation_accuracy"])
        accuracy.set_title(f"kept: epoch {best_epoch}", loc="right", color=MUTED, fontsize=8)
    return figure


@house_style()
def confusion_matrix(matrix: np.ndarray, classes: Sequence[str]) -> Figure:
    """Counts ``matrix[true, predicted]``, each with its share of the row; the shade is the share.

    >>> figure = confusion_matrix(np.array([[8, 2], [0, 5]]), ["no", "yes"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['8', '80%', '2', '20%', '5', '100%']
    """
    matrix = np.asarray(matrix)
    count = len(classes)
    if matrix.shape != (count, count):
        raise InputError(f"got a matrix of shape {matrix.shape}, expected {(count, count)}: one row and column a class")
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    cell = float(np.clip(3.4 / count, 0.44, 0.95))
    names = [_printable(name, 18) for name in classes]
    figure = Figure(figsize=(cell * count + 1.4, cell * count + 1.0), layout="constrained")
    axes = figure.subplots()
    seen = np.ma.masked_where(matrix == 0, share)
    axes.pcolormesh(seen, cmap=SALIENCY, vmin=0, vmax=1, edgecolors=PAPER, linewidth=1.5)
    font = float(np.clip(cell * 14, 6.2, 12))
    for true, predicted in np.argwhere(matrix > 0):
        look: dict[str, Any] = {"ha": "center", "color": _readable_on(share[true, predicted])}
        axes.text(predicted + 0.5, true + 0.5, f"{matrix[true, predicted]}", va="bottom", fontsize=font, **look)
        axes.text(predicted + 0.5, true + 0.54, f"{share[true, predicted]:.0%}", va="top", fontsize=0.8 * font, **look)
    ticks = np.arange(count) + 0.5
    crowded = max(len(name) for name in names) * 5 > cell * 72
    slanted: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(ticks, names, **slanted if crowded else {})
    axes.set_yticks(ticks, names)
    axes.set(xlabel="predicted", ylabel="true", aspect="equal")
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
    labelled = graphs.y is not None and len(graphs.classes) > 0
    figure = Figure(figsize=(9, 2.3), layout="constrained")
    axes = figure.subplots(1, 2 + labelled)
    low, high = np.sort(graphs.edges.astype(np.int64), axis=0)
    _, first = np.unique((graphs.node_ptr[graphs.edge_graph] + low) * graphs.sizes.max() + high, return_index=True)
    _histogram(axes[0], graphs.sizes, "Nodes per graph")
    _histogram(axes[1], np.bincount(graphs.edge_graph[first], minlength=len(graphs)), "Edges per graph")
    if labelled:
        _class_bars(axes[2], np.bincount(graphs.y, minlength=len(graphs.classes)), graphs.classes)  # type: ignore[arg-type]
    return figure


@house_style()
def to_svg(figure: Figure, *, prefix: str | None = None) -> str:
    """The figure as SVG text to put inside an HTML page: transparent, the same bytes for the same figure.

    Every id starts with ``prefix`` (by default a digest of the drawing), so that figures on one page do not share ids.
    """
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # The reader's fonts draw the text, and may well have the glyphs that ours lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, format="svg", dpi=110, metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return _embeddable(text, prefix or f"f{hashlib.sha256(text.encode()).hexdigest()[:10]}")


@house_style()
def save(figure: Figure, path: Path | str) -> None:
    """Write the figure to a ``.png`` or ``.svg`` file, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{path}: got suffix {path.suffix!r}, expected .png or .svg")
    if path.suffix.lower() == ".svg":
        write_file(path, to_svg(figure))
        return
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    write_file(path, buffer.getvalue())


# A graph


def _checked(values: np.ndarray, one: GraphSet, graph: int, field: str) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    where = f"in graph {graph} of {one.name}"
    if not one.num_nodes:
        raise InputError(f"got no nodes, expected at least one, {where}")
    if values.shape != (one.num_nodes,):
        raise InputError(f"got {field} of shape {values.shape}, expected {(one.num_nodes,)}, {where}")
    if not np.isfinite(values).all():
        node = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"got {field} {values[node]} at node {node}, expected a finite number, {where}")
    return values


def _panels(count: int, title: str | None) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` frames side by side, each with room for its colour bar below."""
    width, height = PANEL
    total = height + STRIP + HEADING * bool(title)
    figure = Figure(figsize=(width * count, total))
    if title:
        figure.suptitle(_printable(title, 36 * count), fontsize=10, y=1 - 0.08 / total, va="top")
    return figure, [figure.add_axes((i / count, STRIP / total, 1 / count, height / total)) for i in range(count)]


def _draw_panel(ax: Axes, one: GraphSet, positions: np.ndarray, saliency: np.ndarray) -> None:
    """One unit of the axes' data is one point on paper, which makes every size below a plain number."""
    box = ax.get_window_extent()
    scale = 72 / ax.figure.dpi
    width, height = box.width * scale, box.height * scale
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.set_axis_off()
    points = _fit(positions, width, height, margin=MARGIN)
    diameter = _diameter(points)
    pairs = _pairs(one)
    pixels = 200 * one.num_nodes + 40 * len(pairs) > VECTOR_BYTES
    edges = PathPatch(
        _edge_path(points, pairs, diameter),
        fill=False, edgecolor="#aab4be", rasterized=pixels, clip_on=False,
        linewidth=np.clip(min(0.08 * diameter, 150 / max(len(pairs), 1)), 0.15, 1.3),
    )  # fmt: skip
    ax.add_patch(edges)
    low, high = _limits(saliency)
    share = (saliency - low) / (high - low)
    level = np.round(share * (SIZE_LEVELS - 1))
    for step in np.unique(level):  # the most salient nodes come last, on top
        nodes = np.flatnonzero(level == step)
        size = diameter * (0.6 + 0.4 * step / (SIZE_LEVELS - 1))
        ax.scatter(
            points[nodes, 0], points[nodes, 1], s=[size**2], c=SALIENCY(share[nodes]), edgecolors=MUTED,
            linewidths=min(0.6, 0.06 * diameter), zorder=2, rasterized=pixels, clip_on=False,
        )  # fmt: skip
    if one.node_labels is not None and one.node_label_names and one.num_nodes <= LABELLED:
        _draw_labels(ax, [one.node_label_names[label] for label in one.node_labels], points, share, diameter)


def _draw_labels(ax: Axes, names: list[str], points: np.ndarray, share: np.ndarray, diameter: float) -> None:
    for name, (x, y), value in zip(names, points, share, strict=True):
        name = _printable(name, 5)
        size = diameter * (0.6 + 0.4 * value) * min(0.55, 1.3 / max(len(name), 1))
        ax.text(x, y, name, fontsize=size, color=_readable_on(value), ha="center", va="center_baseline", zorder=3)


def _draw_scale(ax: Axes, name: str, low: float, high: float) -> None:
    """A small colour bar under the drawing: name, least value, colours, largest value."""
    bar = ax.inset_axes((0.48, -0.07, 0.34, 0.028))
    bar.imshow(np.linspace(0, 1, 64)[None], cmap=SALIENCY, aspect="auto")
    bar.set_axis_off()
    look: dict[str, Any] = {"transform": bar.transAxes, "va": "center", "fontsize": 9, "color": MUTED}
    bar.text(-0.06, 0.4, f"{name}{2 * chr(0xA0)}{low:.2g}", ha="right", **look)  # SVG shows two plain spaces as one
    bar.text(1.06, 0.4, f"{high:.2g}", ha="left", **look)


def _limits(saliency: np.ndarray) -> tuple[float, float]:
    """Ends of the colour scale: zero, or the least value if negative; the largest value, but at least twice the mean,
    so that a graph in which no node stands out is drawn in a middle tone."""
    low = min(0.0, float(saliency.min()))
    reach = max(float(saliency.max()) - low, 2 * (float(saliency.mean()) - low))
    return low, low + (reach or 1.0)


def _pairs(one: GraphSet) -> np.ndarray:
    """int64 [M, 2]: every two nodes that share an edge, in either direction, once."""
    return np.unique(np.sort(one.edges.astype(np.int64), axis=0), axis=1).T


def _edge_path(points: np.ndarray, pairs: np.ndarray, diameter: float) -> Curve:
    """All edges as one curve, which SVG stores in a tenth of the space; a self-loop is a ring away from other edges."""
    source, target = pairs[pairs[:, 0] != pairs[:, 1]].T
    looped = pairs[pairs[:, 0] == pairs[:, 1], 0]
    towards = np.zeros_like(points)
    np.add.at(towards, source, _unit(points[target] - points[source]))
    np.add.at(towards, target, _unit(points[source] - points[target]))
    away = np.where(np.linalg.norm(towards, axis=1, keepdims=True) > 0.1, _unit(-towards), [0, 1])
    angle = np.linspace(0, 2 * np.pi, 25)
    ring = 0.4 * diameter * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = (points + 0.5 * diameter * away)[looped, None] + ring
    lines = np.stack([points[source], points[target]], axis=1)
    codes = [Curve.MOVETO, Curve.LINETO] * len(lines) + [Curve.MOVETO, *[Curve.LINETO] * 24] * len(rings)
    curve = Curve(np.concatenate([lines.reshape(-1, 2), rings.reshape(-1, 2)]), codes)
    curve.should_simplify = False
    return curve


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def _fit(positions: np.ndarray, width: float, height: float, margin: float) -> np.ndarray:
    """Positions scaled to fill the frame but for a margin, proportions kept, and centred."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = np.maximum(high - low, 1e-9)  # of one node, or of nodes in one place: any scale will do
    scale = min((width - 2 * margin) / extent[0], (height - 2 * margin) / extent[1])
    return (positions - (low + high) / 2) * scale + np.array([width, height]) / 2


def _diameter(points: np.ndarray) -> float:
    """Of a node, in points: as large as lets most nodes stand clear of their nearest neighbour."""
    if len(points) < 2:
        return 24.0
    nearest = cKDTree(points).query(points, k=2)[0][:, 1]
    return float(np.clip(0.75 * np.quantile(nearest, 0.3), 2.5, 24))


# Where nodes go


def _positions(one: GraphSet) -> np.ndarray:
    """float [n, 2]: the nodes' own coordinates where they have two; else each connected part laid out, side by side."""
    own = one.node_attributes
    if own is not None and own.shape[1] == 2 and np.isfinite(own).all():
        return np.asarray(own, dtype=float)
    source, target = _pairs(one).T
    other = source != target
    source, target = source[other], target[other]
    size = (one.num_nodes, one.num_nodes)
    adjacency = coo_array((np.ones(2 * len(source)), (np.r_[source, target], np.r_[target, source])), size).tocsr()
    count, part = connected_components(adjacency, directed=False)
    members = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=count))[:-1])
    return _side_by_side(members, [_lay_out(adjacency[nodes][:, nodes]) for nodes in members], one.num_nodes)


def _lay_out(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: a connected graph drawn with edges of length one on average and its long side horizontal."""
    n = adjacency.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    positions = _kamada_kawai(adjacency) if n <= EXACT_LAYOUT else _spring(_pivot(adjacency), adjacency)
    positions = positions - positions.mean(axis=0)
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]  # one of the two mirror images, always
    return positions @ axes.T / _edge_length(positions, adjacency)


def _kamada_kawai(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: distances on paper as near as can be to distances in the graph.

    What is found depends on the start. A circle suits cliques, the main directions suit molecules: the better one wins.
    """
    distance = shortest_path(adjacency, unweighted=True)
    off_diagonal = ~np.eye(len(distance), dtype=bool)
    graph = nx.from_scipy_sparse_array(adjacency)
    table = {v: dict(enumerate(row)) for v, row in enumerate(distance)}

    def stress(positions: np.ndarray) -> float:
        drawn = np.linalg.norm(positions[:, None] - positions, axis=-1)[off_diagonal]
        ratio = drawn / distance[off_diagonal]
        return float(((ratio / ratio.mean() - 1) ** 2).sum())

    starts = [None, dict(enumerate(_pivot(adjacency)))]
    layouts = [nx.kamada_kawai_layout(graph, dist=table, pos=start) for start in starts]
    return min((np.array([layout[v] for v in graph]) for layout in layouts), key=stress)


def _pivot(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: the two main directions of the distances to 64 nodes (Pivot MDS, Brandes and Pich 2007).

    Right in the large and linear in the size of the graph. Nodes with equal distances would coincide; a little noise,
    always the same, parts them.
    """
    n = adjacency.shape[0]
    pivots = np.linspace(0, n - 1, min(n, 64)).astype(int)
    squared = shortest_path(adjacency, unweighted=True, indices=pivots).T ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    positions = left[:, :2] * scale[:2]
    return positions / _edge_length(positions, adjacency) + np.random.default_rng(0).normal(0, 0.05, positions.shape)


def _spring(positions: np.ndarray, adjacency: csr_array, steps: int = 60) -> np.ndarray:
    """Fruchterman-Reingold from a good start: edges pull with d², the sixteen nearest nodes push with 1/d.

    A node feels near nodes only, which keeps a step linear in the nodes: 5,000 of them take two seconds.
    """
    source, target = adjacency.nonzero()
    positions = positions.copy()
    for limit in np.linspace(0.5, 0.02, steps):
        distance, near = cKDTree(positions).query(positions, k=17)
        away = positions[:, None] - positions[near[:, 1:]]
        move = (away / np.maximum(distance[:, 1:, None], 0.05) ** 2).sum(axis=1)
        along = positions[target] - positions[source]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True)
        move += np.stack([np.bincount(source, pull[:, i], len(positions)) for i in (0, 1)], axis=1)
        length = np.linalg.norm(move, axis=1, keepdims=True)
        positions += move * np.minimum(1, limit / np.maximum(length, 1e-9))
    return positions


def _edge_length(positions: np.ndarray, adjacency: csr_array) -> float:
    source, target = adjacency.nonzero()
    return max(float(np.linalg.norm(positions[source] - positions[target], axis=1).mean()), 1e-9)


def _side_by_side(members: list[np.ndarray], layouts: list[np.ndarray], nodes: int) -> np.ndarray:
    """The parts' layouts set in rows, tallest first, on the page that can be drawn largest."""
    boxes = np.array([np.ptp(layout, axis=0) + 1 for layout in layouts]).reshape(-1, 2)  # half an edge of air all round
    order = np.lexsort((-boxes[:, 0], -boxes[:, 1]))
    wide = np.sqrt(boxes.prod(axis=1).sum() * PANEL[0] / PANEL[1])
    pages = [_rows(boxes[order], page * wide) for page in (1, 1.15, 1.3, 1.5, 1.75, 2)]
    half = boxes[order] / 2
    centres = min(pages, key=lambda page: (np.ptp(np.r_[page - half, page + half], axis=0) / PANEL).max())
    positions = np.zeros((nodes, 2))
    for part, centre in zip(order, centres, strict=True):
        layout = layouts[part]
        positions[members[part]] = layout - (layout.min(axis=0) + layout.max(axis=0)) / 2 + centre
    return positions


def _rows(boxes: np.ndarray, page: float) -> np.ndarray:
    """float [boxes, 2]: centres of boxes set from left to right in rows at most ``page`` wide, one box at least."""
    left = top = row = 0.0
    centres = np.zeros_like(boxes)
    for i, (width, height) in enumerate(boxes):
        if left > 0 and left + width > page:
            left, top, row = 0.0, top - row, 0.0
        row = max(row, height)
        centres[i] = left + width / 2, top - row / 2
        left += width
    return centres


# Parts of charts


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


def logarithmic(axes: Axes) -> None:
    """A logarithmic x axis with plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _class_bars(axes: Axes, counts: np.ndarray, classes: Sequence[str], most: int = 15) -> None:
    shown = np.sort(np.argsort(-counts, kind="stable")[:most])
    names = [_printable(classes[c], 16) for c in shown]
    places = np.arange(len(shown))
    axes.barh(places, counts[shown], color=ACCENT, height=0.7)
    for place, count in zip(places, counts[shown], strict=True):
        label: dict[str, Any] = {
            "xytext": (4, 0),
            "textcoords": "offset points",
            "va": "center",
            "color": MUTED,
            "fontsize": 7,
        }
        axes.annotate(f"{count:,}", (count, place), **label)
    axes.set_yticks(places, names, fontsize=7 if len(shown) > 6 else 8)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xticks([])
    axes.tick_params(length=0, labelcolor=INK)
    axes.spines[:].set_visible(False)
    more = len(counts) - len(shown)
    axes.set_title("Graphs per class" + (f" ({more} smaller not shown)" if more else ""))


def _readable_on(share: float) -> tuple[float, float, float, float]:
    """The end of the colour scale that stands out from the colour at ``share`` of it."""
    return SALIENCY(1.0 if share < 0.5 else 0.0)


def _printable(text: str, most: int) -> str:
    """User text on one line, without characters that XML refuses, cut to at most ``most`` characters.

    >>> _printable("a\\x00b", 9), _printable("a long name", 6)
    ('a�b', 'a lon…')
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


# SVG


def _embeddable(svg: str, prefix: str) -> str:
    """SVG as matplotlib writes it, made fit for a page: no prolog, metadata or unused ids, no rules for the whole page,
    coordinates to a hundredth of a point, pixels in 64 colours."""
    for name, address in (("", "http://www.w3.org/2000/svg"), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(name, address)
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    for element in list(root.iter()):
        for child in list(element):
            if child.tag.endswith(("}metadata", "}style")):
                element.remove(child)
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            element.set(key, _attribute(key.rpartition("}")[2], value, prefix))
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")  # what the removed style sheet said
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href":
        return f"#{prefix}-{value[1:]}" if value.startswith("#") else _fewer_colours(value)
    if key in ("d", "x", "y"):
        return re.sub(r"(\.\d\d)\d+", r"\1", value).strip()
    return value.replace("url(#", f"url(#{prefix}-")


def _fewer_colours(address: str) -> str:
    """A ``data:`` PNG with a palette of 64 colours, a third as long and to the eye the same."""
    head, _, content = address.partition(",")
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        image.convert("RGBA").quantize(64, Image.Quantize.FASTOCTREE).save(buffer, "png", optimize=True)
    return f"{head},{base64.b64encode(buffer.getvalue()).decode()}"
