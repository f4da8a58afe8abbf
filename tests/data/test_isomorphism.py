"""Isomorphic graphs: found in any order of nodes, told from all others, and given up within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn import both_ways, ring
from literal import Graph, wild_graphs
from sargnn.data.duplicates import graph_hashes
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.isomorphism import isomorphism_classes

Labelled = tuple[Graph, list[int]]


def packed(*graphs: nx.Graph) -> GraphSet:
    return pack([(len(graph), both_ways(list(nx.convert_node_labels_to_integers(graph).edges))) for graph in graphs])


def classes(graphs: GraphSet) -> list[int]:
    found, by_colours = isomorphism_classes(graphs)
    assert by_colours == 0
    return [int(np.flatnonzero(found == one)[0]) for one in found]  # the first graph of each class


@st.composite
def labelled(draw: st.DrawFn) -> Labelled:
    one = draw(wild_graphs(most=4))
    return one, draw(st.lists(st.integers(0, 1), min_size=one.nodes, max_size=one.nodes))


def equal_in_some_order(one: Labelled, other: Labelled) -> bool:
    """All orders of the nodes, one by one."""
    (here, labels), (there, other_labels) = one, other
    edges = {(u, v) for u, v in here.edges}
    return here.nodes == there.nodes and any(
        {(order[u], order[v]) for u, v in there.edges} == edges
        and all(labels[order[v]] == label for v, label in enumerate(other_labels))
        for order in permutations(range(here.nodes))
    )


@settings(max_examples=80)
@given(st.lists(labelled(), min_size=2, max_size=5), st.data())
def test_as_all_orders_of_nodes_say(graphs: list[Labelled], data: st.DataObject) -> None:
    first, labels = graphs[0]
    order = data.draw(st.permutations(range(first.nodes)))
    turned = replace(first, edges=[(order[u], order[v]) for u, v in first.edges])
    graphs.append((turned, np.array(labels)[np.argsort(order)].tolist()))
    found = pack([(g.nodes, g.edges) for g, _ in graphs], node_labels=[label for _, some in graphs for label in some])
    expected = [next(a for a, one in enumerate(graphs) if equal_in_some_order(one, graph)) for graph in graphs]
    assert classes(found) == expected


def test_two_triangles_are_no_hexagon_though_their_colours_agree() -> None:
    graphs = pack([(6, both_ways(ring(6))), (6, both_ways(ring(3) + ring(3, 3))), (6, both_ways(ring(6)[::-1]))])
    assert len(set(graph_hashes(graphs).tolist())) == 1
    assert classes(graphs) == [0, 1, 0]


def test_strongly_regular_graphs_are_told_apart() -> None:
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    steps = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)]
    shrikhande = nx.Graph(((a, b), ((a + c) % 4, (b + d) % 4)) for a in range(4) for b in range(4) for c, d in steps)
    turned = nx.relabel_nodes(shrikhande, {node: (node[1], -node[0]) for node in shrikhande})
    assert classes(packed(rook, shrikhande, turned, rook)) == [0, 1, 1, 0]


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_regular_graphs_as_networkx_says(degree: int) -> None:
    graphs = [nx.random_regular_graph(degree, 10, seed=seed) for seed in range(15)]
    expected = [next(a for a, one in enumerate(graphs) if nx.is_isomorphic(one, graph)) for graph in graphs]
    assert classes(packed(*graphs)) == expected


def test_edges_and_whole_graphs_keep_what_they_hold() -> None:
    graphs = pack([(3, [(0, 1), (1, 2)]), (3, [(2, 1), (1, 0)])])
    assert classes(graphs) == [0, 0]
    assert classes(replace(graphs, edge_labels=np.array([0, 1, 1, 0]))) == [0, 0]  # from the end: 0, then 1
    assert classes(replace(graphs, edge_labels=np.array([0, 1, 0, 1]))) == [0, 1]
    assert classes(replace(graphs, graph_attributes=np.array([[0], [1]], np.float32))) == [0, 1]
    assert classes(replace(graphs, graph_attributes=np.array([[0], [-0.0]], np.float32))) == [0, 0]


def test_the_direction_of_edges_counts() -> None:
    assert classes(pack([(3, [(0, 1), (0, 2)]), (3, [(1, 0), (2, 0)]), (3, [(2, 1), (2, 0)])])) == [0, 1, 0]


def test_no_graphs_and_no_twins() -> None:
    assert classes(pack([])) == []
    assert classes(pack([(1, []), (2, [])])) == [0, 1]


def test_what_is_given_up_is_counted_and_called_isomorphic() -> None:
    graphs = pack([(6, both_ways(ring(6))), (6, both_ways(ring(3) + ring(3, 3)))])
    found, by_colours = isomorphism_classes(graphs, pair=1)
    assert (found.tolist(), by_colours) == ([0, 0], 1)


def test_work_is_bounded_on_large_regular_graphs() -> None:
    graphs = packed(*(nx.random_regular_graph(3, 400, seed=seed) for seed in range(12)))
    found, by_colours = isomorphism_classes(graphs, work=10**6, pair=10**5)
    assert by_colours == 11
    assert set(found.tolist()) == {0}


def test_mutag_as_networkx_says(known: Callable[[str], GraphSet]) -> None:
    """Every pair of graphs with equal labels and degrees, compared by VF2."""
    graphs = replace(known("MUTAG"), edge_labels=None)
    drawn = [nx.Graph(data.edge_index.T.tolist()) for data in graphs.to_pyg()]
    for graph, data in zip(drawn, graphs.to_pyg(), strict=True):
        nx.set_node_attributes(graph, dict(enumerate(data.node_label.tolist())), "label")
    kinds = [sorted((label, graph.degree[node]) for node, label in graph.nodes(data="label")) for graph in drawn]
    expected = [
        next(a for a in range(g + 1) if kinds[a] == kinds[g] and (a == g or same_atoms(drawn[a], drawn[g])))
        for g in range(len(graphs))
    ]
    assert classes(graphs) == expected


def same_atoms(one: nx.Graph, other: nx.Graph) -> bool:
    return bool(nx.is_isomorphic(one, other, node_match=lambda a, b: a == b))
