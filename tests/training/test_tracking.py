"""Trackers: a history file always, the three services only when asked for, with the words each of them expects."""

from __future__ import annotations

import csv
import sys
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
    with pytest.raises(InputError, match="--track: got 'aim', expected one of tensorboard, mlflow, wandb"):
        tracked(start(tmp_path / "run"), "aim")


@pytest.mark.parametrize(
    ("name", "module"), [("tensorboard", "torch.utils.tensorboard"), ("mlflow", "mlflow"), ("wandb", "wandb")]
)
def test_a_service_that_is_not_installed_says_so(
    name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InputError, match=rf"--track: got {name}, which is not installed: pip install 'sargnn\[tracking\]'"
    ):
        tracked(start(tmp_path / "run"), name)


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


def fake_mlflow(calls: Calls) -> ModuleType:
    return _module(
        "mlflow",
        active_run=lambda: None,
        start_run=lambda run_name, nested: calls.append(("open", run_name, nested)),
        log_params=lambda values: calls.append(("settings", values["model.hidden"], values["model"])),
        log_metrics=lambda values, step=None: calls.extend(("metric", name, step) for name in values),
        end_run=lambda status: calls.append(("close", status)),
    )


def fake_wandb(calls: Calls) -> ModuleType:
    def init(project: str, group: str, job_type: str, name: str, config: dict[str, Any], dir: str) -> Any:
        calls.append(("open", project, group, job_type, name, config["model.hidden"]))
        return SimpleNamespace(
            log=lambda values, step: calls.extend(("metric", name, step) for name in values),
            summary=SimpleNamespace(update=lambda values: calls.extend(("metric", name, None) for name in values)),
            finish=lambda exit_code: calls.append(("close", exit_code)),
        )

    return _module("wandb", init=init)


def _module(name: str, **values: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(values)
    return module


FAKES = {"tensorboard": fake_tensorboard, "mlflow": fake_mlflow, "wandb": fake_wandb}
FIRST_CALL = {
    "tensorboard": ("open", "tensorboard", 1),
    "mlflow": ("open", "run", False),
    "wandb": ("open", "sargnn", "shapes", "train", "run", 8),
}
GOOD_END = {"tensorboard": ("close",), "mlflow": ("close", "FINISHED"), "wandb": ("close", 0)}
BAD_END = {"tensorboard": ("close",), "mlflow": ("close", "KILLED"), "wandb": ("close", 1)}


@pytest.fixture(params=list(FAKES))
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Calls]:
    """A stand-in for a service, which may not be installed, and what it is told."""
    calls: Calls = []
    module = FAKES[request.param](calls)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    return request.param, calls


def test_a_service_gets_every_epoch_and_the_scores(service: tuple[str, Calls], tmp_path: Path) -> None:
    name, calls = service
    tracked(start(tmp_path / "run"), name)
    assert calls[0] == FIRST_CALL[name]
    for metric in ("train/loss", "val/loss", "val/acc", "learning_rate"):
        assert [call[2] for call in calls if call[:2] == ("metric", metric)] == [1, 2]
    assert sum(call[:2] == ("metric", "test/acc") for call in calls) == 1
    assert calls[-1] == GOOD_END[name]


def test_a_service_is_closed_when_training_fails(service: tuple[str, Calls], tmp_path: Path) -> None:
    name, calls = service
    with pytest.raises(KeyboardInterrupt), tracking(start(tmp_path / "run"), [name]):
        raise KeyboardInterrupt
    assert calls[-1] == BAD_END[name]


def test_the_command(service: tuple[str, Calls], tmp_path: Path) -> None:
    name, calls = service
    shapes().save(tmp_path / "data")
    small = ["--model", "gcn", "--set", "training.epochs=2", "--set", "model.hidden=8"]
    answer_of("train", tmp_path / "data", "--out", tmp_path / "run", "--track", name, *small)
    assert len(rows_of(tmp_path / "run")) == 2
    assert calls[-1] == GOOD_END[name]
    assert "--track: got 'x'" in error_of("train", tmp_path / "data", "--out", tmp_path / "new", "--track", "x", *small)
