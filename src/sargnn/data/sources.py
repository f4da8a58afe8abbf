"""``load(source)``: a :class:`GraphSet` from a known name, from files of any form, or from Python objects."""

from __future__ import annotations

import difflib
import io
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.cache import archive_path, find_archive, keep, parsed_folder
from sargnn.data.graphs import GraphSet
from sargnn.data.io.columns import natural_order, text_of
from sargnn.data.io.from_networkx import from_networkx, is_networkx
from sargnn.data.io.from_pyg import from_pyg
from sargnn.data.io.graph_files import FORMS, graph_files_in, read_graph_files
from sargnn.data.io.molecules import read_smiles
from sargnn.data.io.tables import has_tables, read_tables
from sargnn.data.io.tu import is_tu_folder, read_folder, read_zip
from sargnn.data.known import KNOWN, KnownSet, hide_truth, mismatch, with_knowledge, with_titles
from sargnn.data.problems import Problems
from sargnn.errors import InputError

__all__ = ["KNOWN", "SUFFIXES", "KnownSet", "form_of", "load", "read", "require_every_class", "require_two_classes"]

SUFFIXES = (".csv", *FORMS, ".zip")
"""How the names of files of graphs end."""

TU_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

NAMED = "one that labels names (`sargnn data convert DATA OUT --labels COLUMN`)"

Source = str | os.PathLike[str] | GraphSet | Iterable[Any]
Labels = str | Sequence[Any] | np.ndarray
"""The name of what holds the classes, or the classes."""


def load(
    source: Source, *, labels: Labels | None = None, smiles: str | None = None, labelled: bool | None = True
) -> GraphSet:
    r"""Read graphs.

    ``source`` is one of

    - a name in :data:`KNOWN` or any other of the TU collection, kept in a cache (:mod:`sargnn.data.cache`);
    - a folder or zip in TU format (:mod:`sargnn.data.io.tu`), or a folder written by :meth:`GraphSet.save`;
    - a folder of three tables, CSV or Parquet (:mod:`sargnn.data.io.tables`);
    - a GraphML, GEXF, JSON or JSON lines file, or a folder of them (:mod:`sargnn.data.io.graph_files`);
    - a CSV file of molecules (:mod:`sargnn.data.io.molecules`);
    - NetworkX graphs (:mod:`sargnn.data.io.from_networkx`);
    - PyTorch Geometric ``Data`` (:mod:`sargnn.data.io.from_pyg`);
    - a :class:`GraphSet`, which is returned as it is.

    The same graphs have the same fingerprint in every form: class names and categories are texts in natural order;
    attributes are in the natural order of their names (:mod:`sargnn.data.io.columns` has the rules); undirected edges
    lead both ways.

    Args:
        source: where the graphs are. A name in :data:`KNOWN` wins over a file of that name (``./MUTAG`` is the file).
        labels: what the class of a graph is called there, if not one of the usual names; or the classes themselves.
        smiles: the column of a CSV file that holds the molecules, if not called ``smiles``.
        labelled: whether every graph must have a class; False for graphs whose class is to be predicted. With None,
            no graph needs one, but molecules without a class are left out where others have one.

    >>> from tempfile import TemporaryDirectory
    >>> texts = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "-1\n1"}
    >>> with TemporaryDirectory() as folder:
    ...     for kind, text in texts.items():
    ...         _ = Path(folder, f"TINY_{kind}.txt").write_text(text)
    ...     graphs = load(folder)
    >>> len(graphs), graphs.num_nodes, graphs.num_edges, graphs.classes
    (2, 3, 2, ('-1', '1'))
    """
    return read(source, Problems(), labels=labels, smiles=smiles, labelled=labelled)


def read(
    source: Source,
    problems: Problems,
    *,
    labels: Labels | None = None,
    smiles: str | None = None,
    labelled: bool | None = True,
) -> GraphSet:
    """:func:`load`, with what was left out in ``problems``."""
    name = labels if labels is None or isinstance(labels, str) else ""  # "" is to look for no classes
    want = _Want(problems, name, smiles, labelled and name != "")
    if isinstance(source, GraphSet):
        graphs = source
    elif isinstance(source, str | os.PathLike):
        graphs = _by_name_or_path(os.fspath(source), want)
    else:
        graphs = _from_objects(source, want)
    if labels is not None and not isinstance(labels, str):
        graphs = _with_classes(graphs, labels)
    if labelled and graphs.y is None:
        where = os.fspath(source) if isinstance(source, str | os.PathLike) else graphs.name
        raise InputError(f"{where}: got no classes, expected one for each graph: {_class_place(source, graphs)}")
    return graphs


def require_two_classes(graphs: GraphSet) -> None:
    """Refuse a set that nothing can be learned from: one class only, or no labels at all."""
    if graphs.y is None:
        raise InputError(f"{graphs.name}: got no classes, expected two or more")
    if len(present := np.unique(graphs.y)) == 1:
        only = graphs.classes[present[0]]
        raise InputError(f"{graphs.name}: got class {only!r} only, expected two or more classes")


def require_every_class(classes: Iterable[Any], where: str) -> None:
    """Refuse classes of which one is None or NaN, which would become a class of that name."""
    for graph, value in enumerate(classes):
        if value is None or value != value:
            raise InputError(f"{where}: got {value}, expected a class for every graph, in graph {graph}")


@dataclass(frozen=True)
class _Want:
    """What to read beside the graphs themselves."""

    problems: Problems
    labels: str | None
    smiles: str | None
    labelled: bool | None

    def check(self, form: str) -> None:
        """Columns can be named only where columns have names."""
        if self.smiles and form != "molecules":
            raise InputError(f"smiles: got {self.smiles!r}, expected none: only a CSV file of molecules has SMILES")
        if self.labels and form in ("known set", "graph set", "TU folder", "TU zip"):
            raise InputError(f"labels: got {self.labels!r}, expected none: a {form} has one kind of class only")


