"""The command line: one JSON object on standard output, one line for an error, commands that agree with each other."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
import torch

from disks import enlarge, files_of_at_most, full_disk, read_only
from sargnn import __version__, cli
from sargnn.commands import training
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import stratified_folds, write_splits
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.systems import SYSTEMS
from sargnn.training.model_folder import load_model
from tiny import shapes, tensors

FAST = ["--set", "model.layers=2", "--set", "model.hidden=8", "--set", "training.epochs=3"]
PLAIN = ["--model", "gcn", *FAST]
PAPER = ["--model", "sar-gcn", *FAST]
"""Without saliency there is no gallery to draw for the report, which takes longer than such training."""

RUN_FILES = {
    "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors", "history.csv", "calibration.json",
    "report.html",
}  # fmt: skip


@dataclass
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.status == 0, self.err
        assert len(self.out.splitlines()) == 1
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer

    @property
    def error(self) -> str:
        """The one line on standard error, of a command that says nothing else."""
        assert self.status == 2
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


class Command(Protocol):
    def __call__(self, *arguments: object) -> Done: ...


@pytest.fixture
def sargnn(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command in this process, inside an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["sargnn", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Done(int(caught.value.code or 0), *capfd.readouterr())

    return call


def process(*arguments: object, **variables: str) -> Done:
    """The installed command in a process of its own, with variables of the environment."""
    script = Path(sys.executable).parent / "sargnn"
    command = [script] if script.exists() else [sys.executable, "-c", "from sargnn.cli import main; main()"]
    environment = {**os.environ, **variables}
    done = subprocess.run([*map(str, [*command, *arguments])], capture_output=True, text=True, env=environment)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def made() -> GraphSet:
    return triangles(train=60, validation=20, test=20, test_large=10)


@pytest.fixture(scope="module")
def data(made: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "triangles"
    made.save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A run made by the installed command, and what it said."""
    run = tmp_path_factory.mktemp("run") / "run"
    return run, process("train", data, "--out", run, "--seed", 5, "--json", *PAPER)


@pytest.fixture(scope="module")
def run(trained: tuple[Path, Done]) -> Path:
    return trained[0]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# The commands as processes


def test_train_answers_with_one_json_object_and_plain_lines_beside_it(trained: tuple[Path, Done]) -> None:
    run, done = trained
    answer = done.answer
    assert {"run", "validation_accuracy", "test_accuracy", "epochs", "train_seconds", "report"} <= answer.keys()
    assert {"test_large_accuracy", "saliency_auc", "best_epoch", "model"} <= answer.keys()
    assert answer["run"] == str(run)
    assert answer["epochs"] == 3
    assert answer["model"] == "sar-gcn"
    assert 0 < answer["train_seconds"] < 60
    assert {path.name for path in run.iterdir()} == RUN_FILES
    lines = done.err.splitlines()
    assert lines[0].startswith("TRIANGLES has no node inputs: using one-hot degree, 0..")
    assert lines[1].startswith("epoch 1/3  train loss ")
    assert lines[-1].startswith("epoch 3/3  train loss ")
    assert "\x1b" not in done.err


def test_without_a_name_the_recommended_model_is_trained(sargnn: Command, data: Path) -> None:
    assert sargnn("train", data, "--out", "run", "--json", *FAST).answer["model"] == "sargnn-plus"
    assert sargnn("explain", "run", data, "--out", "why", "--json").answer["layers"] == 1


