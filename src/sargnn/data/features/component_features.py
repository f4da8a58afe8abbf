"""What is computed per connected component: random walks, eigenvectors, substructures, degree profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sargnn.data.features.degree_profiles import BETWEENNESS, COLUMNS, local_profile, passing_paths
from sargnn.data.features.kept import kept
from sargnn.data.features.substructures import count_dense, count_sparse
from sargnn.data.graphs import CELLS, GraphSet, chunks, equal_size

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["DENSE_NODES", "laplacian_vectors", "node_profiles", "return_probabilities", "substructure_counts"]

DENSE_NODES = 300
"""Components up to this size are computed as batches of dense matrices, larger ones sparsely."""

CACHED_CELLS = 2**17
"""Numbers of a matrix that a core's cache holds, so that products of it do not wait for memory."""


def _symmetric_walk(graphs: GraphSet) -> csr_array:
    r"""[N, N]: :math:`S = D^{-1/2} A D^{-1/2}`, block-diagonal over graphs; A has no loops, no directions."""
    from scipy.sparse import csr_array

    source, target = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    source, target = source[source != target], target[source != target]
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    walk = csr_array((np.ones(len(ends[0])), ends), shape=(graphs.num_nodes, graphs.num_nodes))
    degree = np.diff(walk.indptr)
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    walk.data = np.repeat(scale, degree) * scale[walk.indices]
    return walk


def _components(graphs: GraphSet) -> Iterator[tuple[np.ndarray, Any]]:
    """Connected components of more than one node: the nodes [C, n] of C components of one size, and their S.

    S is float64 [C, n, n] for small components; for a large one C = 1 and S is sparse [n, n]. No walk leaves its
    component, and every eigenvector belongs to one.
    """
    from scipy.sparse.csgraph import connected_components

    walk = _symmetric_walk(graphs)
    _, part = connected_components(walk, directed=False)
    sizes = np.bincount(part)
    order = np.argsort(part, kind="stable")
    start = np.cumsum(sizes) - sizes
    position = np.empty_like(order)
    position[order] = np.arange(len(order)) - start[part[order]]
    for batch in equal_size(sizes):
        n = int(sizes[batch[0]])
        nodes = order[start[batch, None] + np.arange(n)]
        if n > DENSE_NODES:
            yield from ((own[None], walk[own][:, own]) for own in nodes)
        elif n > 1:
            rows = walk[nodes.ravel()].tocoo()
            dense = np.zeros((nodes.size, n))
            dense[rows.row, position[rows.col]] = rows.data
            yield nodes, dense.reshape(-1, n, n)


def substructure_counts(graphs: GraphSet, patterns: tuple[str, ...]) -> np.ndarray:
    """float64 [N, patterns]: the number of each through every node."""

    def count() -> np.ndarray:
        counts = np.zeros((graphs.num_nodes, len(patterns)))
        for nodes, walk in _components(graphs):
            for column, pattern in enumerate(patterns):
                dense = isinstance(walk, np.ndarray)
                counts[nodes, column] = count_dense(walk > 0, pattern) if dense else count_sparse(walk, pattern)
        return counts

    name = "-".join((graphs.fingerprint, *patterns))
    return kept("substructures", name, (graphs.num_nodes, len(patterns)), count)


def node_profiles(graphs: GraphSet) -> np.ndarray:
    """float64 [N, 8]: the profile of every node."""

    def measure() -> np.ndarray:
        profile = local_profile(_symmetric_walk(graphs))
        for nodes, walk in _components(graphs):
            adjacency = walk.astype(bool).astype(np.float64)
            for _, start in _unit_vectors(walk, CELLS):
                profile[nodes, BETWEENNESS] += passing_paths(adjacency, start)
        profile[:, BETWEENNESS] /= 2 * np.maximum(profile[:, 0], 1)  # every pair of nodes was met from both ends
        return profile

    return kept("topology", graphs.fingerprint, (graphs.num_nodes, len(COLUMNS)), measure)


def return_probabilities(graphs: GraphSet, steps: int) -> np.ndarray:
    """float32 [N, steps]: the probability that a random walk is back at its node after 2, 3, ... steps + 1 steps."""
    out = np.zeros((graphs.num_nodes, steps), np.float32)
    for nodes, walk in _components(graphs):
        for columns, start in _unit_vectors(walk, CACHED_CELLS):
            out[nodes[:, columns]] = _returns(walk, start, steps)
    return out


