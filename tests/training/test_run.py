"""A run from graphs to a scored model in a folder: stopped anywhere and gone on with, it ends the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from torch import Tensor

from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold, holdout
from sargnn.data.synthetic import triangles
from sargnn.errors import Diverged, InputError
from sargnn.training import loop
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import TrainingRun, parts_of, train
from sargnn.training.settings import Settings
from tiny import DEMANDING, FOLD, shapes, tensors, timeless, tiny

FILES = {"config.json", "weights.safetensors", "training.json", "checkpoint.safetensors", "history.csv"}
EPOCHS = 5
RUNS = {
    "demanding": tiny(**DEMANDING, training__epochs=EPOCHS),
    "joint": tiny("sar-gin", training__epochs=EPOCHS, model__dropout=0.5, training__schedule="cosine"),
    "accuracy": tiny("sar-gat", training__epochs=EPOCHS, training__monitor="accuracy", training__weight_decay=0.01),
    "supervised": tiny(
        "sar-sage", training__epochs=EPOCHS, training__saliency_weight=1.0, training__class_weights="balanced"
    ),
    "as-published": tiny("as-published", training__epochs=EPOCHS, model__attention=4, training__alternate_epochs=2),
    "impatient": tiny(training__epochs=50, training__patience=1, training__learning_rate=0.3),
}


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return shapes(truth=True)


@pytest.fixture(scope="module")
def undisturbed(graphs: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TrainingRun]:
    """The run of that name, never stopped."""
    runs: dict[str, TrainingRun] = {}

    def run_of(name: str) -> TrainingRun:
        if name not in runs:
            runs[name] = train(graphs, RUNS[name], tmp_path_factory.mktemp(name) / "run", fold=FOLD)
        return runs[name]

    return run_of


def stop_after(epochs: int, graphs: GraphSet, settings: Settings, folder: Path) -> None:
    """Train that many epochs more and walk away."""
    run = TrainingRun.start(graphs, settings, folder, fold=FOLD, resume=True)
    for _, _row in zip(range(epochs), run, strict=False):
        pass


def assert_equal_runs(one: Path, other: Path) -> None:
    for file in ("weights.safetensors", "checkpoint.safetensors"):
        assert tensors(one, file) == tensors(other, file)
    ours, theirs = read_training(one), read_training(other)
    assert timeless(ours["history"]) == timeless(theirs["history"])
    assert ours["scores"] == theirs["scores"]
    assert ours["best_epoch"] == theirs["best_epoch"]


def one_line(caught: pytest.ExceptionInfo[BaseException]) -> str:
    (line,) = str(caught.value).splitlines()
    return line


# Going on


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("epochs", range(1, EPOCHS))
def test_stopped_after_any_epoch_and_gone_on_with_ends_the_same(
    name: str, epochs: int, graphs: GraphSet, undisturbed: Callable[[str], TrainingRun], tmp_path: Path
) -> None:
    whole = undisturbed(name)
    assert whole.folder is not None
    stop_after(epochs, graphs, RUNS[name], tmp_path / "run")
    again = train(graphs, RUNS[name], tmp_path / "run", fold=FOLD, resume=True)
    assert_equal_runs(tmp_path / "run", whole.folder)
    assert again.scores == whole.scores


def test_stopped_after_every_epoch_ends_the_same(
    graphs: GraphSet, undisturbed: Callable[[str], TrainingRun], tmp_path: Path
) -> None:
    for _ in range(EPOCHS):
        stop_after(1, graphs, RUNS["demanding"], tmp_path / "run")
    train(graphs, RUNS["demanding"], tmp_path / "run", fold=FOLD, resume=True)
    folder = undisturbed("demanding").folder
    assert folder is not None
    assert_equal_runs(tmp_path / "run", folder)


def test_more_epochs_than_at_first(graphs: GraphSet, tmp_path: Path) -> None:
    short, long = tiny(training__epochs=2), tiny(training__epochs=5)
    train(graphs, short, tmp_path / "grown", fold=FOLD)
    grown = train(graphs, long, tmp_path / "grown", fold=FOLD, resume=True)
    train(graphs, long, tmp_path / "whole", fold=FOLD)
    assert len(grown.state.history) == 5
    assert_equal_runs(tmp_path / "grown", tmp_path / "whole")
    assert load_model(tmp_path / "grown").settings == long


def test_a_finished_run_gone_on_with_stays_as_it_is(graphs: GraphSet, tmp_path: Path) -> None:
    first = train(graphs, tiny(), tmp_path / "run", fold=FOLD)
    weights = (tmp_path / "run" / "weights.safetensors").read_bytes()
    again = train(graphs, tiny(), tmp_path / "run", fold=FOLD, resume=True)
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == weights
    assert again.scores == first.scores
    assert again.seconds == first.seconds


@pytest.mark.parametrize("there", [False, True])
def test_resume_without_anything_to_go_on_with_starts(graphs: GraphSet, tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "run").mkdir()
    run = train(graphs, tiny(), tmp_path / "run", fold=FOLD, resume=True)
    assert len(run.state.history) == 3


def test_stopped_before_the_first_epoch_was_done(graphs: GraphSet, tmp_path: Path) -> None:
    stop_after(0, graphs, tiny(), tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"config.json", "training.json"}
    run = train(graphs, tiny(), tmp_path / "run", fold=FOLD, resume=True)
    assert len(run.state.history) == 3


def test_what_a_killed_writer_left_is_cleared_away(graphs: GraphSet, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".config.json.a1b2.part").write_text("half")
    stop_after(1, graphs, tiny(), folder)
    (folder / ".checkpoint.safetensors.a1b2.part").write_text("half")
    train(graphs, tiny(), folder, fold=FOLD, resume=True)
    assert {path.name for path in folder.iterdir()} == FILES | {"calibration.json", "report.html", "trust.safetensors"}


@pytest.fixture
def half(graphs: GraphSet, tmp_path: Path) -> Path:
    """A run of three epochs that stopped after one."""
    stop_after(1, graphs, tiny(), tmp_path / "half")
    return tmp_path / "half"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"settings": tiny(training__learning_rate=0.5)},
            "got training.learning_rate = 0.5, expected 0.01 as it was started with",
        ),
        ({"settings": tiny(training__seed=7)}, "got training.seed = 7, expected 0"),
        ({"settings": tiny(model__hidden=16)}, "got model.hidden = 16, expected 8"),
        ({"settings": tiny("sar-gin")}, "got model = sar-gin, expected sar-gcn"),
        ({"settings": tiny(data__encodings="degree")}, "got data.encodings = ('degree',), expected ('auto',)"),
        (
            {"graphs": shapes(truth=True, seed=1, name="others")},
            "got other graphs (others), expected those it was started with: shapes",
        ),
        ({"fold": replace(FOLD, train=np.arange(1, 16))}, "got another split"),
        ({"fold": replace(FOLD, validation=np.array([16, 17]))}, "got another split"),
        ({"fold": replace(FOLD, test=np.array([20]))}, "got another split"),
    ],
)
def test_going_on_with_anything_else_is_refused(
    half: Path, graphs: GraphSet, changed: dict[str, Any], message: str
) -> None:
    before = {path.name: path.read_bytes() for path in half.iterdir()}
    asked = {"graphs": graphs, "settings": tiny(), "fold": FOLD} | changed
    with pytest.raises(InputError) as caught:
        TrainingRun.start(asked["graphs"], asked["settings"], half, fold=asked["fold"], resume=True)
    assert one_line(caught).startswith(f"{half}: {message}")
    assert {path.name: path.read_bytes() for path in half.iterdir()} == before


# Never over anything


def test_a_folder_that_is_not_empty_is_refused(graphs: GraphSet, half: Path) -> None:
    with pytest.raises(InputError, match="is not empty: add --resume to continue it, or choose another --out"):
        TrainingRun.start(graphs, tiny(), half, fold=FOLD)


def test_resuming_in_a_folder_of_other_things_is_refused(graphs: GraphSet, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("dear reader")
    with pytest.raises(InputError, match=r"got no checkpoint.safetensors to resume from, expected a run or an empty"):
        TrainingRun.start(graphs, tiny(), tmp_path, fold=FOLD, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_weights_without_their_checkpoint_are_not_trained_over(graphs: GraphSet, half: Path) -> None:
    (half / "checkpoint.safetensors").unlink()
    weights = (half / "weights.safetensors").read_bytes()
    with pytest.raises(InputError, match=r"got no checkpoint.safetensors to resume from"):
        TrainingRun.start(graphs, tiny(), half, fold=FOLD, resume=True)
    assert (half / "weights.safetensors").read_bytes() == weights


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_where_the_folder_should_be_is_refused(graphs: GraphSet, tmp_path: Path, resume: bool) -> None:
    (tmp_path / "run").write_text("I am a file")
    with pytest.raises(InputError, match=r"run: not a usable folder \(Not a directory\)"):
        TrainingRun.start(graphs, tiny(), tmp_path / "run", fold=FOLD, resume=resume)


@pytest.mark.parametrize(
    "settings", [tiny(training__saliency_weight=1.0), tiny("gcn", training__saliency_weight=1.0, training__seed=1)]
)
def test_a_call_that_is_wrong_writes_nothing(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"training.saliency_weight: got data without true saliency"):
        train(shapes(), settings, tmp_path / "run", fold=FOLD)
    assert not (tmp_path / "run").exists()


def test_one_class_only_is_refused(graphs: GraphSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shapes: got class 'ring' only, expected two or more classes"):
        train(graphs.subset(np.arange(0, 24, 2)), tiny(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("given", ["MUTAG", Path("set"), []])
def test_what_is_not_loaded_is_refused(given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(InputError, match=r"^graphs: got a \w+, expected a GraphSet, as sargnn\.load gives$"):
        train(given, tiny(), tmp_path / "run")


# A loss that is no number


def test_a_run_that_diverges_keeps_its_last_good_weights(
    graphs: GraphSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = TrainingRun.start(graphs, tiny(), tmp_path / "one", fold=FOLD)
    next(iter(whole))
    real, calls = loop.loss_of, iter(range(100))

    def breaks_in_the_second_epoch(*args: Any) -> Tensor:
        return real(*args) * (float("nan") if next(calls) >= 2 else 1.0)

    monkeypatch.setattr(loop, "loss_of", breaks_in_the_second_epoch)
    with pytest.raises(Diverged, match=r"loss is nan in epoch 2, batch 1; .*the weights of epoch 1 are kept"):
        train(graphs, tiny(), tmp_path / "run", fold=FOLD)
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert tensors(tmp_path / "run") == tensors(tmp_path / "one")
    prediction = load_model(tmp_path / "run").predict(graphs)
    assert np.isfinite(prediction.probabilities).all()

    monkeypatch.setattr(loop, "loss_of", real)
    train(graphs, tiny(), tmp_path / "run", fold=FOLD, resume=True)
    train(graphs, tiny(), tmp_path / "whole", fold=FOLD)
    assert_equal_runs(tmp_path / "run", tmp_path / "whole")


# What a run is


def test_a_run_by_name_needs_no_folder(graphs: GraphSet) -> None:
    settings = tiny("gcn", training__epochs=1)
    run = train(graphs, settings)
    assert run.folder is None
    assert set(run.scores) == {"train", "validation", "test"}
    assert run.scores["test"]["graphs"] == len(run.fold.test)
    by_name = TrainingRun.start(graphs, Settings.of("gcn"))
    assert np.array_equal(by_name.fold.train, holdout(graphs, seed=0).train)


def test_the_default_split_is_official_or_drawn_from_the_seed(graphs: GraphSet) -> None:
    made = triangles(train=20, validation=10, test=10, test_large=10)
    run = train(made, tiny(training__epochs=1))
    assert run.fold.test.tolist() == list(range(30, 40))
    assert {part: scores["graphs"] for part, scores in run.scores.items()} == {
        "train": 20, "validation": 10, "test": 10, "test-large": 10,
    }  # fmt: skip
    one, other = (TrainingRun.start(graphs, tiny(training__seed=seed)).fold for seed in (0, 1))
    assert not np.array_equal(one.test, other.test)


def test_a_large_test_has_no_graph_that_was_trained_on() -> None:
    made = triangles(train=10, validation=10, test=10, test_large=10)
    mixed = Fold(train=np.arange(25, 35), validation=np.arange(5), test=np.arange(10, 15))
    parts = parts_of(made, mixed)
    assert parts["train"].tolist() == list(range(25, 35))
    assert parts["test-large"].tolist() == list(range(35, 40))


def test_inputs_are_fitted_on_the_training_graphs_alone(graphs: GraphSet) -> None:
    assert graphs.node_attributes is not None
    spoiled = graphs.node_attributes.copy()
    spoiled[graphs.node_ptr[16] :] += 1000
    one = TrainingRun.start(graphs, tiny(), fold=FOLD).trained.encoder
    other = TrainingRun.start(replace(graphs, node_attributes=spoiled), tiny(), fold=FOLD).trained.encoder
    assert one.to_json() == other.to_json()


def test_the_scores_are_those_of_the_saved_model(graphs: GraphSet, tmp_path: Path) -> None:
    run = train(graphs, tiny(training__epochs=10), tmp_path / "run", fold=FOLD)
    prediction = load_model(tmp_path / "run").predict(graphs)
    assert graphs.y is not None
    right = prediction.predicted == graphs.y
    for part, index in parts_of(graphs, FOLD).items():
        assert run.scores[part]["accuracy"] == right[index].mean()
    best = run.state.history[run.state.best_epoch - 1]
    assert best["validation_accuracy"] == run.scores["validation"]["accuracy"]


def test_the_record_says_what_was_done(graphs: GraphSet, tmp_path: Path) -> None:
    run = train(graphs, tiny(), tmp_path / "run", fold=FOLD)
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["status"] == "finished"
    assert record["data"] == {"name": "shapes", "graphs": 24, "fingerprint": graphs.fingerprint}
    assert record["split"] == {name: getattr(FOLD, name).tolist() for name in ("train", "validation", "test")}
    assert record["seed"] == 0
    assert record["versions"]["torch"] == torch.__version__
    assert record["train_seconds"] == pytest.approx(sum(row["seconds"] for row in run.state.history))
    assert record["history"] == run.state.history
    assert record["scores"] == run.scores
