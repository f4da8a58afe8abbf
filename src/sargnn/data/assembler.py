"""From graphs as they were written to a :class:`GraphSet`: the one way that every form but TU's and PyTorch's goes.

A reader gives one :class:`Record` a graph, or a :class:`Window` of many graphs where the file holds columns. The
:class:`Assembler` takes windows one after the other and keeps arrays only, so that what is in memory is the result and
one window, whatever the length of the input. What the names of attributes mean:

========================  ==========================================================================================
``label`` of a node       its category, also where it is a number; so for edges
other attributes          numbers are attributes, in the natural order of their names; texts are categories, and with
                          several of them each combination is one
``node_name``             what to call the node, where not by its id
``true_saliency``         how much the node truly matters; never an input
``label`` of a graph      its class; ``y``, ``class`` and ``target`` are other names for it
``part`` of a graph       ``train``, ``validation`` or ``test`` of an official division
``graph_name``            what to call the graph
========================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from sargnn.data.columns import NUMBER, Column, joined, natural_order, text_of
from sargnn.data.graphs import PARTS, GraphSet, sort_edges
from sargnn.data.problems import Problem, Problems, kind_of, shown
from sargnn.data.records import NAME_LENGTH, Record, Rows, Window, window_of

__all__ = ["CLASS_NAMES", "Assembler", "assemble_records"]

CLASS_NAMES = ("label", "y", "class", "target")
"""Where the class of a graph is looked for, in this order, unless another name is given."""

WINDOW = 4096
"""Graphs that are assembled at once."""

NO_CLASS = ("no class", "one for every graph")
NO_PART = ("no value", "one for every graph or for none")
"""What came and what was expected."""

LISTED = 20
"""Most graphs that were left out and have a note of their own."""


def assemble_records(
    name: str,
    records: Iterable[Record],
    problems: Problems,
    *,
    labels: str | None = None,
    labelled: bool = True,
    file: str | None = None,
) -> GraphSet:
    """A set of the graphs in ``records``; raises what is in ``problems`` and what it finds itself.

    >>> path = Record(["a", "b"], [{"mass": 1}, {"mass": 2}], ["a"], ["b"], [{}], {"label": "short"})
    >>> graphs = assemble_records("paths", [path], Problems())
    >>> graphs.edges.tolist(), graphs.node_attributes.tolist(), graphs.classes, graphs.node_names.tolist()
    ([[1, 0], [0, 1]], [[1.0], [2.0]], ('short',), ['a', 'b'])
    """
    assembler = Assembler(name, problems, labels=labels, file=file)
    waiting = iter(records)
    while some := list(islice(waiting, WINDOW)):
        assembler.add(window_of(some, assembler.graphs, problems))
    return assembler.finish(labelled=labelled)


class Assembler:
    """Takes windows, gives a :class:`GraphSet`."""

    def __init__(
        self,
        name: str,
        problems: Problems,
        *,
        labels: str | None = None,
        cells: bool = False,
        file: str | None = None,
    ) -> None:
        self.name = name
        self.file = file or name
        """Where the graphs come from, as messages call it."""
        self.problems = problems
        self.class_names = CLASS_NAMES if labels is None else (labels,) if labels else ()
        self.cells = cells
        """Whether values were written as text, as in a CSV file."""
        self.graphs = 0
        """So many have been added."""
        self._columns: dict[str, dict[str, Column]] = {"graph": {}, "node": {}, "edge": {}}
        self._rows = {"graph": 0, "node": 0, "edge": 0}
        self._first: dict[str, Callable[[str, str, str], Problem]] = {}
        self._sizes: list[np.ndarray] = []
        self._edge_counts: list[np.ndarray] = []
        self._edges: list[np.ndarray] = []
        self._merged = 0
        self._classes: list[str | None] = []
        self._parts: list[int] = []
        self._missing = {"class": Problems(), "part": Problems()}
        """Problems only if other graphs have a class, or a part."""
        self._graph_names: list[str | None] = []
        self._node_names: list[np.ndarray | None] = []
        self._notes: list[str] = []

    def add(self, window: Window) -> None:
        """Take the graphs of ``window`` after those that came before."""
        count = len(window.graphs.graph)
        self._sizes.append(np.bincount(window.nodes.graph, minlength=count))
        rows = self._add_edges(window, count)
        graph_columns = dict(window.graphs.columns)
        self._take_graph_columns(window.graphs, graph_columns, window.graph_names)
        node_columns = dict(window.nodes.columns)
        names = node_columns.pop("node_name", None)
        names = window.node_names if names is None else ["" if name is None else text_of(name) for name in names]
        self._node_names.append(_names(names, self._sizes[-1]))
        self._add_columns("graph", window.graphs, graph_columns)
        self._add_columns("node", window.nodes, node_columns)
        self._add_columns("edge", window.edges, dict(window.edges.columns), rows)
        self.graphs += count

    def _add_edges(self, window: Window, count: int) -> np.ndarray:
        """Sort, merge and, where undirected, mirror; the row of the window that each edge comes from, int64 [E]."""
        graph, source, target = window.edges.graph, window.source, window.target
        mirrored = np.flatnonzero(~window.directed & (source != target))
        row = np.concatenate([np.arange(len(graph)), mirrored])
        ends = np.stack([np.concatenate([source, target[mirrored]]), np.concatenate([target, source[mirrored]])])
        order, counts = sort_edges(graph[row], ends[0], ends[1], count)
        self._merged += len(graph) - int((order < len(graph)).sum())
        self._edges.append(ends[:, order].astype(np.int32))
        self._edge_counts.append(counts)
        return row[order]

    def _take_graph_columns(self, rows: Rows, columns: dict[str, Sequence[Any]], names: list[str | None]) -> None:
        """Take from ``columns`` what has a place of its own: the class, the name and the part."""
        count = len(rows.graph)
        own = columns.pop("graph_name", names)
        self._graph_names += [None if name is None else text_of(name) for name in own]
        if "part" in columns:
            self._parts += [self._part(value, rows, row) for row, value in enumerate(columns.pop("part"))]
        else:
            self._parts += [-1] * count
            self._missing["part"].take([self._tell(rows, "part", 0, *NO_PART)], count)
        key = next((name for name in self.class_names if name in columns), None)
        if key:
            self._classes += [self._class(value, rows, row, key) for row, value in enumerate(columns.pop(key))]
        else:
            self._classes += [None] * count
            self._missing["class"].take([self._tell(rows, (*self.class_names, "label")[0], 0, *NO_CLASS)], count)
        for name in CLASS_NAMES:
            if columns.pop(name, None) is not None and key:
                self._note(f"took {shown(key)} as the class, not {shown(name)}")

    def _class(self, value: Any, rows: Rows, row: int, key: str) -> str | None:
        value = value.tolist() if hasattr(value, "tolist") else value
        while isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        strange = not isinstance(value, str | int | float | None)
        text = "" if strange or value is None or value != value else text_of(value)
        fraction = NUMBER.fullmatch(text) and not text.lstrip("-").isdigit()
        if strange or fraction:
            got = kind_of(value) if strange else text
            self.problems.take([self._tell(rows, key, row, got, "a whole number or a text as the class")])
        elif not text:
            self._missing["class"].take([self._tell(rows, key, row, *NO_CLASS)])
        return text or None

    def _part(self, value: Any, rows: Rows, row: int) -> int:
        """The code of a part, or -1."""
        part = value.strip() if isinstance(value, str) else ""
        if part in PARTS:
            return PARTS.index(part)
        if not part and (value is None or isinstance(value, str)):
            self._missing["part"].take([self._tell(rows, "part", row, *NO_PART)])
        else:
            expected = f"one of {', '.join(PARTS)}"
            self.problems.take([self._tell(rows, "part", row, shown(value), expected)])
        return -1

    def _add_columns(
        self, each: str, rows: Rows, columns: dict[str, Sequence[Any]], keep: np.ndarray | None = None
    ) -> None:
        """Add a window's columns; a column must be in every window that has rows, or in none."""
        count = len(rows.graph)
        if not count:
            return
        columns = dict(_flat(columns))
        known = self._columns[each]
        for name in known.keys() - columns.keys():
            known[name].problems.take([self._tell(rows, name, 0, *known[name].missing)])
        for name, values in columns.items():
            if name not in known:
                known[name] = Column(name, each, categorical=name == "label", cells=self.cells)
                if self._rows[each]:
                    known[name].problems.take([self._first[each](name, *known[name].missing)])
            known[name].add(values, self._teller(rows, name), keep)
        self._first.setdefault(each, self._first_row(rows))
        self._rows[each] += count

    def _tell(self, rows: Rows, name: str, row: int, got: str, expected: str) -> Problem:
        file, line = rows.place(row)
        message = f"got {got} in {shown(name)}{rows.name(row)}, expected {expected}"
        return Problem(message, file, line, self.graphs + int(rows.graph[row]), name)

    def _teller(self, rows: Rows, name: str) -> Callable[[int, str, str], Problem]:
        return lambda row, got, expected: self._tell(rows, name, row, got, expected)

    def _first_row(self, rows: Rows) -> Callable[[str, str, str], Problem]:
        """A problem of the first row of all, for when its window is gone."""
        (file, line), thing, graph = rows.place(0), rows.name(0), self.graphs + int(rows.graph[0])
        return lambda name, got, expected: Problem(
            f"got {got} in {shown(name)}{thing}, expected {expected}", file, line, graph, name
        )

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def finish(self, *, labelled: bool = True) -> GraphSet:
        """The set, or all the problems at once; a graph without a class is one if ``labelled``."""
        if not self.graphs and not self.problems.found:
            none = Problem("got no graphs, expected at least one", self.file)
            self.problems.take(self.problems.left_out or [none])
        fields = self._graph_fields(labelled)
        for each, columns in self._columns.items():
            for column in columns.values():
                if each != "graph" or column.is_numeric:  # texts about graphs are not used, whatever they are
                    found = column.check()
                    self.problems.take(found.found, found.count)
        self.problems.stop()
        for problem in self.problems.left_out[:LISTED]:
            self._note(f"left out: {problem}")
        if (more := len(self.problems.left_out) - LISTED) > 0:
            self._note(f"left out: {more} more; `sargnn data check` lists them")
        if self._merged:
            self._note(f"merged {self._merged} repeated edges")
        sizes = np.concatenate(self._sizes)
        fields |= self._attributes("node") | self._attributes("edge") | self._attributes("graph")
        return GraphSet(
            name=self.name,
            node_ptr=_pointers(sizes),
            edge_ptr=_pointers(np.concatenate(self._edge_counts)),
            edges=joined(self._edges, np.int32),
            node_names=self._all_node_names(),
            notes=tuple(self._notes),
            **fields,
        )

    def _all_node_names(self) -> np.ndarray | None:
        if all(part is None for part in self._node_names):
            return None
        parts = zip(self._node_names, self._sizes, strict=True)
        return np.concatenate([np.array(_positions(sizes)) if part is None else part for part, sizes in parts])

    def _graph_fields(self, labelled: bool) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if any(name is not None for name in self._graph_names):
            fields["graph_names"] = tuple(str(g) if n is None else n for g, n in enumerate(self._graph_names))
        if (missing := self._missing["class"]).count < len(self._classes):
            if not missing.count:
                names = sorted({name for name in self._classes if name is not None}, key=natural_order)
                index = {name: i for i, name in enumerate(names)}
                fields["y"] = np.array([index.get(name or "", -1) for name in self._classes], np.int64)
                fields["classes"] = tuple(names)
            elif labelled:
                self.problems.take(missing.found, missing.count)
            else:
                self._note(f"left the classes out: {missing.count} graphs have none")
        if (missing := self._missing["part"]).count < len(self._parts):
            self.problems.take(missing.found, missing.count)
            fields["part"] = np.array(self._parts, np.int8)
        return fields

    def _attributes(self, each: str) -> dict[str, Any]:
        """The numbers and categories of each graph, node or edge, as the fields of a set."""
        columns = self._columns[each]
        fields: dict[str, Any] = {}
        if each == "node" and "true_saliency" in columns:
            fields["true_saliency"] = columns.pop("true_saliency").numbers()
        names = sorted(columns, key=natural_order)
        numeric = [name for name in names if columns[name].is_numeric]
        if numeric:
            values = np.empty((len(first := columns[numeric[0]].numbers()), len(numeric)), np.float32)
            values[:, 0] = first
            for i, name in enumerate(numeric[1:], 1):
                values[:, i] = columns[name].numbers()
            fields |= {f"{each}_attributes": values, f"{each}_attribute_names": tuple(numeric)}
        if texts := [name for name in names if name not in numeric]:
            if each == "graph":
                self._note(f"left out what is not a number of the graphs: {', '.join(map(shown, texts))}")
                return fields
            if len(texts) > 1:
                self._note(f"took each combination of {', '.join(map(shown, texts))} of the {each}s as one category")
            codes, categories = _combined([columns[name].categories() for name in texts])
            fields |= {f"{each}_labels": codes, f"{each}_label_names": categories}
        return fields


def _flat(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Columns of single values: a list of numbers in ``x`` becomes ``x_0``, ``x_1``, ..."""
    for name, values in columns.items():
        if not {type(value) for value in values} - {str, int, float, bool, type(None)}:
            yield name, values
            continue
        plain = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        longest = max((len(value) for value in plain if isinstance(value, list | tuple)), default=0)
        if not longest:
            yield name, plain
        for i in range(longest):
            yield f"{name}_{i}", [_item(value, i) for value in plain]


def _item(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, list | tuple) and index < len(value) else None


def _names(names: Sequence[str] | None, sizes: np.ndarray) -> np.ndarray | None:
    """str [N], or None if they are what nodes without a name are called."""
    if names is None or names == _positions(sizes):
        return None
    return np.array([name[:NAME_LENGTH] for name in names], dtype=np.str_)


def _positions(sizes: np.ndarray) -> list[str]:
    """The names of nodes without one.

    >>> _positions(np.array([2, 1]))
    ['0', '1', '0']
    """
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


def _pointers(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
