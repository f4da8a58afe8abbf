"""Graphs as files and as objects, for the tests of readers and writers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from sargnn.data.graphs import GraphSet, pack

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="node" attr.name="symbol" attr.type="string"><default>C</default></key>
  <key id="d1" for="node" attr.name="mass" attr.type="double"/>
  <key id="d2" for="edge" attr.name="ring" attr.type="boolean"/>
  <key id="d3" for="graph" attr.name="label" attr.type="string"/>
  <key id="d4" for="node" yfiles.type="nodegraphics"/>
  <graph id="first" edgedefault="undirected">
    <data key="d3">toxic</data>
    <node id="a"><data key="d0">O</data><data key="d1">16</data><data key="d4"><y:Shape/></data></node>
    <node id="b"><data key="d1">12</data></node>
    <edge source="a" target="b"><data key="d2">true</data></edge>
  </graph>
  <graph id="second" edgedefault="directed">
    <data key="d3">safe</data>
    <node id="x"><data key="d1">12</data></node>
    <node id="y"><data key="d1">12</data></node>
    <node id="z"><data key="d1">12</data></node>
    <edge source="x" target="y"><data key="d2">false</data></edge>
    <edge source="y" target="z" directed="false"><data key="d2">true</data></edge>
  </graph>
</graphml>
"""


LINE = {
    "graph": {"y": 1},
    "nodes": [{"id": "a", "w": 1}, {"id": "b", "w": 2}],
    "links": [{"source": "a", "target": "b"}],
}


TRIO = {
    "graphs": "graph,label,directed,weight\nm2,toxic,false,0.5\nm10,safe,true,2\n",
    "nodes": "graph,node,symbol,mass\nm10,a,C,12\nm2,x,O,16\nm2,y,C,12.5\nm10,b,N,14\nm2,z,C,12\n",
    "edges": "graph,source,target,bond\nm2,x,y,double\nm10,b,a,single\nm2,z,y,single\n",
}


def labelled(graph: Any, label: Any = "a", **attributes: Any) -> Any:
    graph.graph.update(label=label, **attributes)
    return graph


def named_set() -> GraphSet:
    """Texts for everything that can be a text, and all fields filled."""
    graphs = pack(
        [(3, [(0, 1), (1, 0), (1, 2), (2, 1)]), (1, []), (2, [(0, 1), (1, 1)])],
        name="three",
        y=[1, 0, 1],
        classes=["a <no>", "yes & more"],
        node_labels=[0, 1, 0, 2, 1, 1],
        node_label_names=["C", "N,x", "Ö"],
        node_attributes=np.array([[0.1, 1e-30], [-0.0, 3], [1 / 3, 16777216], [2, 2], [1e38, 0], [0, 7]], np.float32),
        node_attribute_names=["charge", "x10"],
        true_saliency=[0, 1, 0, 1, 2, 0.5],
        part=[0, 1, 2],
        graph_attributes=[[0.5], [1.5], [2.5]],
        graph_attribute_names=["energy"],
        graph_names=["../up", "b", "c\n"],
        node_names=["u", "v", "w", "alone", "p", "p"],
    )
    bonds = np.array([0, 0, 1, 1, 1, 0])
    return replace(
        graphs,
        edge_labels=bonds,
        edge_label_names=("double", "single"),
        edge_attributes=np.array([[1], [1], [2], [2], [3], [4]], np.float32),
        edge_attribute_names=("length",),
    )


def write_tu(folder: Path, name: str, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    base = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n"}
    for kind, text in (base | texts).items():
        (folder / f"{name}_{kind}.txt").write_text(text)
    return folder


def ring(size: int, **fields: Any) -> Data:
    nodes = torch.arange(size)
    pairs = torch.stack([nodes, nodes.roll(1)])
    return Data(edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), num_nodes=size, **fields)


nan = float("nan")
