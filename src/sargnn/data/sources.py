"""``load(source)``: a :class:`GraphSet` from a known name, from files of any form, or from Python objects."""

from __future__ import annotations

import difflib
import io
import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.cache import archive_path, find_archive, keep, parsed_folder
from sargnn.data.graphs import GraphSet
from sargnn.data.io.archives import is_archive, unpacked
from sargnn.data.io.from_networkx import from_networkx
from sargnn.data.io.from_pyg import from_pyg, raw_folder
from sargnn.data.io.graph_fields import one_of
from sargnn.data.io.graph_files import FORMS, graph_files_in, read_graph_files
from sargnn.data.io.kinds import is_dataset, is_frame, is_networkx, is_rdkit
from sargnn.data.io.molecule_tables import frame_table, list_table, parquet_table, sdf_table, smi_table
from sargnn.data.io.molecules import read_molecule_table, read_smiles
from sargnn.data.io.table_files import CsvTable
from sargnn.data.io.tables import has_tables, read_tables
from sargnn.data.io.targets import alike
from sargnn.data.io.tu import is_tu_folder, read_folder, read_zip
from sargnn.data.known import KNOWN, KnownSet, hide_truth, mismatch, told_apart, with_knowledge, with_titles
from sargnn.data.problems import Problems
from sargnn.data.relabel import chosen_again, with_values
from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError
from sargnn.limits import over
from sargnn.reading import require_regular

__all__ = ["KNOWN", "SUFFIXES", "KnownSet", "form_of", "load", "read", "require_two_classes"]

TABLES = {".smi": smi_table, ".sdf": sdf_table, ".parquet": parquet_table}
"""Files of molecules that are no CSV files, and what makes tables of them."""
SUFFIXES = (".csv", ".tsv", *TABLES, *FORMS, ".zip")
"""How the names of files of graphs end; after one of them, ``.gz`` may follow."""

TU_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

COLUMNS = ("smiles", "id", "split", "weight", "group")
"""Roles that only a column can have."""

Source = str | os.PathLike[str] | GraphSet | Iterable[Any]
Labels = str | Sequence[Any] | np.ndarray
"""The name of what is to be predicted, several names, or the values."""


def load(
    source: Source,
    *,
    labels: Labels | None = None,
    task: str | None = None,
    smiles: str | None = None,
    id: str | None = None,
    split: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    labelled: bool | None = True,
) -> GraphSet:
    r"""Read graphs.

    ``source`` is one of

    - a name in :data:`KNOWN` or any other of the TU collection, kept in a cache (:mod:`sargnn.data.cache`);
    - a folder or zip in TU format (:mod:`sargnn.data.io.tu`), or a folder written by :meth:`GraphSet.save`;
    - a folder of three tables, CSV or Parquet (:mod:`sargnn.data.io.tables`);
    - a GraphML, GEXF, JSON or JSON lines file, or a folder of them (:mod:`sargnn.data.io.graph_files`);
    - a CSV, TSV or Parquet file of molecules (:mod:`sargnn.data.io.molecules`), a ``.smi`` or an SDF file;
    - one of these files packed by gzip or zip, or a folder of them in a zip;
    - SMILES, RDKit molecules, or a data frame of pandas (:mod:`sargnn.data.io.molecule_tables`);
    - NetworkX graphs (:mod:`sargnn.data.io.from_networkx`);
    - PyTorch Geometric ``Data``, or a data set of it (:mod:`sargnn.data.io.from_pyg`);
    - pairs of any of these graphs and a class;
    - a :class:`GraphSet`, which is returned as it is.

    The same graphs have the same fingerprint in every form: class names and categories are texts in natural order;
    attributes are in the natural order of their names (:mod:`sargnn.data.io.columns` has the rules); undirected edges
    lead both ways.

    Args:
        source: where the graphs are. A name in :data:`KNOWN` wins over a file of that name (``./MUTAG`` is the file).
        labels: what is to be predicted: the name of the column, or of the graph attribute, that holds it, if not one
            of the usual names; a list of several; or the values themselves, one for each graph, or
            ``[graphs, targets]`` with None or NaN for gaps.
        task: ``"classification"``, ``"multilabel"`` (several targets, each 0 or 1) or ``"regression"`` (measured
            numbers). By default it is seen from the values, and a note says what was assumed.
        smiles: the column of a CSV file that holds the molecules, if not called ``smiles``.
        id: the column that says what to call each graph.
        split: the column that says ``train``, ``validation`` or ``test`` of each graph.
        weight: the column that says how much each graph counts in the loss.
        group: the column whose equal values keep graphs together in one part of a split.
        labelled: whether every graph must have a class, or a target at least; False for graphs whose class is to be
            predicted. With None, no graph needs one, but molecules without a class, and graphs without any target, are
            left out where others have one.

    >>> from tempfile import TemporaryDirectory
    >>> texts = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "-1\n1"}
    >>> with TemporaryDirectory() as folder:
    ...     for kind, text in texts.items():
    ...         _ = Path(folder, f"TINY_{kind}.txt").write_text(text)
    ...     graphs = load(folder)
    >>> len(graphs), graphs.num_nodes, graphs.num_edges, graphs.classes
    (2, 3, 2, ('-1', '1'))
    """
    names = _names_in(labels, source)
    roles = Roles(() if labels is not None and names is None else names, task, smiles, id, split, weight, group)
    return read(source, Problems(), roles, values=None if names else labels, labelled=labelled)


