"""Equal graphs: found whatever the order of their nodes, and told from those that differ in anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import Graph, wild_graphs
from sargnn.data.duplicates import duplicates, graph_hashes
from sargnn.data.graphs import GraphSet, pack


def pair() -> GraphSet:
    graphs = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])] * 2, node_labels=[0, 1, 0] * 2, node_attributes=[[1]] * 6)
    return replace(graphs, edge_labels=np.zeros(8, int), edge_attributes=np.ones((8, 1), np.float32))


def changed(array: np.ndarray, row: int) -> np.ndarray:
    array = array.copy()
    array[row] += 1
    return array


CHANGES: dict[str, Callable[[GraphSet], GraphSet]] = {
    "a label": lambda g: replace(g, node_labels=changed(g.node_labels, 3)),
    "an attribute": lambda g: replace(g, node_attributes=changed(g.node_attributes, 3)),
    "an edge label": lambda g: replace(g, edge_labels=changed(g.edge_labels, 5)),
    "an edge attribute": lambda g: replace(g, edge_attributes=changed(g.edge_attributes, 5)),
    "a graph attribute": lambda g: replace(g, graph_attributes=np.array([[1], [2]], np.float32)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_difference_counts(change: str) -> None:
    assert [group.tolist() for group in duplicates(pair())] == [[0, 1]]
    assert duplicates(CHANGES[change](pair())) == []


def test_classes_names_and_the_sign_of_zero_do_not() -> None:
    graphs = replace(pair(), y=np.array([0, 1]), node_names=np.array(list("abcdef")))
    zeros = np.array([[0.0], [0.0], [0.0], [-0.0], [0.0], [-0.0]], np.float32)
    assert len(duplicates(replace(graphs, node_attributes=zeros))) == 1


@settings(max_examples=40, deadline=None)
@given(one=wild_graphs(), data=st.data())
def test_the_order_of_nodes_does_not_count(one: Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(one.nodes)))
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=one.nodes, max_size=one.nodes)))
    turned = [(order[u], order[v]) for u, v in one.edges]
    graphs = pack(
        [(one.nodes, one.edges), (one.nodes, turned)],
        node_labels=np.concatenate([labels, labels[np.argsort(order)]]),
    )
    hashes = graph_hashes(graphs)
    assert hashes[0] == hashes[1]


def test_the_direction_of_edges_counts() -> None:
    out_star, in_star = [(0, 1), (0, 2)], [(1, 0), (2, 0)]
    assert duplicates(pack([(3, out_star), (3, in_star)])) == []


def test_as_networkx_finds_them() -> None:
    rng = np.random.default_rng(0)
    graphs = [nx.gnm_random_graph(5, int(rng.integers(3, 7)), seed=int(rng.integers(30))) for _ in range(80)]
    ours = duplicates(pack([(5, [*graph.edges, *((v, u) for u, v in graph.edges)]) for graph in graphs]))
    theirs: dict[str, list[int]] = {}
    for g, graph in enumerate(graphs):
        nx.set_node_attributes(graph, "", "label")
        theirs.setdefault(nx.weisfeiler_lehman_graph_hash(graph, node_attr="label", iterations=4), []).append(g)
    assert [group.tolist() for group in ours] == [group for group in theirs.values() if len(group) > 1]
