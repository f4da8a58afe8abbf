"""Three tables in a folder, CSV or Parquet: ``graphs``, ``nodes`` and ``edges``.

===============  ================================================================================================
``graphs.csv``   ``graph`` and, where known, ``label``; ``directed`` (true or false) where an edge leads one way
``nodes.csv``    ``graph``, ``node`` (or ``id``), then the attributes of the node
``edges.csv``    ``graph``, ``source``, ``target``, then the attributes of the edge
===============  ================================================================================================

The graphs are in the order of ``graphs.csv``; rows of the others may come in any order. Tables too large to be in
memory as text are first split, on disk, into parts of whole graphs, and then read part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import Assembler
from sargnn.data.io.columns import text_of
from sargnn.data.io.graph_records import ChunkColumns, GraphChunk, repeats
from sargnn.data.io.table_files import Chunk, CsvTable, ParquetTable, SplitTable, TableFile
from sargnn.data.problems import Problems, refused, shown
from sargnn.data.roles import USUAL, Roles

__all__ = ["has_tables", "read_tables"]

COLUMNS = {
    "graphs": (("graph",),),
    "nodes": (("graph",), ("node", "id")),
    "edges": (("graph",), ("source",), ("target",)),
}
"""What each table must have, under the first name or another."""

PART = 4 << 20
"""Bytes of tables that are in memory at once; as Python objects they take thirty times as much."""
MOST_PARTS = 1024

NO_IDS = frozenset(("", "nan", "NaN", "None"))
"""What a missing id looks like as a text."""

DIRECTED = {"true": True, "1": True, "false": False, "0": False}


def has_tables(folder: Path) -> bool:
    """Whether ``folder`` looks like one for :func:`read_tables`."""
    return any((folder / f"{name}{suffix}").is_file() for name in COLUMNS for suffix in (".csv", ".parquet"))


def read_tables(folder: Path, problems: Problems, *, roles: Roles = USUAL, labelled: bool = True) -> GraphSet:
    """The graphs of three tables; see :mod:`sargnn.data.io.assembler` for what the columns mean."""
    graphs, nodes, edges = (_Opened(folder, name, problems) for name in COLUMNS)
    problems.stop()
    assembler = Assembler(folder.resolve().name, problems, roles=roles, cells=nodes.table.cells, file=graphs.file)
    for chunk in _Reader(graphs, nodes, edges).graph_chunks():
        assembler.add(chunk)
    return assembler.finish(labelled=labelled)


class _Opened:
    """One of the tables: its rows, and their problems."""

    def __init__(self, folder: Path, name: str, problems: Problems) -> None:
        files = {suffix: folder / f"{name}{suffix}" for suffix in (".csv", ".parquet")}
        kind = ".parquet" if (folder / "nodes.parquet").is_file() else ".csv"
        if not files[kind].is_file():
            got = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
            raise refused(f"got {got}, expected {', '.join(f'{table}{kind}' for table in COLUMNS)}", folder)
        self.table: TableFile = (CsvTable if kind == ".csv" else ParquetTable)(files[kind], problems)
        self.file = str(files[kind])
        self.name = name
        self.problems = problems
        for names in COLUMNS[name]:
            if self.table.column(*names) is None:
                got = ", ".join(map(shown, self.table.header))
                expected = f"one called {shown(names[0])}"
                problems.add(f"columns {got}", expected, file=self.file, line=1, field=names[0])

    def refuse(self, chunk: Chunk, row: int, got: str, expected: str, field: str) -> None:
        graph = int(chunk.graph[row]) if len(chunk.graph) else None
        self.problems.add(got, expected, file=self.file, line=int(chunk.lines[row]), graph=graph, field=field)

    def values(self, chunk: Chunk, *names: str) -> Sequence[Any]:
        """A column that there is."""
        column = self.table.column(*names)
        assert column is not None
        return chunk.columns[column]

    def ids(self, chunk: Chunk, *names: str) -> list[str]:
        """A column of ids, as text."""
        values = self.values(chunk, *names)
        ids = list(map(str.strip, values)) if self.table.cells else [_id(value) for value in values]
        if not NO_IDS.isdisjoint(ids):
            for row in [row for row, id_ in enumerate(ids) if id_ in NO_IDS]:
                self.refuse(chunk, row, f"{shown(ids[row])} as {names[0]}", "an id", names[0])
        return ids

    def rows(self, chunk: Chunk, start: int, name: Callable[[int], str] = lambda row: "") -> ChunkColumns:
        """The columns, but for those that say which graph and node; ``start`` is the first graph."""
        special = {self.table.column(*names) for names in COLUMNS[self.name]}
        if self.name == "graphs":
            special.add(self.table.column("directed"))
        wanted = [(i, header) for i, header in enumerate(self.table.header) if header and i not in special]
        return ChunkColumns(
            graph=chunk.graph - start,
            columns={header: chunk.columns[i] for i, header in wanted},
            place=lambda row: (self.file, int(chunk.lines[row])),
            name=name,
        )


class _Reader:
    """Three open tables."""

    def __init__(self, graphs: _Opened, nodes: _Opened, edges: _Opened) -> None:
        self.graphs, self.nodes, self.edges = graphs, nodes, edges
        whole = Chunk.joined(list(graphs.table.chunks()), len(graphs.table.header))
        ids = graphs.ids(whole, "graph")
        again = repeats(ids)
        for row in again:
            graphs.refuse(whole, row, f"graph {shown(ids[row])} again", "every graph once", "graph")
        self.index = {id_: graph for graph, id_ in enumerate(dict.fromkeys(ids))}
        once = whole.take(np.delete(np.arange(len(ids)), again))
        self.rows = replace(once, graph=np.arange(len(once.lines)))

    def graph_chunks(self) -> Iterator[GraphChunk]:
        """The graphs, as many at once as fit into memory."""
        total = len(self.index)
        parts = min(-(-(self.nodes.table.size + self.edges.table.size) // PART), MOST_PARTS, total)
        if parts < 2:
            if total:
                yield self._graph_chunk(0, total, self._whole(self.nodes), self._whole(self.edges))
            return
        bounds = np.linspace(0, total, parts + 1).astype(int).tolist()
        with TemporaryDirectory(prefix="sargnn-") as folder:
            split = []
            for opened in (self.nodes, self.edges):
                split.append(SplitTable(Path(folder, opened.name), bounds, len(opened.table.header)))
                split[-1].fill(self._chunks(opened))
            for part in range(parts):
                yield self._graph_chunk(bounds[part], bounds[part + 1], *(table.read(part) for table in split))

    def _whole(self, opened: _Opened) -> Chunk:
        return Chunk.joined(list(self._chunks(opened)), len(opened.table.header))

    def _chunks(self, opened: _Opened) -> Iterator[Chunk]:
        """The rows of a table with the number of their graph; those of a graph that there is not are refused."""
        for chunk in opened.table.chunks():
            ids = opened.ids(chunk, "graph")
            graph = np.array([self.index.get(id_, -1) for id_ in ids], np.int64)
            for row in np.flatnonzero(graph < 0).tolist():
                expected = f"one that is in {self.graphs.table.path.name}"
                opened.refuse(chunk, row, f"graph {shown(ids[row])}", expected, "graph")
            chunk = replace(chunk, graph=graph)
            yield chunk if (graph >= 0).all() else chunk.take(np.flatnonzero(graph >= 0))

    def _graph_chunk(self, start: int, end: int, nodes: Chunk, edges: Chunk) -> GraphChunk:
        """The graphs from ``start`` to ``end`` with their nodes and edges."""
        nodes = nodes.sorted()
        graphs = self.rows.take(np.arange(start, end))
        ids = self.nodes.ids(nodes, "node", "id")
        node_rows = self.nodes.rows(nodes, start, lambda row: f" of node {shown(ids[row])}")
        edge_rows = self.edges.rows(edges, start)
        first = self._first_nodes(graphs, node_rows.graph)[edge_rows.graph]
        position = self._positions(nodes, ids)
        names = self.graphs.ids(graphs, "graph")
        return GraphChunk(
            graphs=self.graphs.rows(graphs, start),
            nodes=node_rows,
            edges=edge_rows,
            source=self._ends(edges, "source", position, first),
            target=self._ends(edges, "target", position, first),
            directed=self._directed(graphs)[edge_rows.graph],
            graph_names=[None if name == str(start + g) else name for g, name in enumerate(names)],
            node_names=ids,
        )

    def _first_nodes(self, graphs: Chunk, node_graph: np.ndarray) -> np.ndarray:
        """int64 [G]: where the nodes of each graph start; a graph without any is refused."""
        sizes = np.bincount(node_graph, minlength=len(graphs.graph))
        for row in np.flatnonzero(sizes == 0).tolist():
            self.graphs.refuse(graphs, row, "no nodes", f"at least one in {self.nodes.table.path.name}", "graph")
        return np.cumsum(sizes) - sizes

    def _positions(self, nodes: Chunk, ids: list[str]) -> dict[tuple[int, str], int]:
        """From graph and id to the row of the node; an id that comes twice in a graph is refused."""
        keys = list(zip(nodes.graph.tolist(), ids, strict=True))
        for row in repeats(keys):
            self.nodes.refuse(nodes, row, f"node {shown(ids[row])} again", "every id once", "node")
        return dict(zip(keys, range(len(keys)), strict=True))

    def _ends(self, edges: Chunk, end: str, position: dict[tuple[int, str], int], first: np.ndarray) -> np.ndarray:
        """int64 [E]: the positions, within their graphs, of one end of each edge; what is no node is refused."""
        ids = self.edges.ids(edges, end)
        keys = zip(edges.graph.tolist(), ids, strict=True)
        found = np.fromiter((position.get(key, -1) for key in keys), np.int64, len(ids))
        for row in np.flatnonzero(found < 0).tolist():
            self.edges.refuse(edges, row, f"{end} {shown(ids[row])}", "a node of its graph", end)
        return np.where(found < 0, 0, found - first)

    def _directed(self, graphs: Chunk) -> np.ndarray:
        """bool [G]."""
        if self.graphs.table.column("directed") is None:
            return np.zeros(len(graphs.graph), bool)
        values = [_id(value).lower() for value in self.graphs.values(graphs, "directed")]
        for row, value in enumerate(values):
            if value not in DIRECTED:
                self.graphs.refuse(graphs, row, f"{shown(value)} in 'directed'", "true or false", "directed")
        return np.array([DIRECTED.get(value, False) for value in values], bool)


def _id(value: Any) -> str:
    """An id as text; the same in CSV, where all is text, and in Parquet."""
    return value.strip() if isinstance(value, str) else text_of(value)
