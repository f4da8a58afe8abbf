"""A set as a folder of arrays, mapped into memory when it is opened.

What is opened is checked once and whole: kernels written in C walk along the pointers and edges of a set, and what
leads outside would end the process. It is one pass over the arrays, part by part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import CELLS, EDGE_ARRAYS, GRAPH_ARRAYS, KINDS, NODE_ARRAYS, PARTS, GraphSet
from sargnn.data.problems import Problems, refused
from sargnn.errors import InputError
from sargnn.files import write_folder
from sargnn.limits import limit_of
from sargnn.reading import parse_json, read_text, require_regular

__all__ = ["check_content", "open_set", "save"]

FORMAT = "sargnn.graphset/1"
HEADER = "graphset.json"
CODES = {
    "y": ("graph", "classes"),
    "node_labels": ("node", "node_label_names"),
    "edge_labels": ("edge", "edge_label_names"),
    "part": ("graph", ""),
    "groups": ("graph", ""),
}
"""Arrays of codes: whose they are, and the field that names them."""
LISTED = 20
"""Problems of one kind that are told."""


def save(graphs: GraphSet, folder: Path) -> None:
    """Write a set; see :meth:`GraphSet.save`."""
    arrays = {
        f.name: getattr(graphs, f.name) for f in fields(graphs) if isinstance(getattr(graphs, f.name), np.ndarray)
    }
    words = {
        f.name: getattr(graphs, f.name) for f in fields(graphs) if isinstance(getattr(graphs, f.name), str | tuple)
    }
    header = {"format": FORMAT, "arrays": sorted(arrays), **words}
    with write_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array, allow_pickle=False)
        (temporary / HEADER).write_text(json.dumps(header, indent=1))


def open_set(folder: Path) -> GraphSet:
    """Open a set; see :meth:`GraphSet.open`."""
    path = folder / HEADER
    try:
        header = parse_json(read_text(path))
        if header.pop("format") != FORMAT:
            raise InputError(f"{path}: got another format, expected {FORMAT}")
        names = dict.fromkeys(header.pop("arrays"))
        if unknown := names.keys() - KINDS.keys():
            raise InputError(f"{path}: got the array {min(unknown)[:40]!r}, expected one of {', '.join(KINDS)}")
        arrays: dict[str, Any] = {name: _mapped(folder / f"{name}.npy") for name in names}
        words = {name: tuple(value) if isinstance(value, list) else value for name, value in header.items()}
        graphs = GraphSet(**{**words, **arrays})
        _check_form(graphs)
    except InputError:
        raise
    except Exception as error:  # a damaged header raises almost anything: tokens, syntax, types, OS errors, ...
        raise refused(f"not a readable graph set ({' '.join(str(error).split())[:200]})", path) from error
    check_content(graphs, folder)
    return graphs


def _mapped(path: Path) -> np.ndarray:
    try:
        require_regular(path)
        mapped: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise InputError(f"{path}: cannot read ({error.strerror or error})") from error
    except (EOFError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a readable array ({' '.join(str(error).split())[:200]})") from error
    return mapped


def _check_form(graphs: GraphSet) -> None:
    """Refuse what has the wrong type or does not belong together; the content of arrays is not read."""
    for field in fields(graphs):
        value = getattr(graphs, field.name)
        if field.name in KINDS:
            if value is None and field.default is None:  # it need not be there
                continue
            if not isinstance(value, np.ndarray) or not _is_of_kind(value, field.name):
                got = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else "no array"
                raise ValueError(f"got {got} in {field.name}")
        elif field.name == "origin":
            if value is not None:
                raise ValueError("got an origin, which is not saved")
        else:
            texts = (value,) if field.name == "name" else value
            if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"got {field.name} that is not text")
    _check_lengths(graphs)


def _is_of_kind(value: np.ndarray, name: str) -> bool:
    """Codes and edges may have any width; floats are looked at bit by bit, and have the one they are saved with."""
    width = value.dtype.itemsize
    fits = width > 0 if value.dtype.kind != "f" else width == (8 if name == "targets" else 4)
    return (value.dtype.kind, value.ndim) == KINDS[name] and value.dtype.isnative and fits


def _check_lengths(graphs: GraphSet) -> None:
    if not len(graphs.node_ptr):
        raise ValueError("got no pointers")
    if len(graphs.edge_ptr) != len(graphs.node_ptr) or graphs.edges.shape != (2, graphs.num_edges):
        raise ValueError("the edges do not fit the pointers")
    for name in ("graph_names", "smiles"):
        if (count := len(getattr(graphs, name))) not in (0, len(graphs)):
            raise ValueError(f"got {count} {name}, expected {len(graphs)}")
    if graphs.targets is not None and len(graphs.target_names) != graphs.targets.shape[1]:
        raise ValueError(f"got {len(graphs.target_names)} target_names, expected {graphs.targets.shape[1]}")
    rows = {**dict.fromkeys(NODE_ARRAYS, graphs.num_nodes), **dict.fromkeys(EDGE_ARRAYS, graphs.num_edges)}
    for name, expected in {**rows, **dict.fromkeys(GRAPH_ARRAYS, len(graphs))}.items():
        value = getattr(graphs, name)
        if value is not None and len(value) != expected:
            raise ValueError(f"got {len(value)} rows of {name}, expected {expected}")
    for of in ("node", "edge", "graph"):
        values, names = getattr(graphs, f"{of}_attributes"), getattr(graphs, f"{of}_attribute_names")
        if values is not None and len(names) not in (0, values.shape[1]):
            raise ValueError(f"got {len(names)} {of}_attribute_names, expected {values.shape[1]}")
    for name in ("classes", "target_names", "node_label_names", "edge_label_names"):
        if len(set(getattr(graphs, name))) < len(getattr(graphs, name)):
            raise ValueError(f"got a name twice in {name}, expected every name once")


def check_content(graphs: GraphSet, folder: Path | None = None) -> None:
    """Refuse pointers that go back, edges that lead outside their graph or are out of order, codes without a name, and
    numbers that are not finite, but for gaps of attributes and targets; all with their places. ``folder``: where the
    set is saved."""
    checks = _Checks(graphs, folder)
    checks.pointers()
    checks.problems.stop()
    checks.edges()
    for field in CODES:
        checks.codes(field)
    for field in (name for name, (kind, _) in KINDS.items() if kind == "f"):
        checks.numbers(field)
    checks.problems.stop()


class _Checks:
    """What is wrong with the arrays of a set."""

    def __init__(self, graphs: GraphSet, folder: Path | None) -> None:
        self.graphs, self.folder = graphs, folder
        self.problems = Problems()

    def refuse(self, field: str, got: str, expected: str, graph: int | None = None) -> None:
        file = str(self.folder / f"{field}.npy") if self.folder else self.graphs.name
        self.problems.add(got, expected, file=file, graph=graph, field=field)

    def pointers(self) -> None:
        for name, total in (("node_ptr", self.graphs.num_nodes), ("edge_ptr", self.graphs.num_edges)):
            pointers = getattr(self.graphs, name)
            if pointers[0] != 0 or (np.diff(pointers) < 0).any():
                self.refuse(name, f"{name} that goes back", f"numbers rising from 0 to {total}")

    def edges(self) -> None:
        """Every end is a node of its graph, and edges rise by target, then source."""
        for part in _parts(self.graphs.num_edges):
            part = slice(max(part.start - 1, 0), part.stop)  # the last of the part before counts for the order
            source, target = np.asarray(self.graphs.edges[:, part])
            graph = _owners(self.graphs.edge_ptr, part.start, len(source))
            size = self.graphs.sizes[graph]
            outside = np.flatnonzero((source < 0) | (source >= size) | (target < 0) | (target >= size))
            for edge in outside[:LISTED].tolist():
                got = f"an edge {[int(source[edge]), int(target[edge])]}"
                self.refuse("edges", got, f"nodes 0..{size[edge] - 1}", int(graph[edge]))
            same = (target[1:] == target[:-1]) & (source[1:] > source[:-1])
            rising = same | (target[1:] > target[:-1]) | (graph[1:] != graph[:-1])
            if not len(outside) and not rising.all():
                edge = int(np.argmin(rising)) + 1
                got = f"the edge {[int(source[edge]), int(target[edge])]} out of order"
                self.refuse("edges", got, "edges by target, then source, each once", int(graph[edge]))
            if self.problems.found:
                return

    def codes(self, field: str) -> None:
        values, (each, names) = getattr(self.graphs, field), CODES[field]
        if values is None:
            return
        named = len(PARTS) if field == "part" else len(getattr(self.graphs, names, ()))
        most = named or (len(values) if field == "groups" else limit_of("inputs"))
        for part in _parts(len(values)):
            codes = np.asarray(values[part])
            for row in np.flatnonzero((codes < 0) | (codes >= most))[:LISTED].tolist():
                self.refuse(field, f"{codes[row]} in {field}", f"0..{most - 1}", self._graph(each, part.start + row))

    def numbers(self, field: str) -> None:
        """Numbers are finite; a target or an attribute may be missing."""
        values = getattr(self.graphs, field)
        if values is None:
            return
        expected = "numbers above 0" if field == "weights" else "finite numbers"
        each = {"true_saliency": "node", "targets": "graph", "weights": "graph"}.get(field, field.partition("_")[0])
        for part in _parts(len(values), values[0].size if len(values) else 1):
            some = np.asarray(values[part]).reshape(-1, values[0].size)
            good = np.isfinite(some)
            if field == "targets" or field.endswith("_attributes"):
                good |= np.isnan(some)
            if field == "weights":
                good &= some > 0
            for row in np.flatnonzero(~good.all(axis=1))[:LISTED].tolist():
                got = f"{some[row][:8].tolist()} in {field}"
                self.refuse(field, got, expected, self._graph(each, part.start + row))

    def _graph(self, each: str, row: int) -> int:
        """The graph of a row of its nodes, its edges or of the graphs themselves."""
        return row if each == "graph" else int(_owners(getattr(self.graphs, f"{each}_ptr"), row, 1)[0])


def _parts(length: int, width: int = 1) -> Iterator[slice]:
    """Of so many rows, some at a time."""
    step = max(CELLS // max(width, 1), 1)
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _owners(pointers: np.ndarray, start: int, count: int) -> np.ndarray:
    """int64 [count]: the graphs of the rows from ``start``.

    >>> _owners(np.array([0, 2, 2, 5]), 1, 3).tolist()
    [0, 2, 2]
    """
    first, last = np.searchsorted(pointers, [start, start + count - 1], "right") - 1
    inside = np.clip(pointers[first : last + 2], start, start + count)
    return np.repeat(np.arange(first, last + 1), np.diff(inside))