def _unit_vectors(walk: Any, cells: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Numbers [c] of nodes and their unit vectors [n, c]: all n at once if dense, else at most ``cells`` numbers."""
    n = walk.shape[-1]
    for columns in chunks(np.arange(n), n if isinstance(walk, np.ndarray) else max(cells // n, 1)):
        start = np.zeros((n, len(columns)))
        start[columns, np.arange(len(columns))] = 1
        yield columns, start


def _returns(walk: Any, start: np.ndarray, steps: int) -> np.ndarray:
    r"""[..., c, steps]: :math:`(P^t)_{vv}`, t = 2, ..., steps + 1; ``start`` [n, c] are unit vectors of the v.

    P and S are similar by a diagonal matrix, so their powers have one diagonal; S is symmetric, so that
    :math:`(S^{a+b})_{vv} = \sum_u (S^a)_{uv} (S^b)_{uv}` and half the products suffice.
    """
    found: list[np.ndarray] = []
    walked = walk @ start
    while len(found) < steps:
        further = walk @ walked
        found += [np.einsum("...uv,...uv->...v", walked, once) for once in (walked, further)]
        walked = further
    return np.stack(found[:steps], axis=-1)


def laplacian_vectors(graphs: GraphSet, count: int) -> np.ndarray:
    """float32 [N, count]: eigenvectors of L = I - S for its smallest positive eigenvalues, padded with zeros."""
    # The eigenvalues of a graph are those of its components: solve each component, then merge.
    out = np.zeros((graphs.num_nodes, count), np.float32)
    solved = []
    for nodes, walk in _components(graphs):
        values, vectors = _smallest_eigenvectors(walk, count)
        solved.append((nodes, values, _fix_sign(vectors).astype(np.float32)))
    if not solved:
        return out
    owners = [np.repeat(graphs.node_graph[nodes[:, 0]], values.shape[1]) for nodes, values, _ in solved]
    every_value = np.concatenate([values.ravel() for _, values, _ in solved])
    rank = _rank_within(np.concatenate(owners), every_value)
    for nodes, values, vectors in solved:
        column, rank = rank[: values.size].reshape(values.shape), rank[values.size :]
        part, vector = np.nonzero(column < count)
        out[nodes[part], column[part, vector, None]] = vectors[part, :, vector]
    return out


def _smallest_eigenvectors(walk: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues [C, k] of L = I - S, increasing, and their vectors [C, n, k], k <= count."""
    if isinstance(walk, np.ndarray):
        values, vectors = np.linalg.eigh(np.eye(walk.shape[1]) - walk)
    else:
        values, vectors = _sparse_eigenvectors(walk, count + 1)
    return values[:, 1 : count + 1], vectors[:, :, 1 : count + 1]


def _sparse_eigenvectors(walk: csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` smallest eigenvalues [1, count] of L = I - S and their vectors [1, n, count]."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = walk.shape[0]
    start = np.random.default_rng(0).random(n)  # fixed, so that equal graphs get equal inputs
    try:  # quick for graphs that mix well, whose factors would fill up
        memory = min(n, max(40, 2 * count))
        values, vectors = eigsh(walk, count, which="LA", v0=start, ncv=memory, maxiter=100)
        values = 1 - values
    except ArpackNoConvergence:  # long thin graphs mix badly, and their factors stay sparse
        laplacian = eye_array(n, format="csc") - walk.tocsc()
        values, vectors = eigsh(laplacian, count, sigma=-1e-6, v0=start)
    order = np.argsort(values)
    return values[None, order], vectors[None, :, order]


def _fix_sign(vectors: np.ndarray) -> np.ndarray:
    """[C, n, k]: each vector with a positive sum of cubes, or its absolute values where that sum vanishes."""
    cubes = (vectors**3).sum(axis=1, keepdims=True)
    return np.asarray(np.where(np.abs(cubes) < 1e-8, np.abs(vectors), vectors * np.sign(cubes)))


def _rank_within(graph: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Each value's place, from 0, among the values of its graph."""
    order = np.lexsort((value, graph))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(graph[order], graph[order])
    return rank
