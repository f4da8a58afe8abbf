"""Graphs as they were written: one :class:`Record` per graph, or one :class:`GraphChunk` of columns for many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import inf
from typing import Any, Literal

import numpy as np

from sargnn.data.problems import InputErrors, Problem, Problems, shown

__all__ = ["ChunkColumns", "GraphChunk", "Record", "chunk_of", "is_id", "repeats"]

MOST_MISSING = 1_000_000
"""Values that a chunk may lack."""

NAME_LENGTH = 40
"""Longer names of nodes are cut: in memory, each takes as much as the longest."""

Place = tuple[str | None, int | None]
"""A file and a line."""
Element = Literal["node", "edge"]


@dataclass(slots=True)
class Record:
    """One graph as it was written."""

    nodes: list[Any]
    """Ids, in order."""
    node_rows: Sequence[Mapping[str, Any]]
    """The attributes of each node; a missing value is None or not there."""
    sources: Sequence[Any]
    targets: Sequence[Any]
    """The ids at the two ends of each edge."""
    edge_rows: Sequence[Mapping[str, Any]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Of the graph."""
    directed: bool | Sequence[bool] = False
    """Whether an edge leads from source to target only: for all edges, or for each."""
    name: str | None = None
    file: str | None = None
    line: int | None = None
    node_lines: Sequence[int] | None = None
    edge_lines: Sequence[int] | None = None

    def place(self, each: Element, position: int) -> Place:
        """Where the node or edge at ``position`` is written."""
        lines = self.node_lines if each == "node" else self.edge_lines
        return self.file, lines[position] if lines else self.line


@dataclass
class ChunkColumns:
    """The columns of the graphs, the nodes or the edges of a chunk, R rows each."""

    graph: np.ndarray
    """int64 [R]: the graph of each row, counted in the chunk."""
    columns: Mapping[str, Sequence[Any]]
    """Name to R values."""
    place: Callable[[int], Place]
    """The file and line of a row."""
    name: Callable[[int], str]
    """What messages call a row, such as ``" of node 'a'"``."""


@dataclass
class GraphChunk:
    """Some graphs, all of them whole."""

    graphs: ChunkColumns
    nodes: ChunkColumns
    """Those of one graph together."""
    edges: ChunkColumns
    source: np.ndarray
    """int64 [E]: position within the graph."""
    target: np.ndarray
    directed: np.ndarray
    """bool [E]: whether an edge leads from source to target only."""
    graph_names: list[str | None]
    node_names: list[str] | None
    """None if all are called 0, 1, 2, ... in their graph."""


def chunk_of(records: Sequence[Record], first: int, problems: Problems) -> GraphChunk:
    """Records as columns; ``first`` is the number of the first among all graphs."""
    ends = [_positions(record, first + g, problems) for g, record in enumerate(records)]
    sources, targets = ([pair[end] for pair in ends] for end in (0, 1))
    counts = list(map(len, sources))
    attributes = _columns([record.attributes for record in records], "graph", records[0].file)
    place = [(record.file, record.line) for record in records].__getitem__
    return GraphChunk(
        graphs=ChunkColumns(np.arange(len(records)), attributes, place, lambda row: ""),
        nodes=_columns_of(records, "node", [len(record.nodes) for record in records]),
        edges=_columns_of(records, "edge", counts),
        source=np.fromiter(chain.from_iterable(sources), np.int64, sum(counts)),
        target=np.fromiter(chain.from_iterable(targets), np.int64, sum(counts)),
        directed=np.fromiter(chain.from_iterable(map(_each_directed, records, counts)), bool, sum(counts)),
        graph_names=[record.name for record in records],
        node_names=_node_names(records),
    )


def _columns_of(records: Sequence[Record], each: Element, counts: Sequence[int]) -> ChunkColumns:
    """``counts`` are the nodes or edges of each record; a record with a wrong end has no edges."""
    graph = np.repeat(np.arange(len(records)), counts)
    starts = np.cumsum(counts) - counts

    def at(row: int) -> tuple[Record, int]:
        return records[graph[row]], row - int(starts[graph[row]])

    def place(row: int) -> Place:
        record, position = at(row)
        return record.place(each, position)

    def name(row: int) -> str:
        record, i = at(row)
        if each == "node":
            return f" of node {shown(record.nodes[i])}"
        return f" of edge {shown(record.sources[i])} - {shown(record.targets[i])}"

    filled = (record for record, count in zip(records, counts, strict=True) if count)
    rows = [row for record in filled for row in (record.node_rows if each == "node" else record.edge_rows)]
    return ChunkColumns(graph, _columns(rows, each, records[0].file), place, name)


def _positions(record: Record, graph: int, problems: Problems) -> tuple[Sequence[int], Sequence[int]]:
    """The ends of the edges as positions of nodes; none if an end is no node."""

    def refuse(each: Element, index: int, got: str, expected: str, field: str) -> None:
        file, line = record.place(each, index)
        problems.add(got, expected, file=file, line=line, graph=graph, field=field)

    position = dict(zip(record.nodes, range(len(record.nodes)), strict=True))
    for node in [i for i, id_ in enumerate(record.nodes) if id_ != id_]:
        refuse("node", node, f"{shown(record.nodes[node])} as id", "a number or a text", "id")
    if not position:
        problems.add("no nodes", "at least one", file=record.file, line=record.line, graph=graph)
    for node in repeats(record.nodes):
        refuse("node", node, f"node {shown(record.nodes[node])} again", "every id once", "id")
    try:
        return [position[id_] for id_ in record.sources], [position[id_] for id_ in record.targets]
    except KeyError:
        for end, ids in (("source", record.sources), ("target", record.targets)):
            for edge, id_ in enumerate(ids):
                if id_ not in position:
                    refuse("edge", edge, f"{end} {shown(id_)}", "the id of a node", end)
        return [], []


def is_id(value: Any) -> bool:
    """Whether a node of a file can be called so: NaN, for one, is not even equal to itself.

    >>> is_id("a"), is_id(7), is_id(float("nan")), is_id(True)
    (True, True, False, False)
    """
    return isinstance(value, str) or (type(value) in (int, float) and abs(value) < inf)


def repeats(ids: Sequence[Any]) -> list[int]:
    """The positions of what came before.

    >>> repeats(["a", "b", "a"])
    [2]
    """
    first: dict[Any, int] = {}
    again = len(set(ids)) < len(ids)  # which is seldom, and quick to know
    return [row for row, id_ in enumerate(ids) if first.setdefault(id_, row) != row] if again else []


def _each_directed(record: Record, count: int) -> Iterable[bool]:
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


def _node_names(records: Sequence[Record]) -> list[str] | None:
    longest = max(len(record.nodes) for record in records)
    numbers, texts = list(range(longest)), list(map(str, range(longest)))
    if all(record.nodes in (numbers[: len(record.nodes)], texts[: len(record.nodes)]) for record in records):
        return None
    return [str(node)[:NAME_LENGTH] for record in records for node in record.nodes]
