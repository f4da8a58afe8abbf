"""The TU-Dortmund text format: one set of graphs in a few comma-separated files, in a folder or a zip.

=============================  =======================================================================
``NAME_A.txt``                 ``source, target`` of each directed edge, nodes counted from 1
``NAME_graph_indicator.txt``   the graph of each node, counted from 1
``NAME_graph_labels.txt``      the class of each graph; without this file, ``NAME_graph_attributes.txt``
``NAME_graph_attributes.txt``  real numbers of each graph
``NAME_node_labels.txt``       the category of each node; each combination of several columns is one
``NAME_node_attributes.txt``   real numbers of each node
``NAME_edge_labels.txt``       the category of each line of ``NAME_A.txt``
``NAME_edge_attributes.txt``   real numbers of each line of ``NAME_A.txt``
``NAME_label_readme.txt``      what the numbers of the categories mean (:mod:`sargnn.data.io.label_readme`)
=============================  =======================================================================

The first two must be there. A real number that is missing is written ``nan``. Nothing is unpacked to disk. An error
names the file, the line and the graph (counted from 0), and lists what is wrong in all files.
"""

from __future__ import annotations

import codecs
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np

from sargnn.data.graphs import EDGE_ARRAYS, NODE_ARRAYS, GraphSet, pointers, sort_edges
from sargnn.data.io.label_readme import titles_of
from sargnn.data.io.targets import TargetColumns
from sargnn.data.io.zips import Unpacking, members_of
from sargnn.data.problems import MOST, InputErrors, Problem, Problems, merged_note, refused, shown
from sargnn.errors import InputError
from sargnn.reading import is_utf16, number_of, open_regular, read_bytes

__all__ = ["Place", "Table", "add_targets", "assemble", "is_tu_folder", "read_folder", "read_zip"]

AnyPath = TypeVar("AnyPath", bound=PurePath)

KINDS = (
    "A", "graph_indicator", "graph_labels", "graph_attributes",
    "node_labels", "node_attributes", "edge_labels", "edge_attributes", "label_readme",
)  # fmt: skip

CATEGORIES = {
    "graph": ("y", "classes"),
    "node": ("node_labels", "node_label_names"),
    "edge": ("edge_labels", "edge_label_names"),
}
"""The fields of a set that hold the categories of each, and their names."""

LARGEST_INTEGER = 2.0**53
"""Numbers are parsed as float64, which is exact for integers up to here."""


TextFile = tuple[str, bytes]
"""What error messages call a file of the format, and its text."""


@dataclass(frozen=True)
class Place:
    """Where a row of numbers stands, in the words of an error message."""

    file_and_line: Callable[[int], tuple[str, int | None]]
    graph: np.ndarray | None = None
    """int64 [R]: the graph that each row is about, where that is known."""

    def refuse(self, row: int, got: str, expected: str, field: str | None = None) -> Problem:
        graph = None if self.graph is None or row >= len(self.graph) else int(self.graph[row])
        return Problem(f"got {got}, expected {expected}", *self.file_and_line(row), graph, field)


