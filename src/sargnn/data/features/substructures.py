"""The number of rings and cliques through each node, counted exactly.

Rings in small or dense graphs are counted by algebra: the rings of k nodes are the maps of a k-ring into the graph
that send different nodes to different nodes, and these are all maps (products of matrices), less those that send two
nodes to one, and so on: Möbius inversion over the ways to merge nodes of the ring. Rings in large sparse graphs are
grown node by node. Both give whole numbers, the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from sargnn.data.graphs import ranges
from sargnn.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PATTERNS", "count_dense", "count_sparse"]

PATTERNS = ("ring3", "ring4", "ring5", "ring6", "clique4")
"""Rings of 3 to 6 nodes, and four nodes all joined. Not induced: a ring may have chords."""

ROOTS = 256
"""Nodes from which rings are grown at once, if there are not too many paths."""
PATHS = 10**7
"""Paths that may be listed at once, which bounds memory."""
MATRIX_NODES = 5000
"""Up to here a graph of too many paths is counted by algebra: its matrices fit in memory."""

Edges = tuple[tuple[int, int], ...]


def count_dense(adjacency: np.ndarray, pattern: str) -> np.ndarray:
    """float64 [G, n]: the patterns through each node of G graphs of n nodes, given as [G, n, n] of 0 and 1.

    >>> triangle_with_a_tail = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> count_dense(triangle_with_a_tail[None], "ring3").tolist()
    [[1.0, 1.0, 1.0, 0.0]]
    """
    adjacency = adjacency.astype(np.float64)
    if pattern == "clique4":
        triangles = count_dense(adjacency, "ring3")
        out = np.zeros_like(triangles)
        for graph, node in np.argwhere(triangles >= 3):
            around = np.flatnonzero(adjacency[graph, node])
            out[graph, node] = _triangles_among(adjacency[graph][np.ix_(around, around)])
        return out
    total = sum(
        coefficient * _maps(edges, adjacency) for edges, coefficient in _merged_rings(int(pattern.removeprefix("ring")))
    )
    return np.round(total) / 2  # each ring is found in both directions


def count_sparse(adjacency: csr_array, pattern: str) -> np.ndarray:
    """float64 [n]: the patterns through each node of one graph without loops."""
    if pattern == "clique4":
        triangles = count_sparse(adjacency, "ring3")
        out = np.zeros_like(triangles)
        for node in np.flatnonzero(triangles >= 3):
            around = adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]
            out[node] = _triangles_among((adjacency[around][:, around].toarray() != 0).astype(np.float64))
        return out
    nodes, k = adjacency.shape[0], int(pattern.removeprefix("ring"))
    out, start, roots = np.zeros(nodes), 0, ROOTS
    while start < nodes:
        rings = _grown_rings(adjacency, np.arange(start, min(start + roots, nodes)), k)
        if rings is not None:
            out += np.bincount(rings.ravel(), minlength=nodes)
            start += roots
        elif nodes <= MATRIX_NODES:
            return np.asarray(count_dense((adjacency.toarray() != 0)[None], pattern)[0])
        elif roots > 1:
            roots //= 4
        else:
            raise InputError(
                f"data.substructures: got a graph of {nodes} nodes with more than {PATHS} paths from node {start}, "
                f"expected one that is less dense, or no {pattern}"
            )
    return out / 2


def _triangles_among(adjacency: np.ndarray) -> float:
    return float(np.einsum("ab,bc,ca->", adjacency, adjacency, adjacency, optimize=True) / 6)


@cache
def _merged_rings(k: int) -> list[tuple[Edges, int]]:
    """The ring of k nodes and what it becomes when nodes that are not joined are merged, each with its Möbius factor.

    Node 0 is the one that is counted at.
    """
    found: Counter[Edges] = Counter()
    for blocks in _partitions(k):
        name = {node: number for number, block in enumerate(blocks) for node in block}
        ends = [(name[node], name[(node + 1) % k]) for node in range(k)]
        if all(a != b for a, b in ends):
            edges = tuple(sorted({(min(pair), max(pair)) for pair in ends}))
            found[edges] += prod((-1) ** (len(block) - 1) * factorial(len(block) - 1) for block in blocks)
    return [(edges, coefficient) for edges, coefficient in found.items() if coefficient]


def _partitions(k: int) -> Iterator[list[list[int]]]:
    """All partitions of 0..k-1 into blocks, in the order of their first members."""
    if k == 0:
        yield []
        return
    for blocks in _partitions(k - 1):
        for number in range(len(blocks)):
            yield [[*block, k - 1] if i == number else block for i, block in enumerate(blocks)]
        yield [*blocks, [k - 1]]


def _maps(edges: Edges, adjacency: np.ndarray) -> np.ndarray:
    """[G, n]: in how many ways a graph of these edges maps into each graph, its node 0 to each node."""
    letter = "abcdefgh"
    terms = [letter[a] + letter[b] for a, b in edges]
    if len(adjacency) == 1:  # products of single matrices are what BLAS is for
        return np.asarray(np.einsum(f"{','.join(terms)}->a", *[adjacency[0]] * len(edges), optimize="greedy")[None])
    return np.asarray(np.einsum(f"z{',z'.join(terms)}->za", *[adjacency] * len(edges), optimize="greedy"))


def _grown_rings(adjacency: csr_array, roots: np.ndarray, k: int) -> np.ndarray | None:
    """[R, k]: the rings of k nodes whose smallest node is among ``roots``, each in both directions; none where there
    are too many paths to list."""
    paths = roots[:, None]
    for _ in range(k - 1):
        last = paths[:, -1]
        ways = adjacency.indptr[last + 1] - adjacency.indptr[last]
        if ways.sum() > PATHS:
            return None
        paths = np.repeat(paths, ways, axis=0)
        following = adjacency.indices[ranges(adjacency.indptr, last)]
        new = (following > paths[:, 0]) & (paths != following[:, None]).all(axis=1)
        paths = np.concatenate([paths[new], following[new, None]], axis=1)
    nodes = adjacency.shape[0]
    edges = np.repeat(np.arange(nodes), np.diff(adjacency.indptr)) * nodes + adjacency.indices
    return paths[np.isin(paths[:, -1] * nodes + paths[:, 0], edges)]
