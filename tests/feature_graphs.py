"""Graphs for the tests of node and edge inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import ENCODINGS, DataConfig
from sargnn.data.graphs import GraphSet, pack

Edges = list[tuple[int, int]]


PATH: Edges = [(0, 1), (1, 2)]


def both(edges: Edges) -> Edges:
    return edges + [(j, i) for i, j in edges]


def undirected(*graphs: tuple[int, Edges], **fields: Any) -> GraphSet:
    return pack([(n, both(edges)) for n, edges in graphs], **fields)


def encoded(graphs: GraphSet, *names: str, **config: Any) -> np.ndarray:
    return Encoder.fit(DataConfig(names, **config), graphs).encode(graphs)


def molecules(**fields: Any) -> GraphSet:
    content: dict[str, Any] = {
        "name": "molecules",
        "node_labels": [0, 1, 1, 0],
        "node_label_names": ("C", "N"),
        "node_attributes": [[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [6.0, 7.0]],
    }
    return undirected((3, PATH), (1, []), **(content | fields))


def random_graphs(seed: int, count: int = 12, most: int = 15) -> GraphSet:
    rng = np.random.default_rng(seed)
    graphs = []
    for n in rng.integers(1, most, size=count):
        row, column = np.nonzero(np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.5), 1))
        graphs.append((int(n), list(zip(row.tolist(), column.tolist(), strict=True))))
    return undirected(*graphs)


EVERYTHING = DataConfig(("auto", *ENCODINGS), edge_encodings=("auto",), graph_encodings=("attributes",))


def described(graphs: GraphSet, seed: int = 0, **fields: Any) -> GraphSet:
    """The graphs with labels and attributes of nodes and edges and attributes of graphs, far from 0."""
    rng = np.random.default_rng(seed)
    content: dict[str, Any] = {
        "node_labels": rng.integers(0, 3, graphs.num_nodes),
        "edge_labels": rng.integers(0, 3, graphs.num_edges),
        "node_attributes": rng.normal(1000, 1, (graphs.num_nodes, 2)).astype(np.float32),
        "edge_attributes": rng.normal(5, 2, (graphs.num_edges, 1)).astype(np.float32),
        "graph_attributes": rng.normal(0, 9, (len(graphs), 2)).astype(np.float32),
    }
    return replace(graphs, **(content | fields))


def bonds(**fields: Any) -> GraphSet:
    """A path of three nodes with a single bond (length 1) and a double one (length 3), and a lone node."""
    content: dict[str, Any] = {
        "edge_labels": np.array([0, 0, 1, 1]),  # 1 -> 0, 0 -> 1, 2 -> 1, 1 -> 2
        "edge_label_names": ("single", "double"),
        "edge_attributes": np.array([[1], [1], [3], [3]], np.float32),
        "graph_attributes": np.array([[10, 1], [30, 1]], np.float32),
    }
    return replace(molecules(), **(content | fields))