@dataclass(frozen=True)
class Table:
    """Numbers as they were written; the methods give them a meaning or refuse, naming the place.

    >>> Table(np.array([[7.0], [-1.0], [7.0]]), Place(lambda row: ("labels", row))).categories()
    (array([1, 0, 1]), ('-1', '7'))
    """

    values: np.ndarray
    """float64 [R, C]."""
    place: Place

    def integers(self) -> np.ndarray:
        """int64 [R, C]."""
        whole = (self.values == np.rint(self.values)) & (np.abs(self.values) <= LARGEST_INTEGER)
        self._require(whole, "an integer")
        return self.values.astype(np.int64)

    def reals(self, *, gaps: bool = True) -> np.ndarray:
        """float32 [R, C], every one finite, or NaN where there may be ``gaps``."""
        with np.errstate(over="ignore"):  # what does not fit is refused in the next line
            values = self.values.astype(np.float32)
        missing = np.isnan(values)
        self._require(np.isfinite(values) | (gaps & missing), "a finite number")
        values[missing] = np.nan  # of which there are many kinds: equal sets are equal bit by bit
        return values

    def categories(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """int64 [R], an index into the distinct rows in order; their names, ``"3"`` or ``"3,0"``."""
        values = self.integers()
        axis = 0 if values.shape[1] != 1 else None  # None sorts numbers, which is faster than rows
        distinct, index = np.unique(values, axis=axis, return_inverse=True)
        rows = distinct.reshape(-1, values.shape[1]).tolist()
        return index.reshape(-1), tuple(",".join(map(str, row)) for row in rows)

    def _require(self, good: np.ndarray, expected: str) -> None:
        bad = np.argwhere(~good)
        if not len(bad):
            return
        cells = [(row, f"column {column + 1}", float(self.values[row, column])) for row, column in bad[:MOST].tolist()]
        found = [self.place.refuse(row, f"{value} in {field}", expected, field) for row, field, value in cells]
        raise InputErrors(found, len(bad))


def add_targets(targets: TargetColumns, tables: Mapping[str, Table], count: int) -> None:
    """Add what ``tables`` hold of ``count`` graphs, by name; the columns of a table of several are numbered."""
    columns: dict[str, list[float]] = {}
    place: dict[str, Place] = {}
    for name, table in tables.items():
        for i, values in enumerate(table.values.T.tolist()):
            column = name if len(table.values.T) == 1 else f"{name}_{i}"
            columns[column], place[column] = values, table.place

    def tell(column: str, row: int, got: str, expected: str) -> Problem:
        return place.get(column, nowhere).refuse(row, f"{got} in {shown(column)}", expected, column)

    nowhere = Place(lambda row: ("", None))
    targets.add(columns, count, tell)


def is_tu_folder(folder: Path) -> bool:
    """Whether ``folder`` holds a file ``NAME_A.txt``."""
    return any(path.name.endswith("_A.txt") and not path.name.startswith(".") for path in folder.iterdir())


def read_folder(folder: Path) -> GraphSet:
    """The set whose files ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ... lie in ``folder``."""
    try:
        name, paths = _files_of_the_set(folder.iterdir(), str(folder))
        files = {kind: (str(path), read_bytes(path)) for kind, path in paths.items()}
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", error.filename) from error
    return _read(name, files, str(folder))


def read_zip(archive: Path | io.BufferedIOBase, place: str) -> GraphSet:
    """The set in a zip, under ``NAME/`` or at the top; ``place`` is what error messages call the zip."""
    try:
        with ExitStack() as stack:
            file = archive if isinstance(archive, io.IOBase) else stack.enter_context(open_regular(archive))
            opened = stack.enter_context(zipfile.ZipFile(file))
            members = members_of(opened, place)
            name, paths = _files_of_the_set(members, place)
            files, unpacking = {}, Unpacking(place, file.seek(0, io.SEEK_END))
            for kind, path in paths.items():
                with opened.open(members[path]) as member:
                    files[kind] = (f"{place}/{path}", b"".join(unpacking.blocks(member.read)))
    except InputError:
        raise
    except Exception as error:  # a damaged zip raises almost anything: zlib, struct, encoding, OS errors, ...
        raise refused(f"not a readable zip ({error})", place) from error
    return _read(name, files, place)


def _files_of_the_set(paths: Iterable[AnyPath], place: str) -> tuple[str, dict[str, AnyPath]]:
    """NAME, and the path of each kind of file that is there."""
    visible = [path for path in paths if not path.name.startswith(".")]  # macOS adds ._NAME_A.txt
    edges = [path for path in visible if path.name.endswith("_A.txt") and path.name != "_A.txt"]
    if len(edges) != 1:
        got = ", ".join(sorted(map(str, edges))) or "no NAME_A.txt"
        raise refused(f"got {got}, expected the files of one TU set (NAME_A.txt, ...)", place)
    name = edges[0].name.removesuffix("_A.txt")
    wanted = {edges[0].with_name(f"{name}_{kind}.txt"): kind for kind in KINDS}
    return name, {wanted[path]: path for path in visible if path in wanted}


def _read(name: str, files: Mapping[str, TextFile], place: str) -> GraphSet:
    if "graph_indicator" not in files:
        raise refused(f"got no {name}_graph_indicator.txt, expected it beside {name}_A.txt", place)
    problems = Problems()
    fields: dict[str, Any] = {}
    notes: list[str] = []
    graph = _graph_of_each_node(files["graph_indicator"])
    owners = {"node": graph, "graph": np.arange(int(graph.max()) + 1)}
    with problems.caught():
        source, target = _edges(files["A"], graph)
        owners["edge"] = graph[source]
    for each, owner in owners.items():
        labels, attributes = files.get(f"{each}_labels"), files.get(f"{each}_attributes")
        if each == "graph" and labels is None:
            if attributes:  # what is known of the graphs is then what is to be predicted
                targets = TargetColumns(problems)
                with problems.caught():
                    add_targets(targets, {"target": _table(attributes, each, owner)}, len(owner))
                fields |= targets.finish(labelled=True)
                notes += targets.notes
            continue
        if labels:
            with problems.caught():
                table = _table(labels, each, owner, columns=1 if each == "graph" else None)
                index, names = CATEGORIES[each]
                fields[index], fields[names] = table.categories()
                if (columns := table.values.shape[1]) > 1:
                    notes.append(f"took each combination of {columns} {each} labels as one category")
        if attributes:
            with problems.caught():
                fields[f"{each}_attributes"] = _table(attributes, each, owner).reals()
    problems.stop()
    if "label_readme" in files:
        fields |= titles_of(files["label_readme"][1], fields)
    return assemble(name, graph, source, target, notes=notes, **fields)


def _graph_of_each_node(file: TextFile) -> np.ndarray:
    """int64 [N]: counted from 0, every graph with at least one node."""
    table, where = _table(file, columns=1), file[0]
    if len(table.values) == 0:
        raise refused("got no nodes, expected at least one graph", where)
    number = _counted_from_1(table, "graph")[:, 0]
    if len(bad := np.flatnonzero(number < 1)):
        refuse = table.place.refuse
        raise InputErrors([refuse(r, f"graph number {number[r]}", "1 or more") for r in bad[:MOST].tolist()], len(bad))
    present = np.unique(number)
    if present[-1] != len(present):
        missing = int(np.argmax(present != np.arange(1, len(present) + 1)))
        raise refused(f"got no nodes of graph {missing}, expected a line that says {missing + 1}", where)
    return number - 1


def _edges(file: TextFile, graph: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 [E] twice: source and target of each edge, nodes counted from 0 through the whole set."""
    table = _table(file, columns=2)
    ends = _counted_from_1(table, "node") - 1
    exists = (ends >= 0) & (ends < len(graph))
    found = []
    for row, column in np.argwhere(~exists)[:MOST].tolist():
        if column and not exists[row, 0]:
            continue  # the line has its problem already
        whose = int(graph[ends[row, 1 - column]]) if exists[row, 1 - column] else None
        field = ("source", "target")[column]
        problem = table.place.refuse(row, f"{field} node {ends[row, column] + 1}", f"1..{len(graph)}", field)
        found.append(replace(problem, graph=whose))
    source, target = np.where(exists.all(axis=1), ends.T, 0)
    across = np.flatnonzero(graph[source] != graph[target])
    for row, a, b in zip(across[:MOST].tolist(), source[across], target[across], strict=False):
        got = f"an edge from node {a + 1} in graph {graph[a]} to node {b + 1} in graph {graph[b]}"
        found.append(table.place.refuse(row, got, "both in one graph"))
    if found:
        raise InputErrors(found, int((~exists.all(axis=1)).sum()) + len(across))
    return source, target


def _counted_from_1(table: Table, each: str) -> np.ndarray:
    """int64 [R, C]: the numbers as written; a file that counts from 0 is one problem, not one in every line."""
    numbers = table.integers()
    if numbers.min(initial=1) == 0:
        first = int(np.argwhere(numbers == 0)[0, 0])
        raise InputErrors([table.place.refuse(first, f"{each} numbers that start at 0", "1")], 1)
    return numbers


def _table(file: TextFile, each: str = "", graph: np.ndarray | None = None, *, columns: int | None = None) -> Table:
    """The numbers of a file, one line for ``each`` node, edge or graph where their ``graph`` is given."""
    where, text = file
    place = Place(lambda row: (where, row + 1), graph)
    text = text.removeprefix(codecs.BOM_UTF8).rstrip()
    if b"\0" in text[:4096]:
        got = "UTF-16, not UTF-8 text" if is_utf16(text) else "bytes that are no text"
        raise refused(f"got {got}, expected numbers, one line for each {each}".rstrip(), where)
    values = _parse_fast(text, columns)
    if values is None:
        values = _parse_slowly(text, columns, place)
    if graph is not None and len(values) != len(graph):
        problem = f"; graph {len(graph)} has no nodes" if each == "graph" else ""
        if len(values) < len(graph):
            problem = f"; graph {graph[len(values)]} is the first to lack one"
        raise refused(f"got {len(values)} lines, expected {len(graph)}, one for each {each}{problem}", where)
    return Table(values, place)


def _parse_fast(text: bytes, columns: int | None) -> np.ndarray | None:
    """float64 [R, C], or None for whatever :func:`_parse_slowly` has to look at."""
    if not text:
        return np.empty((0, columns or 1))
    try:
        values = np.loadtxt(io.BytesIO(text), delimiter=",", comments=None, ndmin=2, encoding="latin1")
    except ValueError:
        return None
    # NumPy skips empty lines, after which rows are no longer lines.
    right = len(values) == text.count(b"\n") + 1 and values.shape[1] == (columns or values.shape[1])
    return values if right else None


def _parse_slowly(text: bytes, columns: int | None, place: Place) -> np.ndarray:
    """The same line by line, to find those that are wrong."""
    rows: list[list[float]] = []
    found: list[Problem] = []
    for row, line in enumerate(text.decode("latin1").split("\n")):
        cells = [cell.strip() for cell in line.split(",")]
        columns = columns or len(cells)
        if len(cells) != columns:
            found.append(place.refuse(row, f"{len(cells)} column(s)", f"{columns}"))
            continue
        rows.append([])
        for column, cell in enumerate(cells):
            try:
                rows[-1].append(number_of(cell))
            except ValueError:
                field = f"column {column + 1}"
                found.append(place.refuse(row, f"{cell[:40]!r} in {field}", "a number", field))
    if found:
        raise InputErrors(found[:MOST], len(found))
    return np.array(rows)


def assemble(
    name: str, graph: np.ndarray, source: np.ndarray, target: np.ndarray, *, notes: Sequence[str] = (), **fields: Any
) -> GraphSet:
    """A set from the graph of each node, int64 [N], and the two nodes of each edge, int64 [E], in any order.

    Nodes of one graph are put together and keep their order; of equal edges the first is kept. Other fields of
    :class:`GraphSet` are given by name.

    >>> graph, labels = np.array([1, 0, 1]), np.array([5, 6, 7])
    >>> graphs = assemble("two", graph, np.array([0, 0]), np.array([2, 2]), node_labels=labels)
    >>> graphs.edges.tolist(), graphs.node_labels.tolist(), graphs.notes[1]
    ([[0], [1]], [6, 5, 7], 'merged 1 repeated edges, each as it came first')
    """
    order = np.argsort(graph, kind="stable")
    sizes = np.bincount(graph)
    node_ptr = pointers(sizes)
    position = np.empty(len(graph), dtype=np.int64)
    position[order] = np.arange(len(graph)) - np.repeat(node_ptr[:-1], sizes)
    keep, counts = sort_edges(graph[source], position[source], position[target], len(sizes))
    if (graph[1:] < graph[:-1]).any():
        notes = [*notes, "reordered the nodes so that those of one graph are together"]
    if merged := len(source) - len(keep):
        notes = [*notes, merged_note(merged)]
    rows = dict.fromkeys(NODE_ARRAYS, order) | dict.fromkeys(EDGE_ARRAYS, keep)
    return GraphSet(
        name=name,
        node_ptr=node_ptr,
        edge_ptr=pointers(counts),
        edges=np.stack([position[source[keep]], position[target[keep]]]).astype(np.int32),
        notes=tuple(notes),
        **{field: value[rows[field]] if field in rows else value for field, value in fields.items()},
    )
