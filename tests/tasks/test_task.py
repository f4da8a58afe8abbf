"""The contract of a task, proved by a second one: a measured number, written here in one class, goes through training,
both trainers, report, folder, commands and explanations, and nothing in the package knows of it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor

from command import answer_of, error_of
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.tasks import TASKS, Metric, Task, Verdict, task_from_json
from sargnn.training.calibration import calibrate
from sargnn.training.model_folder import load_model
from sargnn.training.run import TrainingRun, train
from sargnn.training.vectorized import model_stack
from sargnn.training.vectorized.model_stack import Member, ModelStack
from tiny import FOLD, shapes, tiny


@dataclass(frozen=True)
class Size(Task):
    """How many nodes a graph has, as a number: squared error, no classes anywhere."""

    unit: str = "nodes"

    kind = "size"
    score_name = "closeness"
    metrics = (Metric("mae", "Mean absolute error", "{:.2f}"), Metric("worst", "Largest error", "{:.2f}"))

    @classmethod
    def of(cls, graphs: GraphSet) -> Size:
        return cls()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.unit,)

    def targets(self, graphs: GraphSet) -> np.ndarray:
        return graphs.sizes.astype(np.float64)

    def strata(self, targets: np.ndarray) -> np.ndarray:
        return (targets > np.median(targets)).astype(np.int64)

    def check_training(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        return []

    def balance(self, targets: Tensor) -> Tensor:
        return torch.ones(1)

    def losses(self, outputs: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        return (outputs.squeeze(-1) - targets).square()

    def weights(self, targets: Tensor, balance: Tensor | None) -> Tensor:
        return torch.ones_like(targets)

    def graph_scores(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -(outputs.squeeze(-1) - targets).abs().double()

    def predict(self, outputs: Tensor) -> np.ndarray:
        return outputs.double().cpu().numpy()

    def decide(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0]

    def measure(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        error = np.abs(values[:, 0] - targets)
        return {"mae": float(error.mean()), "low": 0.0, "high": float(error.max()), "worst": float(error.max())}

    def details(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        return {}

    def sentence(self, scores: Mapping[str, Any]) -> str:
        return f"off by {scores['mae']:.2f} on {scores['graphs']}"

    def baseline(self, targets: np.ndarray) -> tuple[str, float] | None:
        return "the mean size alone is off by", float(np.abs(targets - targets.mean()).mean())

    def columns(self) -> list[str]:
        return ["size"]

    def cells(self, values: np.ndarray) -> list[Any]:
        return values.tolist()

    def verdict(self, values: np.ndarray) -> Verdict:
        return Verdict(f"{values[0]:.1f} {self.unit}", None)

    def truth(self, target: Any) -> str:
        return f"{target:g} {self.unit}"

    def figure(self, targets: np.ndarray, values: np.ndarray) -> Figure:
        figure = Figure()
        figure.subplots().scatter(targets, values[:, 0])
        return figure

    def right(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.abs(values[:, 0] - targets) < 0.5

    def to_json(self) -> dict[str, Any]:
        return {"task": self.kind, "unit": self.unit}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Size:
        return cls(str(content["unit"]))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What adding a task to the package comes to."""
    monkeypatch.setitem(TASKS, Size.kind, Size)


@pytest.fixture(scope="module")
def unlabelled() -> GraphSet:
    """No classes at all: whatever asks for them fails."""
    return replace(shapes(count=40), y=None, classes=())


SETTINGS = tiny(training__epochs=60, training__learning_rate=1e-2, model__readout="sum")


@pytest.fixture(scope="module")
def folder(unlabelled: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(unlabelled, SETTINGS, folder, task=Size())
    unlabelled.save(folder.parent / "graphs")
    return folder


def test_it_is_learned_scored_and_split_by_its_own_rules(unlabelled: GraphSet) -> None:
    run = train(unlabelled, SETTINGS, task=Size())
    first, last = run.state.history[0], run.state.history[-1]
    assert last["train_loss"] < first["train_loss"] / 4
    assert set(first) >= {"validation_loss", "validation_closeness"}
    test = run.scores["test"]
    assert set(test) == {"graphs", "mae", "low", "high", "worst", "baselines"}
    task, targets = Size(), Size().targets(unlabelled)
    baseline = task.baseline(targets)
    assert baseline is not None
    assert test["mae"] < baseline[1]
    strata = task.strata(targets)[run.fold.test]
    assert 0 < strata.sum() < len(strata)
    assert run.calibration is None


def test_the_folder_is_whole_and_read_back(unlabelled: GraphSet, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors", "history.csv", "report.html",
        "trust.safetensors",
    }  # fmt: skip
    page = (folder / "report.html").read_text()
    for words in ("Mean absolute error on the test graphs", "Largest error", "off by", "the mean size alone is off by"):
        assert words in page
    assert "ccuracy" not in page
    loaded = load_model(folder)
    assert loaded.task == Size()
    assert np.corrcoef(loaded.predict(unlabelled).values[:, 0], unlabelled.sizes)[0, 1] > 0.7


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    graphs, out = folder.parent / "graphs", tmp_path / "out.csv"
    assert answer_of("predict", folder, graphs, "--out", out)["graphs"] == 40
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["graph", "size", "status", "reason"]
    assert "calibration.json: no such file" in error_of("predict", folder, graphs, "--out", out, "--coverage", 0.9)
    assert answer_of("explain", folder, graphs, "--out", tmp_path / "explained", "--drawings", 1)["graphs"] == 40
    assert (tmp_path / "explained" / "drawings" / "graph-0.png").exists()


def test_it_has_no_calibration(unlabelled: GraphSet, folder: Path) -> None:
    with pytest.raises(InputError, match="task: got size, expected one that can be calibrated"):
        calibrate(load_model(folder), unlabelled, np.arange(4))


def test_the_trainer_of_many_models_takes_it_too(unlabelled: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_stack, "task_of", Size.of)
    training = replace(SETTINGS.training, epochs=3)
    settings = replace(SETTINGS, training=training)
    stack = ModelStack(unlabelled, settings, [Member(FOLD, training)])
    for _ in stack:
        pass
    [fitted] = stack.results()
    alone = TrainingRun.start(unlabelled, settings, fold=FOLD, task=Size())
    rows = list(alone)
    for ours, theirs in zip(fitted.progress.history, rows, strict=True):
        for key in ("train_loss", "validation_loss", "validation_closeness"):
            assert ours[key] == pytest.approx(theirs[key], rel=1e-4)


def test_a_task_that_nobody_knows_is_refused() -> None:
    kinds = "classification, multilabel, regression, size"
    with pytest.raises(InputError, match=f"task: got 'colour', expected one of {kinds}"):
        task_from_json({"task": "colour"})
