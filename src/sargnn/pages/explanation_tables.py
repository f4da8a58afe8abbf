"""Explanations as tables: saliency, effects of parts, fragments over a set, and what would change a decision."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.files import write_csv, write_file
from sargnn.pages.explanation import Explanation

__all__ = ["write_flips", "write_fragments", "write_tables"]


def write_tables(folder: Path, graphs: GraphSet, explained: Sequence[Explanation], *, with_map: bool = False) -> None:
    """Write ``saliency.csv``, one row per graph, layer and node, and ``saliency.json``, one object per graph. Where
    there are effects, ``effects.csv`` has one row per graph and part.

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


def write_fragments(file: Path, fragments: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """One row per output and kind of fragment; a fragment of one graph has no interval."""
    rows = ((name, *map(_cell, row.values())) for name, kinds in fragments.items() for row in kinds)
    write_csv(file, ["for", "fragment", "graphs", "count", "mean_effect", "low", "high"], rows)


def write_flips(file: Path, graphs: GraphSet, explained: Sequence[Explanation]) -> None:
    """One row per graph; empty after the prediction where no removal was found. ``holds``: whether what is left, as a
    graph of its own, is decided otherwise, too."""
    header = ["graph", "predicted", "probability", "removed", "nodes", "parts", "left_predicted", "left_probability"]
    header += ["holds", *(["graph_name"] if graphs.graph_names else [])]

    def rows() -> Iterator[list[Any]]:
        for item in explained:
            found: list[Any] = [""] * 6
            if (flip := item.flip) is not None:
                named = [item.part_names[part] for part in flip.parts] if item.part_names else []
                holds = "yes" if flip.holds else "no"
                found = [len(flip.parts), " ".join(map(str, flip.nodes)), "; ".join(named), *flip.verdict, holds]
            yield [item.graph, *item.verdict, *found, *graphs.graph_names[item.graph : item.graph + 1]]

    write_csv(file, header, rows())


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and not isfinite(value) else value


def _write_effects(file: Path, graphs: GraphSet, explained: Sequence[Explanation]) -> None:
    """One row per graph and part, one column per target. A node is told by its number, an edge by its two nodes, a
    fragment by its name and nodes."""
    kind, names = explained[0].kind, graphs.node_names
    told = {"nodes": ["node"], "edges": ["source", "target"], "fragments": ["fragment", "nodes"]}[kind]
    header = ["graph", *told, *(f"effect_{name}" for name in explained[0].effects)]
    header += ["node_name"] if kind == "nodes" and names is not None else []
    header += ["graph_name"] if graphs.graph_names else []

    def rows() -> Iterator[list[Any]]:
        for item in explained:
            effects = zip(*(effect.tolist() for effect in item.effects.values()), strict=True)
            named = [] if names is None else names[graphs.nodes_of(item.graph)].tolist()
            for part, cells in enumerate(effects):
                own: list[Any] = [part] if kind == "nodes" else list(item.parts[part])
                own = [item.part_names[part], " ".join(map(str, own))] if kind == "fragments" else own
                called = [named[part]] if kind == "nodes" and named else []
                yield [item.graph, *own, *cells, *called, *graphs.graph_names[item.graph : item.graph + 1]]

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
    found |= {} if item.kind == "nodes" else {item.kind: [list(map(int, part)) for part in item.parts]}
    found |= {"fragment_names": list(item.part_names)} if item.part_names else {}
    found |= {} if graphs.true_saliency is None else {"true_saliency": graphs.true_saliency[nodes].tolist()}
    found |= {} if graphs.node_names is None else {"node_names": graphs.node_names[nodes].tolist()}
    return found | ({"graph_name": graphs.graph_names[item.graph]} if graphs.graph_names else {})
