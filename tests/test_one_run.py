"""One pipeline: `sargnn.train`, `sargnn train` and `GraphClassifier` leave the same folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sargnn
from command import answer_of
from sargnn import GraphClassifier, Settings
from sargnn.data.graphs import GraphSet
from tiny import shapes, tensors, timeless

VALUES = {"model.hidden": 8, "training.epochs": 3}
SETS = [part for key, value in VALUES.items() for part in ("--set", f"{key}={value}")]
RUN = {
    "config.json", "weights.safetensors", "training.json", "history.csv", "calibration.json", "report.html",
    "trust.safetensors",
}  # fmt: skip


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return shapes(count=60)


@pytest.fixture(scope="module")
def folders(graphs: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same graphs trained on in three ways."""
    folder = tmp_path_factory.mktemp("runs")
    graphs.save(folder / "graphs")
    sargnn.train(graphs, Settings.of("sar-gcn", VALUES), folder / "library")
    answer_of("train", folder / "graphs", "--model", "sar-gcn", "--out", folder / "command", *SETS)
    classifier = GraphClassifier("sar-gcn", hidden=8, epochs=3, random_state=0).fit(graphs)
    classifier.save(folder / "classifier")
    return {name: folder / name for name in ("graphs", "library", "command", "classifier")}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_folders_hold_the_same_files(folders: dict[str, Path]) -> None:
    assert names(folders["library"]) == names(folders["command"]) == RUN | {"checkpoint.safetensors"}
    assert names(folders["classifier"]) == RUN | {"estimator.json"}


def test_library_and_command_give_the_same_bits(folders: dict[str, Path]) -> None:
    library, command = folders["library"], folders["command"]
    assert tensors(library) == tensors(command)
    for file in ("config.json", "calibration.json", "trust.safetensors"):
        assert (library / file).read_bytes() == (command / file).read_bytes()
    ours, theirs = (json.loads((folder / "training.json").read_text()) for folder in (library, command))
    assert timeless(ours["history"]) == timeless(theirs["history"])
    assert {key: ours[key] for key in ("scores", "split", "seed", "best_epoch")} == {
        key: theirs[key] for key in ("scores", "split", "seed", "best_epoch")
    }


@pytest.mark.parametrize("way", ["library", "command", "classifier"])
def test_every_folder_serves_every_command(folders: dict[str, Path], tmp_path: Path, way: str) -> None:
    run, graphs = folders[way], folders["graphs"]
    answer = answer_of("predict", run, graphs, "--out", tmp_path / "p.csv", "--coverage", 0.8, "--calibrated")
    assert answer["mean_set_size"] >= 1
    assert answer_of("evaluate", run, graphs)["graphs"] == 60
    assert answer_of("explain", run, graphs, "--out", tmp_path / "e", "--drawings", 0)["layers"] == 3
    assert "<h1>" in (run / "report.html").read_text()


def test_a_loaded_classifier_is_saved_again_whole(folders: dict[str, Path], tmp_path: Path) -> None:
    GraphClassifier.load(folders["classifier"]).save(tmp_path / "again")
    assert names(tmp_path / "again") == names(folders["classifier"])
    for file in ("weights.safetensors", "calibration.json", "report.html", "history.csv", "trust.safetensors"):
        assert (tmp_path / "again" / file).read_bytes() == (folders["classifier"] / file).read_bytes()
