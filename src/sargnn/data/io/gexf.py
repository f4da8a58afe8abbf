"""GEXF, as Gephi and NetworkX write it: one static graph in a file. A node's ``label`` is its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sargnn.data.io.graph_records import Record
from sargnn.data.io.safe_xml import Declared, Element, XmlFile
from sargnn.data.problems import Problems, shown

__all__ = ["read_gexf"]

WEIGHT = Declared("weight", "edge", "double", None, 0)
"""An edge has it without a declaration."""


def read_gexf(path: Path, problems: Problems) -> Iterator[Record]:
    """The graph of a GEXF file."""
    xml = XmlFile(path, problems)
    return (_record(element, xml) for element in xml.children("gexf") if element.tag == "graph")


def _record(graph: Element, xml: XmlFile) -> Record:
    if graph.attributes.get("mode") == "dynamic":
        xml.refuse("a dynamic graph", "a static one", graph.line)
    for inner in graph.all("nodes", "node", "nodes"):
        xml.refuse("nodes inside a node", "a flat graph", inner.line)
    nodes, edges = graph.all("nodes", "node"), graph.all("edges", "edge")
    declared = {each: _declared(graph, each) for each in ("node", "edge")}
    record = xml.record(graph, nodes, edges, lambda element: _row(element, declared[element.tag], xml))
    if any("weight" in row for row in record.edge_rows):  # by the format, an edge without a weight has weight 1
        record.edge_rows = [{"weight": 1.0, **row} for row in record.edge_rows]
    default = graph.attributes.get("defaultedgetype", "undirected")
    record.directed = [edge.attributes.get("type", default) == "directed" for edge in edges]
    return record


def _declared(graph: Element, each: str) -> dict[str, Declared]:
    """From the id of an attribute of ``each`` node or edge to what it means."""
    found = {}
    for group in graph.all("attributes"):
        for one in group.all("attribute") if group.attributes.get("class") == each else ():
            id_ = one.attributes.get("id", "")
            default = next((child.text for child in one.all("default")), None)
            title, kind = one.attributes.get("title", id_), one.attributes.get("type", "string")
            found[id_] = Declared(title, each, kind, default, one.line)
    return found


def _row(element: Element, declared: dict[str, Declared], xml: XmlFile) -> dict[str, Any]:
    """The values of a node or an edge, with defaults for what is missing."""
    row, own = xml.defaults(declared.values(), element.tag), element.attributes
    for value in element.all("attvalues", "attvalue"):
        id_ = value.attributes.get("for", value.attributes.get("id", ""))
        if id_ in declared:
            row[declared[id_].name] = xml.value(value.attributes.get("value", ""), declared[id_], value.line)
        else:
            xml.refuse(f"a value for {shown(id_)}", "an attribute that is declared", value.line)
    if element.tag == "node":
        row["node_name"] = own.get("label") or own.get("id", "")
    elif own.get("label"):
        row.setdefault("label", own["label"])
    if element.tag == "edge" and own.get("weight"):
        row["weight"] = xml.value(own["weight"], WEIGHT, element.line)
    return row
