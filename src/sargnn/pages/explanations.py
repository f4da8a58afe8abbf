"""Explanations as drawings, and as one HTML file in which one chooses a graph, a map and a node.

The page needs no network. Names come from data: they reach it as JSON and are only ever set as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from sargnn import viz
from sargnn.data.graphs import GraphSet, pairs_of
from sargnn.data.molecule import atom_symbols
from sargnn.files import write_file
from sargnn.pages.environment import render
from sargnn.pages.explanation import Explanation, Pair
from sargnn.viz.depiction import Depiction, depict, molecule_of
from sargnn.viz.graph import colour_limits, shades_of
from sargnn.viz.layout import fit, positions_of
from sargnn.viz.molecules import DARKEST, caption_of, draw_molecule, is_molecule

__all__ = ["draw", "drawing", "fragment_sentence", "render_page"]

WIDTH, HEIGHT, MARGIN = 720.0, 540.0, 40.0
SHADES = 64
MOST = 50
"""Values that a filter offers at most."""
BOND = 84.0
"""The longest that most bonds of a molecule are drawn."""


def draw(graphs: GraphSet, item: Explanation, path: Path) -> None:
    """Draw the map into a PNG or SVG file: a molecule where symbols are known, else a graph beside its truth;
    with effects, a panel for each target."""
    truth, title = _truth(graphs, item), _sentence(graphs, item)
    if item.effects:
        pairs = _pairs(graphs, item)
        painted = {_called(graphs, name): item.painted(effects, pairs) for name, effects in item.effects.items()}
        nodes = {name: own for name, (own, _) in painted.items()}
        ties = {name: own for name, (_, own) in painted.items()}
        viz.save(viz.draw_effects(graphs, item.graph, nodes, ties=ties, saliency=_saliency(item), title=title), path)
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


def fragment_sentence(graphs: GraphSet, output: str, row: Mapping[str, Any], towards: str = "towards") -> str:
    """
    >>> from sargnn.data.graphs import pack
    >>> row = {"name": "nitro", "graphs": 412, "mean": 0.314, "low": 0.25, "high": 0.37}
    >>> fragment_sentence(pack([(1, [])]), "mutagen", row)
    'nitro: +0.31 (+0.25 to +0.37) towards mutagen in 412 graphs'
    """
    thing = "molecule" if graphs.smiles or atom_symbols(graphs) is not None else "graph"
    sure = f" ({row['low']:+.2f} to {row['high']:+.2f})" if np.isfinite(row["low"]) else ""
    number = f"{row['graphs']:,} {thing}{'s' * (row['graphs'] != 1)}"
    return f"{row['name']}: {row['mean']:+.2f}{sure} {towards} {_called(graphs, output)} in {number}"


def render_page(
    graphs: GraphSet, explained: Sequence[Explanation], fragments: Sequence[tuple[str, Sequence[str]]] = ()
) -> str:
    """The page of the ``explained`` graphs out of ``graphs``, below what the ``fragments`` of a set do to outputs:
    headings and sentences.

    >>> from sargnn.data.graphs import pack
    >>> from sargnn.tasks import Verdict
    >>> layers = np.array([[0.2, 0.8]])
    >>> item = Explanation(0, Verdict("path", 0.9), layers, "mean", layers[0])
    >>> page = render_page(pack([(2, [(0, 1), (1, 0)])], name="two"), [item])
    >>> "<title>Which nodes decided: two</title>" in page, " src=" in page
    (True, False)
    """
    content = {
        "graphs": [_shown(graphs, item) for item in explained],
        "colours": [to_hex(viz.SALIENCY(shade / (SHADES - 1))) for shade in range(SHADES)],
        "effects": [to_hex(viz.EFFECT(shade / (SHADES - 1))) for shade in range(SHADES)],
    }
    # "<" is the one character by which text inside a script element could end it.
    data = Markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c"))
    title = f"Which nodes decided: {graphs.name}"
    look = {"width": WIDTH, "height": HEIGHT, "most": MOST, "darkest": DARKEST}
    return render("explain.html.j2", title=title, data=data, fragments=fragments, **look)


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
        "names": _names(one),
        "labels": _labels(one),
    }


def _shown(graphs: GraphSet, item: Explanation) -> dict[str, Any]:
    """All that the page knows of one graph."""
    drawn = drawing(graphs, item.graph)
    bonds = [(min(a, b), max(a, b)) for a, b, *_ in drawn["bonds"]]
    return drawn | _maps(graphs, item, bonds) | _words(graphs, item) | {"flip": _flip(graphs, item, bonds)}


def _flip(graphs: GraphSet, item: Explanation, bonds: Sequence[Pair]) -> dict[str, Any] | None:
    """What to mark, by node and by bond, and a sentence."""
    if (flip := item.flip) is None:
        return None
    removed = [tuple(item.parts[part]) for part in flip.parts] if item.kind == "edges" else []
    names = [f"{item.part_names[part]}" for part in flip.parts] if item.part_names else []
    what = "the edges" if removed else "the nodes"
    told = ", ".join(f"{a}-{b}" for a, b in removed) if removed else ", ".join(map(str, flip.nodes))
    left = flip.verdict._replace(text=_called(graphs, flip.verdict.text))
    parts = f" ({', '.join(names)})" if names else ""
    text = f"Masking {what} {told}{parts} changes the decision. What is left, as a graph of its own: {left}"
    return {
        "nodes": [] if removed else list(flip.nodes),
        "bonds": [number for number, pair in enumerate(bonds) if pair in removed],
        "text": text + ("." if flip.holds else ", so the change does not hold there."),
    }


def _maps(graphs: GraphSet, item: Explanation, bonds: Sequence[Pair]) -> dict[str, Any]:
    """The values of every map, where they lie on the colour scale, and its ends; of effects, those of bonds too, and
    which fragments there are."""
    truth = _truth(graphs, item)
    shared = not item.outputs and (len(item.layers) or not item.effects)
    maps = ({item.rule: item.map} if shared else {}) | item.named_layers
    maps |= {} if truth is None else {"true saliency": truth}
    of = "" if item.kind == "nodes" else f"of {item.kind} "
    of_parts = {f"effect {of}on {_called(graphs, name)}": values for name, values in item.effects.items()}
    painted = {name: item.painted(values, bonds) for name, values in of_parts.items()}
    effects = {name: nodes for name, (nodes, _) in painted.items()}
    most = {name: float(np.abs(values).max(initial=0)) for name, values in of_parts.items()}
    shades = {name: shades_of(values) for name, values in maps.items()}
    shades |= {name: 0.5 + values / (2 * (most[name] or 1)) for name, values in effects.items()}
    limits = {name: colour_limits(values) for name, values in maps.items()}
    limits |= {name: (-end, end) for name, end in most.items()}
    return {
        "maps": {name: values.tolist() for name, values in (maps | effects).items()},
        "shades": {name: values.tolist() for name, values in shades.items()},
        "limits": limits,
        "signed": list(effects),
        "shared": bool(effects) and not item.outputs,
        "ties": {
            name: [
                [b, ties[pair], 0.5 + ties[pair] / (2 * (most[name] or 1))]
                for b, pair in enumerate(bonds)
                if pair in ties
            ]
            for name, (_, ties) in painted.items()
        },
        "fragments": [
            {
                "name": name,
                "nodes": list(map(int, nodes)),
                "effects": {of: float(v[part]) for of, v in of_parts.items()},
            }
            for part, (name, nodes) in enumerate(zip(item.part_names, item.parts, strict=False))
        ],
    }


def _pairs(graphs: GraphSet, item: Explanation) -> list[Pair]:
    return [(a, b) for a, b in pairs_of(graphs[item.graph]).tolist() if a != b]


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


def _names(one: GraphSet) -> list[str]:
    """What nodes are called; their positions, where that is what they are: each carbon of a molecule is a C."""
    names = None if one.node_names is None else one.node_names.tolist()
    return list(map(str, range(one.num_nodes))) if names is None or names == _labels(one) else names


def _labels(one: GraphSet) -> list[str]:
    names = one.node_label_titles or one.node_label_names
    return (
        [""] * one.num_nodes if one.node_labels is None or not names else [names[v] for v in one.node_labels.tolist()]
    )
