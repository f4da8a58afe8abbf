"""Explanations as tables, as drawings, and as one HTML file in which one chooses a graph, a map and a node.

The page needs no network. Names come from data: they reach it as JSON and are only ever set as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from sargnn import viz
from sargnn.data.chemistry import atom_symbols
from sargnn.data.graphs import GraphSet
from sargnn.files import write_csv, write_file
from sargnn.pages.environment import render
from sargnn.tasks import Verdict
from sargnn.viz.graph import shades_of
from sargnn.viz.layout import fit, pairs_of, positions_of
from sargnn.viz.molecules import are_molecules, draw_molecule, molecule_positions

__all__ = ["Explanation", "draw", "render_page", "write_tables"]

WIDTH, HEIGHT, MARGIN = 720.0, 540.0, 40.0
SHADES = 64


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a model says of one graph, and which of its nodes decided."""

    graph: int
    """Its number in the set."""
    verdict: Verdict
    layers: np.ndarray
    """float [L, n]: the saliency of each layer; no rows where the model has none."""
    rule: str
    map: np.ndarray
    """float [n]: all layers in one by the rule."""


def write_tables(folder: Path, graphs: GraphSet, explained: Sequence[Explanation], *, with_map: bool = False) -> None:
    """Write ``saliency.csv``, one row per graph, layer and node, and ``saliency.json``, one object per graph.

    ``with_map`` adds the map of all layers, named by its rule, after the layers.
    """
    header = ["graph", "node", "layer", "saliency", "predicted", "probability"]
    header += ["true_saliency"] if graphs.true_saliency is not None else []
    header += ["node_name"] if graphs.node_names is not None else []
    header += ["graph_name"] if graphs.graph_names else []
    write_csv(folder / "saliency.csv", header, (row for item in explained for row in _rows(graphs, item, with_map)))
    write_file(folder / "saliency.json", json.dumps([_object(graphs, item, with_map) for item in explained]))


def _rows(graphs: GraphSet, item: Explanation, with_map: bool) -> Iterator[list[Any]]:
    layers = [*enumerate(item.layers), *([(item.rule, item.map)] if with_map else [])]
    known = [column for column in (graphs.true_saliency, graphs.node_names) if column is not None]
    of_nodes = [column[graphs.nodes_of(item.graph)].tolist() for column in known]
    name = graphs.graph_names[item.graph : item.graph + 1]
    for layer, saliency in layers:
        for node, (value, *others) in enumerate(zip(saliency.tolist(), *of_nodes, strict=True)):
            yield [item.graph, node, layer, value, *item.verdict, *others, *name]


def _object(graphs: GraphSet, item: Explanation, with_map: bool) -> dict[str, Any]:
    nodes, (predicted, probability) = graphs.nodes_of(item.graph), item.verdict
    found = {"graph": item.graph, "predicted": predicted, "probability": probability, "saliency": item.layers.tolist()}
    found |= {"rule": item.rule, "map": item.map.tolist()} if with_map else {}
    found |= {} if graphs.true_saliency is None else {"true_saliency": graphs.true_saliency[nodes].tolist()}
    found |= {} if graphs.node_names is None else {"node_names": graphs.node_names[nodes].tolist()}
    return found | ({"graph_name": graphs.graph_names[item.graph]} if graphs.graph_names else {})


def draw(graphs: GraphSet, item: Explanation, path: Path) -> None:
    """Draw the map into a PNG or SVG file: a molecule where symbols are known, else a graph beside its truth."""
    truth, title = _truth(graphs, item), f"graph {item.graph}: predicted {item.verdict}"
    if truth is None and are_molecules(graphs):
        write_file(path, draw_molecule(graphs, item.graph, item.map, path.suffix == ".svg", title=title))
    else:
        viz.save(viz.draw_graph(graphs, item.graph, item.map, title=title, true_saliency=truth), path)


def render_page(graphs: GraphSet, explained: Sequence[Explanation]) -> str:
    """The page of the ``explained`` graphs out of ``graphs``.

    >>> from sargnn.data.graphs import pack
    >>> layers = np.array([[0.2, 0.8]])
    >>> item = Explanation(0, Verdict("path", 0.9), layers, "mean", layers[0])
    >>> page = render_page(pack([(2, [(0, 1), (1, 0)])], name="two"), [item])
    >>> "<title>Which nodes decided: two</title>" in page, " src=" in page
    (True, False)
    """
    content = {
        "graphs": [_drawing(graphs, item) for item in explained],
        "colours": [to_hex(viz.SALIENCY(shade / (SHADES - 1))) for shade in range(SHADES)],
    }
    # "<" is the one character by which text inside a script element could end it.
    data = Markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c"))
    return render("explain.html.j2", title=f"Which nodes decided: {graphs.name}", data=data, width=WIDTH, height=HEIGHT)


def _drawing(graphs: GraphSet, item: Explanation) -> dict[str, Any]:
    one, truth = graphs[item.graph], _truth(graphs, item)
    positions = molecule_positions(graphs, item.graph) if are_molecules(graphs) else positions_of(one)
    points = fit(positions, WIDTH, HEIGHT, MARGIN)
    maps = {item.rule: item.map} | {f"layer {l}": layer for l, layer in enumerate(item.layers)}
    maps |= {} if truth is None else {"true saliency": truth}
    return {
        "title": one.graph_names[0] if one.graph_names else f"graph {item.graph}",
        "verdict": f"graph {item.graph}: predicted {item.verdict}",
        "x": points[:, 0].round(1).tolist(),
        "y": (HEIGHT - points[:, 1]).round(1).tolist(),  # upwards on paper, downwards on a screen
        "edges": pairs_of(one).tolist(),
        "names": [str(n) for n in range(one.num_nodes)] if one.node_names is None else one.node_names.tolist(),
        "labels": _labels(one),
        "maps": {name: values.tolist() for name, values in maps.items()},
        "shades": {name: shades_of(values).tolist() for name, values in maps.items()},
    }


def _truth(graphs: GraphSet, item: Explanation) -> np.ndarray | None:
    return None if graphs.true_saliency is None else graphs.true_saliency[graphs.nodes_of(item.graph)]


def _labels(one: GraphSet) -> list[str]:
    if (symbols := atom_symbols(one)) is not None:
        return list(map(str, symbols))
    if one.node_labels is None or not one.node_label_names:
        return [""] * one.num_nodes
    return [one.node_label_names[label] for label in one.node_labels]
