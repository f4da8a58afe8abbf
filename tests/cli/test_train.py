"""``sargnn train``: what it leaves behind, and what it refuses."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from command import FAST, PAPER, PLAIN, RUN_FILES, Command, Done, WrongCalls, process, refuse_one_call
from disks import enlarge, files_of_at_most, full_disk
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import stratified_folds, write_splits
from sargnn.errors import InputError
from sargnn.training.model_folder import load_model
from tiny import shapes, tensors

WRONG_CALLS: WrongCalls = {
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
    "no argument": (["train"], "Missing argument 'DATA'"),
    "no such option": (["train", "DATA", "--epochs", 3], "No such option"),
    "option without a value": (["train", "DATA", "--out"], "--out"),
}


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
    assert lines[1].startswith("2 of 20 test graphs equal a training or validation graph")
    assert lines[2].startswith("epoch 1/3  loss ")
    assert lines[-1].startswith("epoch 3/3  loss ")
    assert "\x1b" not in done.err


def test_without_a_name_the_recommended_model_is_trained(sargnn: Command, data: Path) -> None:
    assert sargnn("train", data, "--out", "run", "--json", *FAST).answer["model"] == "sargnn-plus"
    assert sargnn("explain", "run", data, "--out", "why", "--json").answer["layers"] == 1


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


def test_a_path_that_is_not_utf8_is_trained_on_and_written_down(tmp_path: Path) -> None:
    latin = os.fsdecode(os.fsencode(tmp_path) + "/gr\xf6\xdfe".encode("latin-1"))
    try:
        shapes().save(latin)
    except InputError:
        pytest.skip("this disk takes names in UTF-8 only")
    done = process("train", latin, "--out", tmp_path / "run", *PLAIN, PYTHONIOENCODING="utf-8:strict")
    assert done.status == 0, done.err
    assert r"gr\udcf6\udcdfe" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


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


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(sargnn: Command, data: Path) -> None:
    for device in ("cuda", "cuda:1"):
        expected = f"--device: got '{device}', but this machine has 0 CUDA devices; use cpu"
        assert sargnn("train", data, "--out", "new", "--device", device).error == expected
    assert sargnn("train", data, "--out", "new", "--device", "auto", *PLAIN).status == 0


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
        assert {path.name for path in run.iterdir()} == RUN_FILES - {
            "report.html",
            "calibration.json",
            "trust.safetensors",
        }
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


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