def read(
    source: Source,
    problems: Problems,
    roles: Roles = USUAL,
    *,
    values: Any = None,
    labelled: bool | None = True,
) -> GraphSet:
    """:func:`load`, with what was left out in ``problems``; what is to be predicted by name in the ``roles``, or its
    ``values``."""
    want = _Want(problems, roles, labelled and values is None)
    if isinstance(source, GraphSet):
        want.check("GraphSet")
        graphs = chosen_again(source, roles, want.labelled)
    elif isinstance(source, str | os.PathLike):
        graphs = _by_name_or_path(os.fspath(source), want)
    else:
        graphs = _from_objects(source, want)
    if values is not None:
        graphs = with_values(graphs, values, roles.task)
    where = os.fspath(source) if isinstance(source, str | os.PathLike) else graphs.name
    if labelled and graphs.y is None and graphs.targets is None:
        raise InputError(f"{where}: got no classes, expected one for each graph: {_class_place(source, graphs)}")
    if labelled is False:
        return graphs
    graphs = _with_usable_classes(graphs, where)
    return graphs if isinstance(source, GraphSet) else _with_any_target(graphs, problems)


def _with_usable_classes(graphs: GraphSet, where: str) -> GraphSet:
    """The graphs with a note of classes that may be meant to be one; refused if there are too many to learn."""
    if problem := over("classes", len(graphs.classes), "classes"):
        raise InputError(f"{where}: {problem}")
    note = alike(graphs.classes)
    return replace(graphs, notes=(*graphs.notes, note)) if note and note not in graphs.notes else graphs


def _with_any_target(graphs: GraphSet, problems: Problems) -> GraphSet:
    """The graphs that have a target at least: others teach nothing."""
    if graphs.targets is None or not (empty := np.isnan(graphs.targets).all(axis=1)).any():
        return graphs
    for graph in np.flatnonzero(empty).tolist():
        problems.leave_out("no value of any target", "one", file=graphs.name, graph=graph)
    note = f"left out {int(empty.sum())} graphs without a value of any target"
    return replace(graphs, notes=(*graphs.notes, note)).subset(~empty)


def _names_in(labels: Labels | None, source: Source) -> tuple[str, ...] | None:
    """The names that ``labels`` are, if they are no values: a text, or a list of texts that a source may have."""
    if isinstance(labels, str):
        return (labels,)
    is_list = isinstance(labels, list | tuple) and all(isinstance(label, str) for label in labels)
    if not is_list or not labels or len(set(labels)) < len(labels):
        return None
    names = tuple(map(str, labels))
    if isinstance(source, str | os.PathLike):  # one text may be the class of the one graph in a file
        path = Path(source).expanduser()
        named = path.exists() and form_of(path) in ("molecules", "tables", "archive")
        return names if len(names) > 1 or named else None
    return names if set(names) & set(_labels_of(source)) else None


