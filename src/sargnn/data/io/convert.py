"""A set of graphs written in another form, to be read back as the same set.

=============  ===========================================================================================
``graphset``   the folder of :meth:`GraphSet.save`, opened without reading it
``tu``         a folder in TU format (:mod:`sargnn.data.io.tu`), which holds numbers only
``csv``        a folder of three tables (:mod:`sargnn.data.io.tables`)
``jsonl``      a file with one graph per line (:mod:`sargnn.data.io.node_link`)
``graphml``    a folder of GraphML files (:mod:`sargnn.data.io.graphml`)
=============  ===========================================================================================

Files are named by number, never by names in the data. ``jsonl`` needs a name that ends in ``.jsonl``; the others need
that of a folder, so that :func:`sargnn.load` knows what is there.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.columns import natural_order
from sargnn.data.io.set_columns import Columns, SetColumns, exact
from sargnn.data.io.tu import CATEGORIES
from sargnn.data.sources import SUFFIXES
from sargnn.errors import InputError
from sargnn.files import write_file, write_folder

__all__ = ["FORMS", "convert"]

NUMBERS = re.compile(r"-?[0-9]+(,-?[0-9]+)*")
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def convert(graphs: GraphSet, path: Path | str, to: str) -> list[str]:
    """Write ``graphs`` to ``path``, which is new, in the form ``to``; what that form cannot hold, in words.

    >>> from tempfile import TemporaryDirectory
    >>> from sargnn import load, pack
    >>> graphs = pack([(2, [(0, 1), (1, 0)]), (1, [])], y=[1, 0], classes=["dot", "edge"])
    >>> with TemporaryDirectory() as folder:
    ...     convert(graphs, Path(folder, "graphs.jsonl"), "jsonl")
    ...     load(Path(folder, "graphs.jsonl")).fingerprint == graphs.fingerprint
    []
    True
    """
    path = Path(path)
    if to not in FORMS:
        raise InputError(f"to: got {to!r}, expected one of {', '.join(FORMS)}")
    suffix = path.suffix.lower()
    stem = path.with_suffix("") if suffix in SUFFIXES else path
    if to == "jsonl" and suffix != ".jsonl":
        raise InputError(f"{path}: got a name for jsonl, expected one that ends in .jsonl, such as {stem}.jsonl")
    if to != "jsonl" and suffix in SUFFIXES:
        forms = ", ".join(form for form in FORMS if form != "jsonl")
        raise InputError(f"{path}: got the name of a file, expected that of a folder, such as {stem}, for {forms}")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: is there already, expected a new {'file' if to == 'jsonl' else 'folder'}")
    notes = FORMS[to](graphs, path) or []
    lost = [] if to == "graphset" else [field for field in ("weights", "groups") if getattr(graphs, field) is not None]
    return [*notes, *(f"{to} has no place for {field}" for field in lost)]


def _to_tables(graphs: GraphSet, path: Path) -> None:
    columns = SetColumns.of(graphs)
    texts = [str(value).lower() for value in columns.directed.tolist()]
    directed = {"directed": texts} if columns.directed.any() else {}
    source, target = columns.ends.tolist()
    with write_folder(path) as folder:
        _write_csv(folder / "graphs.csv", {"graph": list(range(len(graphs))), **directed, **columns.graphs})
        nodes = {"graph": graphs.node_graph.tolist(), "node": _positions(graphs), **columns.nodes}
        _write_csv(folder / "nodes.csv", nodes)
        edges = {"graph": columns.edge_graph.tolist(), "source": source, "target": target, **columns.edges}
        _write_csv(folder / "edges.csv", edges)


def _positions(graphs: GraphSet) -> list[int]:
    """The number of each node in its graph."""
    return [node for size in graphs.sizes.tolist() for node in range(size)]


def _write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _to_json_lines(graphs: GraphSet, path: Path) -> None:
    lines = []
    for attributes, directed, nodes, edges in _one_by_one(graphs):
        item = {"directed": directed, "multigraph": False, "graph": attributes, "nodes": nodes, "edges": edges}
        lines.append(json.dumps(item, ensure_ascii=False, allow_nan=False) + "\n")
    write_file(path, "".join(lines))


Rows = list[dict[str, Any]]


def _one_by_one(graphs: GraphSet) -> Iterator[tuple[dict[str, Any], bool, Rows, Rows]]:
    """Of each graph: its attributes, whether it is directed, its nodes and its edges."""
    columns = SetColumns.of(graphs)
    source, target = columns.ends.tolist()
    graph_rows = _rows(columns.graphs, len(graphs))
    node_rows = _rows({"id": _positions(graphs), **columns.nodes}, graphs.num_nodes)
    edge_rows = _rows({"source": source, "target": target, **columns.edges}, len(source))
    edge_ptr = np.searchsorted(columns.edge_graph, np.arange(len(graphs) + 1))
    for g in range(len(graphs)):
        edges = edge_rows[edge_ptr[g] : edge_ptr[g + 1]]
        yield graph_rows[g], bool(columns.directed[g]), node_rows[graphs.nodes_of(g)], edges


def _rows(columns: Columns, count: int) -> Rows:
    if not columns:
        return [{} for _ in range(count)]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _to_graphml(graphs: GraphSet, path: Path) -> None:
    digits = len(str(max(len(graphs) - 1, 0)))
    with write_folder(path) as folder:
        for g, (attributes, directed, nodes, edges) in enumerate(_one_by_one(graphs)):
            text = "\n".join(_graphml(attributes, directed, nodes, edges))
            (folder / f"{g:0{digits}d}.graphml").write_text(text + "\n", encoding="utf-8")


def _graphml(attributes: dict[str, Any], directed: bool, nodes: Rows, edges: Rows) -> Iterator[str]:
    own = {"graph": [attributes], "node": nodes, "edge": edges}
    structure = {"graph": (), "node": ("id",), "edge": ("source", "target")}
    keys: dict[tuple[str, str], str] = {}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for each, rows in own.items():
        for name, value in next(iter(rows), {}).items():
            if name not in structure[each]:
                key = keys[each, name] = f"d{len(keys)}"
                kind = "string" if isinstance(value, str) else "double"
                yield f'  <key id="{key}" for="{each}" attr.name={quoteattr(_xml(name))} attr.type="{kind}"/>'
    yield f'  <graph edgedefault="{"directed" if directed else "undirected"}">'
    yield from _data(keys, "graph", attributes, "    ")
    for each in ("node", "edge"):
        for row in own[each]:
            places = " ".join(f'{name}="{row[name]}"' for name in structure[each])
            yield f"    <{each} {places}>"
            yield from _data(keys, each, row, "      ")
            yield f"    </{each}>"
    yield "  </graph>"
    yield "</graphml>"


def _data(keys: dict[tuple[str, str], str], each: str, row: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in row.items():
        if (each, name) in keys:
            text = "NaN" if value is None else _xml(str(value))
            yield f'{indent}<data key="{keys[each, name]}">{escape(text)}</data>'


def _xml(text: str) -> str:
    if found := NOT_XML.search(text):
        raise InputError(f"got the character {found[0]!r} in {text[:40]!r}, expected one that XML can hold")
    return text


def _to_tu(graphs: GraphSet, path: Path) -> list[str]:
    """What has no name in the format gets a note; a text becomes its number."""
    name = re.sub(r"\W+", "_", path.resolve().name, flags=re.ASCII) or "graphs"
    notes: list[str] = []
    first = graphs.node_ptr[graphs.edge_graph]
    with write_folder(path) as folder:

        def write(kind: str, lines: Iterable[str]) -> None:
            (folder / f"{name}_{kind}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")

        write("A", (f"{source + 1}, {target + 1}" for source, target in (graphs.edges + first).T.tolist()))
        write("graph_indicator", (str(graph + 1) for graph in graphs.node_graph.tolist()))
        for each, fields in CATEGORIES.items():
            codes, names, values = (getattr(graphs, field) for field in (*fields, f"{each}_attributes"))
            if codes is not None:
                names = names or list(map(str, range(int(codes.max(initial=-1)) + 1)))
                numbers = _numbers(names, f"{each}_labels", notes)
                write(f"{each}_labels", (numbers[code] for code in codes.tolist()))
            if values is not None:
                columns = [exact(values[:, i]) for i in range(values.shape[1])]
                write(f"{each}_attributes", (", ".join(map(str, row)) for row in zip(*columns, strict=True)))
        if graphs.targets is not None and graphs.y is None and graphs.graph_attributes is None:
            write("graph_attributes", (", ".join(map(repr, row)) for row in graphs.targets.tolist()))
            notes.append(f"TU format has no place for the names of targets: {', '.join(graphs.target_names)}")
        elif graphs.targets is not None:
            notes.append("TU format has no place for targets beside attributes of graphs")
    lost = [field for field in ("part", "true_saliency", "node_names") if getattr(graphs, field) is not None]
    lost += ["graph_names"] if graphs.graph_names else []
    return [*notes, *(f"TU format has no place for {field}" for field in lost)]


def _numbers(names: Sequence[str], kind: str, notes: list[str]) -> list[str]:
    """The names as TU writes them: whole numbers, as many in each; others are counted, and a note says how."""
    whole = all(NUMBERS.fullmatch(name) for name in names) and len({name.count(",") for name in names}) <= 1
    if whole and list(names) == sorted(names, key=natural_order):
        return [name.replace(",", ", ") for name in names]
    meaning = ", ".join(f"{i} = {name!r}" for i, name in enumerate(names[:20]))
    notes.append(f"TU format has numbers only, so in {kind} {meaning}{', ...' if len(names) > 20 else ''}")
    return list(map(str, range(len(names))))


FORMS: dict[str, Callable[[GraphSet, Path], list[str] | None]] = {
    "graphset": GraphSet.save, "tu": _to_tu, "csv": _to_tables, "jsonl": _to_json_lines, "graphml": _to_graphml,
}  # fmt: skip
