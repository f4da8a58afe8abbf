"""JSON in the node-link form, and JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from graph_inputs import LINE
from sargnn.data.sources import load
from sargnn.errors import InputError


@pytest.mark.parametrize("key", ["links", "edges"])
def test_json_in_the_form_of_networkx(tmp_path: Path, key: str) -> None:
    graph = nx.MultiDiGraph(label=1)
    graph.add_node("a", w=1)
    graph.add_node("b", w=2)
    graph.add_edge("a", "b", kind="x")
    (tmp_path / "x.json").write_text(json.dumps(nx.node_link_data(graph, edges=key)))
    graphs = load(tmp_path / "x.json")
    assert graphs.edges.tolist() == [[0], [1]]
    assert graphs.edge_label_names == ("x",)
    assert graphs.fingerprint == load([graph]).fingerprint


def test_json_lines_skips_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(LINE)}\n\n{json.dumps(LINE)}\n")
    assert len(load(tmp_path / "x.jsonl")) == 2


def test_a_class_may_stand_beside_the_nodes(tmp_path: Path) -> None:
    item = {key: value for key, value in LINE.items() if key != "graph"} | {"label": "beside"}
    (tmp_path / "x.json").write_text(json.dumps(item))
    assert load(tmp_path / "x.json").classes == ("beside",)


@pytest.mark.parametrize(("name", "expected"), [("x", "x"), (7, "7"), (0.5, "0.5"), (None, None)])
def test_the_name_of_a_graph_is_a_text(tmp_path: Path, name: object, expected: str | None) -> None:
    items = [LINE | {"name": name}, LINE | {"name": "other"}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, items)))
    assert load(tmp_path / "x.jsonl").graph_names == (expected or "0", "other")


def test_what_is_no_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(LINE | {"name": [1]}))
    with pytest.raises(InputError, match="got a list as name, expected a text"):
        load(tmp_path / "x.json")
