"""A :class:`GraphSet` as named columns, for the forms that have names: the reverse of the assembler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS, GraphSet
from sargnn.data.io.targets import PREFIX
from sargnn.errors import InputError

__all__ = ["SetColumns", "exact", "undirected"]

RESERVED = {
    "graph": ("graph", "label", "directed", "graph_name", "part"),
    "node": ("graph", "node", "id", "label", "node_name", "true_saliency"),
    "edge": ("graph", "source", "target", "label"),
}
"""Names that have a meaning of their own in some form, so that no attribute can be called so."""

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class SetColumns:
    """What is known of every graph, node and edge; an edge that leads both ways is there once.

    >>> from sargnn.data.graphs import pack
    >>> columns = SetColumns.of(pack([(2, [(0, 1), (1, 0)])], y=[0], classes=["pair"], node_attributes=[[0.5], [1]]))
    >>> columns.graphs, columns.nodes, columns.ends.tolist(), columns.directed.tolist()
    ({'label': ['pair']}, {'attribute_0': [0.5, 1]}, [[0], [1]], [False])
    """

    directed: np.ndarray
    """bool [G]."""
    edge_graph: np.ndarray
    """int64 [E]."""
    ends: np.ndarray
    """int32 [2, E]: positions within the graph."""
    graphs: Columns
    """Name to G values; ``nodes`` and ``edges`` have N and E."""
    nodes: Columns
    edges: Columns

    @classmethod
    def of(cls, graphs: GraphSet) -> SetColumns:
        directed = ~undirected(graphs)
        source, target = graphs.edges
        kept = np.flatnonzero(directed[graphs.edge_graph] | (source <= target))
        return cls(
            directed=directed,
            edge_graph=graphs.edge_graph[kept],
            ends=graphs.edges[:, kept],
            graphs=_graph_columns(graphs) | _attributes(graphs, "graph"),
            nodes=_node_columns(graphs) | _labels(graphs, "node") | _attributes(graphs, "node"),
            edges=_labels(graphs, "edge", kept) | _attributes(graphs, "edge", kept),
        )


def undirected(graphs: GraphSet) -> np.ndarray:
    """bool [G]: whether every edge of a graph leads both ways, with the same label and attributes."""
    if not graphs.num_edges:
        return np.ones(len(graphs), bool)
    source, target = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    forth, back = target * graphs.num_nodes + source, source * graphs.num_nodes + target
    place = np.minimum(np.searchsorted(forth, back), len(forth) - 1)  # edges are sorted by target, then source
    same = forth[place] == back
    for values in (graphs.edge_labels, graphs.edge_attributes):
        if values is not None:
            there = values[place]
            equal = (there == values) | ((there != there) & (values != values))  # two gaps are equal
            same &= equal.reshape(len(same), -1).all(axis=1)
    return np.asarray(np.bincount(graphs.edge_graph[~same], minlength=len(graphs)) == 0)


def exact(values: np.ndarray) -> list[Any]:
    """The shortest numbers that are ``values`` once they are in 32 bits again.

    >>> exact(np.array([0.1, 3], np.float32))
    [0.1, 3]
    """
    short = values.astype(np.str_).astype(np.float64)
    found = np.where(short.astype(np.float32) == values, short, values.astype(np.float64))
    whole = (found == np.rint(found)) & (np.abs(found) < 2**53) & ~((found == 0) & np.signbit(found))  # -0.0 stays
    return [int(value) if is_whole else value for value, is_whole in zip(found.tolist(), whole.tolist(), strict=True)]


def _graph_columns(graphs: GraphSet) -> Columns:
    found: dict[str, list[Any] | None] = {
        "label": None if graphs.y is None else [graphs.classes[index] for index in graphs.y.tolist()],
        "part": None if graphs.part is None else [PARTS[code] for code in graphs.part.tolist()],
        "graph_name": list(graphs.graph_names) or None,
    }
    if graphs.targets is not None:
        for name, values in zip(graphs.target_names, graphs.targets.T.tolist(), strict=True):
            found[PREFIX + name] = [None if value != value else _whole(value) for value in values]
    return {name: values for name, values in found.items() if values is not None}


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _node_columns(graphs: GraphSet) -> Columns:
    names = {} if graphs.node_names is None else {"node_name": graphs.node_names.tolist()}
    return names if graphs.true_saliency is None else {**names, "true_saliency": exact(graphs.true_saliency)}


def _labels(graphs: GraphSet, each: str, rows: np.ndarray | slice = slice(None)) -> Columns:
    codes = getattr(graphs, f"{each}_labels")
    if codes is None:
        return {}
    names = getattr(graphs, f"{each}_label_names") or list(map(str, range(int(codes.max(initial=-1)) + 1)))
    return {"label": [names[code] for code in codes[rows].tolist()]}


def _attributes(graphs: GraphSet, each: str, rows: np.ndarray | slice = slice(None)) -> Columns:
    values = getattr(graphs, f"{each}_attributes")
    if values is None:
        return {}
    # Those without names have an order, and it is the natural order of attribute_0, attribute_1, ...
    names = getattr(graphs, f"{each}_attribute_names") or [f"attribute_{i}" for i in range(values.shape[1])]
    if taken := [name for name in names if name in RESERVED[each]]:
        raise InputError(f"{graphs.name}: got an attribute of {each}s called {taken[0]!r}, expected another name")
    columns = {name: exact(values[rows, i]) for i, name in enumerate(names)}
    return {name: [None if value != value else value for value in column] for name, column in columns.items()}
