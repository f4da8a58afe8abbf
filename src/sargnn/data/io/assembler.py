"""From graphs as they were written to a :class:`GraphSet`: how all forms but TU's and PyTorch's are read.

A reader gives one :class:`Record` per graph, or a :class:`GraphChunk` of many graphs where the file holds columns. The
:class:`Assembler` takes one chunk after the other and keeps only arrays, so that memory holds the result and one chunk,
whatever the length of the input. What the names of attributes mean:

========================  ==========================================================================================
``label`` of a node       its category, also where it is a number; so for edges
other attributes          numbers are attributes, in the natural order of their names; texts are categories, and with
                          several of them each combination is one
``node_name``             what to call the node, where not by its id
``true_saliency``         how much the node truly matters; never an input
``label`` of a graph      its class or measured number; ``y``, ``class`` and ``target`` are other names for it
``target:NAME``           one of its targets
``part`` of a graph       ``train``, ``validation`` or ``test`` of an official split
``graph_name``            what to call the graph
========================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet, pointers, sort_edges
from sargnn.data.io.columns import Column, GrowingArray, Unreadable, natural_order, text_of
from sargnn.data.io.graph_fields import GraphFields
from sargnn.data.io.graph_records import NAME_LENGTH, ChunkColumns, GraphChunk, Record, chunk_of
from sargnn.data.origin import Origin, SourceRows
from sargnn.data.problems import Problem, Problems, kind_of, merged_note, shown
from sargnn.data.roles import USUAL, Roles

__all__ = ["Assembler", "assemble_records"]

CHUNK = 4096
"""Graphs that are assembled at once."""

LONGEST = 4096
"""Numbers in a list that becomes columns."""

Row = tuple[str, str | None, int | None, int]
"""What messages call a row, its file and line, and its graph."""

LISTED = 5
"""Graphs left out that get a note of their own, at most."""


def assemble_records(
    name: str,
    records: Iterable[Record],
    problems: Problems,
    *,
    roles: Roles = USUAL,
    labelled: bool = True,
    file: str | None = None,
) -> GraphSet:
    """A set of the graphs in ``records``; raises what is in ``problems`` and what it finds itself.

    >>> path = Record(["a", "b"], [{"mass": 1}, {"mass": 2}], ["a"], ["b"], [{}], {"label": "short"})
    >>> graphs = assemble_records("paths", [path], Problems())
    >>> graphs.edges.tolist(), graphs.node_attributes.tolist(), graphs.classes, graphs.node_names.tolist()
    ([[1, 0], [0, 1]], [[1.0], [2.0]], ('short',), ['a', 'b'])
    """
    assembler = Assembler(name, problems, roles=roles, file=file)
    waiting = iter(records)
    while some := list(islice(waiting, CHUNK)):
        assembler.add(chunk_of(some, assembler.graphs, problems))
    return assembler.finish(labelled=labelled)


class Assembler:
    """Takes chunks, gives a :class:`GraphSet`."""

    def __init__(
        self, name: str, problems: Problems, *, roles: Roles = USUAL, cells: bool = False, file: str | None = None
    ) -> None:
        self.name = name
        self.file = file or name
        """Where the graphs come from, as messages call it."""
        self.problems = problems
        self.cells = cells
        """Whether values were written as text, as in a CSV file."""
        self.graphs = 0
        """Number added so far."""
        self._columns: dict[str, dict[str, Column]] = {"graph": {}, "node": {}, "edge": {}}
        self._added: dict[str, tuple[int, Row]] = {}
        """The first row of all (see :meth:`_row`), for when its chunk is gone."""
        self._sizes: list[np.ndarray] = []
        self._edge_counts: list[np.ndarray] = []
        self._edges = GrowingArray(np.int32, 2)
        self._merged = 0
        self._roles, self._rows = roles, dict[str, list[Any]]()
        """What the columns of the graphs are for, and all their values as they were written."""
        self._graph_fields = GraphFields(problems, roles)
        self._node_names: list[np.ndarray | None] = []

    def add(self, chunk: GraphChunk) -> None:
        """Take the graphs of ``chunk`` after those that came before."""
        count = len(chunk.graphs.graph)
        self._sizes.append(np.bincount(chunk.nodes.graph, minlength=count))
        rows = self._add_edges(chunk, count)
        graph_columns, node_columns = dict(chunk.graphs.columns), dict(chunk.nodes.columns)
        for name in graph_columns.keys() | self._rows.keys():
            values = self._rows.setdefault(name, [None] * self.graphs)
            values += graph_columns.get(name, [None] * count)
        self._graph_fields.take(graph_columns, chunk.graph_names, partial(self._tell, chunk.graphs))
        names = node_columns.pop("node_name", None)
        names = chunk.node_names if names is None else ["" if name is None else text_of(name) for name in names]
        self._node_names.append(_names(names, self._sizes[-1]))
        self._add_columns("graph", chunk.graphs, graph_columns)
        self._add_columns("node", chunk.nodes, node_columns)
        self._add_columns("edge", chunk.edges, chunk.edges.columns, rows)
        self.graphs += count

    def _add_edges(self, chunk: GraphChunk, count: int) -> np.ndarray:
        """Sort, merge and, where undirected, mirror; the row of the chunk that each edge comes from, int64 [E]."""
        graph, source, target = chunk.edges.graph, chunk.source, chunk.target
        mirrored = np.flatnonzero(~chunk.directed & (source != target))
        row = np.concatenate([np.arange(len(graph)), mirrored])
        ends = np.stack([np.concatenate([source, target[mirrored]]), np.concatenate([target, source[mirrored]])])
        order, counts = sort_edges(graph[row], ends[0], ends[1], count)
        self._merged += len(graph) - int((order < len(graph)).sum())
        self._edges.extend(ends.T[order])
        self._edge_counts.append(counts)
        return np.asarray(row[order])

    def _add_columns(
        self, each: str, rows: ChunkColumns, columns: Mapping[str, Sequence[Any]], keep: np.ndarray | None = None
    ) -> None:
        """Add a chunk's columns; a column that another chunk has, or had, has gaps here, or there."""
        if not len(rows.graph):
            return
        known = self._columns[each]
        columns = {name: [None] * len(rows.graph) for name in sorted(known)} | dict(_flat(columns))
        before, first = self._added.get(each, (0, self._row(rows, 0)))
        for name, values in columns.items():
            if name not in known:
                kind = {"label": "categories", "true_saliency": "numbers"}.get(name)
                known[name] = Column(name, each, kind, cells=self.cells)
                if each in self._added:
                    known[name].skip(before, _problem(first, name, "no value", f"one for every {each}"))
            known[name].add(values, partial(self._tell, rows, name), keep)
        self._added[each] = before + (len(rows.graph) if keep is None else len(keep)), first

    def _tell(self, rows: ChunkColumns, name: str, row: int, got: str, expected: str) -> Problem:
        return _problem(self._row(rows, row), name, got, expected)

    def _row(self, rows: ChunkColumns, row: int) -> Row:
        return rows.name(row), *rows.place(row), self.graphs + int(rows.graph[row])

    def finish(self, *, labelled: bool = True) -> GraphSet:
        """The set, or all the problems at once; a graph without a class is one if ``labelled``."""
        if not self.graphs and not self.problems.found:
            none = Problem("got no graphs, expected at least one", self.file)
            self.problems.take(self.problems.left_out or [none])
        fields = self._graph_fields.finish(labelled=labelled)
        for each, columns in self._columns.items():
            for column in columns.values():
                if each != "graph" or column.is_numeric:  # texts about graphs are not used, whatever they are
                    found = column.check()
                    self.problems.take(found.found, found.count)
        self.problems.stop()
        for each in self._columns:
            fields |= self._attributes(each)
        return GraphSet(
            name=self.name,
            node_ptr=pointers(np.concatenate(self._sizes)),
            edge_ptr=pointers(np.concatenate(self._edge_counts)),
            edges=self._edges.take().T,
            node_names=self._all_node_names(),
            notes=tuple(self._notes()),
            origin=Origin(self._roles, SourceRows(self._rows, np.arange(self.graphs))),
            **fields,
        )

    def _all_node_names(self) -> np.ndarray | None:
        if all(part is None for part in self._node_names):
            return None
        parts = zip(self._node_names, self._sizes, strict=True)
        return np.concatenate([np.array(_positions(sizes)) if part is None else part for part, sizes in parts])

    def _notes(self) -> Iterator[str]:
        left_out = self.problems.left_out
        yield from (f"left out: {problem}" for problem in left_out[:LISTED])
        if len(left_out) > LISTED:
            yield f"left out: {len(left_out) - LISTED} more; `sargnn data check` lists them"
        yield from self._graph_fields.notes
        for each, columns in self._columns.items():
            texts = [shown(n) for n in sorted(columns, key=natural_order) if not columns[n].is_numeric]
            if texts and each == "graph":
                yield f"left out what is not a number of the graphs: {', '.join(texts)}"
            elif len(texts) > 1:
                yield f"took each combination of {', '.join(texts)} of the {each}s as one category"
        if self._merged:
            yield merged_note(self._merged)

    def _attributes(self, each: str) -> dict[str, Any]:
        """The numbers and categories of each graph, node or edge, as the fields of a set."""
        columns = self._columns[each]
        fields: dict[str, Any] = {}
        if each == "node" and "true_saliency" in columns:
            fields["true_saliency"] = columns.pop("true_saliency").numbers()
        names = sorted(columns, key=natural_order)
        numeric = [name for name in names if columns[name].is_numeric]
        if numeric:
            values = np.stack([columns[name].numbers() for name in numeric], axis=1)
            fields |= {f"{each}_attributes": values, f"{each}_attribute_names": tuple(numeric)}
        texts = [name for name in names if name not in numeric]
        if texts and each != "graph":
            codes, categories = _combined([columns[name].categories() for name in texts])
            fields |= {f"{each}_labels": codes, f"{each}_label_names": categories}
        return fields


