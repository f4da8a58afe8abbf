"""NetworkX graphs: against a literal reading, what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sargnn.data.sources import load
from sargnn.errors import InputError


def labelled(graph: Any, label: Any = "a", **attributes: Any) -> Any:
    graph.graph.update(label=label, **attributes)
    return graph


def test_a_set_worked_by_hand() -> None:
    graph = nx.Graph(label="toxic")
    graph.add_node("O1", symbol="O", charge=-1, ring=False)
    graph.add_node("C2", symbol="C", charge=0.5, ring=True)
    graph.add_node("C3", symbol="C", charge=0, ring=True)
    graph.add_edge("C2", "O1", bond="double", length=1.25)
    graph.add_edge("C2", "C3", bond="single", length=1.5)
    arrow = nx.DiGraph(label="safe")
    arrow.add_node("N", symbol="N", charge=0, ring=False)
    arrow.add_node("C", symbol="C", charge=2, ring=False)
    arrow.add_edge("N", "C", bond="single", length=2)
    graphs = load([graph, arrow])
    assert graphs.classes == ("safe", "toxic")
    assert graphs.y.tolist() == [1, 0]
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.node_names.tolist() == ["O1", "C2", "C3", "N", "C"]
    assert graphs.edges.tolist() == [[1, 0, 2, 1, 0], [0, 1, 1, 2, 1]]
    assert graphs.node_attribute_names == ("charge", "ring")
    assert graphs.node_attributes.tolist() == [[-1, 0], [0.5, 1], [0, 1], [0, 0], [2, 0]]
    assert graphs.node_label_names == ("C", "N", "O")
    assert graphs.node_labels.tolist() == [2, 0, 0, 1, 0]
    assert graphs.edge_label_names == ("double", "single")
    assert graphs.edge_labels.tolist() == [0, 0, 1, 1, 1]
    assert graphs.edge_attributes[:, 0].tolist() == [1.25, 1.25, 1.5, 1.5, 2]
    assert graphs.notes == ()


@pytest.mark.parametrize("key", ["label", "y", "class", "target"])
def test_where_the_class_stands(key: str) -> None:
    graph = nx.path_graph(2)
    graph.graph[key] = 3
    assert load([graph]).classes == ("3",)
    graph.graph["p_np"] = "yes"
    assert load([graph], labels="p_np").classes == ("yes",)
    assert load([graph], labels=["given"]).classes == ("given",)


@pytest.mark.parametrize("value", [1, 1.0, True, np.int64(1), np.array([1]), [1], "1"])
def test_one_class_in_many_ways(value: Any) -> None:
    name = "True" if value is True else "1"
    assert load([labelled(nx.path_graph(2), value)]).classes == (name,)


def test_given_classes_win_over_what_is_there() -> None:
    graphs = [labelled(nx.path_graph(2), 0.5), labelled(nx.path_graph(3), 0.25)]
    assert load(graphs, labels=np.array([1, 0])).y.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"^labels: got 1 classes, expected 2, in graphs$"):
        load(graphs, labels=["a"])


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


def test_parallel_edges_are_merged() -> None:
    graph = nx.MultiGraph(label=1)
    graph.add_edge(0, 1, w=1)
    graph.add_edge(0, 1, w=2)
    graphs = load([graph])
    assert graphs.edges.tolist() == [[1, 0], [0, 1]]
    assert graphs.edge_attributes.tolist() == [[1], [1]]
    assert graphs.notes == ("merged 2 repeated edges, each as it came first",)


def test_many_windows_are_one_set(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [labelled(nx.relabel_nodes(nx.path_graph(2 + g % 3), str), g % 2) for g in range(10)]
    graphs[7] = labelled(nx.relabel_nodes(graphs[7], {"0": "zero"}), 1)
    whole = load(graphs)
    monkeypatch.setattr("sargnn.data.io.assembler.CHUNK", 3)
    parts = load(graphs)
    assert parts.fingerprint == whole.fingerprint
    assert parts.node_names.tolist() == whole.node_names.tolist()


any_graph = st.tuples(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(any_graph, min_size=1, max_size=4))
def test_edges_as_a_literal_reading_gives_them(raw: list[Any]) -> None:
    graphs, expected = [], []
    for size, pairs, directed in raw:
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from(range(size))
        pairs = [(u % size, v % size) for u, v in pairs]
        graph.add_edges_from(pairs)
        graphs.append(labelled(graph))
        both = pairs if directed else pairs + [(v, u) for u, v in pairs]
        expected.append(sorted(set(both), key=lambda edge: edge[::-1]))
    read = load(graphs)
    found = [[tuple(edge) for edge in one.edges.T.tolist()] for one in read]
    assert found == expected


def test_one_graph_is_a_list_of_one() -> None:
    assert len(load(nx.path_graph(3), labelled=False)) == 1


FAULTS: dict[str, tuple[list[Any], str]] = {
    "no nodes": ([labelled(nx.Graph())], "got no nodes, expected at least one, in graph 0"),
    "no class": (
        [labelled(nx.path_graph(2)), nx.path_graph(2)],
        "got no class in 'label', expected one for every graph, in graph 1",
    ),
    "a fraction for a class": (
        [labelled(nx.path_graph(2), 0.5)],
        "got 0.5 in 'label', expected a whole number or a text as the class, in graph 0",
    ),
    "two classes for one graph": (
        [labelled(nx.path_graph(2), [1, 2])],
        "got a list in 'label', expected a whole number or a text as the class, in graph 0",
    ),
    "something else in between": (
        [labelled(nx.path_graph(2)), "hello"],
        "got a str, expected a NetworkX graph like the others, in graph 1",
    ),
}


@pytest.mark.parametrize(("graphs", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named(graphs: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(graphs)
    assert str(error.value) == message


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
        "got no value in 'mass' of node 2, expected one for every node, in graph 1",
        "got no value in 'bond' of edge 1 - 2, expected one for every edge, in graph 0",
        "got no value in 'bond' of edge 2 - 1, expected one for every edge, in graph 0",
    ]
