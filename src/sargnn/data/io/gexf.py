"""GEXF, as Gephi and NetworkX write it: one static graph in a file. A node's ``label`` is its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sargnn.data.io.records import Record
from sargnn.data.io.safe_xml import Declared, Element, XmlFile
from sargnn.data.problems import Problems, shown

__all__ = ["read_gexf"]


def read_gexf(path: Path, problems: Problems) -> Iterator[Record]:
    """The graph of a GEXF file."""
    xml = XmlFile(path, problems)
    return (_record(element, xml) for element in xml.children("gexf") if element.tag == "graph")


def _record(graph: Element, xml: XmlFile) -> Record:
    if graph.attributes.get("mode") == "dynamic":
        xml.refuse("a dynamic graph", "a static one", graph.line)
    of_nodes, of_edges = _declared(graph, "node"), _declared(graph, "edge")
    nodes = [node for group in graph.all("nodes") for node in group.all("node")]
    edges = [edge for group in graph.all("edges") for edge in group.all("edge")]
    for inner in (inner for node in nodes for inner in node.all("nodes")):
        xml.refuse("nodes inside a node", "a flat graph", inner.line)
    default = graph.attributes.get("defaultedgetype", "undirected")
    edge_rows = [_edge_row(edge, of_edges, xml) for edge in edges]
    if any("weight" in row for row in edge_rows):
        edge_rows = [{"weight": 1.0, **row} for row in edge_rows]  # what the format says of an edge without one
    return Record(
        nodes=[xml.required(node, "id") for node in nodes],
        node_rows=[{**_row(node, of_nodes, xml), "node_name": _name(node)} for node in nodes],
        sources=[xml.required(edge, "source") for edge in edges],
        targets=[xml.required(edge, "target") for edge in edges],
        edge_rows=edge_rows,
        directed=[edge.attributes.get("type", default) == "directed" for edge in edges],
        file=str(xml.path),
        line=graph.line,
        node_lines=[node.line for node in nodes],
        edge_lines=[edge.line for edge in edges],
    )


def _declared(graph: Element, each: str) -> dict[str, Declared]:
    """From the id of an attribute of ``each`` node or edge to what it means."""
    groups = [group for group in graph.all("attributes") if group.attributes.get("class") == each]
    found = {}
    for one in (one for group in groups for one in group.all("attribute")):
        id_ = one.attributes.get("id", "")
        default = next((child.text for child in one.all("default")), None)
        title, kind = one.attributes.get("title", id_), one.attributes.get("type", "string")
        found[id_] = Declared(title, each, kind, default, one.line)
    return found


def _name(node: Element) -> str:
    return node.attributes.get("label") or node.attributes.get("id", "")


def _edge_row(edge: Element, declared: dict[str, Declared], xml: XmlFile) -> dict[str, Any]:
    row = _row(edge, declared, xml)
    if label := edge.attributes.get("label"):
        row.setdefault("label", label)
    if weight := edge.attributes.get("weight"):
        row["weight"] = xml.value(weight, "double", "weight", edge.line)
    return row


def _row(element: Element, declared: dict[str, Declared], xml: XmlFile) -> dict[str, Any]:
    """The values of a node or an edge, with the defaults of what it does not say."""
    row = xml.defaults(declared.values(), element.tag)
    for value in (value for group in element.all("attvalues") for value in group.all("attvalue")):
        id_ = value.attributes.get("for", value.attributes.get("id", ""))
        if id_ in declared:
            name, text = declared[id_].name, value.attributes.get("value", "")
            row[name] = xml.value(text, declared[id_].kind, name, value.line)
        else:
            xml.refuse(f"a value for {shown(id_)}", "an attribute that is declared", value.line)
    return row
