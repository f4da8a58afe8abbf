"""Graphs of requests: read together or alone they are the same; nodes and edges can be taken away."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.serving.graph_inputs import GraphInput, read, without
from served import graph
from tiny import labelled, shapes


def read_items(*items: Any, sets: dict[str, GraphSet] | None = None) -> GraphSet:
    return read([GraphInput.of(item, sets or {}) for item in items])


def test_graphs_of_one_form_are_read_together_as_each_alone() -> None:
    items = [graph(3), graph(5, ring=False)]
    forms = {GraphInput.of(item, {}).form for item in items}
    assert len(forms) == 1
    both = read_items(*items)
    for position, item in enumerate(items):
        assert both[position].fingerprint == read_items(item).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        {"nodes": [{"id": 0, "attribute_0": "high", "attribute_1": 1.0}], "edges": []},
        {"nodes": [{"id": 0, "attribute_0": 1.0}], "edges": []},
        {"nodes": [{"id": 0, "attribute_0": None, "attribute_1": 1.0}], "edges": []},
        {"nodes": [{"id": 0, "attribute_0": [1], "attribute_1": 1.0}], "edges": []},
        graph(3, graph={"mass": 3}),
        graph(3, directed=True),
        graph(3, without={"nodes": [0]}),
        {"nodes": [], "edges": "x"},
    ],
    ids=["text", "fewer", "none", "list", "graph", "directed", "without", "no graph"],
)
def test_graphs_of_another_form_are_read_apart_so_that_nobody_changes_what_another_means(other: dict[str, Any]) -> None:
    assert GraphInput.of(other, {}).form != GraphInput.of(graph(3), {}).form


def test_smiles_and_graphs_of_a_set() -> None:
    pytest.importorskip("rdkit", reason="SMILES need RDKit")
    molecules = read_items("CCO", {"smiles": "CC"})
    assert molecules.sizes.tolist() == [3, 2]
    assert molecules.smiles == ("CCO", "CC")
    graphs = shapes()
    found = read_items({"set": "s", "graph": 3}, {"set": "s", "graph": 1}, sets={"s": graphs})
    assert found.fingerprint == graphs.subset([3, 1]).fingerprint


@given(st.integers(0, 23), st.data())
def test_without_is_the_induced_subgraph(position: int, data: Any) -> None:
    """Against a literal second implementation."""
    one = labelled(shapes())[position]
    nodes = data.draw(st.sets(st.integers(0, one.num_nodes - 1), max_size=one.num_nodes - 1))
    edges = data.draw(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=3))
    left = without(one, nodes, edges)
    kept = [v for v in range(one.num_nodes) if v not in nodes]
    expected = []
    for e, (a, b) in enumerate(one.edges.T.tolist()):
        if a in kept and b in kept and (a, b) not in edges and (b, a) not in edges:
            expected.append((kept.index(a), kept.index(b), int(one.edge_labels[e]), float(one.edge_attributes[e, 0])))
    found = zip(*left.edges.tolist(), left.edge_labels.tolist(), left.edge_attributes[:, 0].tolist(), strict=True)
    assert sorted(found) == sorted(expected)
    assert np.array_equal(left.node_attributes, one.node_attributes[kept])
    assert left.num_nodes == len(kept)


def test_many_edges_are_taken_away_at_once() -> None:
    one = labelled(shapes())[0]
    started = time.process_time()
    assert without(one, [], [(0, 1), (-1, 10**30)] * 200_000).num_edges == one.num_edges - 2
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (7, "got a number, expected a graph"),
        (None, "got nothing, expected a graph"),
        ([], "got a list, expected a graph"),
        ({"smiles": 3}, "got a number in 'smiles'"),
        ({"set": "s", "graph": 99}, r"got graph 99, expected 0..23, in s"),
        ({"set": "s", "graph": -1}, r"got graph -1, expected 0..23, in s"),
        ({"set": "s", "graph": True}, r"got graph True"),
        ({"set": "../../etc/passwd", "graph": 0}, "got a set that is not here"),
        ({"set": ["s"], "graph": 0}, "got a set that is not here"),
        (graph(3, without=[0]), "in 'without', expected"),
        (graph(3, without={"nodes": [0.5]}), "in 'without', expected"),
        (graph(3, without={"edges": [[0, 1, 2]]}), "in 'without', expected"),
        (graph(3, without={"nodes": "0"}), "in 'without', expected"),
        (graph(3, without={"nodes": [3]}), r"got node 3 in 'without', expected 0..2"),
        (graph(3, without={"nodes": [0, 1, 2]}), "got a graph without all of its nodes"),
        ({"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 9}]}, "got target 9, expected the id of a node"),
        ({"nodes": [{"id": {}}], "edges": []}, "got a dict as id"),
        ({"nodes": [1], "edges": []}, "got no list of nodes"),
        (graph(3, name=["a"]), "got a list as name, expected a text"),
        (graph(3, graph={"name": {}}), "got a dict as name, expected a text"),
    ],
)
def test_what_is_no_graph_is_refused(item: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_items(item, sets={"s": shapes()})
