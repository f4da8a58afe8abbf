"""``load(source)``: a :class:`GraphSet` from a known name, a file or folder, or PyTorch Geometric objects."""

from __future__ import annotations

import difflib
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.cache import cached
from sargnn.data.graphs import EDGE_ARRAYS, GraphSet
from sargnn.data.tu import Place, Table, assemble, read_folder, read_zip
from sargnn.errors import InputError

__all__ = ["KNOWN", "KnownSet", "load", "require_two_classes"]

TU_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class KnownSet:
    """What a published set must hold; a copy that differs is refused."""

    graphs: int
    nodes: int
    edges: int
    """Directed, each pair once."""
    classes: int
    parts: tuple[int, ...] = ()
    """Graphs in each of ``PARTS`` (see :mod:`sargnn.data.graphs`), in the order of the file."""
    attribute_is_truth: bool = False
    """The node attribute is the true saliency and gives the class away: it is never an input."""


KNOWN = {
    "MUTAG": KnownSet(188, 3371, 7442, 2),
    "ENZYMES": KnownSet(600, 19580, 74564, 6),
    "PROTEINS": KnownSet(1113, 43471, 162088, 2),
    "IMDB-BINARY": KnownSet(1000, 19773, 193062, 2),
    "IMDB-MULTI": KnownSet(1500, 19502, 197806, 3),
    "Letter-high": KnownSet(2250, 10507, 20250, 15),
    "TRIANGLES": KnownSet(45000, 938438, 2947024, 10, parts=(30000, 5000, 5000, 5000), attribute_is_truth=True),
}

PYG_KEYS = {
    "node_labels": ("node_label",),
    "node_attributes": ("node_attr", "x"),
    "true_saliency": ("true_saliency",),
    "edge_labels": ("edge_label",),
    "edge_attributes": ("edge_attr",),
}
"""Where a field stands in a PyTorch Geometric ``Data``: under the first name that occurs. All but ``x``
are the names that :meth:`GraphSet.to_pyg` gives."""


def load(source: str | os.PathLike[str] | GraphSet | Iterable[Any], *, labelled: bool = True) -> GraphSet:
    r"""Read graphs.

    ``source`` is one of

    - a name in :data:`KNOWN` or any other of the TU collection, kept in a cache (:mod:`sargnn.data.cache`);
    - a folder or zip in TU format (:mod:`sargnn.data.tu`), or a folder written by :meth:`GraphSet.save`;
    - PyTorch Geometric ``Data``, a list or a data set of them: ``edge_index``, ``x``, ``y``, ``edge_attr``;
    - a :class:`GraphSet`, which is returned as it is.

    A name in :data:`KNOWN` wins over a file of that name (write ``./MUTAG`` for the file). Every graph must
    have a class, unless ``labelled`` is false, as for graphs whose class is to be predicted.

    >>> from tempfile import TemporaryDirectory
    >>> texts = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "-1\n1"}
    >>> with TemporaryDirectory() as folder:
    ...     for kind, text in texts.items():
    ...         _ = Path(folder, f"TINY_{kind}.txt").write_text(text)
    ...     graphs = load(folder)
    >>> len(graphs), graphs.num_nodes, graphs.num_edges, graphs.classes
    (2, 3, 2, ('-1', '1'))
    """
    if isinstance(source, GraphSet):
        graphs = source
    elif isinstance(source, str | os.PathLike):
        graphs = _by_name_or_path(os.fspath(source))
    else:
        graphs = _from_pyg(list(source), getattr(source, "name", "graphs"))
    if labelled and graphs.y is None:
        where = os.fspath(source) if isinstance(source, str | os.PathLike) else graphs.name
        field = f"{graphs.name}_graph_labels.txt in TU format, y in PyTorch Geometric"
        raise InputError(f"{where}: got no classes, expected one for each graph ({field})")
    return graphs


