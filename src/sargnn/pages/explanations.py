"""Explanations as one HTML file to look around in: choose a graph and a map, and point at a node for its numbers.

The file needs no network. Names come from data: they reach the page as JSON and are only ever set as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from sargnn.data.chemistry import atom_symbols
from sargnn.data.graphs import GraphSet
from sargnn.pages.environment import render
from sargnn.viz.layout import fit, pairs_of, positions_of
from sargnn.viz.molecules import are_molecules, molecule_positions, shades_of
from sargnn.viz.style import SALIENCY

__all__ = ["ExplainedGraph", "render_page"]

WIDTH, HEIGHT, MARGIN = 720.0, 540.0, 40.0
SHADES = 64


@dataclass(frozen=True, eq=False)
class ExplainedGraph:
    """A graph to show, what the model said of it, and its maps by name, float [n] each; the first is shown first."""

    graph: int
    predicted: str
    """In words, with its probability."""
    maps: Mapping[str, np.ndarray]


def render_page(graphs: GraphSet, explained: list[ExplainedGraph], title: str) -> str:
    """The page of the ``explained`` graphs out of ``graphs``.

    >>> from sargnn.data.graphs import pack
    >>> item = ExplainedGraph(0, "path (90%)", {"mean": np.array([0.2, 0.8])})
    >>> page = render_page(pack([(2, [(0, 1), (1, 0)])]), [item], "two nodes")
    >>> "<title>two nodes</title>" in page, " src=" in page
    (True, False)
    """
    content = {
        "graphs": [_drawing(graphs, item) for item in explained],
        "colours": [to_hex(SALIENCY(shade / (SHADES - 1))) for shade in range(SHADES)],
    }
    # "<" is the one character by which text inside a script element could end it.
    data = Markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c"))
    return render("explain.html.j2", title=title, data=data, width=WIDTH, height=HEIGHT)


def _drawing(graphs: GraphSet, item: ExplainedGraph) -> dict[str, Any]:
    one = graphs[item.graph]
    positions = molecule_positions(graphs, item.graph) if are_molecules(graphs) else positions_of(one)
    points = fit(positions, WIDTH, HEIGHT, MARGIN)
    return {
        "title": one.graph_names[0] if one.graph_names else f"graph {item.graph}",
        "verdict": f"graph {item.graph}: predicted {item.predicted}",
        "x": points[:, 0].round(1).tolist(),
        "y": (HEIGHT - points[:, 1]).round(1).tolist(),  # upwards on paper, downwards on a screen
        "edges": pairs_of(one).tolist(),
        "names": _names(one),
        "labels": _labels(one),
        "maps": {name: values.tolist() for name, values in item.maps.items()},
        "shades": {name: shades_of(values).tolist() for name, values in item.maps.items()},
    }


def _names(one: GraphSet) -> list[str]:
    return [str(n) for n in range(one.num_nodes)] if one.node_names is None else one.node_names.tolist()


def _labels(one: GraphSet) -> list[str]:
    symbols = atom_symbols(one)
    if symbols is not None:
        return symbols.tolist()
    if one.node_labels is None or not one.node_label_names:
        return [""] * one.num_nodes
    return [one.node_label_names[label] for label in one.node_labels]
