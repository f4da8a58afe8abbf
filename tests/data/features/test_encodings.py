"""Node inputs: hand-worked numbers, a second literal computation, and symmetry under renumbering of the nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from feature_graphs import (
    PATH,
    bonds,
    encoded,
    molecules,
    undirected,
)
from sargnn.data import set_chunks
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import equal_size
from sargnn.errors import InputError

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


# --- against a literal computation, alone and in batches, small and large --------------------------------------------


def test_batches_of_one_size_stay_within_their_bound() -> None:
    sizes = np.array([5, 2, 5, 5, 0, 2])
    batches = list(equal_size(sizes, cells=50))
    assert sorted(np.concatenate(batches).tolist()) == [0, 1, 2, 3, 4, 5]
    assert all(len(set(sizes[b])) == 1 and len(b) * sizes[b[0]] ** 2 <= 50 for b in batches)
    assert [b.tolist() for b in equal_size(np.array([9]), cells=1)] == [[0]]


# --- training graphs by their index, and in pieces -------------------------------------------------------------------


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
        ({"node_labels": None}, "got no node labels, expected a label for every node, in molecules"),
        ({"node_attributes": np.zeros((4, 3))}, "got 3 node attributes, expected 2, in molecules"),
        ({"node_attributes": np.zeros((4, 0))}, "got no node attributes, .* in molecules"),
        ({"node_attributes": None}, "got no node attributes, expected numbers for every node, in molecules"),
        (
            {"node_attributes": [[0, 0], [0, 0], [0, 0], [0, -np.inf]]},
            r"got -inf as attribute 1 in graph 1 \(node 0\) of molecules, expected a finite number",
        ),
    ],
)
def test_graphs_whose_inputs_differ_from_those_fitted_are_refused(fields: dict[str, Any], message: str) -> None:
    encoder = Encoder.fit(DataConfig(), molecules())
    with pytest.raises(InputError, match=message):
        encoder.encode(molecules(**fields))


# --- edges and graphs ------------------------------------------------------------------------------------------------


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
    new = bonds(edge_labels=np.array([1, 2, 0, 0]), edge_label_names=("double", "triple", "single"))
    assert encoder.encode_edges(new).tolist() == [[0, 0], [1, 0], [0, 1], [0, 1]]
    assert encoder.strange(new)[1] == ["triple"]


def test_labels_that_come_up_later_share_a_column_with_rare_ones() -> None:
    training = molecules(node_labels=[0, 1, 0, 0])  # N is in one graph of two
    encoder = Encoder.fit(DataConfig(encodings=("labels",), rare_labels=2), training)
    assert encoder.feature_names == ("label C", "label unknown")
    assert encoder.has_unknown
    assert encoder.encode(training).tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]
    other = molecules(node_labels=[1, 0, 2, 1], node_label_names=("Zn", "C", "N"))
    assert encoder.encode(other).tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert Encoder.from_json(encoder.to_json()) == encoder
    plain = Encoder.fit(DataConfig(encodings=("labels",)), training)
    assert not plain.has_unknown
    assert plain.encode(other).tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]


def test_attributes_match_by_name_where_both_have_names() -> None:
    named = molecules(node_attribute_names=("mass", "charge"))
    encoder = Encoder.fit(DataConfig(encodings=("attributes",)), named)
    expected = encoder.encode(named)
    values = named.node_attributes
    turned = molecules(node_attributes=values[:, ::-1], node_attribute_names=("charge", "mass"))
    more = molecules(node_attributes=np.c_[values[:, 1], 7 * values, values[:, 0]])
    more = replace(more, node_attribute_names=("charge", "size", "spin", "mass"))
    for other in (turned, more, molecules()):  # the last has no names: positions count
        np.testing.assert_array_equal(encoder.encode(other), expected)
    with pytest.raises(
        InputError, match="got node attributes 'mass', 'zeta', expected 'charge' among them, in molecules"
    ):
        encoder.encode(molecules(node_attribute_names=("mass", "zeta")))
    old = Encoder.from_json({**encoder.to_json(), "encodings": [{**encoder.to_json()["encodings"][0], "names": []}]})
    np.testing.assert_array_equal(old.encode(molecules(node_attribute_names=("a", "b"))), expected)


def test_edges_and_graphs_are_scaled_by_the_training_graphs_alone() -> None:
    longer = bonds(edge_attributes=np.array([[5], [5], [3], [3]], np.float32))
    encoder = Encoder.fit(DataConfig(edge_encodings=("attributes",), graph_encodings=("attributes",)), bonds())
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
        ({"graph_attributes": None}, {"graph_encodings": ("attributes",)}, "got no graph attributes, expected numbers"),
        (
            {"edge_attributes": np.array([[1], [1], [np.inf], [3]], np.float32)},
            {"edge_encodings": ("attributes",)},
            r"got inf as attribute 0 in graph 0 \(edge 2 -> 1\) of molecules, expected a finite number",
        ),
        (
            {"graph_attributes": np.array([[1], [np.inf]], np.float32)},
            {"graph_encodings": ("attributes",)},
            "got inf as attribute 0 in graph 1 of molecules, expected a finite number",
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
