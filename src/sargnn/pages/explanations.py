"""Explanations as tables, as drawings, and as one HTML file in which one chooses a graph, a map and a node.

The page needs no network. Names come from data: they reach it as JSON and are only ever set as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from sargnn import viz
from sargnn.data.graphs import GraphSet, pairs_of
from sargnn.files import write_csv, write_file
from sargnn.pages.environment import render
from sargnn.tasks import Verdict
from sargnn.viz.depiction import Depiction, depict, molecule_of
from sargnn.viz.graph import colour_limits, effect_shades, shades_of
from sargnn.viz.layout import fit, positions_of
from sargnn.viz.molecules import DARKEST, caption_of, draw_molecule, is_molecule

__all__ = ["Explanation", "draw", "drawing", "render_page", "write_tables"]

WIDTH, HEIGHT, MARGIN = 720.0, 540.0, 40.0
SHADES = 64
MOST = 50
"""Values that a filter offers at most."""
BOND = 84.0
"""The longest that most bonds of a molecule are drawn."""


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
    values: Mapping[str, Any] = field(default_factory=dict)
    """The prediction in the columns of a file of predictions."""
    truth: str | None = None
    """The true value in words, where it is known."""
    right: bool | None = None
    """Whether a person would call the prediction right."""
    outputs: Sequence[str] = ()
    """The output of each row of the layers, where these are not layers: a model with one memory slot per target."""
    effects: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Of some outputs by name, float [n]: how much each node raises it."""

    @property
    def named_layers(self) -> dict[str, np.ndarray]:
        """The saliency of each layer, or of each output, by name."""
        names = [f"saliency for {name}" for name in self.outputs] or [f"layer {l}" for l in range(len(self.layers))]
        return dict(zip(names, self.layers, strict=True))


def write_tables(folder: Path, graphs: GraphSet, explained: Sequence[Explanation], *, with_map: bool = False) -> None:
    """Write ``saliency.csv``, one row per graph, layer and node, ``saliency.json``, one object per graph, and, where
    there are effects, ``effects.csv``, one row per graph and node.

    ``with_map`` adds the map of all layers, named by its rule, after the layers.
    """
    header = ["graph", "node", "layer", "saliency", "predicted", "probability"]
    header += ["true_saliency"] if graphs.true_saliency is not None else []
    header += ["node_name"] if graphs.node_names is not None else []
    header += ["graph_name"] if graphs.graph_names else []
    write_csv(folder / "saliency.csv", header, (row for item in explained for row in _rows(graphs, item, with_map)))
    write_file(folder / "saliency.json", json.dumps([_object(graphs, item, with_map) for item in explained]))
    if explained and explained[0].effects:
        _write_effects(folder / "effects.csv", graphs, explained)


def _write_effects(file: Path, graphs: GraphSet, explained: Sequence[Explanation]) -> None:
    """One row per graph and node, one column per target."""
    names = None if graphs.node_names is None else graphs.node_names
    header = ["graph", "node", *(f"effect_{name}" for name in explained[0].effects)]
    header += [] if names is None else ["node_name"]
    header += ["graph_name"] if graphs.graph_names else []

    def rows() -> Iterator[list[Any]]:
        for item in explained:
            own = [] if names is None else [names[graphs.nodes_of(item.graph)].tolist()]
            columns = zip(*(effect.tolist() for effect in item.effects.values()), *own, strict=True)
            for node, cells in enumerate(columns):
                yield [item.graph, node, *cells, *graphs.graph_names[item.graph : item.graph + 1]]

    write_csv(file, header, rows())


def _rows(graphs: GraphSet, item: Explanation, with_map: bool) -> Iterator[list[Any]]:
    layers = [
        *zip(item.outputs or range(len(item.layers)), item.layers, strict=True),
        *([(item.rule, item.map)] if with_map else []),
    ]
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
    found |= {"effects": {name: effect.tolist() for name, effect in item.effects.items()}} if item.effects else {}
    found |= {} if graphs.true_saliency is None else {"true_saliency": graphs.true_saliency[nodes].tolist()}
    found |= {} if graphs.node_names is None else {"node_names": graphs.node_names[nodes].tolist()}
    return found | ({"graph_name": graphs.graph_names[item.graph]} if graphs.graph_names else {})


def draw(graphs: GraphSet, item: Explanation, path: Path) -> None:
    """Draw the map into a PNG or SVG file: a molecule where symbols are known, else a graph beside its truth;
    with effects, a panel for each target."""
    truth, title = _truth(graphs, item), _sentence(graphs, item)
    if item.effects:
        viz.save(viz.draw_effects(graphs, item.graph, item.effects, saliency=_saliency(item), title=title), path)
    elif truth is None and is_molecule(graphs, item.graph):
        write_file(path, draw_molecule(graphs, item.graph, item.map, path.suffix == ".svg", title=title))
    else:
        viz.save(viz.draw_graph(graphs, item.graph, item.map, title=title, true_saliency=truth), path)


