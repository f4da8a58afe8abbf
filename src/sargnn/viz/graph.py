"""A graph drawn with its saliency: node colour and size, edges as one curve, a colour bar below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve
from scipy.spatial import cKDTree

from sargnn.data.graphs import GraphSet, pairs_of
from sargnn.errors import InputError
from sargnn.viz.layout import PANEL, fit, positions_of
from sargnn.viz.style import EFFECT, MUTED, SALIENCY, house_style, printable, readable_on

__all__ = [
    "checked_saliency", "colour_limits", "draw_graph", "draw_panel", "draw_scale", "effect_shades", "node_diameter",
    "shades_of",
]  # fmt: skip

STRIP = 0.35
MARGIN = 16.0
"""Around a drawn graph, in points."""
HEADING = 0.3
LABELLED = 40
"""Most nodes that carry their label's name."""
SIZE_LEVELS = 9
"""Distinct node sizes: nodes of one size share one SVG outline."""
VECTOR_BYTES = 40_000
"""A graph whose SVG would be longer is drawn as pixels: browsers stall on thousands of shapes."""


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
    >>> len(figure.axes), figure.get_suptitle()
    (1, 'a path')
    """
    one = graphs[graph]
    panels = {"saliency": checked_saliency(saliency, one, graph, "saliency")}
    if true_saliency is not None:
        panels["true saliency"] = checked_saliency(true_saliency, one, graph, "true saliency")
    positions = positions_of(one)
    if ax is None:
        figure, axes = _panels(len(panels), title)
    elif len(panels) == 1:
        figure, axes = ax.figure.figure, [ax]  # the first may be a part of the second
        if title:
            ax.set_title(printable(title, 60))
    else:
        raise InputError("got both ax and true_saliency, expected one: two panels need a figure of their own")
    for panel, (name, values) in zip(axes, panels.items(), strict=True):
        draw_panel(panel, one, positions, values)
        draw_scale(panel, name, *colour_limits(values))
    return figure


def checked_saliency(values: np.ndarray, one: GraphSet, graph: int, field: str) -> np.ndarray:
    """float [n], if ``values`` are a finite number for every node of ``one``, which is number ``graph`` of its set."""
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
        figure.suptitle(printable(title, 36 * count), fontsize=10, y=1 - 0.08 / total, va="top")
    return figure, [figure.add_axes((i / count, STRIP / total, 1 / count, height / total)) for i in range(count)]


def draw_panel(
    ax: Axes,
    one: GraphSet,
    positions: np.ndarray,
    saliency: np.ndarray,
    colours: Colormap = SALIENCY,
    *,
    ties: Mapping[tuple[int, int], float] | None = None,
) -> np.ndarray:
    """Draw one graph into its frame; float [n, 2], where its nodes came to stand. Colours of effects have their middle
    at zero, and nodes their size by the distance from it. ``ties`` are effects of edges, drawn as broad lines.

    One unit of the axes' data is one point on paper, which makes every size below a plain number.
    """
    box = ax.get_window_extent()
    scale = 72 / ax.figure.dpi
    width, height = box.width * scale, box.height * scale
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.set_axis_off()
    points = fit(positions, width, height, margin=MARGIN)
    diameter, pairs = node_diameter(points), pairs_of(one)
    pixels = 200 * one.num_nodes + 40 * len(pairs) > VECTOR_BYTES
    edges = PathPatch(
        _edge_path(points, pairs, diameter),
        fill=False, edgecolor="#aab4be", rasterized=pixels, clip_on=False,
        linewidth=np.clip(min(0.08 * diameter, 150 / max(len(pairs), 1)), 0.15, 1.3),
    )  # fmt: skip
    ax.add_patch(edges)
    if ties:
        _draw_ties(ax, points, ties, diameter)
    shade, colour = shades_of(saliency), SALIENCY(shades_of(saliency))
    if colours is EFFECT:
        shade, colour = shades_of(np.abs(saliency)), EFFECT(effect_shades(saliency))
    level = np.round(shade * (SIZE_LEVELS - 1))
    for step in np.unique(level):  # the most salient nodes come last, on top
        nodes = np.flatnonzero(level == step)
        size = diameter * (0.6 + 0.4 * step / (SIZE_LEVELS - 1))
        ax.scatter(
            points[nodes, 0], points[nodes, 1], s=[size**2], c=colour[nodes], edgecolors=MUTED,
            linewidths=min(0.6, 0.06 * diameter), zorder=2, rasterized=pixels, clip_on=False,
        )  # fmt: skip
    names = one.node_label_titles or one.node_label_names
    if one.node_labels is not None and names and one.num_nodes <= LABELLED:
        _draw_labels(ax, [names[label] for label in one.node_labels], points, shade, diameter)
    return points


def _draw_ties(ax: Axes, points: np.ndarray, ties: Mapping[tuple[int, int], float], diameter: float) -> None:
    """Edges coloured by their effect, the larger ones on top and broader."""
    order = sorted(ties, key=lambda pair: abs(ties[pair]))
    values = np.array([ties[pair] for pair in order])
    breadth = 0.15 + 0.3 * np.abs(values) / (np.abs(values).max() or 1.0)
    lines = LineCollection(
        [points[list(pair)] for pair in order], colors=EFFECT(effect_shades(values)), linewidths=diameter * breadth,
        capstyle="round", zorder=1.5, clip_on=False,
    )  # fmt: skip
    ax.add_collection(lines)


def _draw_labels(ax: Axes, names: list[str], points: np.ndarray, shade: np.ndarray, diameter: float) -> None:
    for name, (x, y), value in zip(names, points, shade, strict=True):
        name = printable(name, 5)
        size = diameter * (0.6 + 0.4 * value) * min(0.55, 1.3 / max(len(name), 1))
        ax.text(x, y, name, fontsize=size, color=readable_on(value), ha="center", va="center_baseline", zorder=3)


def draw_scale(ax: Axes, name: str, low: float, high: float, colours: Colormap = SALIENCY) -> None:
    """A small colour bar under the drawing: name, least value, colours, largest value."""
    bar = ax.inset_axes((0.48, -0.07, 0.34, 0.028))
    bar.imshow(np.linspace(0, 1, 64)[None], cmap=colours, aspect="auto")
    bar.set_axis_off()
    look: dict[str, Any] = {"transform": bar.transAxes, "va": "center", "fontsize": 9, "color": MUTED}
    bar.text(-0.06, 0.4, f"{name}{2 * chr(0xA0)}{low:.2g}", ha="right", **look)  # SVG shows two plain spaces as one
    bar.text(1.06, 0.4, f"{high:.2g}", ha="left", **look)


def colour_limits(saliency: np.ndarray) -> tuple[float, float]:
    """Ends of the colour scale: zero, or the least value if negative; the largest value, but at least twice the mean,
    so that a graph in which no node stands out is drawn in a middle tone."""
    low = min(0.0, float(saliency.min()))
    reach = max(float(saliency.max()) - low, 2 * (float(saliency.mean()) - low))
    return low, low + (reach or 1.0)


def shades_of(saliency: np.ndarray) -> np.ndarray:
    """float [n]: where each value lies between the ends of the colour scale, 0 to 1.

    >>> shades_of(np.array([0.0, 0.2, 0.8])).tolist()
    [0.0, 0.25, 1.0]
    """
    low, high = colour_limits(saliency)
    return (saliency - low) / (high - low)


def effect_shades(effects: np.ndarray) -> np.ndarray:
    """float [n]: where each effect lies on a scale with zero in its middle, 0 to 1.

    >>> effect_shades(np.array([-1.0, 0.0, 2.0])).tolist()
    [0.25, 0.5, 1.0]
    """
    return np.asarray(0.5 + effects / (2 * (np.abs(effects).max() or 1.0)))


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
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


def node_diameter(points: np.ndarray) -> float:
    """Of a node, in points: as large as lets most nodes stand clear of their nearest neighbour."""
    if len(points) < 2:
        return 24.0
    nearest = cKDTree(points).query(points, k=2)[0][:, 1]
    return float(np.clip(0.75 * np.quantile(nearest, 0.3), 2.5, 24))