def _problem(row: Row, name: str, got: str, expected: str) -> Problem:
    thing, file, line, graph = row
    return Problem(f"got {got} in {shown(name)}{thing}, expected {expected}", file, line, graph, name)


def _flat(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Columns of single values: a list of numbers in ``x`` becomes ``x_0``, ``x_1``, ... A list that is missing is a
    gap in each; one of another length is not."""
    for name, values in columns.items():
        if not {type(value) for value in values} - {str, int, float, bool, type(None)}:
            yield name, values
            continue
        plain = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        longest = max((len(value) for value in plain if isinstance(value, list | tuple)), default=0)
        if not 0 < longest <= LONGEST:
            yield name, plain
            continue
        for i in range(longest):
            yield f"{name}_{i}", [_at(value, i, longest) for value in plain]


def _at(value: Any, i: int, length: int) -> Any:
    """Number ``i`` of a list of that ``length``."""
    if value is None or value != value:
        return None
    if isinstance(value, list | tuple):
        return value[i] if i < len(value) else Unreadable(f"a list of {len(value)}", f"{length} numbers, as in others")
    return Unreadable(kind_of(value), f"a list of {length}, as in others")


def _names(names: Sequence[str] | None, sizes: np.ndarray) -> np.ndarray | None:
    """str [N], or None if they are what nodes without a name are called."""
    if names is None or names == _positions(sizes):
        return None
    return np.array([name[:NAME_LENGTH] for name in names], dtype=np.str_)


def _positions(sizes: np.ndarray) -> list[str]:
    """The names of nodes without one: ``0``, ``1``, ... in each graph."""
    texts = list(map(str, range(int(sizes.max(initial=0)))))
    return [text for size in sizes.tolist() for text in texts[:size]]


def _combined(columns: list[tuple[np.ndarray, tuple[str, ...]]]) -> tuple[np.ndarray, tuple[str, ...]]:
    """One category for each combination of those in ``columns``, its parts joined by commas.

    >>> _combined([(np.array([0, 0]), ("C",)), (np.array([1, 0]), ("2", "10"))])
    (array([1, 0]), ('C,2', 'C,10'))
    """
    if len(columns) == 1:
        return columns[0]
    distinct, index = np.unique(np.stack([codes for codes, _ in columns]), axis=1, return_inverse=True)
    texts = [",".join(names[i] for i, (_, names) in zip(row, columns, strict=True)) for row in distinct.T.tolist()]
    names = sorted(set(texts), key=natural_order)
    rank = {name: i for i, name in enumerate(names)}
    return np.array([rank[text] for text in texts], np.int64)[index.reshape(-1)], tuple(names)
