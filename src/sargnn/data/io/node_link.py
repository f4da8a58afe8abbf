"""JSON in the node-link form of NetworkX and D3, one graph or a list of them in a file, or one per line.

A graph is ``{"directed": false, "graph": {"label": "a"}, "nodes": [{"id": 0, ...}], "edges": [{"source": 0, "target":
1, ...}]}``. ``edges`` may be called ``links``, and the class may stand beside ``nodes`` too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sargnn.data.io.graph_records import Record, is_id
from sargnn.data.problems import Problems, kind_of, refused, shown
from sargnn.limits import limit_of, over
from sargnn.reading import RepeatedName, not_utf8, open_regular, parse_json, read_bytes

__all__ = ["read_json", "read_json_lines", "read_object"]

STRUCTURE = ("directed", "multigraph", "graph", "nodes", "edges", "links")


def read_json(path: Path, problems: Problems) -> Iterator[Record]:
    """The graph, or the list of graphs, of a JSON file."""
    try:
        if problem := over("json", path.stat().st_size, "bytes"):
            raise refused(f"{problem}; write one graph per line to a .jsonl file", path)
        content = _parse(read_bytes(path))
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", path) from error
    except _NotJson as error:
        raise refused(f"got {error}, expected JSON", path, error.line) from error
    for item in content if isinstance(content, list) else [content]:
        yield from read_object(item, problems, str(path))


def read_json_lines(path: Path, problems: Problems) -> Iterator[Record]:
    """The graphs of a file with one on each line; empty lines are skipped."""
    try:
        with open_regular(path) as file:
            longest = limit_of("json")
            for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
                if problem := over("json", len(line), "bytes or more"):
                    raise refused(problem, path, number)
                try:
                    if line.strip():
                        yield from read_object(_parse(line), problems, str(path), number)
                except _NotJson as error:
                    problems.add(str(error), "a graph in JSON", file=str(path), line=number)
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", path) from error


class _NotJson(ValueError):
    """Says what came instead of JSON."""

    line: int | None = None


def _parse(text: bytes) -> Any:
    try:
        return parse_json(text.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        found = _NotJson(f"a mistake in column {error.colno} ({error.msg})")
        found.line = error.lineno
        raise found from error
    except UnicodeDecodeError as error:
        raise _NotJson(not_utf8(error)[0]) from error
    except RepeatedName as error:
        raise _NotJson(str(error)) from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, lists in lists in lists
        raise _NotJson(f"what cannot be parsed ({type(error).__name__})") from error


def read_object(item: Any, problems: Problems, file: str | None = None, line: int | None = None) -> Iterator[Record]:
    """The graph that a parsed ``item`` is, or nothing and a problem."""
    where = {"file": file, "line": line}
    if not isinstance(item, dict):
        problems.add(kind_of(item), 'a graph {"nodes": [...], "edges": [...]}', **where)
        return
    nodes: Any = item.get("nodes")
    edges: Any = item.get("edges", item.get("links"))
    graph: Any = item.get("graph", {})
    before = problems.count
    for name, rows in (("nodes", nodes), ("edges", edges)):
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            problems.add(f"no list of {name}", f'"{name}": [{{...}}, ...]', field=name, **where)
    if not isinstance(graph, dict):
        problems.add(f"{kind_of(graph)} in 'graph'", "an object", field="graph", **where)
    if problems.count > before:
        return
    attributes = {**_without(item, *STRUCTURE), **graph}
    title = attributes.pop("name", None)
    if not isinstance(title, str | int | float | None):
        problems.add(f"{kind_of(title)} as name", "a text", field="name", **where)
    yield Record(
        nodes=[_id(node, "id", where, problems) for node in nodes],
        node_rows=[_without(node, "id") for node in nodes],
        sources=[_id(edge, "source", where, problems) for edge in edges],
        targets=[_id(edge, "target", where, problems) for edge in edges],
        edge_rows=[_without(edge, "source", "target", "key") for edge in edges],
        name=None if title is None else str(title),
        attributes=attributes,
        directed=item.get("directed") is True,
        file=file,
        line=line,
    )


def _id(row: dict[str, Any], name: str, where: dict[str, Any], problems: Problems) -> Any:
    value = row.get(name)
    if is_id(value):
        return value
    got = f"no {name}" if value is None else f"{value if isinstance(value, float) else kind_of(value)} as {name}"
    problems.add(f"{got} in {shown(row)}", "a number or a text", field=name, **where)
    return None


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}
