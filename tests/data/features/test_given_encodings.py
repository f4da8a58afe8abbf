"""Attributes with gaps: the mean of the training graphs, a flag, or one line that says where."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from feature_graphs import bonds, molecules
from sargnn.data import set_chunks
from sargnn.data.features.encoder import Encoder, gaps_in_words
from sargnn.data.features.encodings import DataConfig
from sargnn.data.features.given_encodings import Attributes
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError

NAN = float("nan")


def dots(count: int = 60, seed: int = 0, columns: tuple[int, ...] = (1, 3), names: bool = True) -> GraphSet:
    """Graphs of one to four lone nodes with four attributes, of which the ``columns`` have gaps."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, count).tolist()
    values = rng.normal(5, 3, (sum(sizes), 4)).astype(np.float32)
    for column in columns:
        values[rng.random(len(values)) < 0.3, column] = NAN
    graphs = pack([(n, []) for n in sizes], name="dots", y=rng.integers(0, 2, count).tolist(), classes=["a", "b"])
    return replace(graphs, node_attributes=values, node_attribute_names=("a", "b", "c", "d") if names else ())


def literal(training: np.ndarray, values: np.ndarray, missing: str) -> list[list[float]]:
    """A second computation, number by number."""
    columns = training.shape[1]
    known = [[float(row[c]) for row in training if row[c] == row[c]] for c in range(columns)]
    mean = [sum(column) / len(column) for column in known]
    std = [(sum((x - m) ** 2 for x in column) / len(column)) ** 0.5 for column, m in zip(known, mean, strict=True)]
    flags = [c for c in range(columns) if len(known[c]) < len(training)] if missing == "flag" else []
    rows = []
    for row in values.tolist():
        scaled = [0.0 if x != x else (x - mean[c]) / std[c] for c, x in enumerate(row)]
        rows.append([*scaled, *(float(row[c] != row[c]) for c in flags)])
    return rows


@pytest.mark.parametrize("cells", [50, 10**6])
@pytest.mark.parametrize("missing", ["flag", "mean"])
def test_gaps_are_the_mean_of_the_training_graphs_with_a_flag(
    missing: Any, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    graphs, train = dots(), np.arange(40)
    encoder = Encoder.fit(DataConfig(missing=missing), graphs, train)
    training = graphs.subset(train).node_attributes
    np.testing.assert_allclose(encoder.encode(graphs), literal(training, graphs.node_attributes, missing), atol=1e-5)
    values = tuple(f"attribute {i}" for i in range(4))
    flags = ("attribute 1 missing", "attribute 3 missing") if missing == "flag" else ()
    assert encoder.feature_names == values + flags
    [told] = encoder.notes
    how = ", each with a column that says where" if flags else ""
    what = f"node attribute 'b', node attribute 'd': they are read as the mean{how} (data.missing={missing})"
    assert told == f"dots has gaps in {what}"
    assert gaps_in_words(DataConfig(missing=missing), graphs) == encoder.notes
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(graphs), encoder.encode(graphs))


def test_without_gaps_nothing_changes() -> None:
    graphs = dots(columns=())
    encoders = [Encoder.fit(DataConfig(missing=missing), graphs) for missing in ("refuse", "mean", "flag")]
    for encoder in encoders:
        assert (encoder.notes, encoder.width) == ((), 4)
        np.testing.assert_array_equal(encoder.encode(graphs), encoders[0].encode(graphs))
    old = encoders[0].to_json()
    for field in ("missing", "gaps"):  # which earlier models do not have
        del old["encodings"][0][field]
    np.testing.assert_array_equal(Encoder.from_json(old).encode(graphs), encoders[0].encode(graphs))
    assert not Encoder.from_json(old).refuses_gaps


