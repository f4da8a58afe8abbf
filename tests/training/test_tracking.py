"""Tracking: a history file always, TensorBoard only when asked for, other services by the recipes of the page."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from command import answer_of, error_of
from sargnn.errors import InputError
from sargnn.training.run import TrainingRun
from sargnn.training.tracking import tracking
from tiny import FOLD, shapes, tiny

Calls = list[tuple[Any, ...]]


def tracked(run: TrainingRun, *names: str) -> None:
    with tracking(run, names) as trackers:
        for row in run:
            for tracker in trackers:
                tracker.log(row)
        run.finish()
        for tracker in trackers:
            tracker.log_scores(run)


def start(folder: Path | None, epochs: int = 2, resume: bool = False) -> TrainingRun:
    return TrainingRun.start(shapes(), tiny("gcn", training__epochs=epochs), folder, fold=FOLD, resume=resume)


def rows_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "history.csv").read_text().splitlines()))


def test_the_history_is_always_written_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    run = start(tmp_path / "run")
    tracked(run)
    rows = rows_of(tmp_path / "run")
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert [float(row["train_loss"]) for row in rows] == [row["train_loss"] for row in run.state.history]
    tracked(start(tmp_path / "run", epochs=4, resume=True))
    assert [row["epoch"] for row in rows_of(tmp_path / "run")] == ["1", "2", "3", "4"]
    tracked(start(None))  # a run without a folder has no file, and needs none


def test_an_unknown_service_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--track: got 'aim', expected tensorboard"):
        tracked(start(tmp_path / "run"), "aim")


def test_tensorboard_that_is_not_installed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    message = r"--track: got tensorboard, which is not installed: pip install 'sargnn\[tracking\]'"
    with pytest.raises(InputError, match=message):
        tracked(start(tmp_path / "run"), "tensorboard")


def test_tensorboard_without_a_folder_is_refused() -> None:
    with pytest.raises(InputError, match="--track: got tensorboard for a run without a folder"):
        tracked(start(None), "tensorboard")


def test_tensorboard_curves_can_be_read_back(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (extra: tracking)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = start(tmp_path / "run")
    tracked(run, "tensorboard")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert {"train/loss", "val/loss", "val/acc", "test/acc", "best_epoch"} <= set(events.Tags()["scalars"])
    losses = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert losses == [(row["epoch"], pytest.approx(row["train_loss"])) for row in run.state.history]


def fake_tensorboard(calls: Calls) -> ModuleType:
    def writer(folder: str, purge_step: int) -> Any:
        calls.append(("open", Path(folder).name, purge_step))
        return SimpleNamespace(
            add_text=lambda name, text: calls.append(("text", name)),
            add_scalar=lambda name, value, step: calls.append(("metric", name, step)),
            close=lambda: calls.append(("close",)),
        )

    return _module("torch.utils.tensorboard", SummaryWriter=writer)


def _module(name: str, **values: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(values)
    return module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What a stand-in for TensorBoard, which may not be installed, is told."""
    calls: Calls = []
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake_tensorboard(calls))
    return calls


def test_tensorboard_gets_every_epoch_and_the_scores(calls: Calls, tmp_path: Path) -> None:
    tracked(start(tmp_path / "run"), "tensorboard")
    assert calls[0] == ("open", "tensorboard", 1)
    for metric in ("train/loss", "val/loss", "val/acc", "learning_rate"):
        assert [call[2] for call in calls if call[:2] == ("metric", metric)] == [1, 2]
    assert sum(call[:2] == ("metric", "test/acc") for call in calls) == 1
    assert calls[-1] == ("close",)


def test_tensorboard_is_closed_when_training_fails(calls: Calls, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), tracking(start(tmp_path / "run"), ["tensorboard"]):
        raise KeyboardInterrupt
    assert calls[-1] == ("close",)


def test_the_command(calls: Calls, tmp_path: Path) -> None:
    shapes().save(tmp_path / "data")
    small = ["--model", "gcn", "--set", "training.epochs=2", "--set", "model.hidden=8"]
    answer_of("train", tmp_path / "data", "--out", tmp_path / "run", "--track", "tensorboard", *small)
    assert len(rows_of(tmp_path / "run")) == 2
    assert calls[-1] == ("close",)
    assert "--track: got 'x'" in error_of("train", tmp_path / "data", "--out", tmp_path / "new", "--track", "x", *small)


# The recipes of docs/tracking.md, with stand-ins for the services

PAGE = (Path(__file__).parents[2] / "docs" / "tracking.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.*?)\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


def fake_mlflow(calls: Calls) -> ModuleType:
    return _module(
        "mlflow",
        start_run=lambda run_name: closing(SimpleNamespace(close=lambda: calls.append(("close",)))),
        log_params=lambda values: calls.append(("settings", values["model"], values["training.epochs"])),
        log_metrics=lambda values, step: calls.extend(("metric", name, step, float(values[name])) for name in values),
        log_metric=lambda name, value: calls.append(("score", name, value)),
    )


def fake_wandb(calls: Calls) -> ModuleType:
    class Run(dict[str, float]):
        def __init__(self, project: str, name: str, config: dict[str, Any]) -> None:
            calls.append(("settings", config["model"], config["training.epochs"]))

        def __enter__(self) -> SimpleNamespace:
            return SimpleNamespace(log=self.log, summary=self)

        def log(self, values: dict[str, float], step: int) -> None:
            calls.extend(("metric", name, step, float(values[name])) for name in values)

        def __exit__(self, *error: object) -> None:
            calls.extend([*(("score", name, value) for name, value in self.items()), ("close",)])

    return _module("wandb", init=Run)


@pytest.mark.parametrize(("title", "fake"), [("MLflow", fake_mlflow), ("Weights & Biases", fake_wandb)])
def test_the_recipes_log_every_epoch_and_the_score(
    title: str, fake: Callable[[Calls], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Calls = []
    module = fake(calls)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    exec(compile(RECIPES[title], title, "exec"), {})
    assert calls[0] == ("settings", "sar-gcn", 5)
    losses = [call[2:] for call in calls if call[:2] == ("metric", "train_loss")]
    rows = rows_of(tmp_path / "runs" / "motifs")
    assert losses == [(int(row["epoch"]), float(row["train_loss"])) for row in rows]
    scores = json.loads((tmp_path / "runs" / "motifs" / "training.json").read_text())["scores"]
    assert calls[-2:] == [("score", "test_accuracy", scores["test"]["accuracy"]), ("close",)]
