"""Graphs of requests: node-link JSON, SMILES, or a graph of a set that the server holds; nodes and edges taken away.

Graphs of many requests are read together where they have the same attributes of the same kinds; this makes no
difference to any of them, only to the time. Where reading them together fails, each is read alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import assemble_records
from sargnn.data.io.graph_records import Record
from sargnn.data.io.molecules import read_molecule
from sargnn.data.io.node_link import read_object
from sargnn.data.problems import Problems, kind_of
from sargnn.data.subgraphs import subgraphs
from sargnn.errors import InputError

__all__ = ["GraphInput", "Lookup", "read", "without"]

Lookup = Mapping[str, GraphSet]
"""The sets of the server by name."""
NAME = "request"
FORMS = 'SMILES, {"nodes": [...], "edges": [...]}, {"smiles": ...} or {"set": ..., "graph": ...}'
Numbers = (int, float)


@dataclass(frozen=True, eq=False)
class GraphInput:
    """One graph of a request, not yet read.

    >>> GraphInput.of({"nodes": [{"id": 0}], "edges": []}, {}).size
    1
    """

    item: Any
    """As it was sent, or the set that it is in."""
    size: int
    """Its nodes; of a molecule, at most as many."""
    form: Hashable
    """Graphs of one form can be read together."""
    position: int = 0
    """In its set."""
    removed: tuple[tuple[int, ...], tuple[tuple[int, int], ...]] = ((), ())
    """Nodes and edges that are taken away before the model sees it."""

    @classmethod
    def of(cls, item: Any, sets: Lookup) -> GraphInput:
        """Sort out what ``item`` is; what is in it is looked at when it is read."""
        if isinstance(item, str):
            return cls(item, len(item), "smiles")
        if not isinstance(item, dict):
            raise InputError(f"got {kind_of(item)}, expected a graph: {FORMS}")
        removed = _removed(item.get("without"))
        item = {name: value for name, value in item.items() if name != "without"}
        form = object() if any(removed) else None
        if "smiles" in item:
            if not isinstance(text := item["smiles"], str):
                raise InputError(f"got {kind_of(text)} in 'smiles', expected a text")
            return cls(text, len(text), form or "smiles", removed=removed)
        if "set" in item:
            return _of_set(item, sets, form, removed)
        nodes = item.get("nodes")
        return cls(item, len(nodes) if isinstance(nodes, list) else 0, form or _form(item), removed=removed)

    @classmethod
    def in_set(cls, graphs: GraphSet, position: int) -> GraphInput:
        """Graph number ``position`` of a set."""
        return cls(graphs, int(graphs.sizes[position]), ("set", id(graphs)), position)


def read(inputs: Sequence[GraphInput]) -> GraphSet:
    """The graphs of inputs of one form, in their order; refuses all if one cannot be read."""
    item = inputs[0].item
    if isinstance(item, GraphSet):
        graphs = item.subset([one.position for one in inputs])
    else:
        problems = Problems()
        records: Iterable[Record] = (
            map(read_molecule, (one.item for one in inputs))
            if isinstance(item, str)
            else (record for one in inputs for record in read_object(one.item, problems))
        )
        graphs = assemble_records(NAME, records, problems, labelled=False)
        graphs = replace(graphs, notes=(), smiles=graphs.graph_names if isinstance(item, str) else ())
    nodes, edges = inputs[0].removed
    return without(graphs, nodes, edges) if nodes or edges else graphs


def without(one: GraphSet, nodes: Iterable[int], edges: Iterable[tuple[int, int]]) -> GraphSet:
    """A graph without some of its nodes and edges, an edge in both directions. What was computed from the whole graph
    stays: an atom's number of bonds in a table of its attributes, or descriptors, which are read from the SMILES.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    >>> without(path, [0], []).edges.tolist(), without(path, [], [(2, 1)]).num_edges
    ([[1, 0], [0, 1]], 2)
    """
    kept = np.ones(one.num_nodes, bool)
    for node in nodes:
        if not 0 <= node < one.num_nodes:
            raise InputError(f"got node {node} in 'without', expected 0..{one.num_nodes - 1}")
        kept[node] = False
    if not kept.any():
        raise InputError("got a graph without all of its nodes, expected one that is left")
    source, target = one.edges
    n = one.num_nodes
    known = [(a, b) for a, b in edges if 0 <= a < n and 0 <= b < n]
    gone = np.array([[a * n + b, b * n + a] for a, b in known], np.int64)
    return subgraphs(one, kept, ~np.isin(source.astype(np.int64) * n + target, gone))


def _of_set(item: dict[str, Any], sets: Lookup, form: Hashable, removed: Any) -> GraphInput:
    name, position = item["set"], item.get("graph")
    if not isinstance(name, str) or name not in sets:
        raise InputError("got a set that is not here, expected one of /v1/sets")
    graphs = sets[name]
    if type(position) is not int or not 0 <= position < len(graphs):
        raise InputError(f"got graph {str(position)[:20]}, expected 0..{len(graphs) - 1}, in {name}")
    return replace(GraphInput.in_set(graphs, position), form=form or ("set", id(graphs)), removed=removed)


def _removed(value: Any) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    if value is None:
        return (), ()
    wrong = InputError('got something else in \'without\', expected {"nodes": [0], "edges": [[0, 1]]}')
    if not isinstance(value, dict) or not value.keys() <= {"nodes", "edges"}:
        raise wrong
    nodes, edges = value.get("nodes", []), value.get("edges", [])
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise wrong
    pairs = [pair for pair in edges if isinstance(pair, list) and len(pair) == 2]
    if len(pairs) < len(edges) or not all(type(n) is int for n in [*nodes, *(n for pair in pairs for n in pair)]):
        raise wrong
    return tuple(nodes), tuple((a, b) for a, b in pairs)


def _form(item: dict[str, Any]) -> Hashable:
    """What a graph's nodes and edges have, by name and kind. A graph that mixes kinds is of a form of its own."""
    own = []
    for rows in (item.get("nodes"), item.get("edges", item.get("links"))):
        kinds: dict[str, set[str]] = {}
        for row in rows if isinstance(rows, list) else [None]:
            if not isinstance(row, dict):
                return object()
            for name, value in row.items():
                kind = "text" if type(value) is str else "number" if isinstance(value, Numbers) else "other"
                kinds.setdefault(name, set()).add(kind)
        for name in ("id", "source", "target", "key"):
            kinds.pop(name, None)
        if any(found != {"text"} and found != {"number"} for found in kinds.values()):
            return object()
        own.append(frozenset((name, *found) for name, found in kinds.items()))
    graph = item.get("graph", {})
    beside = item.keys() - {"nodes", "edges", "links", "directed", "multigraph", "graph"}
    return object() if graph or beside else (*own, bool(item.get("directed")))
