"""What each node, edge or fragment does to each target, side by side: one panel per target, beside the saliency."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from sargnn.data.graphs import GraphSet
from sargnn.viz.depiction import atom_positions, molecule_of
from sargnn.viz.graph import HEADING, STRIP, checked_saliency, colour_limits, draw_panel, draw_scale
from sargnn.viz.layout import PANEL, positions_of
from sargnn.viz.style import EFFECT, INK, SALIENCY, house_style, printable

__all__ = ["draw_effects"]

COLUMNS = 4
"""Panels in a row, at most."""


@house_style()
def draw_effects(
    graphs: GraphSet,
    graph: int,
    effects: Mapping[str, np.ndarray],
    *,
    ties: Mapping[str, Mapping[tuple[int, int], float]] | None = None,
    saliency: Mapping[str, np.ndarray] | None = None,
    title: str | None = None,
) -> Figure:
    """Graph number ``graph`` once for each target with its ``effects`` [n]: plum nodes raise the prediction, teal ones
    lower it, each panel on a scale of its own. ``ties`` are effects of edges, by target and pair of nodes. The first
    panels are maps of ``saliency`` by name, if there are some.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    >>> figure = draw_effects(path, 0, {"toxic": np.array([0.1, -0.8, 0.0])}, saliency={"saliency": np.ones(3) / 3})
    >>> [ax.get_title() for ax in figure.axes]
    ['saliency', 'toxic']
    """
    one, molecule = graphs[graph], molecule_of(graphs, graph)
    positions = positions_of(one) if molecule is None else atom_positions(molecule)
    saliency = saliency or {}
    panels = {**saliency, **effects}
    columns = min(len(panels), COLUMNS)
    rows = -(-len(panels) // columns)
    height = PANEL[1] + STRIP + HEADING
    figure = Figure(figsize=(PANEL[0] * columns, rows * height + HEADING * bool(title)))
    if title:
        figure.suptitle(printable(title, 36 * columns), fontsize=10, y=1 - 0.08 / figure.get_figheight(), va="top")
    for number, (name, given) in enumerate(panels.items()):
        values = checked_saliency(given, one, graph, name)
        row, column = divmod(number, columns)
        bottom = ((rows - row - 1) * height + STRIP) / figure.get_figheight()
        ax = figure.add_axes((column / columns, bottom, 1 / columns, PANEL[1] / figure.get_figheight()))
        ax.set_title(printable(name, 40), loc="center", color=INK, pad=2)
        if name in saliency:
            draw_panel(ax, one, positions, values, SALIENCY)
            draw_scale(ax, "saliency", *colour_limits(values))
        else:
            own = {} if ties is None else ties.get(name, {})
            most = max(float(np.abs(values).max()), *map(abs, own.values()), 0.0) or 1.0
            draw_panel(ax, one, positions, values, EFFECT, ties=own)
            draw_scale(ax, "effect", -most, most, EFFECT)
    return figure