@pytest.mark.parametrize(("asked", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_one_thread_unless_more_are_asked_for(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], threads: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    done = process("train", data, "--out", tmp_path / "run", "--set", "training.epochs=1", **asked)
    assert done.status == 0, done.err
    hardware = json.loads((tmp_path / "run" / "training.json").read_text())["hardware"]
    assert hardware.endswith(f"cores, {threads} threads")


def test_a_run_is_evaluated_in_a_new_process(trained: tuple[Path, Done], data: Path) -> None:
    run, done = trained
    answer = process("evaluate", run, data, "--part", "test", "--json").answer
    assert answer["graphs"] == 20
    assert answer["accuracy"] == done.answer["test_accuracy"]
    assert answer["saliency_auc"] == done.answer["saliency_auc"]


def test_the_same_seed_gives_the_same_bits_in_another_process(
    trained: tuple[Path, Done], data: Path, sargnn: Command
) -> None:
    run, done = trained
    again = sargnn("train", data, "--out", "again", "--seed", 5, "--json", *PAPER).answer
    assert Path("again/weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()
    places = ("run", "report", "train_seconds")
    assert {k: v for k, v in again.items() if k not in places} == {
        k: v for k, v in done.answer.items() if k not in places
    }
    sargnn("train", data, "--out", "other", "--seed", 6, *PAPER)
    assert tensors(Path("other")) != tensors(run)


def test_a_name_that_the_terminal_cannot_show_does_not_cost_the_answer(tmp_path: Path) -> None:
    shapes(name="größe 図").save(tmp_path / "größe 図")
    done = process("data", "info", tmp_path / "größe 図", PYTHONIOENCODING="ascii")
    assert (done.status, done.err) == (0, "")
    assert r"gr\xf6\xdfe \u56f3" in done.out


def test_a_path_that_is_not_utf8_is_trained_on_and_written_down(tmp_path: Path) -> None:
    latin = os.fsdecode(os.fsencode(tmp_path) + "/gr\xf6\xdfe".encode("latin-1"))
    try:
        shapes().save(latin)
    except InputError:
        pytest.skip("this disk takes names in UTF-8 only")
    done = process("train", latin, "--out", tmp_path / "run", *PLAIN, PYTHONIOENCODING="utf-8:strict")
    assert done.status == 0, done.err
    assert r"gr\udcf6\udcdfe" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


# The commands agree


def test_predict_gives_the_accuracy_of_evaluate(sargnn: Command, run: Path, data: Path, made: GraphSet) -> None:
    assert made.y is not None
    answer = sargnn("predict", run, data, "--out", "predicted.csv", "--json").answer
    assert answer == {"graphs": 110, "file": "predicted.csv"}
    rows = rows_of(Path("predicted.csv"))
    assert list(rows[0]) == ["graph", "class", *(f"probability_{c}" for c in made.classes)]
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


def test_explain_agrees_with_predict_and_its_two_forms_with_each_other(
    sargnn: Command, run: Path, data: Path, made: GraphSet
) -> None:
    assert made.true_saliency is not None
    sargnn("predict", run, data, "--out", "predicted.csv")
    answer = sargnn("explain", run, data, "--out", "why", "--drawings", 3, "--json").answer
    assert answer == {"graphs": 110, "layers": 2, "drawings": 3, "folder": "why"}
    assert {path.name for path in Path("why").iterdir()} == {"saliency.csv", "saliency.json", "drawings"}
    assert sorted(path.name for path in Path("why/drawings").iterdir()) == [f"graph-{g}.png" for g in range(3)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("why/drawings").iterdir())

    rows = rows_of(Path("why/saliency.csv"))
    header = ["graph", "node", "layer", "saliency", "predicted", "probability", "true_saliency"]
    assert list(rows[0]) == header
    assert len(rows) == 2 * made.num_nodes
    by_graph = json.loads(Path("why/saliency.json").read_text())
    assert [item["graph"] for item in by_graph] == list(range(110))
    predicted = rows_of(Path("predicted.csv"))
    flat = iter(rows)
    for item, row in zip(by_graph, predicted, strict=True):
        assert item["predicted"] == row["class"]
        assert item["probability"] == max(float(v) for k, v in row.items() if k.startswith("probability_"))
        for layer, saliency in enumerate(item["saliency"]):
            assert sum(saliency) == pytest.approx(1, abs=1e-5)
            for node, value in enumerate(saliency):
                line = next(flat)
                assert (int(line["graph"]), int(line["node"]), int(line["layer"])) == (item["graph"], node, layer)
                assert float(line["saliency"]) == value
                assert line["predicted"] == item["predicted"]
                assert float(line["probability"]) == item["probability"]
                assert float(line["true_saliency"]) == item["true_saliency"][node]
    assert next(flat, None) is None
    assert [t for item in by_graph for t in item["true_saliency"]] == made.true_saliency.tolist()


def test_a_part_is_those_graphs_and_no_others(sargnn: Command, run: Path, data: Path) -> None:
    for part, graphs in (("validation", range(60, 80)), ("test-large", range(100, 110))):
        assert sargnn("evaluate", run, data, "--part", part, "--json").answer["graphs"] == len(graphs)
        sargnn("predict", run, data, "--part", part, "--out", "part.csv")
        assert [int(row["graph"]) for row in rows_of(Path("part.csv"))] == list(graphs)
    sargnn("explain", run, data, "--part", "test-large", "--out", "why", "--drawings", 0)
    assert {int(row["graph"]) for row in rows_of(Path("why/saliency.csv"))} == set(range(100, 110))
    assert not Path("why/drawings").exists()


def test_a_graph_named_twice_is_explained_once(sargnn: Command, run: Path, data: Path) -> None:
    answer = sargnn("explain", run, data, "--out", "why", "--graphs", "7,3,7", "--drawings", 0, "--json").answer
    assert answer["graphs"] == 2
    assert [item["graph"] for item in json.loads(Path("why/saliency.json").read_text())] == [7, 3]


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


def test_the_names_of_graphs_are_the_last_column(sargnn: Command, run: Path, made: GraphSet) -> None:
    few, names = made.subset([3, 1]), ["c1ccccc1", "a, b"]
    atoms = np.array([f"v{v}" for v in range(few.num_nodes)])
    replace(few, graph_names=tuple(names), node_names=atoms).save("new")
    sargnn("predict", run, "new", "--out", "predicted.csv")
    predicted = rows_of(Path("predicted.csv"))
    assert list(predicted[0])[-1] == "graph_name"
    assert [row["graph_name"] for row in predicted] == names
    sargnn("explain", run, "new", "--out", "why", "--drawings", 0)
    rows = rows_of(Path("why/saliency.csv"))
    assert list(rows[0])[-2:] == ["node_name", "graph_name"]
    assert all(row["graph_name"] == names[int(row["graph"])] for row in rows)
    assert [item["graph_name"] for item in json.loads(Path("why/saliency.json").read_text())] == names


def test_people_get_the_cells_of_a_table_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    cells = {f"model {m} / MUTAG": [0.9, 0.05] for m in range(7)}
    cli.answer({"cells": 7, "accuracy": cells}, as_json=False, title="table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == ["  cells     7", "  accuracy  ", "    model 0 / MUTAG 90.0%, 5.0%"]
    assert len(lines) == 3 + 7


def test_people_get_names_and_values(sargnn: Command, run: Path, data: Path) -> None:
    done = sargnn("evaluate", run, data)
    assert done.status == 0
    assert f"{run} on {data}" in done.out
    assert "accuracy" in done.out
    assert "%" in done.out
    assert "these graphs were trained on" in done.err
    assert "MUTAG" in sargnn("data", "list").out


# Training


def test_without_out_every_run_gets_a_new_folder_under_runs(sargnn: Command, data: Path) -> None:
    first = sargnn("train", data, "--json", *PLAIN).answer
    second = sargnn("train", data, "--json", *PLAIN).answer
    assert (first["run"], second["run"]) == ("runs/TRIANGLES-gcn", "runs/TRIANGLES-gcn-2")
    assert "saliency_auc" not in first


def test_the_name_of_a_set_does_not_lead_out_of_runs(sargnn: Command) -> None:
    shapes(name="../../evil set").save("data")
    answer = sargnn("train", "data", "--json", *PLAIN).answer
    assert answer["run"] == "runs/..-..-evil-set-gcn"
    assert {path.name for path in Path("runs").iterdir()} == {"..-..-evil-set-gcn"}


def test_a_folder_that_is_not_empty_is_never_trained_over(sargnn: Command, run: Path, data: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert "is not empty: add --resume" in sargnn("train", data, "--out", run, *FAST).error
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_resume_goes_on_with_more_epochs_and_refuses_anything_else(sargnn: Command, data: Path) -> None:
    sargnn("train", data, "--out", "run", *PLAIN)
    more = ["--set", "training.epochs=5"]
    answer = sargnn("train", data, "--out", "run", "--resume", "--json", *PLAIN, *more).answer
    whole = sargnn("train", data, "--out", "whole", "--json", *PLAIN, *more).answer
    assert answer["epochs"] == 5
    assert answer["test_accuracy"] == whole["test_accuracy"]
    assert tensors(Path("run")) == tensors(Path("whole"))
    refused = sargnn("train", data, "--out", "run", "--resume", "--seed", 9, *PLAIN, *more)
    assert refused.error == "run: got training.seed = 9, expected 0 as it was started with"
    assert "--resume: got no --out" in sargnn("train", data, "--resume", *PLAIN).error
    assert sargnn("train", data, "--out", "fresh", "--resume", "--json", *PLAIN).answer["epochs"] == 3


@pytest.mark.parametrize("form", ["toml", "json"])
def test_settings_from_a_file(sargnn: Command, data: Path, form: str) -> None:
    file = Path(f"settings.{form}")
    content = {"name": "sage", "model": {"layers": 1, "hidden": 4}, "training": {"epochs": 2}}
    toml = 'name = "sage"\n[model]\nlayers = 1\nhidden = 4\n[training]\nepochs = 2\n'
    file.write_text(toml if form == "toml" else json.dumps(content))
    answer = sargnn("train", data, "--out", "run", "--config", file, "--set", "model.hidden=6", "--json").answer
    assert (answer["model"], answer["epochs"]) == ("sage", 2)
    saved = load_model("run").settings
    assert (saved.model.layers, saved.model.hidden, saved.model.backbone) == (1, 6, "sage")


def test_a_split_file_and_one_of_its_folds(sargnn: Command, data: Path, made: GraphSet) -> None:
    assert made.y is not None
    folds = stratified_folds(made.y, folds=5)
    write_splits("splits.json", folds)
    sargnn("train", data, "--out", "run", "--split", "splits.json", "--fold", 2, *PLAIN)
    record = json.loads(Path("run/training.json").read_text())
    assert record["split"]["test"] == folds[2].test.tolist()
    assert sargnn("evaluate", "run", data, "--part", "test", "--json").answer["graphs"] == 22
    # A graph of the large test that was trained on is not part of it any more.
    assert "test-large" not in sargnn("evaluate", "run", data, "--json").answer["parts"]
    assert sargnn("train", data, "--split", "splits.json", "--fold", 5).error == (
        "--fold: got 5, expected 0..4, in splits.json"
    )
    assert "--fold: got 1 without --split" in sargnn("train", data, "--fold", 1).error
    assert "not a readable split file" in sargnn("train", data, "--split", "none.json").error


def test_a_split_must_train_on_two_classes_and_tells_which_it_lacks(
    sargnn: Command, made: GraphSet, data: Path
) -> None:
    assert made.y is not None
    ones, twos = (np.flatnonzero(made.y == y).tolist() for y in (0, 1))
    rest = np.flatnonzero(made.y > 1).tolist()

    def split(train: list[int]) -> None:
        entry = {"test": rest, "model_selection": [{"train": train, "validation": []}]}
        Path("splits.json").write_text(json.dumps([entry]))

    split(ones)
    assert sargnn("train", data, "--out", "run", "--split", "splits.json", *PLAIN).error == (
        "--split: got training graphs of '1' only, expected two or more classes"
    )
    split(ones + twos)
    assert "no training graph has the class '3', '4', " in sargnn(
        "train", data, "--out", "run", "--split", "splits.json", *PLAIN
    ).err  # fmt: skip


def test_a_split_without_validation_or_test_graphs_still_trains(sargnn: Command, made: GraphSet, data: Path) -> None:
    entry = {"test": [], "model_selection": [{"train": list(range(60)), "validation": []}]}
    Path("splits.json").write_text(json.dumps([entry]))
    bare = replace(made, part=None)
    bare.save("bare")
    answer = sargnn("train", "bare", "--out", "run", "--split", "splits.json", "--json", *FAST).answer
    told = sargnn("train", "bare", "--out", "again", "--split", "splits.json", *FAST).out
    assert told.count("not measured: there are no such graphs") == 2
    assert answer["test_accuracy"] is None
    assert answer["validation_accuracy"] is None
    assert 0 <= answer["train_accuracy"] <= 1
    assert Path("run/report.html").exists()
    assert sargnn("evaluate", "run", "bare", "--part", "test").error == (
        "--part: got 'test', expected one of all, train"
    )


def test_the_report_says_what_was_typed(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "sargnn train" in page
    assert "--seed 5" in page
    assert page.count("<svg") > 3


def test_divergence_is_one_line_and_status_1(sargnn: Command, data: Path) -> None:
    done = sargnn("train", data, "--out", "run", *FAST, "--set", "training.learning_rate=1e30")
    assert done.status == 1
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert "in epoch 1, batch " in last or "after epoch 1" in last
    assert "lower training.learning_rate" in last


def test_supervised_saliency_from_the_command_line(sargnn: Command, data: Path) -> None:
    supervised = ["--set", "training.saliency_weight=2", "--set", "training.saliency_layers=1"]
    assert sargnn("train", data, "--out", "run", "--json", *PAPER, *supervised).answer["epochs"] == 3
    shapes().save("plain")
    assert "got data without true saliency" in sargnn("train", "plain", "--out", "no", *PAPER, *supervised).error
    assert not Path("no").exists()


def test_mutag_from_the_mirror(sargnn: Command, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", "cache")
    trained = sargnn("train", "MUTAG", "--model", "sar-sage", "--out", "run", "--json", *FAST).answer
    tested = sargnn("evaluate", "run", "MUTAG", "--part", "test", "--json").answer
    assert tested["accuracy"] == trained["test_accuracy"]
    assert sargnn("explain", "run", "MUTAG", "--part", "test", "--out", "why", "--drawings", 1, "--json").status == 0
    info = sargnn("data", "info", "MUTAG", "--json").answer
    assert (info["graphs"], info["nodes"], info["edges"], info["classes"]) == (188, 3371, 7442, 2)
    other = sargnn("predict", "run", "ENZYMES", "--out", "other.csv")
    assert other.status == 0
    assert "ENZYMES has classes that the model was not trained on: 2, 3, 4, 5, 6" in other.err
    assert len(Path("other.csv").read_text().splitlines()) == 1 + 600


# Data


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


def test_quickstart_in_small(sargnn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "QUICKSTART_SIZES", (40, 10, 20, 0))
    small = {**training.QUICKSTART_SETTINGS, "training.epochs": 2, "model.hidden": 8}
    monkeypatch.setattr(training, "QUICKSTART_SETTINGS", small)
    done = sargnn("quickstart", "--json")
    answer = done.answer
    assert {"test_accuracy", "saliency_auc", "train_seconds", "report"} <= answer.keys()
    assert answer["run"] == "runs/quickstart"
    assert Path(answer["report"]).read_text().startswith("<!")
    assert "generating triangle graphs" in done.err
    assert sargnn("quickstart", "--out", "runs/quickstart").status == 2
    people = sargnn("quickstart", "--seed", 1)
    assert "test accuracy" in people.out
    assert "runs/quickstart-2/report.html" in people.out


# Bad input: one line, status 2, nothing half-written


WRONG_CALLS: dict[str, tuple[list[object], str]] = {
    "no such set": (["train", "nowhere/at/all", "--out", "new"], "got 'nowhere/at/all', expected a file or folder"),
    "empty folder": (["train", "empty", "--out", "new"], "empty"),
    "unknown key": (
        ["train", "DATA", "--out", "new", "--set", "training.epoch=3"],
        "unknown setting 'training.epoch'; did you mean 'training.epochs'?",
    ),
    "no value": (["train", "DATA", "--out", "new", "--set", "training.epochs"], "expected key=value"),
    "wrong value": (["train", "DATA", "--out", "new", "--set", "model.layers=many"], "expected a whole number"),
    "two lines": (["train", "DATA", "--out", "new", "--model", "sar\ngcn"], "--model: got 'sar gcn'"),
    "letters swapped": (["train", "DATA", "--out", "new", "--model", "sar-gnc"], "did you mean 'sar-gcn'?"),
    "unknown model": (["train", "DATA", "--out", "new", "--model", "sar-gcnn"], "did you mean 'sar-gcn'?"),
    "no config file": (["train", "DATA", "--out", "new", "--config", "none.toml"], "--config: cannot read none.toml"),
    "negative seed": (["train", "DATA", "--out", "new", "--seed", "-1"], "--seed"),
    "huge seed": (["train", "DATA", "--out", "new", "--seed", 2**70], "training.seed: got"),
    "no such device": (["train", "DATA", "--out", "new", "--device", "tpu"], "--device: got 'tpu', expected cpu"),
    "out is a file": (["train", "DATA", "--out", "file"], "file: not a usable folder (Not a directory)"),
    "no run": (["evaluate", "new", "DATA"], "config.json: no such file, expected a model folder"),
    "run is a file": (["evaluate", "file", "DATA"], "file/config.json"),
    "unknown part": (
        ["evaluate", "RUN", "DATA", "--part", "tset"],
        "--part: got 'tset', expected one of all, train, validation, test, test-large",
    ),
    "part of other graphs": (
        ["predict", "RUN", "shapes", "--out", "new", "--part", "test"],
        "--part: got 'test', expected all: shapes is not the set that",
    ),
    "other classes in evaluate": (
        ["evaluate", "RUN", "shapes"],
        "got class 'ring' in graph 0 of shapes, expected one of those trained on: 1, 2,",
    ),
    "no such set to predict": (["predict", "RUN", "nowhere/x", "--out", "new"], "got 'nowhere/x'"),
    "no form of data": (["data", "info", "file"], "file: got a file of no known form, expected *.csv, *.graphml"),
    "out under a file": (
        ["predict", "RUN", "DATA", "--out", "file/p.csv"],
        "file/p.csv: cannot write (Not a directory)",
    ),
    "rows under a file": (
        ["explain-compare", "DATA", "--out", "file/rows.jsonl"],
        "file/rows.jsonl: cannot write (Not a directory)",
    ),
    "bench under a file": (["bench", "--out", "file/rows.jsonl"], "file/rows.jsonl: cannot write (Not a directory)"),
    "out is a folder": (["predict", "RUN", "DATA", "--out", "empty"], "empty: cannot write (Is a directory)"),
    "negative drawings": (["explain", "RUN", "DATA", "--out", "new", "--drawings", "-1"], "--drawings"),
    "unknown kind": (
        ["data", "generate", "squares", "--out", "new"],
        "got kind 'squares', expected triangles or motifs",
    ),
    "uneven classes": (
        ["data", "generate", "triangles", "--out", "new", "--train", 25],
        "train: got 25, expected a multiple of 10",
    ),
    "negative seed of data": (["data", "generate", "motifs", "--out", "new", "--seed", "-1"], "--seed"),
    "no command": (["trian", "DATA"], "No such command 'trian'"),
    "no argument": (["train"], "Missing argument 'DATA'"),
    "no such option": (["train", "DATA", "--epochs", 3], "No such option"),
    "option without a value": (["train", "DATA", "--out"], "--out"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    Path("empty").mkdir()
    Path("file").write_text("x")
    shapes().save("shapes")
    arguments, message = WRONG_CALLS[name]
    there = {"RUN": run, "DATA": data}
    assert message in sargnn(*(there.get(a, a) if isinstance(a, str) else a for a in arguments)).error
    assert sorted(path.name for path in Path().iterdir()) == ["empty", "file", "shapes"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(sargnn: Command, data: Path) -> None:
    for device in ("cuda", "cuda:1"):
        expected = f"--device: got '{device}', but this machine has 0 CUDA devices; use cpu"
        assert sargnn("train", data, "--out", "new", "--device", device).error == expected
    assert sargnn("train", data, "--out", "new", "--device", "auto", *PLAIN).status == 0


def test_no_arguments_are_answered_with_help(sargnn: Command) -> None:
    done = sargnn()
    assert "Commands" in done.out
    assert done.err == ""
    assert sargnn("--help").status == 0
    assert sargnn("train", "--help").status == 0


def test_a_model_without_saliency_explains_nothing(sargnn: Command, data: Path) -> None:
    sargnn("train", data, "--out", "run", "--model", "gin", *FAST)
    expected = "run: model 'gin' has no saliency, expected one that has, such as sar-gcn"
    assert sargnn("explain", "run", data, "--out", "why").error == expected
    assert not Path("why").exists()


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


@pytest.mark.parametrize("file", ["config.json", "weights.safetensors", "training.json"])
@pytest.mark.parametrize("fault", ["missing", "cut short", "foreign"])
def test_a_spoiled_model_folder(file: str, fault: str, sargnn: Command, run: Path, data: Path) -> None:
    path = Path(shutil.copytree(run, "spoiled")) / file
    content = path.read_bytes()
    path.unlink()
    if fault != "missing":
        path.write_bytes(content[: len(content) // 2] if fault == "cut short" else b'{"model_type": "llama"}')
    for command in (["evaluate"], ["predict", "--out", "new"], ["explain", "--out", "new"]):
        assert sargnn(command[0], "spoiled", data, *command[1:]).error.startswith(f"spoiled/{file}: ")
    assert not Path("new").exists()


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
    "not a number": ({"node_attributes": "1\nnan\n3\n4\n5\n6\n"}, ["X_node_attributes.txt", "nan"]),
    "an infinite number": ({"node_attributes": "1\n2\n3\n4\ninf\n6\n"}, ["X_node_attributes.txt", "inf"]),
    "a graph without nodes": ({"graph_indicator": "1\n1\n1\n1\n3\n3\n"}, ["X_graph_indicator.txt"]),
    "no graphs": ({"A": "", "graph_indicator": "", "graph_labels": "", "node_attributes": ""}, ["X"]),
}


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


# A full disk


def test_a_full_disk_while_saving_leaves_what_was_saved_before(sargnn: Command, data: Path) -> None:
    wide = [*PLAIN, "--set", "model.hidden=64"]
    whole = sargnn("train", data, "--out", "whole", "--json", *wide).answer
    pages = {name: -(-Path("whole", name).stat().st_size // 4096) for name in RUN_FILES - {"report.html"}}
    # Room for all files once, but not for a second checkpoint beside the first.
    with full_disk(Path("disk"), pages=sum(pages.values()) + pages["checkpoint.safetensors"] // 2) as disk:
        run = disk / "run"
        done = sargnn("train", data, "--out", run, *wide)
        assert done.status == 2
        assert done.out == ""
        assert done.err.splitlines()[-1].startswith(f"error: {run / 'checkpoint.safetensors'}: cannot write (No space")
        assert {path.name for path in run.iterdir()} == RUN_FILES - {"report.html", "calibration.json"}
        load_model(run)
        enlarge(disk)
        resumed = sargnn("train", data, "--out", run, "--resume", "--json", *wide).answer
        assert resumed["test_accuracy"] == whole["test_accuracy"]
        assert tensors(run) == tensors(Path("whole"))


def test_a_file_that_cannot_be_written_whole_leaves_the_one_before(sargnn: Command, data: Path) -> None:
    wide, more = [*PLAIN, "--set", "model.hidden=64"], ["--set", "training.epochs=5"]
    sargnn("train", data, "--out", "run", *wide)
    files = ("weights.safetensors", "checkpoint.safetensors", "report.html")
    before = {name: Path("run", name).read_bytes() for name in files}
    with files_of_at_most(20_000):
        done = sargnn("train", data, "--out", "run", "--resume", *wide, *more)
    assert done.status == 2
    assert done.err.splitlines()[-1] == "error: run/checkpoint.safetensors: cannot write (File too large)"
    assert {name: Path("run", name).read_bytes() for name in files} == before
    assert {path.name for path in Path("run").iterdir()} == RUN_FILES
    assert sargnn("train", data, "--out", "run", "--resume", "--json", *wide, *more).answer["epochs"] == 5


def test_a_full_disk_for_every_other_command(sargnn: Command, run: Path, data: Path) -> None:
    with full_disk(Path("disk"), pages=1) as disk:
        written: list[list[object]] = [
            ["predict", run, data, "--out", disk / "predicted.csv"],
            ["explain", run, data, "--out", disk / "why"],
            ["data", "generate", "motifs", "--graphs", 20, "--out", disk / "motifs"],
            ["train", data, "--out", disk / "run", *FAST],
        ]
        for command in written:
            done = sargnn(*command)
            assert done.status == 2
            assert "cannot write (No space left on device)" in done.err.splitlines()[-1]
            assert not [path for path in disk.rglob("*") if path.is_file() and path.stat().st_size == 0]
            assert not list(disk.rglob(".*"))
            for path in disk.iterdir():
                shutil.rmtree(path)


def test_a_folder_that_cannot_be_written(sargnn: Command, run: Path, data: Path) -> None:
    with read_only(Path("disk")) as disk:
        commands_of: list[list[object]] = [
            ["train", data, "--out", disk / "run", *FAST],
            ["predict", run, data, "--out", disk / "predicted.csv"],
            ["explain", run, data, "--out", disk / "why"],
            ["data", "generate", "motifs", "--graphs", 2, "--out", disk / "motifs"],
        ]
        for command in commands_of:
            assert "cannot write" in sargnn(*command).error
        assert list(disk.iterdir()) == []


def test_the_version(sargnn: Command) -> None:
    assert sargnn("--version").out.strip() == __version__


def test_the_package_is_a_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "sargnn", "train"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: Missing argument 'DATA'. (python -m sargnn train --help)"


def test_help_names_every_model(sargnn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    words = sargnn("train", "--help").out.replace(",", " ").replace(";", " ").replace(".", " ").split()
    assert set(SYSTEMS) <= set(words)
