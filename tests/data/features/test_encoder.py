"""All inputs together: what ``auto`` chooses, fitting on an index, and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_graphs import (
    EVERYTHING,
    PATH,
    bonds,
    described,
    encoded,
    molecules,
    random_graphs,
    undirected,
)
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import ENCODINGS, DataConfig
from sargnn.data.graphs import pack
from sargnn.errors import InputError


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


@settings(derandomize=True, deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_fitting_on_an_index_is_fitting_on_those_graphs_bit_for_bit(seed: int) -> None:
    graphs = described(random_graphs(seed), seed)
    index = np.random.default_rng(seed).permutation(len(graphs))[:8]
    assert Encoder.fit(EVERYTHING, graphs, index) == Encoder.fit(EVERYTHING, graphs.subset(index))


def test_no_training_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="got no nodes, expected training graphs"):
        Encoder.fit(DataConfig(), pack([]))


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


def test_encodings_of_edges_and_graphs_come_back_from_json() -> None:
    encoder = Encoder.fit(DataConfig(edge_encodings=("auto",), graph_encodings=("attributes",)), bonds())
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


def test_graphs_with_labels_that_were_not_fitted_are_named() -> None:
    carbon = pack([(1, [])], node_labels=[0], node_label_names=["C"])
    both = pack([(1, []), (1, [])], node_labels=[0, 1], node_label_names=["C", "N"])
    strange, labels = Encoder.fit(DataConfig(), carbon).strange(both)
    assert (strange.tolist(), labels) == ([False, True], ["N"])
