"""GraphML, as NetworkX, igraph, Gephi and yEd write it: keys with types, one or more graphs in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sargnn.data.io.graph_records import Record
from sargnn.data.io.safe_xml import TYPES, Declared, Element, XmlFile
from sargnn.data.problems import Problems, shown

__all__ = ["read_graphml"]


def read_graphml(path: Path, problems: Problems) -> Iterator[Record]:
    """The graphs of a GraphML file."""
    xml = XmlFile(path, problems)
    keys: dict[str, Declared] = {}
    for element in xml.children("graphml"):
        if element.tag == "key" and "yfiles.type" not in element.attributes:  # else it is how yEd draws
            keys[xml.required(element, "id")] = _declared(element, xml)
        elif element.tag == "graph":
            yield _record(element, keys, xml)


def _declared(element: Element, xml: XmlFile) -> Declared:
    own = element.attributes
    name, kind = own.get("attr.name", own.get("id", "")), own.get("attr.type", "string")
    if kind not in TYPES:
        xml.refuse(f"type {shown(kind)} of {shown(name)}", f"one of {', '.join(TYPES)}", element.line, name)
    default = next((child.text for child in element.all("default")), None)
    return Declared(name, own.get("for", "all"), kind, default, element.line)


def _record(graph: Element, keys: dict[str, Declared], xml: XmlFile) -> Record:
    nodes, edges = graph.all("node"), graph.all("edge")
    for strange in [*graph.all("hyperedge"), *graph.all("node", "graph")]:
        xml.refuse(f"a {strange.tag} in a graph", "nodes and edges only", strange.line)
    record = xml.record(graph, nodes, edges, lambda element: _row(element, keys, xml))
    default = "true" if graph.attributes.get("edgedefault") == "directed" else "false"
    record.directed = [edge.attributes.get("directed", default) == "true" for edge in edges]
    record.attributes, record.name = _row(graph, keys, xml), graph.attributes.get("id")
    return record


def _row(element: Element, keys: dict[str, Declared], xml: XmlFile) -> dict[str, Any]:
    """The data of a node, an edge or a graph, with defaults for what is missing."""
    row = xml.defaults(keys.values(), element.tag)
    for data in element.all("data"):
        id_ = data.attributes.get("key", "")
        if id_ in keys:
            row[keys[id_].name] = xml.value(data.text, keys[id_], data.line)
        elif not data.children:
            xml.refuse(f"data for key {shown(id_)}", "a key that is declared", data.line)
    return row
