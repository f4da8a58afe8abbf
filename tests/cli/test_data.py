"""``sargnn data``."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from command import FAST, Command, WrongCalls, refuse_one_call
from sargnn.data.graphs import GraphSet

TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n2\n2\n3\n3\n",
    "graph_labels": "0\n1\n1\n",
    "node_attributes": "1\n2\n3\n4\n5\n6\n",
}
BAD_DATA: dict[str, tuple[dict[str, str | None], list[str]]] = {
    "a missing file": ({"graph_indicator": None}, ["graph_indicator"]),
    "a truncated file": ({"graph_indicator": "1\n1\n2\n"}, ["X_"]),
    "an edge to no node": ({"A": "1, 2\n2, 99\n"}, ["X_A.txt", "99"]),
    "an edge across graphs": ({"A": "1, 2\n2, 3\n"}, ["X_A.txt"]),
    "too few attributes": ({"node_attributes": "1\n2\n3\n"}, ["X_node_attributes.txt"]),
    "too few labels": ({"graph_labels": "0\n1\n"}, ["X_graph_labels.txt"]),
    "one class only": ({"graph_labels": "1\n1\n1\n"}, ["'1'"]),
    "not a number": ({"node_attributes": "1\nmany\n3\n4\n5\n6\n"}, ["X_node_attributes.txt", "many"]),
    "an infinite number": ({"node_attributes": "1\n2\n3\n4\ninf\n6\n"}, ["X_node_attributes.txt", "inf"]),
    "a graph without nodes": ({"graph_indicator": "1\n1\n1\n1\n3\n3\n"}, ["X_graph_indicator.txt"]),
    "no graphs": ({"A": "", "graph_indicator": "", "graph_labels": "", "node_attributes": ""}, ["X"]),
}


WRONG_CALLS: WrongCalls = {
    "no form of data": (
        ["data", "info", "file"],
        "file: got a file of no known form, expected *.csv, *.tsv, *.smi, *.sdf, *.parquet, *.graphml",
    ),
    "unknown kind": (
        ["data", "generate", "squares", "--out", "new"],
        "got kind 'squares', expected one of triangles, colors, motifs, ba-2motifs, spurious-motif, mutagenicity",
    ),
    "uneven classes": (
        ["data", "generate", "triangles", "--out", "new", "--train", 25],
        "train: got 25, expected a multiple of 10",
    ),
    "a size of another kind": (
        ["data", "generate", "triangles", "--out", "new", "--graphs", 25],
        "--graphs: got 25, expected none for triangles",
    ),
    "negative seed of data": (["data", "generate", "motifs", "--out", "new", "--seed", "-1"], "--seed"),
}


def test_data_list_info_and_check(sargnn: Command, data: Path, made: GraphSet) -> None:
    assert "TRIANGLES" in sargnn("data", "list", "--json").answer
    info = sargnn("data", "info", data, "--json").answer
    assert (info["graphs"], info["nodes"], info["edges"]) == (110, made.num_nodes, made.num_edges)
    assert info["classes"] == 10
    assert info["fingerprint"] == made.fingerprint
    assert info["true_saliency"] is True
    assert sum(info["graphs_per_class"]) == 110
    check = sargnn("data", "check", data, "--json").answer
    assert not check["problems"]
    assert check["graphs"] == 110


def test_twins_for_programs_and_for_people(sargnn: Command, data: Path, made: GraphSet) -> None:
    row = sargnn("data", "info", data, "--twins", "--json").answer
    assert (row["data"], row["fingerprint"], row["graphs"]) == (made.name, made.fingerprint, 110)
    (twins,) = row["twins"]
    assert (twins["respected"], twins["ceiling"], twins["by_colours"]) == ([], 1.0, 0)  # the class counts triangles
    assert 0 <= twins["test_with_twin"] <= 1
    assert row["command"].startswith("sargnn ")
    assert "have a twin, ceiling 100.0 %" in sargnn("data", "info", data, "--twins").out


def test_twins_of_a_set_too_small_for_folds(sargnn: Command) -> None:
    Path("X").mkdir()
    for kind, text in TU.items():
        Path("X", f"X_{kind}.txt").write_text(text)
    found = sargnn("data", "info", "X", "--twins", "--json").answer["twins"]
    assert [(one["respected"], one["with_twin"], one["test_with_twin"]) for one in found] == [
        ([], 1.0, None),
        (["node attributes"], 0.0, None),
    ]
    assert found[0]["ceiling"] == pytest.approx(2 / 3)


def test_generated_triangles_train_at_once(sargnn: Command) -> None:
    sizes = ["--train", 20, "--validation", 10, "--test", 10, "--test-large", 0]
    answer = sargnn("data", "generate", "triangles", "--out", "tri", *sizes, "--seed", 3, "--json").answer
    assert answer["graphs"] == 40
    assert sargnn("data", "info", "tri", "--json").answer["fingerprint"] == answer["fingerprint"]
    assert sargnn("train", "tri", "--out", "run", "--json", *FAST).answer["epochs"] == 3
    again = sargnn("data", "generate", "triangles", "--out", "again", *sizes, "--seed", 3, "--json").answer
    other = sargnn("data", "generate", "triangles", "--out", "other", *sizes, "--seed", 4, "--json").answer
    assert again["fingerprint"] == answer["fingerprint"] != other["fingerprint"]
    assert "--out: tri is not empty" in sargnn("data", "generate", "triangles", "--out", "tri", *sizes).error


def test_generated_motifs_train_at_once(sargnn: Command) -> None:
    answer = sargnn("data", "generate", "motifs", "--out", "motifs", "--graphs", 20, "--json").answer
    assert answer["graphs"] == 20
    trained = sargnn("train", "motifs", "--out", "run", "--json", *FAST).answer
    assert 0 <= trained["saliency_auc"] <= 1


@pytest.mark.parametrize(
    ("kind", "options", "name"),
    [
        ("colors", ["--train", 20, "--validation", 5, "--test", 5, "--test-large", 3], "COLORS-3"),
        ("spurious-motif", ["--bias", 0.5, "--train", 21, "--validation", 6, "--test", 6], "SPMotif-0.5"),
        ("ba-2motifs", ["--graphs", 33], "BA-2Motifs"),
    ],
)
def test_benchmarks_of_explanations_are_made_with_their_splits(
    kind: str, options: list[str | float], name: str, sargnn: Command
) -> None:
    answer = sargnn("data", "generate", kind, "--out", "made", *options, "--seed", 2, "--json").answer
    made = GraphSet.open("made")
    assert (made.name, made.fingerprint, len(made)) == (name, answer["fingerprint"], 33)
    assert made.true_saliency is not None
    assert made.part is not None


@pytest.mark.parametrize("fault", BAD_DATA)
def test_bad_data_gets_one_line_that_names_where(fault: str, sargnn: Command) -> None:
    texts, places = BAD_DATA[fault]
    Path("X").mkdir()
    for kind, text in (TU | texts).items():
        if text is not None:
            Path("X", f"X_{kind}.txt").write_text(text)
    error = sargnn("train", "X", "--out", "new", *FAST).error
    assert all(place in error for place in places), error
    checked = sargnn("data", "check", "X")
    assert checked.status == 2
    assert all(place in checked.err for place in places), checked.err
    assert [path.name for path in Path().iterdir()] == ["X"]


def test_a_zip_that_would_write_elsewhere(sargnn: Command) -> None:
    with zipfile.ZipFile("X.zip", "w") as archive:
        for kind, text in TU.items():
            archive.writestr(f"X/X_{kind}.txt", text)
        archive.writestr("../evil.txt", "evil")
    assert "X.zip" in sargnn("train", "X.zip", "--out", "new", *FAST).error
    assert [path.name for path in Path().iterdir()] == ["X.zip"]
    assert not Path("../evil.txt").exists()


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
