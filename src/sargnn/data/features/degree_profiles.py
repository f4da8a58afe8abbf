r"""What the edges alone say of a node: its local degree profile and its local topological profile.

The first is the node's degree and the least, largest, mean and deviation of its neighbours' degrees (Cai and Wang,
2018). The second adds three measures of edges, of which a node has the mean over its own (Adamczyk and Czech, 2023):

- betweenness, the number of shortest paths between two nodes that the edge is on, shared among equally short ones;
- Jaccard index, :math:`|N(u) \cap N(v)| / |N(u) \cup N(v)|`;
- local degree score, :math:`1 - \log r / \log d_u`, where v is the r-th of u's neighbours by falling degree (equal
  degrees share the best place; 1 where u has one neighbour), the larger of both ends.

A node without edges has zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sargnn.data.graphs import CELLS, ranges

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["BETWEENNESS", "COLUMNS", "local_profile", "passing_paths"]

COLUMNS = (
    "degree", "least neighbour degree", "largest neighbour degree", "mean neighbour degree",
    "deviation of neighbour degrees", "edge betweenness", "edge Jaccard index", "edge local degree score",
)  # fmt: skip
"""Of a profile; the last three are means over the node's edges."""
BETWEENNESS = COLUMNS.index("edge betweenness")


def local_profile(adjacency: csr_array) -> np.ndarray:
    """float64 [N, 8]: the columns of ``COLUMNS``, but for betweenness, which is left 0 (see :func:`passing_paths`).

    ``adjacency`` is symmetric, without loops, and may hold many graphs as blocks; its values are not looked at.

    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> local_profile(path)[:, :4].tolist()
    [[1.0, 2.0, 2.0, 2.0], [2.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 2.0]]
    """
    adjacency.sort_indices()
    degree = np.diff(adjacency.indptr)
    source, target = np.repeat(np.arange(len(degree)), degree), adjacency.indices.astype(np.int64)
    out = np.zeros((len(degree), len(COLUMNS)))
    out[:, 0] = degree
    if not len(source):
        return out
    joined = degree > 0
    first = adjacency.indptr[:-1][joined]
    around = degree[target]
    out[joined, 1] = np.minimum.reduceat(around, first)
    out[joined, 2] = np.maximum.reduceat(around, first)

    def mean_over_edges(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(source, values, len(degree)) / np.maximum(degree, 1))

    out[:, 3] = mean_over_edges(around)
    out[:, 4] = np.sqrt(np.maximum(mean_over_edges(around**2) - out[:, 3] ** 2, 0))
    out[:, 6] = mean_over_edges(_jaccard(source, target, adjacency))
    out[:, 7] = mean_over_edges(_degree_score(source, target, degree))
    return out


def passing_paths(adjacency: Any, start: np.ndarray) -> np.ndarray:
    r"""[..., n]: how much of the shortest paths from the nodes of ``start`` [n, c], unit vectors, passes the edges of
    each node: :math:`\sum_s \sum_{e \ni v} f_s(e)`, f_s(e) being the sum over t of the fraction of the shortest paths
    from s to t that are on e.

    ``adjacency`` is dense [..., n, n] or sparse [n, n]. Brandes' recursion for all of ``start`` and level by level:
    with σ(v) paths from s to v and δ(v) the flow that leaves v, a node other than s is entered by 1 + δ(v).
    """
    paths = np.broadcast_to(start, (*adjacency.shape[:-2], *start.shape)).astype(np.float64)
    levels = [paths > 0]
    reached, frontier = levels[0].copy(), paths.copy()
    while True:
        frontier = np.where(reached, 0, adjacency @ frontier)
        if not frontier.any():
            break
        levels.append(frontier > 0)
        reached |= levels[-1]
        paths += frontier
    leaving = np.zeros_like(paths)
    for nearer, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        entering = np.divide(1 + leaving, paths, out=np.zeros_like(paths), where=level)
        leaving += np.where(nearer, paths * (adjacency @ entering), 0)
    return np.asarray((leaving + np.where(reached & ~levels[0], 1 + leaving, 0)).sum(-1))


def _jaccard(source: np.ndarray, target: np.ndarray, adjacency: csr_array) -> np.ndarray:
    """Of every edge: the neighbours that its ends share, over those that they have together."""
    pointer, nodes = adjacency.indptr.astype(np.int64), adjacency.shape[0]
    degree = np.diff(pointer)
    known = source * nodes + target  # sorted
    few, many = np.where(degree[source] <= degree[target], (source, target), (target, source))
    shared = np.zeros(len(source))
    total = np.cumsum(degree[few])
    begin = 0
    while begin < len(source):  # as many edges as have CELLS neighbours to look at, or one
        end = max(begin + 1, int(np.searchsorted(total, (total[begin - 1] if begin else 0) + CELLS, "right")))
        edge = np.repeat(np.arange(begin, end), degree[few[begin:end]])
        wanted = many[edge] * nodes + target[ranges(pointer, few[begin:end])]
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        shared[begin:end] = np.bincount(edge[known[place] == wanted] - begin, minlength=end - begin)
        begin = end
    return np.asarray(shared / (degree[source] + degree[target] - shared))


def _degree_score(source: np.ndarray, target: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Of every edge: the local degree score, the same in both directions."""
    falling = source * (degree.max() + 1) + degree.max() - degree[target]
    rank = np.searchsorted(np.sort(falling), falling) - (np.cumsum(degree) - degree)[source] + 1
    score = np.where(degree[source] > 1, 1 - np.log(rank) / np.log(np.maximum(degree[source], 2)), 1.0)
    back = np.lexsort((source, target))  # sorted by (target, source): the edges turned around
    return np.maximum(score, score[back])
