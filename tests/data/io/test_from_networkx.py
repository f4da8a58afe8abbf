"""NetworkX graphs: against a literal reading, what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_inputs import labelled
from sargnn.data.sources import load
from sargnn.errors import InputError


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


def test_given_classes_win_over_what_is_there() -> None:
    graphs = [labelled(nx.path_graph(2), 0.5), labelled(nx.path_graph(3), 0.25)]
    assert load(graphs, labels=np.array([1, 0])).y.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"^labels: got 1 classes, expected 2, in graphs$"):
        load(graphs, labels=["a"])


def test_parallel_edges_are_merged() -> None:
    graph = nx.MultiGraph(label=1)
    graph.add_edge(0, 1, w=1)
    graph.add_edge(0, 1, w=2)
    graphs = load([graph])
    assert graphs.edges.tolist() == [[1, 0], [0, 1]]
    assert graphs.edge_attributes.tolist() == [[1], [1]]
    assert graphs.notes == ("merged 2 repeated edges, each as it came first",)


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
        [labelled(nx.path_graph(2), value) for value in (0.5, "a")],
        "got 0.5 in 'label', expected a whole number or a text as the class, in graph 0",
    ),
    "two classes for one graph": (
        [labelled(nx.path_graph(2), ["a", "b"])] * 2,
        "got 'a' in 'label_0', expected a number, in graph 0 (the first of 4 problems; `sargnn data check` lists them)",
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
