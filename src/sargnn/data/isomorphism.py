"""Which graphs of a set are the same but for the order of their nodes.

Graphs whose nodes have the same stable colours (:mod:`sargnn.data.duplicates`) may be isomorphic. Their nodes are put
in an order that depends on little but the graph: as long as two nodes share a colour, one of them gets a colour of its
own and the others are refined. Graphs that are equal in that order are isomorphic. For the few that are not, a search
tries every node of the second graph in the place of each that was singled out in the first.
"""

from __future__ import annotations

import numpy as np

from sargnn.data.duplicates import ROUNDS, contents, hash_graphs, mix, refine
from sargnn.data.graphs import GraphSet

__all__ = ["isomorphism_classes"]

WORK = 2 * 10**8
"""Nodes and edges that are coloured, counted once per round: for stable colours, for the order and for the search."""
PAIR = 2 * 10**7
"""The same for one pair of graphs."""
CALL = 1000
"""What a round costs besides its nodes and edges, in nodes and edges."""


def isomorphism_classes(graphs: GraphSet, *, work: int = WORK, pair: int = PAIR) -> tuple[np.ndarray, int]:
    """int64 [G]: equal numbers for isomorphic graphs; and how many graphs joined another by their colours alone.

    A node keeps its label and attributes, an edge its direction, label and attributes, and a graph its attributes. The
    search gives a pair up after ``pair`` nodes and edges, or ``work`` for the whole set; it then counts as isomorphic.

    >>> from sargnn.data.graphs import pack
    >>> hexagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    >>> triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    >>> other_triangles = [(0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)]
    >>> found, by_colours = isomorphism_classes(pack([(6, hexagon), (6, triangles), (6, other_triangles)]))
    >>> found.tolist(), by_colours
    ([0, 1, 1], 0)
    """
    hashes = hash_graphs(graphs, _stable(graphs, *contents(graphs), work)[0])
    _, first, bucket, sizes = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    classes = first[bucket]
    shared = np.flatnonzero(sizes[bucket] > 1)
    some = graphs.subset(shared)
    search = _Search(some, work, pair)
    leaders: dict[int, dict[bytes, int]] = {}
    for g, form in enumerate(_forms(some, _order(some, work))):
        known = leaders.setdefault(int(bucket[shared[g]]), {})
        if form not in known:
            known[form] = search.twin_of(g, list(dict.fromkeys(known.values())))
        classes[shared[g]] = shared[known[form]]
    return np.unique(classes, return_inverse=True)[1], search.by_colours


class _Search:
    """Answers for single pairs of graphs with the same stable colours, as far as the work allows."""

    def __init__(self, graphs: GraphSet, work: int, pair: int) -> None:
        self.graphs, self.work, self.pair = graphs, work, pair
        self.by_colours = 0

    def twin_of(self, graph: int, leaders: list[int]) -> int:
        """The one of ``leaders`` that is isomorphic to ``graph``, or else the first that may be, or else ``graph``."""
        perhaps = []
        for leader in leaders:
            answer = self.isomorphic(leader, graph)
            if answer:
                return leader
            if answer is None:
                perhaps.append(leader)
        self.by_colours += bool(perhaps)
        return [*perhaps, graph][0]

    def isomorphic(self, one: int, other: int) -> bool | None:
        """Whether two graphs are isomorphic; None if the work did not suffice to find out."""
        if self.work < 0:
            return None
        both = self.graphs.subset([one, other])
        colour, edge = contents(both)
        allowed = left = min(self.pair, self.work)
        waiting: list[tuple[np.ndarray, list[int]]] = [(colour, [])]
        answer: bool | None = False
        while waiting and not answer:
            colour, left = _stable(both, _single_out(*waiting.pop()), edge, left)
            if left < 0:
                answer = None
                break
            here, there = np.split(colour, both.node_ptr[1:2])
            if np.array_equal(np.sort(here), np.sort(there)):
                chosen = _shared_colour(both, colour)
                for node in chosen[:1].tolist():
                    places = len(here) + np.flatnonzero(there == colour[node])
                    waiting += [(colour, [node, place]) for place in places.tolist()]
                answer = not len(chosen) and len(set(_forms(both, colour))) == 1
        self.work -= allowed - left
        return answer


def _stable(graphs: GraphSet, colour: np.ndarray, edge: np.ndarray, work: int) -> tuple[np.ndarray, int]:
    """Colours refined until a round tells no more nodes apart, and the work that is left."""
    found = rounds = 0
    while (now := len(np.unique(colour))) > found and (work > 0 or rounds < ROUNDS):
        found = now
        colour = refine(graphs, colour, edge)
        work -= graphs.num_nodes + graphs.num_edges + CALL
        rounds += 1
    return colour, work


def _order(graphs: GraphSet, work: int) -> np.ndarray:
    """uint64 [N]: colours that tell all nodes of a graph apart, as far as the work allows."""
    result = np.zeros(graphs.num_nodes, np.uint64)
    rows = np.arange(graphs.num_nodes)
    colour, edge = contents(graphs)
    while True:
        colour, work = _stable(graphs, colour, edge, work)
        result[rows] = colour
        chosen = _shared_colour(graphs, colour)
        if work < 0 or not len(chosen):
            return result
        colour = _single_out(colour, chosen)
        still = np.zeros(len(graphs), bool)
        still[graphs.node_graph[chosen]] = True
        nodes = still[graphs.node_graph]
        rows, colour, edge = rows[nodes], colour[nodes], edge[still[graphs.edge_graph]]
        graphs = graphs.subset(still)


def _shared_colour(graphs: GraphSet, colour: np.ndarray) -> np.ndarray:
    """int64 [up to G]: of each graph with nodes of one colour, the first node of the least such colour."""
    order = np.lexsort((colour, graphs.node_graph))
    graph, colour = graphs.node_graph[order], colour[order]
    shared = np.flatnonzero((graph[1:] == graph[:-1]) & (colour[1:] == colour[:-1]))
    return np.asarray(order[shared[np.unique(graph[shared], return_index=True)[1]]])


def _single_out(colour: np.ndarray, nodes: list[int] | np.ndarray) -> np.ndarray:
    """``nodes`` get a colour that no other node has, and that depends on the one that they had."""
    colour = colour.copy()
    colour[nodes] = mix(colour[nodes] + np.uint64(1))
    return colour


def _forms(graphs: GraphSet, colour: np.ndarray) -> list[bytes]:
    """All that is known of each graph, its nodes in the order of their colours."""
    order = np.lexsort((colour, graphs.node_graph))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - graphs.node_ptr[graphs.node_graph]
    source, target = rank[graphs.edges + graphs.node_ptr[graphs.edge_graph]]
    edge_order = np.lexsort((source, target, graphs.edge_graph))
    node, edge = contents(graphs)
    nodes = node[order]
    edges = np.stack([source.astype(np.uint64), target.astype(np.uint64), edge], axis=1)[edge_order]
    whole = np.zeros((len(graphs), 0)) if graphs.graph_attributes is None else graphs.graph_attributes + 0
    return [
        graphs.sizes[g].tobytes() + nodes[graphs.nodes_of(g)].tobytes() + whole[g].tobytes() + edges[a:b].tobytes()
        for g, (a, b) in enumerate(zip(graphs.edge_ptr[:-1].tolist(), graphs.edge_ptr[1:].tolist(), strict=True))
    ]
