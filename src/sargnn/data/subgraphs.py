"""Graphs of which only some nodes and edges are left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sargnn.data.graphs import EDGE_ARRAYS, NODE_ARRAYS, GraphSet, pointers

__all__ = ["subgraphs"]


def subgraphs(graphs: GraphSet, nodes: np.ndarray, edges: np.ndarray) -> GraphSet:
    """The graphs with the ``nodes`` (bool [N]) that are kept and, between these, the ``edges`` (bool [E]). What was
    computed from the whole graph stays: an atom's number of bonds in a table of its attributes, or the SMILES.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    >>> subgraphs(path, np.array([False, True, True]), np.ones(4, bool)).edges.tolist()
    [[1, 0], [0, 1]]
    """
    ends = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    stays = edges & nodes[ends[0]] & nodes[ends[1]]
    sizes = np.bincount(graphs.node_graph[nodes], minlength=len(graphs))
    counts = np.bincount(graphs.edge_graph[stays], minlength=len(graphs))
    node_ptr = pointers(sizes)
    number = np.cumsum(nodes) - 1 - node_ptr[graphs.node_graph]
    rows = [(NODE_ARRAYS, nodes), (EDGE_ARRAYS, stays)]
    known = {name: (getattr(graphs, name), some) for names, some in rows for name in names}
    arrays = {name: value[some] for name, (value, some) in known.items() if value is not None}
    left = number[ends[:, stays]].astype(np.int32)
    return replace(graphs, node_ptr=node_ptr, edge_ptr=pointers(counts), edges=left, **arrays)