def _labels_of(source: Any) -> Iterable[str]:
    """What a label may be called in Python objects, by the first of them."""
    if isinstance(source, GraphSet):
        return source.target_names
    if is_frame(source):
        return map(str, source.columns)
    one: Any = source
    if not is_networkx(source) and not hasattr(source, "edge_index"):
        one = source[0] if hasattr(source, "__getitem__") and len(source) else None
    return map(str, one.graph if is_networkx(one) else one.keys() if hasattr(one, "edge_index") else ())


def require_two_classes(graphs: GraphSet) -> None:
    """Refuse a set that nothing can be learned from: one class only, or no labels at all."""
    if graphs.y is None:
        raise InputError(f"{graphs.name}: got no classes, expected two or more")
    if len(present := np.unique(graphs.y)) == 1:
        only = graphs.classes[present[0]]
        raise InputError(f"{graphs.name}: got class {only!r} only, expected two or more classes")


@dataclass(frozen=True)
class _Want:
    """What to read beside the graphs themselves."""

    problems: Problems
    roles: Roles
    labelled: bool | None

    def check(self, form: str) -> None:
        """Columns can be named only where columns have names."""
        said = [(role, name) for role, name in self.roles.names(*COLUMNS) if role not in self.roles.assumed]
        for role, name in said:
            if role == "smiles" and form != "molecules":
                raise InputError(f"smiles: got {name!r}, expected none: only a CSV file of molecules has SMILES")
            if form in ("known set", "graph set", "TU folder", "TU zip", "GraphSet", "PyTorch Geometric list"):
                raise InputError(f"{role}: got {name!r}, expected none: a {form} has no columns")


def _by_name_or_path(source: str, want: _Want) -> GraphSet:
    path = os.path.expanduser(source)
    if source not in KNOWN and os.path.exists(path):
        try:
            found = _read_path(Path(path), want)
            return found if want.roles.labels else told_apart(found)
        except OSError as error:
            raise InputError(f"{error.filename or path}: cannot read ({error.strerror or error})") from error
    want.check("known set")
    names = {} if source in KNOWN else {name.upper(): name for name in KNOWN}
    near = " or ".join(names[name] for name in difflib.get_close_matches(source.upper(), names))
    if not TU_NAME.fullmatch(source):
        such = near or ", ".join(KNOWN)
        raise InputError(f"got {source!r}, expected a file or folder that exists or a name such as {such}")
    try:
        return chosen_again(told_apart(_read_named(source)), want.roles, want.labelled)
    except InputError as error:
        if not near:
            raise
        raise InputError(f"{error}; did you mean {near}?") from error


def form_of(path: Path) -> str:
    """What a file or folder looks like.

    >>> form_of(Path("molecules.csv")), form_of(Path("graphs.jsonl"))
    ('molecules', 'graph files')
    """
    if not path.is_dir():
        suffix = path.suffix.lower()
        if suffix in (".csv", ".tsv", *TABLES):
            return "molecules"
        if is_archive(path):
            return "archive"
        if suffix in FORMS:
            return "graph files"
        if suffix == ".zip" or zipfile.is_zipfile(path):
            return "TU zip"
        raise InputError(
            f"{path}: got a file of no known form, expected *{', *'.join(SUFFIXES)}, or one of these as *.gz"
        )
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
    if not path.is_dir():
        require_regular(path)
    form = form_of(path)
    if form == "archive":
        with unpacked(path, want.problems) as inside:
            return _read_path(inside, want)
    want.check(form)
    if form == "molecules" and (make_table := TABLES.get(path.suffix.lower())):
        return _read_table(make_table(path), want)
    if form == "molecules":
        return read_smiles(path, want.problems, roles=want.roles, labelled=want.labelled)
    if form in ("tables", "graph files"):
        reader = read_tables if form == "tables" else read_graph_files
        return reader(path, want.problems, roles=want.roles, labelled=bool(want.labelled))
    if form == "graph set":
        return chosen_again(with_titles(GraphSet.open(path)), want.roles, want.labelled)
    found = with_knowledge(read_folder(path) if form == "TU folder" else read_zip(path, str(path)))
    return chosen_again(found, want.roles, want.labelled)


