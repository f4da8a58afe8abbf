"""Random walks and eigenvectors: by hand, against a literal computation, dense and sparse, renumbered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from feature_graphs import (
    PATH,
    Edges,
    both,
    encoded,
    random_graphs,
    undirected,
)
from sargnn.data.features import component_features as structure
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import GraphSet, pack

TRIANGLE: Edges = [(0, 1), (1, 2), (0, 2)]


def adjacency(graph: GraphSet) -> np.ndarray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    source, target = graph.edges
    matrix[source, target] = 1
    return matrix


def renumbered(graphs: GraphSet, seed: int) -> tuple[GraphSet, np.ndarray]:
    """The same graphs with shuffled nodes, and where each new node was."""
    rng = np.random.default_rng(seed)
    shuffled, old = [], []
    for g, graph in enumerate(graphs):
        new_place = rng.permutation(graph.num_nodes)
        shuffled.append((graph.num_nodes, [(int(i), int(j)) for i, j in new_place[graph.edges].T]))
        old.append(graphs.node_ptr[g] + np.argsort(new_place))
    return pack(shuffled), np.concatenate(old)


def test_random_walk_on_a_path_a_triangle_and_a_lone_node() -> None:
    graphs = undirected((3, PATH), (3, TRIANGLE), (1, []))
    end, middle = [1 / 2, 0, 1 / 2, 0], [1, 0, 1, 0]
    corner = [1 / 2, 1 / 4, 3 / 8, 5 / 16]  # r(t + 1) = (1 - r(t)) / 2
    expected = [end, middle, end, corner, corner, corner, [0, 0, 0, 0]]
    np.testing.assert_allclose(encoded(graphs, "random-walk", walk_steps=4), expected, atol=1e-7)


def test_laplacian_of_a_path() -> None:
    # Eigenvalues 0, 1, 2. The vector of 1 is (1, 0, -1) / sqrt 2, which turning the path around negates: absolute
    # values. That of 2 is (1, -sqrt 2, 1) / 2, whose cubes sum to less than 0: the other sign.
    half = np.sqrt(0.5)
    expected = [[half, -0.5, 0], [0, half, 0], [half, -0.5, 0]]
    np.testing.assert_allclose(encoded(undirected((3, PATH)), "laplacian", laplacian_vectors=3), expected, atol=1e-7)


def test_laplacian_merges_connected_parts_by_eigenvalue() -> None:
    # A path (eigenvalues 1 and 2), an edge (2) and a lone node (none): the first column is the path's alone.
    graphs = undirected((6, [*PATH, (3, 4)]))
    first = encoded(graphs, "laplacian", laplacian_vectors=1)[:, 0]
    np.testing.assert_allclose(first, [np.sqrt(0.5), 0, np.sqrt(0.5), 0, 0, 0], atol=1e-7)
    everything = encoded(graphs, "laplacian", laplacian_vectors=8)
    np.testing.assert_allclose((everything**2).sum(axis=0), [1, 1, 1, 0, 0, 0, 0, 0], atol=1e-6)
    assert not everything[5].any()


@pytest.mark.parametrize("name", ["random-walk", "laplacian", "degree"])
def test_self_loops_are_left_out(name: str) -> None:
    plain, looped = undirected((3, PATH)), pack([(3, [*both(PATH), (0, 0), (1, 1)])])
    np.testing.assert_array_equal(encoded(looped, name), encoded(plain, name))


@pytest.mark.parametrize("name", ["random-walk", "laplacian"])
def test_edge_directions_are_left_out(name: str) -> None:
    np.testing.assert_array_equal(encoded(pack([(3, PATH)]), name), encoded(undirected((3, PATH)), name))


def test_random_walk_is_the_diagonal_of_powers_of_the_transition_matrix() -> None:
    graphs = random_graphs(0)
    got = encoded(graphs, "random-walk", walk_steps=5)
    for g, graph in enumerate(graphs):
        a = adjacency(graph)
        p = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
        expected = np.stack([np.diag(np.linalg.matrix_power(p, t)) for t in range(2, 7)], axis=1)
        np.testing.assert_allclose(got[graphs.node_ptr[g] : graphs.node_ptr[g + 1]], expected, atol=1e-6)


def laplacian(graph: GraphSet) -> np.ndarray:
    a = adjacency(graph)
    degree = a.sum(axis=1)
    scale = np.diag(1 / np.sqrt(np.maximum(degree, 1)))
    return np.diag((degree > 0).astype(float)) - scale @ a @ scale


def has_clear_spectrum(graph: GraphSet, vectors: int) -> bool:
    """Whether the first positive eigenvalues are apart from all others."""
    values = np.linalg.eigvalsh(laplacian(graph))
    positive = values[values > 1e-9][: vectors + 1]
    return bool((np.diff(positive) > 1e-3).all())


def test_laplacian_columns_are_the_eigenvectors_up_to_sign() -> None:
    graphs, checked = random_graphs(1, count=40), 0
    got = encoded(graphs, "laplacian", laplacian_vectors=3)
    for g, graph in enumerate(graphs):
        if not has_clear_spectrum(graph, 3):
            continue
        values, vectors = np.linalg.eigh(laplacian(graph))
        expected = vectors[:, values > 1e-9][:, :3]
        own = got[graphs.node_ptr[g] : graphs.node_ptr[g + 1]]
        np.testing.assert_allclose(np.abs(own[:, : expected.shape[1]]), np.abs(expected), atol=1e-6)
        assert ((own**3).sum(axis=0) > -1e-6).all()
        checked += expected.shape[1]
    assert checked > 30


@pytest.mark.parametrize("name", ["random-walk", "laplacian", "degree"])
def test_a_set_is_encoded_as_its_graphs_one_by_one(name: str) -> None:
    graphs = random_graphs(2)
    encoder = Encoder.fit(DataConfig((name,)), graphs)
    alone = np.concatenate([encoder.encode(graph) for graph in graphs])
    np.testing.assert_array_equal(encoder.encode(graphs), alone)


@pytest.mark.parametrize("name", ["random-walk", "laplacian"])
def test_large_graphs_are_computed_sparsely_with_equal_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    row, column = np.nonzero(np.triu(rng.random((60, 60)) < 0.1, 1))
    graphs = undirected((60, list(zip(row.tolist(), column.tolist(), strict=True))), (3, PATH))
    dense = encoded(graphs, name, laplacian_vectors=4)
    monkeypatch.setattr(structure, "DENSE_NODES", 10)
    monkeypatch.setattr(structure, "CELLS", 60 * 7)  # so that a large part takes several chunks of columns
    np.testing.assert_allclose(encoded(graphs, name, laplacian_vectors=4), dense, atol=1e-6)


def test_a_path_of_5000_nodes_has_its_known_inputs() -> None:
    n = 5000
    path = undirected((n, [(i, i + 1) for i in range(n - 1)]))
    got = encoded(path, "random-walk", "laplacian", walk_steps=3, laplacian_vectors=2)
    np.testing.assert_allclose(got[n // 2, :3], [1 / 2, 0, 3 / 8], atol=1e-6)
    # L v = (1 - cos t) v for v_i = sqrt(d_i) cos(t i), t = pi k / (n - 1)
    root = np.sqrt(path.degrees)
    waves = root[:, None] * np.cos(np.pi * np.arange(n)[:, None] * [1, 2] / (n - 1))
    expected = np.abs(waves / np.linalg.norm(waves, axis=0))
    np.testing.assert_allclose(np.abs(got[:, 3:]), expected, atol=1e-6)


@settings(derandomize=True, deadline=None)
@given(seed=st.integers(0, 10**6), shuffle=st.integers(0, 10**6))
@pytest.mark.parametrize("name", ["random-walk", "degree", "degree-scalar"])
def test_renumbering_the_nodes_renumbers_their_inputs(name: str, seed: int, shuffle: int) -> None:
    graphs = random_graphs(seed, count=3)
    again, old = renumbered(graphs, shuffle)
    np.testing.assert_allclose(encoded(again, name), encoded(graphs, name)[old], atol=1e-6)


@settings(derandomize=True, deadline=None)
@given(seed=st.integers(0, 10**6), shuffle=st.integers(0, 10**6))
def test_renumbering_the_nodes_renumbers_simple_eigenvectors(seed: int, shuffle: int) -> None:
    graph = random_graphs(seed, count=1)
    assume(has_clear_spectrum(graph, 4))
    again, old = renumbered(graph, shuffle)
    first = encoded(graph, "laplacian", laplacian_vectors=4)
    np.testing.assert_allclose(encoded(again, "laplacian", laplacian_vectors=4), first[old], atol=1e-5)
