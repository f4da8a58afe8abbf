"""``sargnn predict``, which agrees with ``evaluate`` and ``explain``."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command import FAST, Command, WrongCalls, refuse_one_call, rows_of
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.files import write_csv
from sargnn.training.model_folder import load_model
from sargnn.training.trained_model import TrainedModel
from sargnn.training.trust import load_trust
from tiny import shapes

WRONG_CALLS: WrongCalls = {
    "part of other graphs": (
        ["predict", "RUN", "shapes", "--out", "new", "--part", "test"],
        "--part: got 'test', expected all: shapes is not the set that",
    ),
    "no such set to predict": (["predict", "RUN", "nowhere/x", "--out", "new"], "got 'nowhere/x'"),
    "out under a file": (
        ["predict", "RUN", "DATA", "--out", "file/p.csv"],
        "file/p.csv: cannot write (Not a directory)",
    ),
    "out twice on standard output": (
        ["predict", "RUN", "DATA", "--out", "-", "--json"],
        "--out: got - beside --json, expected one of the two on standard output",
    ),
    "nothing to keep": (
        ["predict", "RUN", "DATA", "--out", "new", "--keep", "id"],
        "--keep: got no column 'id', expected none: the input has no columns",
    ),
    "out is a spreadsheet": (
        ["predict", "RUN", "DATA", "--out", "new.xlsx"],
        "new.xlsx: got a name that ends in '.xlsx', expected one of .csv, .parquet, .jsonl, .ndjson",
    ),
    "out is a folder": (["predict", "RUN", "DATA", "--out", "empty"], "empty: cannot write (Is a directory)"),
}


def test_predict_gives_the_accuracy_of_evaluate(sargnn: Command, run: Path, data: Path, made: GraphSet) -> None:
    assert made.y is not None
    answer = sargnn("predict", run, data, "--out", "predicted.csv", "--json").answer
    assert answer == {"graphs": 110, "file": "predicted.csv"}
    rows = rows_of(Path("predicted.csv"))
    assert list(rows[0]) == ["graph", "class", *(f"probability_{c}" for c in made.classes), "status", "reason"]
    assert [int(row["graph"]) for row in rows] == list(range(110))
    probabilities = np.array([[float(row[f"probability_{c}"]) for c in made.classes] for row in rows])
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(110))
    assert [row["class"] for row in rows] == [made.classes[i] for i in probabilities.argmax(axis=1)]
    right = np.array([row["class"] == made.classes[y] for row, y in zip(rows, made.y, strict=True)])
    whole = sargnn("evaluate", run, data, "--json").answer
    assert whole["graphs"] == 110
    assert whole["accuracy"] == right.mean()
    assert whole["parts"] == {
        "train": right[:60].mean(), "validation": right[60:80].mean(),
        "test": right[80:100].mean(), "test-large": right[100:].mean(),
    }  # fmt: skip
    assert np.array_equal(probabilities, load_model(run).predict(made).probabilities)


def test_a_column_that_is_not_there_is_refused_before_the_work(
    sargnn: Command, run: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainedModel, "predict", lambda *_: pytest.fail("it has predicted"))
    assert "--keep: got no column 'nmae'" in sargnn("predict", run, data, "--out", "x.csv", "--keep", "nmae").error


def test_trust_says_how_near_the_training_graphs_are(sargnn: Command, run: Path, data: Path) -> None:
    sargnn("predict", run, data, "--out", "trusted.csv", "--trust")
    rows = rows_of(Path("trusted.csv"))
    nearest = [f"{what}_{k}" for k in (1, 2, 3) for what in ("nearest", "distance")]
    assert list(rows[0])[-10:-2] == [*nearest, "distance_percentile", "unseen_categories"]
    trained, new = rows[:60], rows[60:]
    assert all(float(row["distance_1"]) < 1e-3 for row in trained)  # they are among the training graphs
    assert {float(row["distance_percentile"]) for row in new} > {0.0}
    assert {int(row["nearest_1"]) for row in new} <= set(range(60))
    expected = load_trust(run, load_model(run)).trust(load(data, labelled=False))
    np.testing.assert_allclose([float(row["distance_percentile"]) for row in rows], expected.percentile)


def test_folders_without_what_trust_needs_say_so(sargnn: Command, run: Path, data: Path) -> None:
    shutil.copytree(run, "old")
    Path("old/trust.safetensors").unlink()
    error = sargnn("predict", "old", data, "--out", "trusted.csv", "--trust").error
    assert error.startswith(
        "old/trust.safetensors: no such file, which earlier versions did not write; train again, or"
    )
    sargnn("predict", "old", data, "--out", "predicted.csv")


def test_a_part_is_those_graphs_and_no_others(sargnn: Command, run: Path, data: Path) -> None:
    for part, graphs in (("validation", range(60, 80)), ("test-large", range(100, 110))):
        assert sargnn("evaluate", run, data, "--part", part, "--json").answer["graphs"] == len(graphs)
        sargnn("predict", run, data, "--part", part, "--out", "part.csv")
        assert [int(row["graph"]) for row in rows_of(Path("part.csv"))] == list(graphs)
    sargnn("explain", run, data, "--part", "test-large", "--out", "why", "--drawings", 0)
    assert {int(row["graph"]) for row in rows_of(Path("why/saliency.csv"))} == set(range(100, 110))
    assert not Path("why/drawings").exists()


def test_graphs_without_classes_or_truth_are_predicted_and_explained_but_not_evaluated(
    sargnn: Command, run: Path, made: GraphSet
) -> None:
    replace(made.subset([3, 1]), y=None, classes=(), true_saliency=None, part=None).save("new")
    assert sargnn("predict", run, "new", "--out", "predicted.csv", "--json").answer["graphs"] == 2
    assert sargnn("explain", run, "new", "--out", "why", "--json").answer["drawings"] == 2
    assert "true_saliency" not in rows_of(Path("why/saliency.csv"))[0]
    assert "true_saliency" not in json.loads(Path("why/saliency.json").read_text())[0]
    assert "got no classes, expected one for each graph" in sargnn("evaluate", run, "new").error


def test_classes_that_are_not_the_models_are_no_matter_where_nothing_is_compared_with_them(
    sargnn: Command, run: Path, made: GraphSet
) -> None:
    few = made.subset([3, 1])
    replace(few, y=None, classes=()).save("bare")
    replace(few, y=np.zeros(2, np.int64), classes=("?",)).save("new")
    assert "got class '?' in graph 0" in sargnn("evaluate", run, "new").error
    assert "got class '?' in graph 0" in sargnn("calibrate", run, "new").error
    for data in ("bare", "new"):
        assert sargnn("predict", run, data, "--out", f"{data}.csv", "--json").answer["graphs"] == 2
        assert sargnn("explain", run, data, "--out", f"{data}-why", "--json").answer["drawings"] == 2
    assert rows_of(Path("bare.csv")) == rows_of(Path("new.csv"))
    assert rows_of(Path("bare-why/saliency.csv")) == rows_of(Path("new-why/saliency.csv"))


def test_the_names_of_graphs_are_a_column(sargnn: Command, run: Path, made: GraphSet) -> None:
    few, names = made.subset([3, 1]), ["c1ccccc1", "a, b"]
    atoms = np.array([f"v{v}" for v in range(few.num_nodes)])
    replace(few, graph_names=tuple(names), node_names=atoms).save("new")
    sargnn("predict", run, "new", "--out", "predicted.csv")
    predicted = rows_of(Path("predicted.csv"))
    assert list(predicted[0])[-3:] == ["graph_name", "status", "reason"]
    assert [row["graph_name"] for row in predicted] == names
    sargnn("explain", run, "new", "--out", "why", "--drawings", 0)
    rows = rows_of(Path("why/saliency.csv"))
    assert list(rows[0])[-2:] == ["node_name", "graph_name"]
    assert all(row["graph_name"] == names[int(row["graph"])] for row in rows)
    assert [item["graph_name"] for item in json.loads(Path("why/saliency.json").read_text())] == names


def test_other_features_at_prediction(sargnn: Command) -> None:
    graphs = shapes()
    assert graphs.node_attributes is not None
    graphs.save("two")
    replace(graphs, node_attributes=graphs.node_attributes[:, :1]).save("one")
    replace(graphs, node_attributes=None).save("none")
    sargnn("train", "two", "--out", "run", *FAST)
    for command in (["evaluate"], ["predict", "--out", "new"], ["explain", "--out", "new"]):
        assert "got 1 node attributes, expected 2, in shapes" in sargnn(command[0], "run", "one", *command[1:]).error
        assert "in shapes" in sargnn(command[0], "run", "none", *command[1:]).error
    assert not Path("new").exists()


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})


GENERATED = [f"{'C' * (1 + g % 7)}{'O' if g % 2 else 'N'}" for g in range(60)]


@pytest.mark.parametrize("name", ["generated", "BBBP", "tox21"])
def test_rows_out_are_rows_in_joined_back_by_id(name: str, sargnn: Command, request: pytest.FixtureRequest) -> None:
    """Twenty broken rows, ids and a column of text between good molecules: nothing is lost, nothing moves."""
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    labels = {"generated": ["odd"], "BBBP": ["p_np"], "tox21": ["NR-AR", "NR-AhR"]}[name]
    table = [{"smiles": text, "odd": str(g % 2)} for g, text in enumerate(GENERATED)]
    if name != "generated":
        path = request.getfixturevalue("mirror") / "moleculenet" / f"{name}.csv"
        if not path.exists():
            pytest.skip(f"{path} is not there")
        table = rows_of(path)[:120]
    rows = [{"key": f"M{g}", **{column: row[column] for column in ("smiles", *labels)}} for g, row in enumerate(table)]
    for broken in range(20):
        rows.insert(broken * 3, {"key": f"B{broken}", "smiles": f"C(C{broken}", **dict.fromkeys(labels, "1")})
    rows = [{**row, "remark": f'said "{row["key"]}", twice'} for row in rows]
    write_csv(Path("in.csv"), list(rows[0]), [list(row.values()) for row in rows])
    options = [word for label in labels for word in ("--labels", label)]
    sargnn("train", "in.csv", "--id", "key", *options, "--out", "run", *FAST)
    sargnn("predict", "run", "in.csv", "--out", "out.csv")
    found = rows_of(Path("out.csv"))
    assert [row["key"] for row in found] == [row["key"] for row in rows]
    assert [row["remark"] for row in found] == [row["remark"] for row in rows]
    assert [row["graph_name"] for row in found] == [row["key"] for row in rows]
    for row in found:
        probability = next(value for column, value in row.items() if column.startswith("probability"))
        assert (row["status"] == "predicted") == bool(probability) == bool(row["graph"]) or "labels" in row["reason"]
        assert bool(row["reason"]) == (row["status"] == "left out")
        assert not row["key"].startswith("B") or "(not SMILES), expected a molecule in SMILES" in row["reason"]
    assert sum(row["status"] == "predicted" for row in found) >= len(table) - 3
