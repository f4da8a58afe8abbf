"""Writing a set in another form: what comes back, what a form cannot hold, and where files may go."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_inputs import named_set
from sargnn.data.io.convert import FORMS, convert
from sargnn.data.sources import load
from sargnn.errors import InputError


def target(folder: Path, form: str) -> Path:
    return folder / ("x.jsonl" if form == "jsonl" else "x")


@pytest.mark.parametrize("form", [form for form in FORMS if form != "tu"])
def test_everything_comes_back(form: str, tmp_path: Path) -> None:
    graphs = named_set()
    assert convert(graphs, target(tmp_path, form), form) == []
    again = load(target(tmp_path, form))
    assert again.fingerprint == graphs.fingerprint
    assert again.node_names.tolist() == graphs.node_names.tolist()
    assert again.node_attribute_names == graphs.node_attribute_names
    assert [name.strip() for name in again.graph_names] == ["../up", "b", "c"]


def test_tu_says_what_it_cannot_hold(tmp_path: Path) -> None:
    graphs = named_set()
    assert convert(graphs, tmp_path / "x", "tu") == [
        "TU format has numbers only, so in graph_labels 0 = 'a <no>', 1 = 'yes & more'",
        "TU format has numbers only, so in node_labels 0 = 'C', 1 = 'N,x', 2 = 'Ö'",
        "TU format has numbers only, so in edge_labels 0 = 'double', 1 = 'single'",
        "TU format has no place for part",
        "TU format has no place for true_saliency",
        "TU format has no place for node_names",
        "TU format has no place for graph_names",
    ]
    again = load(tmp_path / "x")
    for field in ("y", "edges", "node_labels", "edge_labels", "node_attributes", "edge_attributes", "graph_attributes"):
        assert getattr(again, field).tobytes() == getattr(graphs, field).tobytes(), field


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_written_outside(form: str, tmp_path: Path) -> None:
    """Names of graphs, sets and classes are data: they never become names of files."""
    graphs = replace(named_set(), name="../../outside")
    home = tmp_path / "home"
    home.mkdir()
    convert(graphs, target(home, form), form)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert [path.name for path in home.iterdir()] == [target(home, form).name]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_overwritten(form: str, tmp_path: Path) -> None:
    path = target(tmp_path, form)
    path.write_text("mine")
    with pytest.raises(InputError, match=r": is there already, expected a new (file|folder)$"):
        convert(named_set(), path, form)
    assert path.read_text() == "mine"


def test_a_form_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^to: got 'xml', expected one of graphset, tu, csv, jsonl, graphml$"):
        convert(named_set(), tmp_path / "x", "xml")


@pytest.mark.parametrize(
    ("name", "form", "instead"),
    [
        ("m", "jsonl", "one that ends in .jsonl, such as {}/m.jsonl"),
        ("m.v2", "jsonl", "one that ends in .jsonl, such as {}/m.v2.jsonl"),
        ("m.json", "jsonl", "one that ends in .jsonl, such as {}/m.jsonl"),
        ("m.csv", "csv", "that of a folder, such as {}/m, for graphset, tu, csv, graphml"),
        ("m.ZIP", "tu", "that of a folder, such as {}/m, for graphset, tu, csv, graphml"),
        ("m.jsonl", "graphset", "that of a folder, such as {}/m, for graphset, tu, csv, graphml"),
    ],
)
def test_a_name_that_says_something_else_is_refused(name: str, form: str, instead: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(instead.format(tmp_path)) + "$"):
        convert(named_set(), tmp_path / name, form)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "form"), [("m.JSONL", "jsonl"), ("m.v2", "graphset"), ("m.v2", "csv")])
def test_any_other_name_is_read_back(name: str, form: str, tmp_path: Path) -> None:
    convert(named_set(), tmp_path / name, form)
    assert load(tmp_path / name).fingerprint == named_set().fingerprint


def test_what_xml_cannot_hold(tmp_path: Path) -> None:
    graphs = replace(named_set(), classes=("a\x00", "b"))
    with pytest.raises(InputError, match=r"^got the character '\\x00' in 'a\\x00', expected one that XML can hold$"):
        convert(graphs, tmp_path / "x", "graphml")
    assert list(tmp_path.iterdir()) == []


def test_networkx_reads_what_is_written(tmp_path: Path) -> None:
    graphs = named_set()
    convert(graphs, tmp_path / "x.jsonl", "jsonl")
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    theirs = [nx.node_link_graph(json.loads(line), edges="edges") for line in lines]
    assert [graph.is_directed() for graph in theirs] == [False, False, True]
    assert load(theirs).fingerprint == graphs.fingerprint
    convert(graphs, tmp_path / "x", "graphml")
    theirs = [nx.read_graphml(path) for path in sorted((tmp_path / "x").iterdir())]
    assert load(theirs).fingerprint == graphs.fingerprint


words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=4
)


@settings(max_examples=40, deadline=None)
@given(names=st.lists(words, min_size=2, max_size=2, unique=True), form=st.sampled_from(["csv", "jsonl", "graphml"]))
def test_any_text_comes_back(names: list[str], form: str) -> None:
    """Whatever they are, as they are first read: numbers in the shortest way, in natural order."""
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, dict(enumerate(names)), "label")
    graphs = load([graph, graph], labels=names)
    with tempfile.TemporaryDirectory() as folder:
        convert(graphs, target(Path(folder), form), form)
        assert load(target(Path(folder), form)).fingerprint == graphs.fingerprint
