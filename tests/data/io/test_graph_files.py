"""GraphML, GEXF, JSON and JSON lines: by hand, as other programs write them, one file or a folder, and safely."""

from __future__ import annotations

import json
import time
from pathlib import Path

import networkx as nx
import pytest

from sargnn.data.io import node_link, safe_xml
from sargnn.data.problems import InputErrors
from sargnn.data.sources import load
from sargnn.errors import InputError

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="node" attr.name="symbol" attr.type="string"><default>C</default></key>
  <key id="d1" for="node" attr.name="mass" attr.type="double"/>
  <key id="d2" for="edge" attr.name="ring" attr.type="boolean"/>
  <key id="d3" for="graph" attr.name="label" attr.type="string"/>
  <key id="d4" for="node" yfiles.type="nodegraphics"/>
  <graph id="first" edgedefault="undirected">
    <data key="d3">toxic</data>
    <node id="a"><data key="d0">O</data><data key="d1">16</data><data key="d4"><y:Shape/></data></node>
    <node id="b"><data key="d1">12</data></node>
    <edge source="a" target="b"><data key="d2">true</data></edge>
  </graph>
  <graph id="second" edgedefault="directed">
    <data key="d3">safe</data>
    <node id="x"><data key="d1">12</data></node>
    <node id="y"><data key="d1">12</data></node>
    <node id="z"><data key="d1">12</data></node>
    <edge source="x" target="y"><data key="d2">false</data></edge>
    <edge source="y" target="z" directed="false"><data key="d2">true</data></edge>
  </graph>
</graphml>
"""

GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3">
  <meta><creator>by hand</creator></meta>
  <graph defaultedgetype="undirected">
    <attributes class="node" mode="static">
      <attribute id="0" title="mass" type="double"><default>12</default></attribute>
      <attribute id="1" title="symbol" type="string"/>
    </attributes>
    <nodes>
      <node id="0" label="oxygen">
        <attvalues><attvalue for="0" value="16"/><attvalue for="1" value="O"/></attvalues>
      </node>
      <node id="1" label="carbon"><attvalues><attvalue for="1" value="C"/></attvalues></node>
    </nodes>
    <edges>
      <edge id="0" source="0" target="1" weight="2.5" label="double"/>
      <edge id="1" source="1" target="1" type="directed" label="loop"/>
    </edges>
  </graph>
</gexf>
"""

LINE = {
    "graph": {"y": 1},
    "nodes": [{"id": "a", "w": 1}, {"id": "b", "w": 2}],
    "links": [{"source": "a", "target": "b"}],
}


def test_graphml_worked_by_hand(tmp_path: Path) -> None:
    (tmp_path / "two.graphml").write_text(GRAPHML)
    graphs = load(tmp_path / "two.graphml")
    assert graphs.name == "two"
    assert graphs.graph_names == ("first", "second")
    assert graphs.classes == ("safe", "toxic")
    assert graphs.node_label_names == ("C", "O")
    assert graphs.node_labels.tolist() == [1, 0, 0, 0, 0]
    assert graphs.node_attributes[:, 0].tolist() == [16, 12, 12, 12, 12]
    assert graphs.node_names.tolist() == ["a", "b", "x", "y", "z"]
    assert graphs.edges.tolist() == [[1, 0, 0, 2, 1], [0, 1, 1, 1, 2]]
    assert graphs.edge_attributes[:, 0].tolist() == [1, 1, 0, 1, 1]


def test_gexf_worked_by_hand(tmp_path: Path) -> None:
    (tmp_path / "one.gexf").write_text(GEXF)
    graphs = load(tmp_path / "one.gexf", labels=["a"])
    assert graphs.node_names.tolist() == ["oxygen", "carbon"]
    assert graphs.node_attributes.tolist() == [[16], [12]]
    assert graphs.node_label_names == ("C", "O")
    assert graphs.edges.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert graphs.edge_attributes[:, 0].tolist() == [2.5, 2.5, 1]
    assert graphs.edge_label_names == ("double", "loop")


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


# -------------------------------------------------------------------------------------------------------------- folders


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(LINE))
    return tmp_path


def test_files_are_taken_in_natural_order_and_name_their_graphs(tmp_path: Path) -> None:
    graphs = load(folder_of(tmp_path, "m10.json", "m2.json", ".hidden.json", "notes.txt"))
    assert graphs.graph_names == ("m2", "m10")
    assert graphs.name == tmp_path.name


def test_labels_csv_gives_the_classes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json", "b.json", "c.json")
    (folder / "labels.csv").write_text("file,label\nb.json,old\na,new\nc.json,old\n")
    graphs = load(folder)
    assert [graphs.classes[index] for index in graphs.y] == ["new", "old", "old"]


def test_subfolders_are_the_classes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "spam/1.json", "ham/1.json", "ham/2.json")
    graphs = load(folder)
    assert graphs.classes == ("ham", "spam")
    assert graphs.y.tolist() == [0, 0, 1]


def test_graphs_to_be_predicted_need_no_row_in_labels_csv(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json", "b.json")
    (folder / "labels.csv").write_text("file,kind\na.json,1\n")
    graphs = load(folder, labels="kind", labelled=False)
    assert graphs.y is None
    assert graphs.notes == ("took 'kind' as the class, not 'y'", "left the classes out: 1 graphs have none")


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json")
    (folder / "b.json").write_text("{")
    (folder / "c.graphml").write_text("<graphml><graph>\n<node/>\n<node/></graph></graphml>")
    (folder / "d.jsonl").write_text("1\n2\n")
    with pytest.raises(InputErrors) as error:
        load(folder)
    found = [(Path(problem.file).name, problem.line, problem.graph) for problem in error.value.problems]
    assert found[:5] == [
        ("b.json", 1, None), ("c.graphml", 2, 1), ("c.graphml", 3, 1), ("d.jsonl", 1, None), ("d.jsonl", 2, None),
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- safety

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BOMB = f'<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY l0 "lol">{LAUGHS}]><graphml>&l9;</graphml>'


@pytest.mark.parametrize("name", ["x.graphml", "x.gexf"])
def test_a_billion_laughs_are_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BOMB)
    start = time.process_time()
    with pytest.raises(InputError, match=r"line 1: got a DOCTYPE, expected none: entities are not read$"):
        load(tmp_path / name)
    assert time.process_time() - start < 1


def test_a_file_that_xml_points_to_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    text = f'<!DOCTYPE graphml [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]><graphml>&s;</graphml>'
    (tmp_path / "x.graphml").write_text(text)
    with pytest.raises(InputError) as error:
        load(tmp_path / "x.graphml")
    assert "password" not in str(error.value)


def test_files_that_are_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path, "x.json")
    (tmp_path / "x.graphml").write_text(GRAPHML)
    monkeypatch.setattr(safe_xml, "FILE_LIMIT", 100)
    monkeypatch.setattr(node_link, "FILE_LIMIT", 100)
    with pytest.raises(
        InputError, match=r"x.graphml: got \d+ bytes, expected at most 100; split it into several files$"
    ):
        load(tmp_path / "x.graphml")
    with pytest.raises(InputError, match=r"x.json: got \d+ bytes, expected at most 100; write one graph a line"):
        load(tmp_path / "x.json")


def test_a_text_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_xml, "TEXT_LIMIT", 1000)
    (tmp_path / "x.graphml").write_text(f"<graphml><desc>{'x' * 5000}</desc></graphml>")
    with pytest.raises(InputError, match=r"got more than 1000 characters in one element, expected less$"):
        load(tmp_path / "x.graphml")


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