def require_two_classes(graphs: GraphSet) -> None:
    """Refuse a set that nothing can be learned from: one class only, or no labels at all.

    >>> from sargnn.data.graphs import pack
    >>> require_two_classes(pack([(1, []), (2, [])], name="dots", y=[0, 0], classes=["a", "b"]))
    Traceback (most recent call last):
    ...
    sargnn.errors.InputError: dots: got class 'a' only, expected two or more classes
    """
    if graphs.y is None:
        raise InputError(f"{graphs.name}: got no classes, expected two or more")
    if len(present := np.unique(graphs.y)) == 1:
        only = graphs.classes[present[0]]
        raise InputError(f"{graphs.name}: got class {only!r} only, expected two or more classes")


def _by_name_or_path(source: str) -> GraphSet:
    if source in KNOWN:
        return cached(source, partial(_read_named, source))
    path = os.path.expanduser(source)
    if os.path.exists(os.path.join(path, "graphset.json")):
        return GraphSet.open(path)
    if os.path.isdir(path):
        return _with_knowledge(read_folder(Path(path)))
    if os.path.exists(path):
        return _with_knowledge(read_zip(Path(path), path))
    near = _near_names(source)
    if not TU_NAME.fullmatch(source):
        names = near or ", ".join(KNOWN)
        raise InputError(f"got {source!r}, expected a file or folder that exists or a name such as {names}")
    try:
        return cached(source, partial(_read_named, source))
    except InputError as error:
        if not near:
            raise
        raise InputError(f"{error}; did you mean {near}?") from error


def _near_names(name: str) -> str:
    by_upper_case = {known.upper(): known for known in KNOWN}
    return " or ".join(by_upper_case[near] for near in difflib.get_close_matches(name.upper(), by_upper_case))


def _read_named(name: str, content: bytes, origin: str) -> GraphSet:
    graphs = _with_knowledge(read_zip(io.BytesIO(content), origin))
    if graphs.name != name:
        raise InputError(f"{origin}: got the set {graphs.name}, expected {name}")
    if name in KNOWN and (problem := _mismatch(graphs, KNOWN[name])):
        raise InputError(f"{origin}: {problem}, in {name}")
    return graphs


def _with_knowledge(graphs: GraphSet) -> GraphSet:
    """What the files of a known set do not say, or say misleadingly."""
    graphs = _hide_truth(graphs)
    known = KNOWN.get(graphs.name)
    if known is None or not known.parts or _mismatch(graphs, known):
        return graphs
    return replace(graphs, part=np.repeat(np.arange(len(known.parts), dtype=np.int8), known.parts))


def _mismatch(graphs: GraphSet, known: KnownSet) -> str:
    """The first count that differs, in words; empty if none does."""
    counts = KnownSet(len(graphs), graphs.num_nodes, graphs.num_edges, len(graphs.classes))
    for what in ("graphs", "nodes", "edges", "classes"):
        got, expected = getattr(counts, what), getattr(known, what)
        if got != expected:
            return f"got {got} {what}, expected {expected}"
    return ""


def _hide_truth(graphs: GraphSet) -> GraphSet:
    """Move a node attribute that is the true saliency to where no model can see it."""
    known = KNOWN.get(graphs.name)
    if known is None or not known.attribute_is_truth or graphs.node_attributes is None:
        return graphs
    columns = graphs.node_attributes.shape[1]
    if columns != 1:
        raise InputError(f"{graphs.name}: got {columns} node attributes, expected only the true saliency")
    return replace(graphs, true_saliency=graphs.node_attributes[:, 0], node_attributes=None)