def _by_name_or_path(source: str, want: _Want) -> GraphSet:
    path = os.path.expanduser(source)
    if source not in KNOWN and os.path.exists(path):
        try:
            return _read_path(Path(path), want)
        except OSError as error:
            raise InputError(f"{error.filename or path}: cannot read ({error.strerror or error})") from error
    want.check("known set")
    names = {} if source in KNOWN else {name.upper(): name for name in KNOWN}
    near = " or ".join(names[name] for name in difflib.get_close_matches(source.upper(), names))
    if not TU_NAME.fullmatch(source):
        such = near or ", ".join(KNOWN)
        raise InputError(f"got {source!r}, expected a file or folder that exists or a name such as {such}")
    try:
        return _read_named(source)
    except InputError as error:
        if not near:
            raise
        raise InputError(f"{error}; did you mean {near}?") from error


def form_of(path: Path) -> str:
    """What a file or folder looks like.

    >>> form_of(Path("molecules.csv")), form_of(Path("graphs.jsonl")), form_of(Path("MUTAG.zip"))
    ('molecules', 'graph files', 'TU zip')
    """
    if not path.is_dir():
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return "molecules"
        if suffix in FORMS:
            return "graph files"
        if suffix == ".zip" or zipfile.is_zipfile(path):
            return "TU zip"
        raise InputError(f"{path}: got a file of no known form, expected *.csv, *{', *'.join(FORMS)}, or *.zip (TU)")
    if (path / "graphset.json").exists():
        return "graph set"
    if has_tables(path):
        return "tables"
    if is_tu_folder(path):
        return "TU folder"
    if graph_files_in(path):
        return "graph files"
    forms = f"graphs.csv, nodes.csv and edges.csv, NAME_A.txt and so on, or files *{', *'.join(FORMS)}"
    raise InputError(f"{path}: got a folder without graphs, expected {forms}")


def _read_path(path: Path, want: _Want) -> GraphSet:
    form = form_of(path)
    want.check(form)
    if form == "molecules":
        return read_smiles(path, want.problems, smiles=want.smiles, labels=want.labels, labelled=want.labelled)
    if form in ("tables", "graph files"):
        reader = read_tables if form == "tables" else read_graph_files
        return reader(path, want.problems, labels=want.labels, labelled=bool(want.labelled))
    if form == "graph set":
        return with_titles(GraphSet.open(path))
    return with_knowledge(read_folder(path) if form == "TU folder" else read_zip(path, str(path)))


def _from_objects(source: Any, want: _Want) -> GraphSet:
    """NetworkX graphs or PyTorch Geometric data, several or one."""
    name = getattr(source, "name", None) or "graphs"
    if is_networkx(source) or hasattr(source, "edge_index"):
        source, name = [source], "graphs"
    items = list(source)
    want.check("list")
    if not items:
        raise InputError(f"{name}: got no graphs, expected at least one")
    if is_networkx(items[0]):
        return from_networkx(items, want.problems, name=name, labels=want.labels, labelled=bool(want.labelled))
    if not hasattr(items[0], "edge_index"):
        expected = "a NetworkX graph or PyTorch Geometric Data"
        raise InputError(f"{name}: got a {type(items[0]).__name__}, expected {expected}, in graph 0")
    return hide_truth(from_pyg(items, want.problems, name=name, labels=want.labels))


def _class_place(source: Source, graphs: GraphSet) -> str:
    path = Path(source).expanduser() if isinstance(source, str | os.PathLike) else None
    form = "list" if path is None else form_of(path) if path.exists() else "TU zip"
    return {
        "molecules": f"a column called label, or {NAMED}",
        "tables": f"a column called label in graphs.csv, or {NAMED}",
        "graph files": "a graph attribute called label, a labels.csv, or a subfolder for each class",
        "graph set": "one saved with its classes",
        "list": "y, a graph attribute called label, or labels",
    }.get(form, f"the file {graphs.name}_graph_labels.txt")


def _with_classes(graphs: GraphSet, labels: Sequence[Any] | np.ndarray) -> GraphSet:
    """The classes that were given, in place of those that were read."""
    if isinstance(labels, Mapping | Set):
        raise InputError(f"labels: got a {type(labels).__name__}, expected a list with a class for every graph")
    values = [label.item() if hasattr(label, "item") else label for label in labels]
    require_every_class(values, "labels")
    texts = list(map(text_of, values))
    if len(texts) != len(graphs):
        raise InputError(f"labels: got {len(texts)} classes, expected {len(graphs)}, in {graphs.name}")
    names = sorted(set(texts), key=natural_order)
    index = {name: i for i, name in enumerate(names)}
    return replace(graphs, y=np.array([index[text] for text in texts], np.int64), classes=tuple(names), class_titles=())


def _read_named(name: str) -> GraphSet:
    """A set of the TU collection, parsed once and then opened from the cache."""
    content, origin = find_archive(name)
    with suppress(InputError):  # not there yet, or damaged
        return GraphSet.open(parsed_folder(name, content))
    try:
        graphs = with_knowledge(read_zip(io.BytesIO(content), origin))
        if graphs.name != name:
            raise InputError(f"{origin}: got the set {graphs.name}, expected {name}")
        if name in KNOWN and (problem := mismatch(graphs, KNOWN[name])):
            raise InputError(f"{origin}: {problem}, in {name}")
    except InputError:
        with suppress(OSError):
            archive_path(name).unlink(missing_ok=True)
        raise
    return keep(graphs, content, origin)
