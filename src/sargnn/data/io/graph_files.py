"""Graphs in files of their own: GraphML, GEXF, node-link JSON and JSON lines, one file or a folder of them.

The class of a graph is one of its attributes; or it stands in a ``labels.csv`` in the folder, with the columns ``file``
and ``label``; or, where the files lie in subfolders, it is the name of the subfolder. Files are taken in the natural
order of their names, ``mol2`` before ``mol10``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import assemble_records
from sargnn.data.io.columns import natural_order
from sargnn.data.io.gexf import read_gexf
from sargnn.data.io.graph_fields import CLASS_NAMES, no_column
from sargnn.data.io.graph_records import Record
from sargnn.data.io.graphml import read_graphml
from sargnn.data.io.node_link import read_json, read_json_lines
from sargnn.data.io.table_files import CsvTable
from sargnn.data.problems import Problems, refused, shown
from sargnn.data.roles import USUAL, Roles

__all__ = ["FORMS", "graph_files_in", "read_graph_files"]

FORMS: dict[str, Callable[[Path, Problems], Iterator[Record]]] = {
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}
"""From the end of a file's name to its reader."""

LABELS = "labels.csv"


def graph_files_in(folder: Path) -> list[Path]:
    """The graph files in a folder or, if there are none, those in its subfolders."""
    try:
        for pattern in ("*", "*/*"):
            found = [path for path in folder.glob(pattern) if path.suffix.lower() in FORMS and path.is_file()]
            if visible := [path for path in found if not path.name.startswith(".")]:
                return sorted(visible, key=lambda path: [natural_order(part) for part in path.parts])
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", error.filename) from error
    return []


def read_graph_files(path: Path, problems: Problems, *, roles: Roles = USUAL, labelled: bool = True) -> GraphSet:
    """The graphs of one file, or of a folder of files; see :mod:`sargnn.data.io.assembler` for what attributes mean."""
    if not path.is_dir():
        records, name = _records([path], problems), path.stem
    else:
        files, name = graph_files_in(path), path.resolve().name
        classes = _classes(path, files, problems, roles, labelled)
        records = _with_classes(_records(files, problems), classes)
    return assemble_records(name, records, problems, roles=roles, labelled=labelled, file=str(path))


def _records(files: list[Path], problems: Problems) -> Iterator[Record]:
    """The graphs of all files; a file that cannot be read is a problem, and the next one is read."""
    count = 0
    for path in files:
        with problems.caught():
            since = len(problems.found)
            for record in FORMS[path.suffix.lower()](path, problems):
                problems.belong_to(count, since)
                if record.name is None and len(files) > 1:
                    record.name = path.stem
                yield record
                count += 1
                since = len(problems.found)


def _with_classes(records: Iterator[Record], classes: dict[str, dict[str, str]]) -> Iterator[Record]:
    for record in records:
        known = classes.get(str(record.file))
        yield record if known is None else replace(record, attributes={**record.attributes, **known})


def _classes(
    folder: Path, files: list[Path], problems: Problems, roles: Roles, labelled: bool
) -> dict[str, dict[str, str]]:
    """From the path of a file to the class or the targets of its graphs, by name, where files or folders say so."""
    if (folder / LABELS).exists():
        with problems.caught():
            return _listed_classes(folder, files, problems, roles, labelled)
    if files and files[0].parent != folder:
        return {str(path): {"label": path.parent.name} for path in files}
    return {}


def _listed_classes(
    folder: Path, files: list[Path], problems: Problems, roles: Roles, labelled: bool
) -> dict[str, dict[str, str]]:
    table = CsvTable(folder / LABELS, problems)
    file_column = table.column("file", "graph", "name")
    columns = {name: table.column(name) for name in roles.labels or ()}
    for name in (name for name, column in columns.items() if column is None):
        raise refused("got {}, expected {}".format(*no_column(name, table.header)), table.path, 1, field=name)
    if roles.labels is None:
        columns = {"label": table.column(*CLASS_NAMES)}
    if file_column is None or None in columns.values():
        got = ", ".join(map(shown, table.header))
        raise refused(f"got columns {got}, expected 'file' and 'label'", table.path, 1)
    by_name = {name: path for path in files for name in (path.stem, path.name, path.relative_to(folder).as_posix())}
    found: dict[str, dict[str, str]] = {}
    for line, row in table.rows():
        path = by_name.get(row[file_column].strip())
        if path is None:
            got = shown(row[file_column])
            problems.add(got, "the name of a graph file", file=str(table.path), line=line, field="file")
        else:
            found[str(path)] = {name: row[column] for name, column in columns.items() if column is not None}
    for path in files:
        if labelled and str(path) not in found:
            problems.add(f"no row for {shown(path.name)}", "one for every file", file=str(table.path), field="file")
    return found
