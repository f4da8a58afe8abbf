"""`data check`: the summary, all problems at once, the page, and the exit status."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from command import error_of
from drawn import both_ways, ring
from sargnn.cli import app
from sargnn.data.check import check, summary
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.problems import InputErrors
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.pages.data_check import write_check_page


def small_set() -> GraphSet:
    """Two equal paths in two classes, a lonely node, and a directed edge with a loop."""
    path = [(0, 1), (1, 0), (1, 2), (2, 1)]
    return pack(
        [(3, path), (1, []), (3, path), (2, [(0, 1), (1, 1)])],
        name="small",
        y=[0, 1, 1, 0],
        classes=["a", "b"],
        node_labels=[0] * 9,
        node_label_names=["C"],
    )


def test_the_summary_worked_by_hand() -> None:
    assert summary(small_set()) == {
        "name": "small",
        "graphs": 4,
        "nodes": 9,
        "edges": 10,
        "classes": {"a": 2, "b": 2},
        "nodes_per_graph": {"least": 1, "median": 2.5, "mean": 2.25, "most": 3},
        "edges_per_graph": {"least": 0, "median": 3.0, "mean": 2.5, "most": 4},
        "degree": {"least": 0, "median": 1.0, "mean": 1.0, "most": 2},
        "node_labels": ["C"],
        "node_attributes": [],
        "edge_labels": [],
        "edge_attributes": [],
        "graph_attributes": [],
        "directed_graphs": 1,
        "one_node_graphs": 1,
        "graphs_without_edges": 1,
        "isolated_nodes": 1,
        "self_loops": 1,
        "duplicates": {"groups": 1, "graphs": 2},
        "duplicates_across_classes": {"groups": 1, "graphs": 2, "positions": [[0, 2]]},
        "ceiling_accuracy": 0.75,
        "fingerprint": small_set().fingerprint,
        "notes": [],
    }


def test_a_ceiling_is_named_only_where_isomorphic_graphs_differ_in_class() -> None:
    assert "ceiling_accuracy" not in summary(replace(small_set(), y=np.array([0, 1, 0, 0])))
    rings = pack(
        [(6, both_ways(ring(6))), (6, both_ways(ring(3) + ring(3, 3)))], name="rings", y=[0, 1], classes=["a", "b"]
    )
    found = summary(rings)  # message passing cannot tell them apart, but they are not isomorphic
    assert found["duplicates_across_classes"]["graphs"] == 2
    assert "ceiling_accuracy" not in found


def test_nothing_wrong() -> None:
    report = check(small_set())
    assert (report.problems, report.count) == ([], 0)


def broken_tables(folder: Path) -> Path:
    (folder / "graphs.csv").write_text("graph,label\na,yes\nb,\nc,0.5\n")
    (folder / "nodes.csv").write_text("graph,node,mass\na,x,1\na,y,\nb,x,heavy\nq,x,1\nb,y\nc,z,1\n")
    (folder / "edges.csv").write_text("graph,source,target\na,x,z\nb,x,x\n")
    return folder


def test_all_problems_at_once_with_file_line_graph_and_field(tmp_path: Path) -> None:
    report = check(broken_tables(tmp_path))
    assert report.graphs is None
    assert report.count == len(report.problems) == 6
    assert {(Path(p.file or "").name, p.line, p.graph, p.field) for p in report.problems} == {
        ("graphs.csv", 3, 1, "label"),
        ("graphs.csv", 4, 2, "label"),
        ("nodes.csv", 4, 1, "mass"),
        ("nodes.csv", 5, None, "graph"),
        ("nodes.csv", 6, None, None),
        ("edges.csv", 2, 0, "target"),
    }


DAMAGE: dict[str, tuple[dict[str, Any], str]] = {
    "edges outside": ({"edges": np.full((2, 10), 5, np.int32)}, "got an edge [5, 5], expected nodes 0..2"),
    "a class of no name": ({"y": np.array([0, 1, 7, 0])}, "got 7 in y, expected 0..1, in graph 2"),
    "a label of no name": (
        {"node_labels": np.arange(9) - 1},
        "got -1 in node_labels, expected 0..0, in graph 0",
    ),
    "inf": (
        {"node_attributes": np.full((9, 1), np.inf, np.float32)},
        "got [inf] in node_attributes, expected finite numbers, in graph 0",
    ),
    "pointers that go back": (
        {"node_ptr": np.array([0, 4, 3, 7, 9])},
        "got node_ptr that goes back, expected numbers rising from 0 to 9",
    ),
    "one class": ({"y": np.zeros(4, np.int64)}, "small: got class 'a' only, expected two or more classes"),
}


@pytest.mark.parametrize(("change", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_saved_set_with_damage(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    replace(small_set(), **change).save(tmp_path / "set")
    report = check(tmp_path / "set")
    problem = report.problems[0]
    field, place = problem.field, "" if problem.field is None else f"{tmp_path / 'set' / problem.field}.npy: "
    assert str(problem).startswith(place + message)
    if field is not None:
        with pytest.raises(InputErrors) as error:
            load(tmp_path / "set")
        assert error.value.problems == tuple(report.problems)


def test_gaps_are_counted_and_problems_where_they_are_refused() -> None:
    values = np.ones((9, 2), np.float32)
    values[3, 1] = values[8] = np.nan
    graphs = replace(small_set(), node_attributes=values, node_attribute_names=("mass", "charge"))
    assert summary(graphs)["gaps"] == {"node attribute 'charge'": 2, "node attribute 'mass'": 1}
    assert check(graphs).problems == []
    refused = check(graphs, missing="refuse")
    assert refused.count == 3
    first = "got no value of node attribute 'charge' in graph 1 (node 0) of small"
    assert str(refused.problems[0]) == f"{first}, expected one for every node (data.missing=refuse)"
    with pytest.raises(InputError, match=r"data.missing: got 'drop', expected one of refuse, mean, flag"):
        check(graphs, missing="drop")


def test_what_was_left_out_is_no_problem_where_the_others_can_be_used(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    (tmp_path / "x.csv").write_text("smiles,label\nCC,1\n?,1\nCO,0\n")
    report = check(tmp_path / "x.csv")
    assert report.graphs is not None
    assert report.problems == []
    assert [(problem.line, problem.field) for problem in report.left_out] == [(3, "smiles")]


# --------------------------------------------------------------------------------------------------------- command line


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_check_of_a_good_set(tmp_path: Path) -> None:
    small_set().save(tmp_path / "set")
    done = run("data", "check", str(tmp_path / "set"), "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer["problems"] == []
    assert answer["duplicates_across_classes"]["positions"] == [[0, 2]]


def test_check_of_a_broken_set(tmp_path: Path) -> None:
    folder = str(broken_tables(tmp_path))
    done = run("data", "check", folder, "--json")
    assert done.exit_code == 2
    problems = json.loads(done.stdout)["problems"]
    assert len(problems) == 6
    assert set(problems[0]) == {"file", "line", "graph", "field", "message", "problem"}
    done = run("data", "check", folder)
    assert done.exit_code == 2
    assert done.stderr.count("problem: ") == 6
    assert re.search(r"problems +6", done.stdout)


def test_check_writes_a_page(tmp_path: Path) -> None:
    graphs = replace(small_set(), classes=("<script>alert(1)</script>", "b"))
    graphs.save(tmp_path / "set")
    done = run("data", "check", str(tmp_path / "set"), "--out", str(tmp_path / "page"), "--json")
    assert done.exit_code == 0
    written = sorted(path.name for path in (tmp_path / "page").iterdir())
    assert written == ["check.html", "degrees.png", "duplicates.png", "sizes.png"]
    page = (tmp_path / "page" / "check.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 3
    assert "no function of the graph is right on more than 75.0 % of these graphs" in page


def test_the_page_of_a_set_that_cannot_be_read(tmp_path: Path) -> None:
    report = check(broken_tables(tmp_path))
    path = write_check_page(tmp_path / "page", "<b>", report, {})
    page = path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["check.html"]
    assert page.count("<tr>") == 7
    assert "<title>&lt;b&gt;</title>" in page


def test_convert_and_read_back(tmp_path: Path) -> None:
    small_set().save(tmp_path / "set")
    done = run("data", "convert", str(tmp_path / "set"), str(tmp_path / "x.jsonl"), "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert (answer["form"], answer["graphs"], answer["notes"]) == ("jsonl", 4, [])
    assert load(tmp_path / "x.jsonl").fingerprint == answer["fingerprint"] == small_set().fingerprint
    done = run("data", "convert", str(tmp_path / "x.jsonl"), str(tmp_path / "tu"), "--to", "tu", "--json")
    assert json.loads(done.stdout)["notes"][0].startswith("TU format has numbers only, so in graph_labels 0 = 'a'")


def test_convert_goes_by_the_name(tmp_path: Path) -> None:
    small_set().save(tmp_path / "set")
    done = run("data", "convert", str(tmp_path / "set"), str(tmp_path / "X.JSONL"), "--json")
    assert json.loads(done.stdout)["form"] == "jsonl"
    folder = tmp_path / "m"
    line = f"{folder}.csv: got the name of a file, expected that of a folder, such as {folder}, for graphset, tu, csv, "
    assert error_of("data", "convert", tmp_path / "set", f"{folder}.csv").startswith(line)


def test_convert_takes_the_names_of_columns(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    (tmp_path / "x.csv").write_text("num,text,active\n1,CC,1\n2,CO,0\n")
    options = ["--smiles", "text", "--labels", "active"]
    assert run("data", "convert", str(tmp_path / "x.csv"), str(tmp_path / "set"), *options).exit_code == 0
    assert load(tmp_path / "set").classes == ("0", "1")
