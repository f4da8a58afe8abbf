"""Node inputs: hand-worked numbers, a second literal computation, and symmetry under renumbering of the nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sargnn.data import set_chunks
from sargnn.data.features import component_features as structure
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import ENCODINGS, DataConfig
from sargnn.data.graphs import GraphSet, equal_size, pack
from sargnn.errors import InputError

Edges = list[tuple[int, int]]

PATH: Edges = [(0, 1), (1, 2)]
TRIANGLE: Edges = [(0, 1), (1, 2), (0, 2)]


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


# --- single encodings, by hand ---------------------------------------------------------------------------------------


def test_labels_are_one_hot() -> None:
    assert encoded(molecules(), "labels").tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]


def test_labels_match_by_name_whatever_their_numbers() -> None:
    encoder = Encoder.fit(DataConfig(("labels",)), molecules())
    other = molecules(node_labels=[2, 1, 1, 2], node_label_names=("F", "N", "C"))
    np.testing.assert_array_equal(encoder.encode(other), encoder.encode(molecules()))


def test_labels_without_names_are_named_by_their_number() -> None:
    encoder = Encoder.fit(DataConfig(("labels",)), molecules(node_label_names=()))
    assert encoder.feature_names == ("label 0", "label 1")


def test_labels_that_only_other_graphs_have_keep_their_column() -> None:
    encoder = Encoder.fit(DataConfig(("labels",)), molecules().subset([1]))
    assert encoder.encode(molecules()).shape == (4, 2)


def test_attributes_are_standardised_and_constant_columns_vanish() -> None:
    deviation = np.sqrt(3.5)  # of 1, 2, 3, 6, whose mean is 3
    expected = np.array([[-2, 0], [-1, 0], [0, 0], [3, 0]]) / deviation
    np.testing.assert_allclose(encoded(molecules(), "attributes"), expected, rtol=1e-6)


def test_a_column_that_was_constant_in_training_stays_silent_where_it_is_not() -> None:
    train = undirected((2, []), node_attributes=[[1.0, 0.1], [3.0, 0.1]])
    encoder = Encoder.fit(DataConfig(("attributes", "degree-scalar")), train)
    moved = undirected((2, [(0, 1)]), node_attributes=[[4.0, 0.2], [2.0, 7e9]])
    assert encoder.encode(moved).tolist() == [[2, 0, 0], [0, 0, 0]]


def test_an_attribute_is_read_up_to_ten_thousand_deviations() -> None:
    encoder = Encoder.fit(DataConfig(("attributes",)), undirected((2, []), node_attributes=[[1.0], [3.0]]))
    far = undirected((3, []), node_attributes=[[3e38], [-3e38], [102.0]])
    assert encoder.encode(far).tolist() == [[1e4], [-1e4], [100]]


def test_a_constant_column_that_rounding_disturbs_still_vanishes() -> None:
    graphs = undirected((1001, []), node_attributes=np.full((1001, 1), 0.1))
    assert np.abs(encoded(graphs, "attributes")).max() < 1e-6


def test_scaling_is_learned_from_the_fitted_graphs_only() -> None:
    train, everything = molecules().subset([0]), molecules()
    encoder = Encoder.fit(DataConfig(("attributes",)), train)
    expected = (np.array([1, 2, 3, 6]) - 2) / np.sqrt(2 / 3)
    np.testing.assert_allclose(encoder.encode(everything)[:, 0], expected, rtol=1e-6)


def test_degree_is_one_hot_and_high_degrees_share_the_last_column() -> None:
    encoder = Encoder.fit(DataConfig(("degree",)), undirected((3, PATH)))
    assert encoder.feature_names == ("degree 0", "degree 1", "degree 2 or more")
    star = undirected((5, [(0, 1), (0, 2), (0, 3)]))
    assert encoder.encode(star).argmax(axis=1).tolist() == [2, 1, 1, 1, 0]


def test_degree_may_be_cut_or_widened() -> None:
    assert encoded(undirected((3, PATH)), "degree", max_degree=1).tolist() == [[0, 1]] * 3
    assert encoded(undirected((3, PATH)), "degree", max_degree=7).shape == (3, 8)


def test_degree_of_graphs_without_edges_has_one_column() -> None:
    assert encoded(undirected((2, [])), "degree").tolist() == [[1], [1]]


def test_degree_scalar_is_standardised() -> None:
    expected = np.array([[-1], [2], [-1]]) / np.sqrt(2)  # degrees 1, 2, 1
    np.testing.assert_allclose(encoded(undirected((3, PATH)), "degree-scalar"), expected, rtol=1e-6)


def test_constant_is_one() -> None:
    assert encoded(undirected((2, [])), "constant").tolist() == [[1], [1]]


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


# --- against a literal computation, alone and in batches, small and large --------------------------------------------


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


def test_batches_of_one_size_stay_within_their_bound() -> None:
    sizes = np.array([5, 2, 5, 5, 0, 2])
    batches = list(equal_size(sizes, cells=50))
    assert sorted(np.concatenate(batches).tolist()) == [0, 1, 2, 3, 4, 5]
    assert all(len(set(sizes[b])) == 1 and len(b) * sizes[b[0]] ** 2 <= 50 for b in batches)
    assert [b.tolist() for b in equal_size(np.array([9]), cells=1)] == [[0]]


# --- symmetry --------------------------------------------------------------------------------------------------------


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


# --- choice of inputs ------------------------------------------------------------------------------------------------


def test_auto_takes_attributes_and_labels_where_they_are() -> None:
    encoder = Encoder.fit(DataConfig(), molecules())
    assert encoder.feature_names == ("attribute 0", "attribute 1", "label C", "label N")
    assert encoder.notes == ()
    assert Encoder.fit(DataConfig(), molecules(node_attributes=None)).feature_names == ("label C", "label N")


def test_auto_falls_back_to_degree_and_says_so() -> None:
    encoder = Encoder.fit(DataConfig(), undirected((3, PATH), name="IMDB"))
    assert encoder.width == 3
    assert encoder.notes == ("IMDB has no node inputs: using one-hot degree, 0..2",)


def test_auto_and_a_named_encoding_stand_side_by_side_and_never_twice() -> None:
    graphs = undirected((3, PATH))
    config = DataConfig(("auto", "degree", "constant"))
    assert Encoder.fit(config, graphs).feature_names == ("degree 0", "degree 1", "degree 2 or more", "constant")


def test_inputs_are_float32_of_the_announced_width() -> None:
    config = DataConfig(tuple(ENCODINGS))
    encoder = Encoder.fit(config, molecules())
    inputs = encoder.encode(molecules())
    assert inputs.dtype == np.float32
    assert inputs.shape == (4, encoder.width) == (4, len(encoder.feature_names))
    assert len(set(encoder.feature_names)) == encoder.width


def test_true_saliency_is_never_an_input() -> None:
    graphs = molecules()
    secret = replace(graphs, true_saliency=np.arange(4, dtype=np.float32))
    config = DataConfig(("auto", *ENCODINGS))
    np.testing.assert_array_equal(
        Encoder.fit(config, secret).encode(secret), Encoder.fit(config, graphs).encode(graphs)
    )


# --- training graphs by their index, and in pieces -------------------------------------------------------------------


EVERYTHING = DataConfig(("auto", *ENCODINGS), edge_encodings=("auto",), graph_inputs=True)


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


def numbers(encoder: Encoder) -> list[float]:
    """All that was fitted."""
    blocks = (*encoder.encodings, *encoder.edge_encodings, *encoder.graph_encodings)
    fitted = [vars(block)[name] for block in blocks for name in ("mean", "std", "max_degree") if name in vars(block)]
    return np.concatenate([np.atleast_1d(value) for value in fitted]).tolist()


@settings(derandomize=True, deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_fitting_on_an_index_is_fitting_on_those_graphs_bit_for_bit(seed: int) -> None:
    graphs = described(random_graphs(seed), seed)
    index = np.random.default_rng(seed).permutation(len(graphs))[:8]
    assert Encoder.fit(EVERYTHING, graphs, index) == Encoder.fit(EVERYTHING, graphs.subset(index))


@pytest.mark.parametrize("cells", [1, 60, 300])
def test_fitting_in_pieces_is_fitting_on_all_at_once(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = described(random_graphs(4, count=30))
    index = np.random.default_rng(4).permutation(30)[:20]
    at_once = Encoder.fit(EVERYTHING, graphs, index)
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    assert len(set_chunks.SetChunks(graphs, index).indices) > 1
    in_pieces = Encoder.fit(EVERYTHING, graphs, index)
    assert in_pieces.feature_names == at_once.feature_names
    assert in_pieces.edge_feature_names == at_once.edge_feature_names
    np.testing.assert_allclose(numbers(in_pieces), numbers(at_once), rtol=1e-12)


def test_a_column_that_is_constant_in_every_piece_but_not_in_all_has_a_deviation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 1)
    graphs = undirected((1, []), (3, []), node_attributes=[[5.0, 1.0], [9.0, 1.0], [9.0, 1.0], [9.0, 1.0]])
    [attributes] = Encoder.fit(DataConfig(("attributes",)), graphs).encodings
    assert vars(attributes) == {"mean": (8.0, 1.0), "std": (np.sqrt(3.0), 0.0), "of": "node"}


def test_pieces_without_edges_are_no_obstacle_and_unnamed_labels_are_those_of_any_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 1)
    graphs = undirected((0, []), (2, []), (2, [(0, 1)]), (2, [(0, 1)]), node_labels=[0, 0, 4, 0, 0, 0])
    graphs = replace(graphs, edge_labels=np.array([0, 2, 1, 1]), edge_attributes=np.array([[1.0], [1], [3], [3]]))
    encoder = Encoder.fit(DataConfig(edge_encodings=("attributes", "labels")), graphs)
    assert encoder.feature_names == tuple(f"label {i}" for i in range(5))
    assert encoder.edge_feature_names == ("attribute 0", "label 0", "label 1", "label 2")
    assert encoder.encode_edges(graphs)[:, 0].tolist() == [-1, -1, 1, 1]
    without = Encoder.fit(DataConfig(edge_encodings=("auto",)), graphs, np.array([0, 1]))
    assert without.edge_width == 0
    with pytest.raises(InputError, match="got no edge labels"):
        Encoder.fit(DataConfig(edge_encodings=("labels",)), graphs, np.array([0, 1]))


@pytest.mark.parametrize("cells", [1, 10**6])
def test_a_number_that_is_none_is_found_in_the_graph_as_the_set_counts_it(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    graphs = undirected((2, []), (1, []), (3, []), node_attributes=[[0.0], [1], [2], [3], [np.nan], [5]], name="dots")
    with pytest.raises(InputError, match=r"got nan as attribute 0 in graph 2 \(node 1\) of dots"):
        Encoder.fit(DataConfig(), graphs, np.array([2, 1]))


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"encodings": ("degre",)}, "data.encodings: got 'degre', expected one of auto, .*did you mean 'degree'"),
        ({"encodings": ()}, "data.encodings: got none"),
        ({"encodings": ("degree", "degree")}, "data.encodings: got degree, degree, expected each name once"),
        ({"walk_steps": 0}, "data.walk_steps: got 0, expected 1 or more"),
        ({"laplacian_vectors": 300}, "data.laplacian_vectors: got 300, expected 1..299"),
        ({"max_degree": 0}, "data.max_degree: got 0"),
    ],
)
def test_a_config_refuses_nonsense_and_names_the_field(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DataConfig(**config)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"node_labels": [0, 1, 2, 0], "node_label_names": ("C", "N", "Cl")},
            r"got node label 'Cl' in graph 0 \(node 2\) of molecules, expected one of C, N",
        ),
        (
            {"node_labels": [0, 1, 0, 2], "node_label_names": ("C", "N", "Cl"), "graph_names": ("CNC", "Cl")},
            r"got node label 'Cl' in graph 1 'Cl' \(node 0\) of molecules, expected one of C, N",
        ),
        ({"node_labels": None}, "got no node labels, expected a label for every node, in molecules"),
        ({"node_attributes": np.zeros((4, 3))}, "got 3 node attributes, expected 2, in molecules"),
        ({"node_attributes": np.zeros((4, 0))}, "got no node attributes, .* in molecules"),
        ({"node_attributes": None}, "got no node attributes, expected numbers for every node, in molecules"),
        (
            {"node_attributes": [[0, 0], [0, 0], [0, 0], [0, np.nan]]},
            r"got nan as attribute 1 in graph 1 \(node 0\) of molecules, expected a finite number",
        ),
    ],
)
def test_graphs_whose_inputs_differ_from_those_fitted_are_refused(fields: dict[str, Any], message: str) -> None:
    encoder = Encoder.fit(DataConfig(), molecules())
    with pytest.raises(InputError, match=message):
        encoder.encode(molecules(**fields))


@pytest.mark.parametrize("name", ["labels", "attributes"])
def test_inputs_that_the_training_graphs_lack_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"got no node {name}"):
        Encoder.fit(DataConfig((name,)), undirected((3, PATH)))


def test_no_training_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="got no nodes, expected training graphs"):
        Encoder.fit(DataConfig(), pack([]))


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_an_encoder_comes_back_from_json_as_it_was() -> None:
    encoder = Encoder.fit(DataConfig(("auto", *ENCODINGS)), molecules())
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(molecules()), encoder.encode(molecules()))


def test_notes_come_back_from_json() -> None:
    encoder = Encoder.fit(DataConfig(), undirected((3, PATH)))
    assert Encoder.from_json(encoder.to_json()).notes == encoder.notes != ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "encoder: got no encodings"),
        ({"encodings": []}, "encoder: got no encodings"),
        ({"encodings": ["degree"]}, r"encoder.encodings\[0\]: got 'degree'"),
        ({"encodings": [{"encoding": 3}]}, r"encoder.encodings\[0\]: got"),
        ({"encodings": [{"encoding": "label", "names": ["C"]}]}, "did you mean 'labels'"),
        ({"encodings": [{"encoding": "labels"}]}, r"got fields \[\], expected \['names'\]"),
        ({"encodings": [{"encoding": "labels", "names": "CN"}]}, r"names: got 'CN', expected a list"),
        ({"encodings": [{"encoding": "labels", "names": [1]}]}, r"names\[0\]: got 1, expected a text"),
        ({"encodings": [{"encoding": "labels", "names": ["C", "C"]}]}, "expected one or more, each once"),
        ({"encodings": [{"encoding": "degree", "max_degree": True}]}, "got True, expected a whole number"),
        ({"encodings": [{"encoding": "degree", "max_degree": -1}]}, "got -1, expected 0 or more"),
        ({"encodings": [{"encoding": "random-walk", "steps": 0}]}, "got 0, expected 1 or more"),
        ({"encodings": [{"encoding": "laplacian", "vectors": 0}]}, "got 0, expected 1..299"),
        ({"encodings": [{"encoding": "attributes", "mean": [0.0], "std": [-1]}]}, "got -1.0, expected 0 or more"),
        ({"encodings": [{"encoding": "attributes", "mean": [0.0], "std": []}]}, "got 1 means and 0 deviations"),
        ({"encodings": [{"encoding": "degree-scalar", "mean": float("nan"), "std": 1}]}, "expected a finite number"),
        ({"encodings": [{"encoding": "degree-scalar", "mean": 0, "std": -1}]}, "got -1.0, expected 0 or more"),
        ({"encodings": [{"encoding": "constant"}], "notes": "hello"}, "encoder.notes: got 'hello'"),
    ],
)
def test_malformed_json_is_refused_in_one_line(content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Encoder.from_json(content)
    assert "\n" not in str(caught.value)


def test_an_encoder_of_a_folder_written_before_edges_were_inputs_still_opens() -> None:
    old = {"encodings": [{"encoding": "labels", "names": ["C", "N"]}], "notes": []}
    encoder = Encoder.from_json(old)
    assert (encoder.edge_width, encoder.graph_width) == (0, 0)
    np.testing.assert_array_equal(encoder.encode(molecules()), encoded(molecules(), "labels"))


# --- edges and graphs ------------------------------------------------------------------------------------------------


def bonds(**fields: Any) -> GraphSet:
    """A path of three nodes with a single bond (length 1) and a double one (length 3), and a lone node."""
    content: dict[str, Any] = {
        "edge_labels": np.array([0, 0, 1, 1]),  # 1 -> 0, 0 -> 1, 2 -> 1, 1 -> 2
        "edge_label_names": ("single", "double"),
        "edge_attributes": np.array([[1], [1], [3], [3]], np.float32),
        "graph_attributes": np.array([[10, 1], [30, 1]], np.float32),
    }
    return replace(molecules(), **(content | fields))


def test_edge_labels_are_one_hot_and_edge_attributes_standardised() -> None:
    encoder = Encoder.fit(DataConfig(edge_encodings=("labels", "attributes")), bonds())
    assert encoder.edge_feature_names == ("label single", "label double", "attribute 0")
    assert encoder.encode_edges(bonds()).tolist() == [[1, 0, -1], [1, 0, -1], [0, 1, 1], [0, 1, 1]]
    assert encoder.encode_edges(bonds()).dtype == np.float32
    np.testing.assert_array_equal(encoder.encode(bonds()), Encoder.fit(DataConfig(), bonds()).encode(bonds()))


def test_edge_labels_match_by_name() -> None:
    encoder = Encoder.fit(DataConfig(edge_encodings=("labels",)), bonds())
    other = bonds(edge_labels=np.array([2, 2, 0, 0]), edge_label_names=("double", "triple", "single"))
    np.testing.assert_array_equal(encoder.encode_edges(other), encoder.encode_edges(bonds()))
    with pytest.raises(
        InputError, match=r"got edge label 'triple' in graph 0 \(edge 1 -> 0\) of molecules, expected one of"
    ):
        encoder.encode_edges(bonds(edge_labels=np.array([1, 2, 0, 0]), edge_label_names=("double", "triple", "single")))


@pytest.mark.parametrize(
    ("missing", "names"),
    [((), ["attribute 0", "label single", "label double"]), (("edge_labels",), ["attribute 0"]),
     (("edge_labels", "edge_attributes"), [])],
)  # fmt: skip
def test_auto_takes_what_edges_bring_or_nothing(missing: tuple[str, ...], names: list[str]) -> None:
    graphs = bonds(**dict.fromkeys(missing))
    encoder = Encoder.fit(DataConfig(edge_encodings=("auto",)), graphs)
    assert list(encoder.edge_feature_names) == names
    assert encoder.encode_edges(graphs).shape == (4, len(names))
    assert encoder.notes == ()


def test_edges_and_graphs_are_scaled_by_the_training_graphs_alone() -> None:
    longer = bonds(edge_attributes=np.array([[5], [5], [3], [3]], np.float32))
    encoder = Encoder.fit(DataConfig(edge_encodings=("attributes",), graph_inputs=True), bonds())
    assert encoder.encode_edges(longer).tolist() == [[3], [3], [1], [1]]
    assert encoder.graph_width == 2
    assert encoder.encode_graphs(bonds()).tolist() == [[-1, 0], [1, 0]]
    changed = bonds(graph_attributes=np.array([[50, 2], [20, 1]], np.float32))
    assert encoder.encode_graphs(changed).tolist() == [[3, 0], [0, 0]]  # the second was 1 in all that were trained on


def test_graphs_without_edges_miss_no_edge_inputs() -> None:
    encoder = Encoder.fit(DataConfig(edge_encodings=("labels",)), bonds())
    assert encoder.encode_edges(molecules().subset([1])).shape == (0, 2)
    assert Encoder.fit(DataConfig(edge_encodings=("auto",)), bonds().subset([1])).edge_width == 0


@pytest.mark.parametrize(
    ("fields", "config", "message"),
    [
        ({"edge_labels": None}, {"edge_encodings": ("labels",)}, "got no edge labels, expected a label for every"),
        ({"edge_attributes": None}, {"edge_encodings": ("attributes",)}, "got no edge attributes, expected numbers"),
        ({"graph_attributes": None}, {"graph_inputs": True}, "got no graph attributes, expected numbers"),
        (
            {"edge_attributes": np.array([[1], [1], [np.inf], [3]], np.float32)},
            {"edge_encodings": ("attributes",)},
            r"got inf as attribute 0 in graph 0 \(edge 2 -> 1\) of molecules, expected a finite number",
        ),
        (
            {"graph_attributes": np.array([[1], [np.nan]], np.float32)},
            {"graph_inputs": True},
            "got nan as attribute 0 in graph 1 of molecules, expected a finite number",
        ),
    ],
)  # fmt: skip
def test_what_edges_and_graphs_lack_is_said_in_one_line(fields: Any, config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Encoder.fit(DataConfig(**config), bonds(**fields))
    assert "\n" not in str(caught.value)
    encoder = Encoder.fit(DataConfig(**config), bonds())
    encode = encoder.encode_edges if encoder.edge_width else encoder.encode_graphs
    with pytest.raises(InputError, match=message):  # and so when graphs to predict lack it
        encode(bonds(**fields))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("degree",), "data.edge_encodings: got 'degree', expected one of auto, "),
        (("labels", "labels"), "each name once"),
    ],
)
def test_other_edge_encodings_are_refused(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DataConfig(edge_encodings=names)


def test_encodings_of_edges_and_graphs_come_back_from_json() -> None:
    encoder = Encoder.fit(DataConfig(edge_encodings=("auto",), graph_inputs=True), bonds())
    content = json.loads(json.dumps(encoder.to_json()))
    assert Encoder.from_json(content) == encoder
    moved = content | {"edge_encodings": content["encodings"]}
    with pytest.raises(
        InputError, match=r"encoder.edge_encodings\[0\]: got 'attributes' of another kind, expected of edges"
    ):
        Encoder.from_json(moved)
    with pytest.raises(InputError, match=r"encoder.graph_encodings: got 'x', expected a list"):
        Encoder.from_json(content | {"graph_encodings": "x"})
    content["edge_encodings"][1]["of"] = "graph"
    with pytest.raises(InputError, match=r"edge_encodings\[1\].of: got 'graph', expected one of node, edge"):
        Encoder.from_json(content)
