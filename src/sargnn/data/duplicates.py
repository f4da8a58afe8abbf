"""Graphs that no message passing can tell apart, found by the colours of Weisfeiler and Leman."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import SetChunks
from sargnn.data.splits import Fold

__all__ = [
    "colour_nodes",
    "contents",
    "duplicates",
    "graph_hashes",
    "hash_graphs",
    "mix",
    "refine",
    "twins_in_words",
    "twins_of_tests",
]

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


def twins_of_tests(graphs: GraphSet, folds: Sequence[Fold]) -> int:
    """How many test graphs, over all ``folds``, equal a training or validation graph of their fold: what is learned by
    heart is right on them.

    >>> from sargnn.data.graphs import pack
    >>> dots = pack([(1, []), (2, []), (1, []), (3, [])])
    >>> twins_of_tests(dots, [Fold(train=np.array([0]), validation=np.array([1]), test=np.array([2, 3]))])
    1
    """
    hashes = np.concatenate([graph_hashes(chunk) for chunk in SetChunks(graphs)])
    known = [np.isin(hashes[fold.test], hashes[np.concatenate([fold.train, fold.validation])]) for fold in folds]
    return sum(int(found.sum()) for found in known)


def twins_in_words(twins: int, tested: int) -> str:
    """What to note of so many :func:`twins_of_tests`; nothing of none.

    >>> twins_in_words(2, 19)
    '2 of 19 test graphs equal a training or validation graph'
    """
    return f"{twins} of {tested} test graphs equal a training or validation graph" if twins else ""


def graph_hashes(graphs: GraphSet, rounds: int = ROUNDS) -> np.ndarray:
    r"""uint64 [G]: equal for equal graphs, and for different ones that :math:`1`-WL cannot tell apart.

    The colour of node v starts as its label and attributes; then, ``rounds`` times,
    :math:`c_v \leftarrow h(c_v, \sum_{u \to v} h(c_u, e_{uv}))`, with a sum that stands for the set of neighbours.
    """
    return hash_graphs(graphs, colour_nodes(graphs, rounds))


def colour_nodes(graphs: GraphSet, rounds: int) -> np.ndarray:
    """uint64 [N]: the colour of every node after ``rounds``."""
    colour, edge = contents(graphs)
    for _ in range(rounds):
        colour = refine(graphs, colour, edge)
    return colour


def hash_graphs(graphs: GraphSet, colour: np.ndarray) -> np.ndarray:
    """uint64 [G]: the colours of each graph's nodes, whatever their order, and its attributes."""
    found = np.zeros(len(graphs), np.uint64)
    np.add.at(found, graphs.node_graph, mix(colour))
    return mix(found ^ _content(len(graphs), None, graphs.graph_attributes))


def contents(graphs: GraphSet) -> tuple[np.ndarray, np.ndarray]:
    """uint64 [N] and [E]: labels and attributes of every node and of every edge, as one number each."""
    return (
        _content(graphs.num_nodes, graphs.node_labels, graphs.node_attributes),
        _content(graphs.num_edges, graphs.edge_labels, graphs.edge_attributes),
    )


def refine(graphs: GraphSet, colour: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """uint64 [N]: one round; nodes of different colours keep different ones.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    >>> first, second, third = refine(path, *contents(path))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    source, target = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    heard = np.zeros_like(colour)
    np.add.at(heard, target, mix(colour[source] ^ mix(edge)))
    return mix(mix(colour) + heard)


def _content(rows: int, labels: np.ndarray | None, attributes: np.ndarray | None) -> np.ndarray:
    """uint64 [R]: what is known of each row."""
    found = np.full(rows, 1, np.uint64)
    if labels is not None:
        found = mix(found + labels.astype(np.uint64))
    if attributes is not None:
        for column in attributes.T:
            bits = np.ascontiguousarray(column + np.float32(0)).view(np.uint32)  # + 0 makes -0.0 and 0.0 one
            found = mix(found ^ bits.astype(np.uint64))
    return found


def mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser, uint64 of any shape: every bit of the input changes half the bits of the output."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