def _from_objects(source: Any, want: _Want) -> GraphSet:
    """Molecules, NetworkX graphs or PyTorch Geometric data, several or one."""
    name = getattr(source, "name", None) or "graphs"
    if is_dataset(source):
        return _from_dataset(source, name, want)
    if is_frame(source):
        return _read_table(frame_table(source), want)
    if is_networkx(source) or is_rdkit(source) or hasattr(source, "edge_index"):
        source, name = [source], "graphs"
    items = list(source)
    if not items:
        raise InputError(f"{name}: got no graphs, expected at least one")
    if isinstance(source, list | tuple) and all(isinstance(item, tuple) and len(item) == 2 for item in items):
        graphs, classes = zip(*items, strict=True)
        return with_values(_from_objects(list(graphs), replace(want, labelled=False)), list(classes), want.roles.task)
    if isinstance(items[0], str) or is_rdkit(items[0]):
        return _from_molecules(items, want)
    want.check("list")
    if is_networkx(items[0]):
        return from_networkx(items, want.problems, name=name, roles=want.roles, labelled=bool(want.labelled))
    if not hasattr(items[0], "edge_index"):
        expected = "SMILES, an RDKit molecule, a NetworkX graph or PyTorch Geometric Data"
        raise InputError(f"{name}: got a {type(items[0]).__name__}, expected {expected}, in graph 0")
    want.check("PyTorch Geometric list")
    return hide_truth(from_pyg(items, want.problems, name=name, roles=want.roles, labelled=want.labelled))


def _from_dataset(source: Any, name: str, want: _Want) -> GraphSet:
    """A data set of PyTorch Geometric. One of the TU collection keeps the files that it was made of, which say more
    than its tensors: they are read, unless transforms have made other graphs of them."""
    folder, changes = raw_folder(source), ("transform", "pre_transform", "pre_filter")
    if folder and is_tu_folder(folder) and not any(getattr(source, change, None) for change in changes):
        return chosen_again(with_knowledge(read_folder(folder)), want.roles, want.labelled).subset(
            list(source.indices())
        )
    return hide_truth(from_pyg(list(source), want.problems, name=name, roles=want.roles, labelled=want.labelled))


def _from_molecules(items: list[Any], want: _Want) -> GraphSet:
    """Texts and molecules of RDKit; those that cannot be read are left out."""
    for graph, item in enumerate(items):
        if not (isinstance(item, str) or is_rdkit(item) or item is None):
            got = f"got a {type(item).__name__}"
            raise InputError(f"molecules: {got}, expected SMILES or an RDKit molecule, in graph {graph}")
    return _read_table(list_table(items), want)


def _read_table(table: CsvTable, want: _Want) -> GraphSet:
    """A file of SMILES and names has no labels unless they are named: numbers there are numbers of molecules."""
    unlabelled = want.roles.labels is None and table.path.suffix.lower() == ".smi"
    roles = replace(want.roles, labels=()) if unlabelled else want.roles
    return read_molecule_table(table, want.problems, roles=roles, labelled=want.labelled)


def _class_place(source: Source, graphs: GraphSet) -> str:
    path = Path(source).expanduser() if isinstance(source, str | os.PathLike) else None
    form = "list" if path is None else form_of(path) if path.exists() else "TU zip"
    named = f"{_columns_in(graphs)} named by labels (--labels COLUMN)"
    return {
        "molecules": f"a column called label, or {named}",
        "tables": f"a column called label in graphs.csv, or {named}",
        "graph files": "a graph attribute called label, a labels.csv, or a subfolder for each class",
        "graph set": "one saved with its classes",
        "list": "y, a graph attribute called label, or labels",
    }.get(form, f"the file {graphs.name}_graph_labels.txt")


def _columns_in(graphs: GraphSet) -> str:
    """The columns that may hold what is to be predicted."""
    rows, known = graphs.origin and graphs.origin.rows, graphs.origin and graphs.origin.roles
    taken = {known.smiles, known.id} if known else set()
    columns = [name for name in (rows.columns if rows else ()) if name not in taken]
    return one_of(columns) if columns else "another"


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
