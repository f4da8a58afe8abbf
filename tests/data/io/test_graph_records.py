"""Records as columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sargnn.data.io.graph_records import Record, chunk_of
from sargnn.data.problems import Problems
from sargnn.data.sources import load
from sargnn.errors import InputError


def test_a_small_file_cannot_ask_for_huge_columns(tmp_path: Path) -> None:
    nodes = [{"id": i, f"a{i}": 1} for i in range(2000)]
    (tmp_path / "x.json").write_text(json.dumps({"label": 1, "nodes": nodes, "edges": []}))
    with pytest.raises(InputError) as error:
        load(tmp_path / "x.json")
    expected = "got 2000 different attributes of nodes, expected the same for every node"
    assert str(error.value) == f"{tmp_path / 'x.json'}: {expected}"
    nodes = [{"id": 0, "x": [1.0] * 5000}, {"id": 1, "x": [1.0]}]
    (tmp_path / "x.json").write_text(json.dumps({"label": 1, "nodes": nodes, "edges": []}))
    with pytest.raises(InputError, match=r"got a list in 'x' of node 0, expected a number or a text, in graph 0"):
        load(tmp_path / "x.json")


def test_records_as_columns_by_hand() -> None:
    path = Record(["a", "b"], [{"m": 1}, {}], ["a"], ["b"], [{"w": 2}], file="x", line=3, node_lines=[4, 5])
    dot = Record([0], [{"m": 3}], [], [], [], name="dot", directed=True)
    chunk = chunk_of([path, dot], 10, Problems())
    assert chunk.nodes.columns == {"m": [1, None, 3]}
    assert chunk.edges.columns == {"w": [2]}
    assert (chunk.nodes.graph.tolist(), chunk.source.tolist(), chunk.target.tolist()) == ([0, 0, 1], [0], [1])
    assert (chunk.nodes.place(1), chunk.edges.place(0), chunk.graphs.place(0)) == (("x", 5), ("x", 3), ("x", 3))
    assert (chunk.nodes.name(1), chunk.edges.name(0)) == (" of node 'b'", " of edge 'a' - 'b'")
    assert (chunk.graph_names, chunk.node_names) == ([None, "dot"], ["a", "b", "0"])


def test_an_end_that_is_no_node_is_a_problem_of_its_graph() -> None:
    problems = Problems()
    chunk = chunk_of([Record([0, 1], [{}, {}], [0, 0], [1, 7], [{}, {}], file="x", edge_lines=[2, 3])], 5, problems)
    assert [str(problem) for problem in problems.found] == [
        "x line 3: got target 7, expected the id of a node, in graph 5"
    ]
    assert len(chunk.edges.graph) == 0
