"""Where the nodes of a drawn graph go: to their own coordinates, or where a layout of the edges alone puts them."""

from __future__ import annotations

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial import cKDTree

from sargnn.data.graphs import GraphSet, pairs_of

__all__ = ["PANEL", "fit", "positions_of"]

PANEL = (3.4, 2.7)
"""Width and height of one drawn graph, in inches; the colour bar's strip comes below."""
EXACT_LAYOUT = 60
"""Most nodes laid out by all their distances (Kamada-Kawai)."""


def positions_of(one: GraphSet) -> np.ndarray:
    """float [n, 2]: the nodes' own coordinates; without them, each connected part laid out by its edges, side by side.

    Two attributes are coordinates if no two nodes of the graph share both: nodes of equal mass and charge are many,
    nodes in one place are not.
    """
    own = one.node_attributes
    if own is not None and own.shape[1] == 2 and np.isfinite(own).all() and len(np.unique(own, axis=0)) == len(own):
        return np.asarray(own, dtype=float)
    source, target = pairs_of(one).T
    other = source != target
    source, target = source[other], target[other]
    size = (one.num_nodes, one.num_nodes)
    adjacency = coo_array((np.ones(2 * len(source)), (np.r_[source, target], np.r_[target, source])), size).tocsr()
    count, part = connected_components(adjacency, directed=False)
    members = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=count))[:-1])
    return _side_by_side(members, [_lay_out(adjacency[nodes][:, nodes]) for nodes in members], one.num_nodes)


def fit(positions: np.ndarray, width: float, height: float, margin: float) -> np.ndarray:
    """Positions scaled to fill the frame but for a margin, proportions kept, and centred."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = np.maximum(high - low, 1e-9)  # of one node, or of nodes in one place: any scale will do
    scale = min((width - 2 * margin) / extent[0], (height - 2 * margin) / extent[1])
    return np.asarray((positions - (low + high) / 2) * scale + np.array([width, height]) / 2)


def _lay_out(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: a connected graph drawn with edges of length one on average and its long side horizontal."""
    n = adjacency.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    positions = _kamada_kawai(adjacency) if n <= EXACT_LAYOUT else _spring(_pivot(adjacency), adjacency)
    positions = positions - positions.mean(axis=0)
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]  # one of the two mirror images, always
    return np.asarray(positions @ axes.T / _edge_length(positions, adjacency))


def _kamada_kawai(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: distances on paper as near as can be to distances in the graph.

    What is found depends on the start. A circle suits cliques, the main directions suit molecules: the better one wins.
    """
    distance = shortest_path(adjacency, unweighted=True)
    off_diagonal = ~np.eye(len(distance), dtype=bool)
    graph = nx.from_scipy_sparse_array(adjacency)
    table = {v: dict(enumerate(row)) for v, row in enumerate(distance)}

    def stress(positions: np.ndarray) -> float:
        drawn = np.linalg.norm(positions[:, None] - positions, axis=-1)[off_diagonal]
        ratio = drawn / distance[off_diagonal]
        return float(((ratio / ratio.mean() - 1) ** 2).sum())

    starts = [None, dict(enumerate(_pivot(adjacency)))]
    layouts = [nx.kamada_kawai_layout(graph, dist=table, pos=start) for start in starts]
    return min((np.array([layout[v] for v in graph]) for layout in layouts), key=stress)


def _pivot(adjacency: csr_array) -> np.ndarray:
    """float [n, 2]: the two main directions of the distances to 64 nodes (Pivot MDS, Brandes and Pich 2007).

    Right in the large and linear in the size of the graph. Nodes with equal distances would coincide; a little noise,
    always the same, parts them.
    """
    n = adjacency.shape[0]
    pivots = np.linspace(0, n - 1, min(n, 64)).astype(int)
    squared = shortest_path(adjacency, unweighted=True, indices=pivots).T ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    positions: np.ndarray = left[:, :2] * scale[:2]
    return positions / _edge_length(positions, adjacency) + np.random.default_rng(0).normal(0, 0.05, positions.shape)


def _spring(positions: np.ndarray, adjacency: csr_array, steps: int = 60) -> np.ndarray:
    """Fruchterman-Reingold from a good start: edges pull with d², the sixteen nearest nodes push with 1/d.

    A node feels near nodes only, which keeps a step linear in the nodes: 5,000 of them take two seconds.
    """
    source, target = adjacency.nonzero()
    positions = positions.copy()
    for limit in np.linspace(0.5, 0.02, steps):
        distance, near = cKDTree(positions).query(positions, k=17)
        away = positions[:, None] - positions[near[:, 1:]]
        move = (away / np.maximum(distance[:, 1:, None], 0.05) ** 2).sum(axis=1)
        along = positions[target] - positions[source]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True)
        move += np.stack([np.bincount(source, pull[:, i], len(positions)) for i in (0, 1)], axis=1)
        length = np.linalg.norm(move, axis=1, keepdims=True)
        positions += move * np.minimum(1, limit / np.maximum(length, 1e-9))
    return positions


def _edge_length(positions: np.ndarray, adjacency: csr_array) -> float:
    source, target = adjacency.nonzero()
    return max(float(np.linalg.norm(positions[source] - positions[target], axis=1).mean()), 1e-9)


def _side_by_side(members: list[np.ndarray], layouts: list[np.ndarray], nodes: int) -> np.ndarray:
    """The parts' layouts set in rows, tallest first, on the page that can be drawn largest."""
    boxes = np.array([np.ptp(layout, axis=0) + 1 for layout in layouts]).reshape(-1, 2)  # half an edge of air all round
    order = np.lexsort((-boxes[:, 0], -boxes[:, 1]))
    wide = np.sqrt(boxes.prod(axis=1).sum() * PANEL[0] / PANEL[1])
    pages = [_rows(boxes[order], page * wide) for page in (1, 1.15, 1.3, 1.5, 1.75, 2)]
    half = boxes[order] / 2
    centres = min(pages, key=lambda page: (np.ptp(np.r_[page - half, page + half], axis=0) / PANEL).max())
    positions = np.zeros((nodes, 2))
    for part, centre in zip(order, centres, strict=True):
        layout = layouts[part]
        positions[members[part]] = layout - (layout.min(axis=0) + layout.max(axis=0)) / 2 + centre
    return positions


def _rows(boxes: np.ndarray, page: float) -> np.ndarray:
    """float [boxes, 2]: centres of boxes set from left to right in rows at most ``page`` wide, one box at least."""
    left = top = row = 0.0
    centres = np.zeros_like(boxes)
    for i, (width, height) in enumerate(boxes):
        if left > 0 and left + width > page:
            left, top, row = 0.0, top - row, 0.0
        row = max(row, height)
        centres[i] = left + width / 2, top - row / 2
        left += width
    return centres
