"""Graphs that no message passing can tell apart, found by the colours of Weisfeiler and Leman."""

from __future__ import annotations

import numpy as np

from sargnn.data.graphs import GraphSet

__all__ = ["duplicates", "graph_hashes"]

ROUNDS = 4


def duplicates(graphs: GraphSet) -> list[np.ndarray]:
    """Groups of two or more equal graphs, by position; the order of nodes does not matter.

    >>> from sargnn.data.graphs import pack
    >>> path = [(0, 1), (1, 0), (1, 2), (2, 1)]
    >>> same_path = [(0, 2), (2, 0), (2, 1), (1, 2)]
    >>> [group.tolist() for group in duplicates(pack([(3, path), (3, []), (3, same_path)]))]
    [[0, 2]]
    """
    hashes = graph_hashes(graphs)
    order = np.argsort(hashes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(hashes[order])) + 1)
    return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))


def graph_hashes(graphs: GraphSet, rounds: int = ROUNDS) -> np.ndarray:
    r"""uint64 [G]: equal for equal graphs, and for different ones that :math:`1`-WL cannot tell apart.

    The colour of node v starts as its label and attributes; then, ``rounds`` times,
    :math:`c_v \leftarrow h(c_v, \sum_{u \to v} h(c_u, e_{uv}))`, with a sum that stands for the set of neighbours.
    """
    source, target = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    colour = _content(graphs.num_nodes, graphs.node_labels, graphs.node_attributes)
    edge = _content(graphs.num_edges, graphs.edge_labels, graphs.edge_attributes)
    for _ in range(rounds):
        heard = np.zeros_like(colour)
        np.add.at(heard, target, _mix(colour[source] ^ _mix(edge)))
        colour = _mix(_mix(colour) + heard)
    found = np.zeros(len(graphs), np.uint64)
    np.add.at(found, graphs.node_graph, _mix(colour))
    return _mix(found ^ _content(len(graphs), None, graphs.graph_attributes))


def _content(rows: int, labels: np.ndarray | None, attributes: np.ndarray | None) -> np.ndarray:
    """uint64 [R]: what is known of each row."""
    found = np.full(rows, 1, np.uint64)
    if labels is not None:
        found = _mix(found + labels.astype(np.uint64))
    if attributes is not None:
        for column in attributes.T:
            bits = np.ascontiguousarray(column + np.float32(0)).view(np.uint32)  # + 0 makes -0.0 and 0.0 one
            found = _mix(found ^ bits.astype(np.uint64))
    return found


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every bit of the input changes half the bits of the output."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
