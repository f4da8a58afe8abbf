"""Graphs as they were written: one :class:`Record` a graph, or a :class:`Window` of columns for many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import numpy as np

from sargnn.data.problems import InputErrors, Problem, Problems, shown

__all__ = ["Record", "Rows", "Window", "window_of"]

MOST_MISSING = 1_000_000
"""Values that a window may lack."""

NAME_LENGTH = 40
"""Longer names of nodes are cut: in memory, each takes as much as the longest."""

Place = tuple[str | None, int | None]
"""A file and a line."""


@dataclass(slots=True)
class Record:
    """One graph as it was written."""

    nodes: list[Any]
    """Ids, in order."""
    node_rows: Sequence[Mapping[str, Any]]
    """What is said of each node; a missing value is None or not there."""
    sources: Sequence[Any]
    targets: Sequence[Any]
    """The ids at the two ends of each edge."""
    edge_rows: Sequence[Mapping[str, Any]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What is said of the graph."""
    directed: bool | Sequence[bool] = False
    """Whether an edge leads from source to target only: for all edges, or for each."""
    name: str | None = None
    file: str | None = None
    line: int | None = None
    node_lines: Sequence[int] | None = None
    edge_lines: Sequence[int] | None = None


@dataclass
class Rows:
    """What is said of each graph, each node or each edge of a window."""

    graph: np.ndarray
    """int64 [R]: the graph of the window that each row is about."""
    columns: Mapping[str, Sequence[Any]]
    """Name to R values."""
    place: Callable[[int], Place]
    """The file and line of a row."""
    name: Callable[[int], str]
    """What messages call the thing of a row, such as ``" of node 'a'"``."""


@dataclass
class Window:
    """Some graphs, all of them whole."""

    graphs: Rows
    nodes: Rows
    """Those of one graph together."""
    edges: Rows
    source: np.ndarray
    """int64 [E]: position within the graph."""
    target: np.ndarray
    directed: np.ndarray
    """bool [E]: whether an edge leads from source to target only."""
    graph_names: list[str | None]
    node_names: list[str] | None
    """None if all are called 0, 1, 2, ... in their graph."""


def window_of(records: Sequence[Record], first: int, problems: Problems) -> Window:
    """Records as columns; ``first`` is the number of the first among all graphs."""
    ends = [_positions(record, first + g, problems) for g, record in enumerate(records)]
    edges = _edge_rows(records, [len(sources) for sources, _ in ends])
    count = len(edges.graph)
    return Window(
        graphs=_graph_rows(records),
        nodes=_node_rows(records),
        edges=edges,
        source=np.fromiter(chain.from_iterable(sources for sources, _ in ends), np.int64, count),
        target=np.fromiter(chain.from_iterable(targets for _, targets in ends), np.int64, count),
        directed=np.fromiter(chain.from_iterable(map(_each_directed, records, ends)), bool, count),
        graph_names=[record.name for record in records],
        node_names=_names_of(records),
    )


def _graph_rows(records: Sequence[Record]) -> Rows:
    columns = _columns([record.attributes for record in records], "graph", records[0].file)
    place = [(record.file, record.line) for record in records].__getitem__
    return Rows(np.arange(len(records)), columns, place, lambda row: "")


def _node_rows(records: Sequence[Record]) -> Rows:
    graph = np.repeat(np.arange(len(records)), [len(record.nodes) for record in records])
    node_at = _locator(records, graph)

    def place(row: int) -> Place:
        record, node = node_at(row)
        return record.file, record.node_lines[node] if record.node_lines else record.line

    def name(row: int) -> str:
        record, node = node_at(row)
        return f" of node {shown(record.nodes[node])}"

    rows = list(chain.from_iterable(record.node_rows for record in records))
    return Rows(graph, _columns(rows, "node", records[0].file), place, name)


def _edge_rows(records: Sequence[Record], counts: Sequence[int]) -> Rows:
    """``counts`` are the edges of each record; a record with a wrong end has none."""
    graph = np.repeat(np.arange(len(records)), counts)
    edge_at = _locator(records, graph)

    def place(row: int) -> Place:
        record, edge = edge_at(row)
        return record.file, record.edge_lines[edge] if record.edge_lines else record.line

    def name(row: int) -> str:
        record, edge = edge_at(row)
        return f" of edge {shown(record.sources[edge])} - {shown(record.targets[edge])}"

    with_edges = (record for record, count in zip(records, counts, strict=True) if count)
    rows = list(chain.from_iterable(record.edge_rows for record in with_edges))
    return Rows(graph, _columns(rows, "edge", records[0].file), place, name)


def _locator(records: Sequence[Record], graph: np.ndarray) -> Callable[[int], tuple[Record, int]]:
    """From a row to its record and the position there; ``graph`` is the record of each row."""
    starts = np.searchsorted(graph, np.arange(len(records)))
    return lambda row: (records[graph[row]], row - int(starts[graph[row]]))


def _positions(record: Record, graph: int, problems: Problems) -> tuple[Sequence[int], Sequence[int]]:
    """The ends of the edges as positions of nodes; none if an end is no node."""
    where = {"file": record.file, "graph": graph}
    position = dict(zip(record.nodes, range(len(record.nodes)), strict=True))
    if not position:
        problems.add("no nodes", "at least one", line=record.line, **where)
    if len(position) < len(record.nodes):
        seen: set[Any] = set()
        for node, id_ in enumerate(record.nodes):
            if id_ in seen:
                line = record.node_lines[node] if record.node_lines else record.line
                problems.add(f"node {shown(id_)} again", "every id once", line=line, field="id", **where)
            seen.add(id_)
    try:
        get = position.__getitem__
        return list(map(get, record.sources)), list(map(get, record.targets))
    except KeyError:
        for end, ids in (("source", record.sources), ("target", record.targets)):
            for edge, id_ in enumerate(ids):
                if id_ not in position:
                    line = record.edge_lines[edge] if record.edge_lines else record.line
                    problems.add(f"{end} {shown(id_)}", "the id of a node", line=line, field=end, **where)
        return [], []


def _each_directed(record: Record, ends: tuple[Sequence[int], Sequence[int]]) -> Iterable[bool]:
    count = len(ends[0])
    return repeat(record.directed, count) if isinstance(record.directed, bool) else record.directed[:count]


def _columns(rows: Sequence[Mapping[str, Any]], each: str, file: str | None) -> dict[str, list[Any]]:
    """Name to the values of all rows, None where there is none.

    Rows that hardly share a name would make far larger columns than what was written, and are refused.
    """
    names = sorted(set().union(*rows), key=str)
    if len(names) * len(rows) > 10 * sum(map(len, rows)) + MOST_MISSING:
        message = f"got {len(names)} different attributes of {each}s, expected the same for every {each}"
        raise InputErrors([Problem(message, file)], 1)
    return {str(name): [row.get(name) for row in rows] for name in names}


def _names_of(records: Sequence[Record]) -> list[str] | None:
    longest = max(len(record.nodes) for record in records)
    numbers, texts = list(range(longest)), list(map(str, range(longest)))
    for record in records:
        count = len(record.nodes)
        if record.nodes != numbers[:count] and record.nodes != texts[:count]:
            return [str(node)[:NAME_LENGTH] for record in records for node in record.nodes]
    return None