def _saliency(item: Explanation) -> dict[str, np.ndarray]:
    """The saliency to draw beside effects: that of each target with an effect, or the one that all share."""
    if item.outputs:
        return {
            name: map for name, map in item.named_layers.items() if name.removeprefix("saliency for ") in item.effects
        }
    return {"saliency, one for all targets": item.map} if len(item.layers) else {}


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
        "graphs": [drawing(graphs, item.graph) | _maps(graphs, item) | _words(graphs, item) for item in explained],
        "colours": [to_hex(viz.SALIENCY(shade / (SHADES - 1))) for shade in range(SHADES)],
        "effects": [to_hex(viz.EFFECT(shade / (SHADES - 1))) for shade in range(SHADES)],
    }
    # "<" is the one character by which text inside a script element could end it.
    data = Markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c"))
    title = f"Which nodes decided: {graphs.name}"
    return render("explain.html.j2", title=title, data=data, width=WIDTH, height=HEIGHT, most=MOST, darkest=DARKEST)


def drawing(graphs: GraphSet, graph: int) -> dict[str, Any]:
    """Where the nodes and bonds of graph number ``graph`` are drawn, and what is written at them."""
    one, molecule = graphs[graph], molecule_of(graphs, graph)
    if molecule is None:
        lines = [(a, b, 1.0, 0, "") for a, b in pairs_of(one).tolist()]
        drawn = Depiction(positions_of(one), [(label, 0.0) for label in _labels(one)], lines)
    else:
        drawn = depict(molecule)
    points = fit(drawn.positions, WIDTH, HEIGHT, MARGIN)
    if molecule is not None:
        points = _shrunk(points, [(a, b) for a, b, *_ in drawn.bonds])
    return {
        "molecule": molecule is not None,
        "x": points[:, 0].round(1).tolist(),
        "y": (HEIGHT - points[:, 1]).round(1).tolist(),  # upwards on paper, downwards on a screen
        "bonds": drawn.bonds,
        "texts": drawn.texts,
        "names": [str(n) for n in range(one.num_nodes)] if one.node_names is None else one.node_names.tolist(),
        "labels": _labels(one),
    }


def _maps(graphs: GraphSet, item: Explanation) -> dict[str, Any]:
    """The values of every map, where they lie on the colour scale, and its ends."""
    truth = _truth(graphs, item)
    shared = not item.outputs and (len(item.layers) or not item.effects)
    maps = ({item.rule: item.map} if shared else {}) | item.named_layers
    maps |= {} if truth is None else {"true saliency": truth}
    effects = {f"effect on {name}": values for name, values in item.effects.items()}
    shades = {name: shades_of(values) for name, values in maps.items()}
    shades |= {name: effect_shades(values) for name, values in effects.items()}
    limits = {name: colour_limits(values) for name, values in maps.items()}
    limits |= {name: (-float(np.abs(values).max()), float(np.abs(values).max())) for name, values in effects.items()}
    return {
        "maps": {name: values.tolist() for name, values in (maps | effects).items()},
        "shades": {name: values.tolist() for name, values in shades.items()},
        "limits": limits,
        "signed": list(effects),
        "shared": bool(effects) and not item.outputs,
    }


def _words(graphs: GraphSet, item: Explanation) -> dict[str, Any]:
    """What the page writes beside a drawing: names, the prediction and all its numbers, the true value."""
    numbers = {name: float(v) for name, v in item.values.items() if isinstance(v, float) and np.isfinite(v)}
    return {
        "title": graphs.graph_names[item.graph] if graphs.graph_names else f"graph {item.graph}",
        "caption": caption_of(graphs, item.graph),
        "verdict": _sentence(graphs, item),
        "predicted": _called(graphs, item.verdict.text),
        "truth": None if item.truth is None else _called(graphs, item.truth),
        "right": item.right,
        "values": [[_called(graphs, name.removeprefix("probability_")), number] for name, number in numbers.items()],
    }


def _sentence(graphs: GraphSet, item: Explanation) -> str:
    verdict = item.verdict._replace(text=_called(graphs, item.verdict.text))
    truth = "" if item.truth is None else f", true {_called(graphs, item.truth)}"
    return f"graph {item.graph}: predicted {verdict}{truth}"


def _called(graphs: GraphSet, name: str) -> str:
    """The title of a class, where it has one."""
    return dict(zip(graphs.classes, graphs.class_titles, strict=False)).get(name, name)


def _shrunk(points: np.ndarray, bonds: list[tuple[int, int]]) -> np.ndarray:
    """Points drawn together so that the median bond is at most :data:`BOND` long."""
    ends = np.array(bonds or [(0, 0)])
    length = float(np.median(np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)))
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    return np.asarray((points - middle) * min(1, BOND / max(length, 1e-9)) + np.array([WIDTH, HEIGHT]) / 2)


def _truth(graphs: GraphSet, item: Explanation) -> np.ndarray | None:
    return None if graphs.true_saliency is None else graphs.true_saliency[graphs.nodes_of(item.graph)]


def _labels(one: GraphSet) -> list[str]:
    names = one.node_label_titles or one.node_label_names
    return (
        [""] * one.num_nodes if one.node_labels is None or not names else [names[v] for v in one.node_labels.tolist()]
    )
