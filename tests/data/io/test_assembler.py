"""From records to a set: vectors, categories, names, many chunks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graph_inputs import labelled
from sargnn.data.sources import load
from sargnn.errors import InputError


def test_names_that_are_numbers_in_order_are_no_names() -> None:
    assert load([labelled(nx.path_graph(3))]).node_names is None
    shifted = nx.relabel_nodes(nx.path_graph(2), {0: 1, 1: 2})
    assert load([labelled(nx.path_graph(2)), labelled(shifted)]).node_names.tolist() == ["0", "1", "1", "2"]


def test_long_names_are_cut() -> None:
    graph = labelled(nx.relabel_nodes(nx.path_graph(2), {0: "x" * 1000}))
    assert [len(name) for name in load([graph]).node_names] == [40, 1]


def test_vectors_become_columns() -> None:
    graph = labelled(nx.path_graph(2))
    graph.nodes[0].update(pos=(1, 2), x=np.array([3.0, 4.0]))
    graph.nodes[1].update(pos=[5, 6], x=np.array([7.0, 8.0]))
    graphs = load([graph])
    assert graphs.node_attribute_names == ("pos_0", "pos_1", "x_0", "x_1")
    assert graphs.node_attributes.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_several_categories_are_one_for_each_combination() -> None:
    graph = labelled(nx.path_graph(3))
    for node, (symbol, shape) in enumerate([("C", "ring"), ("N", "chain"), ("C", "chain")]):
        graph.nodes[node].update(symbol=symbol, shape=shape)
    graphs = load([graph])
    assert graphs.node_label_names == ("chain,C", "chain,N", "ring,C")
    assert graphs.notes == ("took each combination of 'shape', 'symbol' of the nodes as one category",)


def test_what_has_a_place_of_its_own() -> None:
    graphs = [labelled(nx.path_graph(1), g % 2, part=part, weight=g / 2, source="lab", name=f"g{g}") for g, part in
              enumerate(["train", "validation", "test"])]  # fmt: skip
    for graph in graphs:
        graph.nodes[0].update(true_saliency=2, node_name="atom")
    read = load(graphs)
    assert read.part.tolist() == [0, 1, 2]
    assert read.graph_attributes.tolist() == [[0], [0.5], [1]]
    assert read.graph_names == ("g0", "g1", "g2")
    assert read.true_saliency.tolist() == [2, 2, 2]
    assert read.node_attributes is None
    assert read.node_names.tolist() == ["atom"] * 3
    assert read.notes == ("left out what is not a number of the graphs: 'source'",)


def test_many_windows_are_one_set(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [labelled(nx.relabel_nodes(nx.path_graph(2 + g % 3), str), g % 2) for g in range(10)]
    graphs[7] = labelled(nx.relabel_nodes(graphs[7], {"0": "zero"}), 1)
    whole = load(graphs)
    monkeypatch.setattr("sargnn.data.io.assembler.CHUNK", 3)
    parts = load(graphs)
    assert parts.fingerprint == whole.fingerprint
    assert parts.node_names.tolist() == whole.node_names.tolist()


def test_a_missing_value_is_named_by_graph_node_and_field() -> None:
    graphs = [labelled(nx.path_graph(3)) for _ in range(2)]
    for graph in graphs:
        nx.set_node_attributes(graph, 1.0, "mass")
        nx.set_edge_attributes(graph, "single", "bond")
    del graphs[1].nodes[2]["mass"]
    graphs[0].edges[1, 2]["bond"] = None
    with pytest.raises(InputError) as error:
        load(graphs)
    assert [str(problem) for problem in error.value.problems] == [
        "got no value in 'bond' of edge 1 - 2, expected one for every edge, in graph 0",
        "got no value in 'bond' of edge 2 - 1, expected one for every edge, in graph 0",
    ]


def test_a_missing_number_is_a_gap_also_where_a_whole_chunk_lacks_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [labelled(nx.path_graph(2), g % 2) for g in range(7)]
    for g in (2, 3, 6):
        graphs[g].nodes[1]["mass"] = float(g)
        graphs[g].edges[0, 1]["length"] = g / 2
        graphs[g].graph["energy"] = None if g == 3 else g
    whole = load(graphs)
    nan = float("nan")
    np.testing.assert_array_equal(whole.node_attributes[:, 0], [nan] * 5 + [2, nan, 3, nan, nan, nan, nan, nan, 6])
    np.testing.assert_array_equal(whole.edge_attributes[:, 0], [nan] * 4 + [1, 1, 1.5, 1.5] + [nan] * 4 + [3, 3])
    np.testing.assert_array_equal(whole.graph_attributes[:, 0], [nan, nan, 2, nan, nan, nan, 6])
    for size in (1, 2, 3):
        monkeypatch.setattr("sargnn.data.io.assembler.CHUNK", size)
        assert load(graphs).fingerprint == whole.fingerprint


def test_a_list_that_is_missing_is_a_gap_and_one_that_is_too_short_is_not() -> None:
    graph = labelled(nx.path_graph(3))
    graph.nodes[0]["pos"], graph.nodes[2]["pos"] = [1, 2], [3, None]
    np.testing.assert_array_equal(load([graph]).node_attributes, [[1, 2], [np.nan, np.nan], [3, np.nan]])
    graph.nodes[1]["pos"] = [1]
    with pytest.raises(InputError, match="got a list of 1 in 'pos_1' of node 1, expected 2 numbers, as in others"):
        load([graph])
    graph.nodes[1]["pos"] = 1.5
    with pytest.raises(InputError, match="got a number in 'pos_0' of node 1, expected a list of 2, as in others"):
        load([graph])
