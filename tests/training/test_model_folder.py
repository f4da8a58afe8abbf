"""The saved model: exactly these files, read without running anything, and refused when one is not what it was."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.nn.model import SARConfig
from sargnn.systems import SYSTEMS
from sargnn.training import model_folder
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import TrainingRun, train
from sargnn.training.trained_model import TrainedModel
from tiny import FOLD, shapes, tensors, timeless, tiny

HISTORY = "history.csv"
CONFIG, WEIGHTS, TRAINING, CHECKPOINT = "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors"


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return shapes()


@pytest.fixture(scope="module")
def saved(graphs: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "run"
    train(graphs, tiny(), folder, fold=FOLD)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "run"))


def test_the_files_are_exactly_these(graphs: GraphSet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = TrainingRun.start(graphs, tiny(), folder, fold=FOLD)
    assert {path.name for path in folder.iterdir()} == {CONFIG, TRAINING}
    for _ in run:
        assert {path.name for path in folder.iterdir()} == {CONFIG, TRAINING, CHECKPOINT, WEIGHTS, HISTORY}
    run.finish()
    assert {path.name for path in folder.iterdir()} == {
        CONFIG, TRAINING, CHECKPOINT, WEIGHTS, HISTORY, "calibration.json", "report.html", "trust.safetensors",
    }  # fmt: skip


def test_a_loaded_model_is_the_one_that_was_saved(graphs: GraphSet, tmp_path: Path) -> None:
    run = train(graphs, tiny(), tmp_path / "run", fold=FOLD)
    loaded = load_model(str(tmp_path / "run"))
    assert loaded.settings == run.trained.settings
    assert loaded.classes == graphs.classes
    assert loaded.encoder == run.trained.encoder
    assert not loaded.model.training
    assert np.array_equal(loaded.predict(graphs).probabilities, run.trained.predict(graphs).probabilities)
    assert np.array_equal(loaded.predict(graphs).saliency, run.trained.predict(graphs).saliency)


@pytest.mark.parametrize("model", [name for name, system in SYSTEMS.items() if issubclass(system.config, SARConfig)])
def test_every_sargnn_comes_back(model: str, graphs: GraphSet, tmp_path: Path) -> None:
    run = train(graphs, tiny(model, training__epochs=1, model__norm="batch"), tmp_path / "run", fold=FOLD)
    loaded = load_model(tmp_path / "run")
    assert np.array_equal(loaded.predict(graphs).probabilities, run.trained.predict(graphs).probabilities)


@pytest.mark.parametrize(
    ("name", "values", "old_name", "retired"),
    [
        ("sar-gcn", {}, "sar-gcn", {"memory_block": "equation"}),
        ("as-published", {"model__memory_block": "equation", "model__norm": "transductive"}, "sar-gcn", {}),
        ("as-published", {}, "sar-gcn", {}),
    ],
)
def test_a_folder_of_earlier_days_is_read(
    name: str, values: dict[str, Any], old_name: str, retired: dict[str, str], graphs: GraphSet, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """When what belongs to the authors' code was a setting of every SAR model."""
    now = model_folder._config

    def then(trained: TrainedModel) -> dict[str, Any]:
        config = now(trained)
        settings = {**config["settings"], "name": old_name, "model": {**config["settings"]["model"], **retired}}
        return {**config, "settings": settings}

    with monkeypatch.context() as earlier:
        earlier.setattr(model_folder, "_config", then)
        run = train(graphs, tiny(name, **values), tmp_path / "run", fold=FOLD)
    loaded = load_model(tmp_path / "run")
    assert loaded.settings == run.trained.settings
    assert np.array_equal(loaded.predict(graphs).probabilities, run.trained.predict(graphs).probabilities)


def test_a_block_that_layers_share_is_saved_once_and_shared_again(graphs: GraphSet, tmp_path: Path) -> None:
    train(graphs, tiny("as-published", training__epochs=1), tmp_path / "run", fold=FOLD)
    names = [name for name in tensors(tmp_path / "run") if "shared.query" in name]
    assert names == ["memory_layers.0.shared.query.weight"]
    layers = load_model(tmp_path / "run").model.memory_layers
    assert len({id(layer.shared) for layer in layers}) == 1