def _from_pyg(items: list[Any], name: str) -> GraphSet:
    if not items:
        raise InputError(f"{name}: got no graphs, expected at least one")
    sizes = [_num_nodes(data, name, g) for g, data in enumerate(items)]
    ends = [_edge_index(data, size, name, g) for g, (data, size) in enumerate(zip(items, sizes, strict=True))]
    graph = np.repeat(np.arange(len(items)), sizes)
    edge_graph = np.repeat(np.arange(len(items)), [pairs.shape[1] for pairs in ends])
    first_node = np.cumsum(sizes) - sizes
    source, target = np.concatenate(ends, axis=1) + first_node[edge_graph]

    fields: dict[str, Any] = {}
    if (y := _stack(items, ("y",), np.arange(len(items)), name, columns=1)) is not None:
        fields["y"], fields["classes"] = y.categories()
    for field, keys in PYG_KEYS.items():
        owner = edge_graph if field in EDGE_ARRAYS else graph
        table = _stack(items, keys, owner, name, columns=1 if field == "true_saliency" else None)
        if table is None:
            continue
        if field.endswith("_labels"):
            fields[field], fields[field.replace("labels", "label_names")] = table.categories()
        else:
            fields[field] = table.reals()[:, 0] if field == "true_saliency" else table.reals()
    return _hide_truth(assemble(name, graph, source, target, **fields))


def _num_nodes(data: Any, name: str, graph: int) -> int:
    if getattr(data, "edge_index", None) is None:
        got = f"a {type(data).__name__} without edge_index"
        raise InputError(f"{name}: got {got}, expected PyTorch Geometric Data, in graph {graph}")
    if not data.num_nodes:
        raise InputError(f"{name}: got no nodes, expected at least one, in graph {graph}")
    return int(data.num_nodes)


def _edge_index(data: Any, size: int, name: str, graph: int) -> np.ndarray:
    """int64 [2, E]: positions within the graph."""
    pairs = _numbers(data.edge_index, name, "edge_index", graph)
    if pairs.ndim != 2 or len(pairs) != 2:
        raise InputError(f"{name}: got edge_index of shape {pairs.shape}, expected (2, E), in graph {graph}")
    exists = (pairs >= 0) & (pairs < size) & (pairs == np.rint(pairs))
    if not exists.all():
        end, edge = map(int, np.argwhere(~exists)[0])
        got = f"node {pairs[end, edge]:g} in edge_index[{end}, {edge}]"
        raise InputError(f"{name}: got {got}, expected 0..{size - 1}, in graph {graph}")
    return pairs.astype(np.int64)


def _stack(
    items: list[Any], keys: Sequence[str], owner: np.ndarray, name: str, columns: int | None = None
) -> Table | None:
    """What all graphs hold under the first of ``keys`` that occurs; ``owner`` is the graph of each row."""
    key = next((k for k in keys if any(getattr(data, k, None) is not None for data in items)), None)
    if key is None:
        return None
    counts = np.bincount(owner, minlength=len(items))
    blocks = []
    for graph, (data, count) in enumerate(zip(items, counts.tolist(), strict=True)):
        if count == 0:
            continue
        block = np.atleast_1d(_numbers(getattr(data, key, None), name, key, graph))
        block = block[:, None] if block.ndim == 1 else block
        columns = block.shape[1] if columns is None else columns
        if block.shape != (count, columns):
            got, expected = f"{key} of shape {block.shape}", (count, columns)
            raise InputError(f"{name}: got {got}, expected {expected}, in graph {graph}")
        blocks.append(block)
    if not blocks or columns == 0:
        return None
    first_row = np.cumsum(counts) - counts
    place = Place(lambda row: f"{name}: {key}[{row - first_row[owner[row]]}]", owner)
    return Table(np.concatenate(blocks), place)


def _numbers(value: Any, name: str, key: str, graph: int) -> np.ndarray:
    """float64, from a tensor on any device or from whatever NumPy takes."""
    if value is None:
        raise InputError(f"{name}: got no {key}, expected it in every graph or in none, in graph {graph}")
    try:
        value = value.detach().cpu().double() if hasattr(value, "detach") else value
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name}: got {key} that is not numbers ({error}), in graph {graph}") from error