def test_gaps_where_the_training_graphs_had_none_are_the_mean_and_are_found() -> None:
    encoder = Encoder.fit(DataConfig(), dots())
    fresh = dots(count=9, seed=1, columns=(0, 1))
    which, attributes = encoder.new_gaps(fresh)
    expected = [bool(np.isnan(one.node_attributes[:, 0]).any()) for one in fresh]
    assert (which.tolist(), attributes) == (expected, ["node attribute 'a'"])
    assert 0 < sum(expected) < 9
    inputs = encoder.encode(fresh)
    gaps = np.isnan(fresh.node_attributes)
    assert (inputs[:, :4][gaps] == 0).all()
    np.testing.assert_array_equal(inputs[:, 4:], gaps[:, [1, 3]])


def test_gaps_go_by_name_like_the_numbers() -> None:
    encoder = Encoder.fit(DataConfig(), dots())
    fresh = dots(count=9, seed=1, columns=(0, 1))
    order = [3, 1, 0, 2]
    turned = replace(
        fresh, node_attributes=fresh.node_attributes[:, order], node_attribute_names=tuple("abcd"[i] for i in order)
    )
    np.testing.assert_array_equal(encoder.encode(turned), encoder.encode(fresh))
    assert encoder.new_gaps(turned)[1] == ["node attribute 'a'"]
    np.testing.assert_array_equal(encoder.new_gaps(turned)[0], encoder.new_gaps(fresh)[0])


def test_gaps_are_refused_in_one_line_with_the_place_of_the_first() -> None:
    graphs = dots()
    first = int(np.flatnonzero(np.isnan(graphs.node_attributes).any(axis=1))[0])
    graph = int(graphs.node_graph[first])
    place = rf"graph {graph} \(node {first - int(graphs.node_ptr[graph])}\) of dots"
    with pytest.raises(InputError, match=f"got no value of node attribute '[bd]' in {place}, expected one for every"):
        Encoder.fit(DataConfig(missing="refuse"), graphs, np.arange(50, 60))  # also where it is held out
    encoder = Encoder.fit(DataConfig(missing="refuse"), dots(columns=()))
    with pytest.raises(InputError, match=f"got no value of node attribute '[bd]' in {place}"):
        encoder.encode(graphs)
    assert encoder.refuses_gaps
    assert encoder.new_gaps(graphs)[0].tolist() == [bool(np.isnan(one.node_attributes).any()) for one in graphs]


def test_an_attribute_without_any_number_is_0_and_its_flag_1() -> None:
    values = np.array([[NAN, 1], [NAN, 2], [NAN, 3], [NAN, 4]], np.float32)
    graphs = molecules(node_attributes=values)
    encoder = Encoder.fit(DataConfig(("attributes",)), graphs)
    assert encoder.encode(graphs)[:, [0, 2]].tolist() == [[0, 1]] * 4


def test_edges_and_graphs_have_gaps_too() -> None:
    graphs = bonds(
        edge_attributes=np.array([[1], [1], [NAN], [3]], np.float32),
        graph_attributes=np.array([[1, NAN], [3, 1]], np.float32),
    )
    encoder = Encoder.fit(DataConfig(edge_encodings=("attributes",), graph_encodings=("attributes",)), graphs)
    deviation = np.sqrt(8 / 9)
    np.testing.assert_allclose(
        encoder.encode_edges(graphs), [[-2 / 3 / deviation, 0]] * 2 + [[0, 1], [4 / 3 / deviation, 0]], rtol=1e-6
    )
    assert encoder.encode_graphs(graphs).tolist() == [[-1, 0, 1], [1, 0, 0]]
    which, attributes = Encoder.fit(DataConfig(edge_encodings=("attributes",)), bonds()).new_gaps(graphs)
    assert (which.tolist(), attributes) == ([True, False], ["edge attribute 0"])


@pytest.mark.parametrize("gaps", [(4,), (1, 0), (0, 0), (-1,)])
def test_columns_that_there_are_not_are_refused(gaps: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"gaps: got .*, expected rising columns of 2"):
        Attributes((0.0, 0.0), (1.0, 1.0), gaps=gaps)