def test_nothing_is_ever_unpickled(folder: Path, graphs: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was unpickled")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)
    load_model(folder).predict(graphs)
    train(graphs, tiny(training__epochs=4), folder, fold=FOLD, resume=True)


def test_no_file_is_a_pickle(folder: Path) -> None:
    for path in folder.iterdir():
        with pytest.raises((pickle.UnpicklingError, ValueError, EOFError, IndexError, KeyError, AttributeError)):
            pickle.loads(path.read_bytes())


NEW_PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from tiny import FOLD, shapes, tiny
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
assert not torch.cuda.is_available()
run = train(shapes(), tiny(), sys.argv[2], fold=FOLD)
prediction = load_model(sys.argv[1]).predict(shapes())
print(json.dumps([prediction.probabilities.tolist(), run.state.history]))
"""


def test_in_a_new_process_it_predicts_the_same_and_the_same_seed_gives_the_same_bits(
    saved: Path, graphs: GraphSet, tmp_path: Path
) -> None:
    arguments = [saved, tmp_path / "again", Path(__file__).parents[1]]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "123"}
    done = subprocess.run(
        [sys.executable, "-c", NEW_PROCESS, *map(str, arguments)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    probabilities, history = json.loads(done.stdout)
    assert np.array_equal(probabilities, load_model(saved).predict(graphs).probabilities)
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (saved / WEIGHTS).read_bytes()
    assert timeless(history) == timeless(read_training(saved)["history"])


# Faults


def edit(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def flip(path: Path, position: int) -> None:
    """Damage one byte, counted from the start or the end."""
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def foreign_tensors(path: Path) -> None:
    """The same tensors, from another program."""
    save_file(load_file(path), path)


def pickled(path: Path) -> None:
    torch.save({"weight": torch.zeros(2)}, path)


def other_run(file: str, **values: Any) -> Callable[[Path], None]:
    """The file of a run with other settings."""

    def put(folder: Path) -> None:
        train(shapes(), tiny(**values), folder.parent / "other", fold=FOLD)
        shutil.copy(folder.parent / "other" / file, folder / file)

    return put


FAULTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "no config": (CONFIG, lambda f: (f / CONFIG).unlink()),
    "no weights": (WEIGHTS, lambda f: (f / WEIGHTS).unlink()),
    "no record": (TRAINING, lambda f: (f / TRAINING).unlink()),
    "empty config": (CONFIG, lambda f: (f / CONFIG).write_text("")),
    "config of garbage": (CONFIG, lambda f: (f / CONFIG).write_bytes(os.urandom(64))),
    "config cut short": (CONFIG, lambda f: truncate(f / CONFIG)),
    "config that is a list": (CONFIG, lambda f: (f / CONFIG).write_text("[1, 2]")),
    "config too deep": (CONFIG, lambda f: (f / CONFIG).write_text("[" * 100_000)),
    "config of another program": (CONFIG, lambda f: (f / CONFIG).write_text('{"hidden_size": 768}')),
    "config of another version": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.update(format="sargnn.model/9"))),
    "config without settings": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.pop("settings"))),
    "config without an encoder": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.pop("encoder"))),
    "config without classes": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.pop("classes"))),
    "settings that are a list": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.update(settings=[]))),
    "settings of a number": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"].update(model=3))),
    "model without a name": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"].pop("name"))),
    "model of a strange name": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"].update(name=["x"]))),
    "unknown model": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"].update(name="sar-gnn"))),
    "unknown key": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"]["model"].update(hiden=8))),
    "value of no sense": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["settings"]["model"].update(layers=0))),
    "encoder of no sense": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c["encoder"].update(encodings=[{}]))),
    "classes of a number": (CONFIG, lambda f: edit(f / CONFIG, lambda c: c.update(classes=2))),
    "another width": (WEIGHTS, lambda f: edit(f / CONFIG, lambda c: c["settings"]["model"].update(hidden=16))),
    "another fusion": (WEIGHTS, lambda f: edit(f / CONFIG, lambda c: c["settings"]["model"].update(fusion="scaling"))),
    "another class name": (WEIGHTS, lambda f: edit(f / CONFIG, lambda c: c.update(classes=["ring", "star"]))),
    "another scaler": (WEIGHTS, lambda f: edit(f / CONFIG, lambda c: c["encoder"]["encodings"][0]["mean"].reverse())),
    "config of another run": (WEIGHTS, other_run(CONFIG, training__seed=1)),
    "weights of another run": (WEIGHTS, other_run(WEIGHTS, training__seed=1)),
    "weights of another shape": (WEIGHTS, other_run(WEIGHTS, model__hidden=16)),
    "weights of another program": (WEIGHTS, lambda f: foreign_tensors(f / WEIGHTS)),
    "empty weights": (WEIGHTS, lambda f: (f / WEIGHTS).write_bytes(b"")),
    "weights cut short": (WEIGHTS, lambda f: truncate(f / WEIGHTS)),
    "weights of garbage": (WEIGHTS, lambda f: (f / WEIGHTS).write_bytes(os.urandom(500))),
    "weights with a damaged length": (WEIGHTS, lambda f: flip(f / WEIGHTS, 7)),
    "weights with a damaged header": (WEIGHTS, lambda f: flip(f / WEIGHTS, 60)),
    "weights with one damaged bit": (WEIGHTS, lambda f: flip(f / WEIGHTS, -20)),
    "weights that are a pickle": (WEIGHTS, lambda f: pickled(f / WEIGHTS)),
    "weights that are a folder": (WEIGHTS, lambda f: ((f / WEIGHTS).unlink(), (f / WEIGHTS).mkdir())),
    "record of garbage": (TRAINING, lambda f: (f / TRAINING).write_text("{")),
    "record without a split": (TRAINING, lambda f: edit(f / TRAINING, lambda c: c.pop("split"))),
    "record without data": (TRAINING, lambda f: edit(f / TRAINING, lambda c: c.update(data=None))),
    "record of graphs that do not exist": (
        TRAINING, lambda f: edit(f / TRAINING, lambda c: c["split"].update(test=[99])),
    ),
    "record with scores of a number": (TRAINING, lambda f: edit(f / TRAINING, lambda c: c.update(scores={"test": 7}))),
    "record with baselines of a number": (
        TRAINING, lambda f: edit(f / TRAINING, lambda c: c["scores"]["test"].update(baselines={"largest class": 7})),
    ),
    "record with a history of numbers": (TRAINING, lambda f: edit(f / TRAINING, lambda c: c.update(history=[7]))),
    "record of text for graphs": (TRAINING, lambda f: edit(f / TRAINING, lambda c: c["split"].update(test=["1"]))),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gets_one_line_that_names_the_file(fault: str, folder: Path) -> None:
    file, spoil = FAULTS[fault]
    spoil(folder)
    with pytest.raises(InputError) as caught:
        load_model(folder)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{folder / file}: ")


def test_an_unknown_key_comes_with_the_nearest(folder: Path) -> None:
    edit(folder / CONFIG, lambda c: c["settings"]["model"].update(hiden=8))
    with pytest.raises(InputError, match=r"unknown setting 'model.hiden'; did you mean 'model.hidden'\?"):
        load_model(folder)


def test_wrong_tensors_and_shapes_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the config claims to be the right one."""
    monkeypatch.setattr("sargnn.training.model_folder._identity", lambda config: "any")
    train(shapes(), tiny(), folder.parent / "same", fold=FOLD)
    for change, message in (
        ({"hidden": 16}, r"got shape \[8, 2\] of 'backbone.0.*', expected \[16, 2\]"),
        ({"layers": 3}, "got no tensor 'backbone.2.*', expected one for this config.json"),
        ({"layers": 1}, "got a tensor 'backbone.1.*', expected none for this config.json"),
    ):
        spoiled = Path(shutil.copytree(folder.parent / "same", folder.parent / str(change)))
        edit(spoiled / CONFIG, lambda c, change=change: c["settings"]["model"].update(change))
        with pytest.raises(InputError, match=message):
            load_model(spoiled)


@pytest.mark.parametrize("missing", ["nowhere", CONFIG])
def test_a_path_that_is_no_model_folder(folder: Path, missing: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(folder / missing)
    assert len(str(caught.value).splitlines()) == 1


CHECKPOINT_FAULTS: dict[str, Callable[[Path], object]] = {
    "cut short": lambda f: truncate(f / CHECKPOINT),
    "one damaged bit": lambda f: flip(f / CHECKPOINT, -20),
    "empty": lambda f: (f / CHECKPOINT).write_bytes(b""),
    "of another run": other_run(CHECKPOINT, training__seed=1),
    "weights instead": lambda f: shutil.copy(f / WEIGHTS, f / CHECKPOINT),
    "of another program": lambda f: foreign_tensors(f / CHECKPOINT),
}


@pytest.mark.parametrize("fault", CHECKPOINT_FAULTS)
def test_a_damaged_checkpoint_is_not_gone_on_from(fault: str, folder: Path, graphs: GraphSet) -> None:
    CHECKPOINT_FAULTS[fault](folder)
    with pytest.raises(InputError) as caught:
        TrainingRun.start(graphs, tiny(), folder, fold=FOLD, resume=True)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{folder / CHECKPOINT}: ")
    load_model(folder)  # the model itself is still good


def test_a_file_that_does_not_belong_is_ignored(folder: Path, graphs: GraphSet) -> None:
    """Notes of a person, a report, a picture: nothing that is read."""
    (folder / "evil.pkl").write_bytes(pickle.dumps("evil"))
    (folder / "notes.txt").write_text("good run")
    assert len(load_model(folder).predict(graphs).probabilities) == 24
