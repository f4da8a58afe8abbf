"""``sargnn train``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import (
    Config,
    Data,
    Device,
    Json,
    Metric,
    Missing,
    Model,
    NewRun,
    Seed,
    Set,
    Split,
    command_line,
    load_noted,
    new_folder,
    run_folder,
    takes_roles,
)
from sargnn.console import note, show_epochs
from sargnn.data.roles import Roles
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.data.graphs import GraphSet
    from sargnn.data.splits import Fold
    from sargnn.tasks import Task
    from sargnn.training.run import TrainingRun


@takes_roles
def train(
    data: Data,
    roles: Roles,
    out: NewRun = None,
    model: Model = None,
    assignments: Set = None,
    config: Config = None,
    metric: Metric = None,
    missing: Missing = None,
    seed: Seed = None,
    device: Device = "cpu",
    split: Split = None,
    fold: Annotated[int, typer.Option("--fold", help="Which fold of the split file, from 0.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out where it stopped.")] = False,
    start: Annotated[
        Path | None,
        typer.Option("--from", metavar="RUN", parser=run_folder, help="Fine-tune: start from the weights of this run."),
    ] = None,
    freeze: Annotated[
        str | None, typer.Option("--freeze", help="backbone: train only what reads the features of the nodes.")
    ] = None,
    track: Annotated[list[str] | None, typer.Option("--track", help="Also log the run: tensorboard.")] = None,
    as_json: Json = False,
) -> None:
    """Train a model, score it on held-out graphs, save it, and write a report."""
    from sargnn.tasks import task_of
    from sargnn.training.baselines import beside
    from sargnn.training.hardware import find_device
    from sargnn.training.model_folder import load_model
    from sargnn.training.run import TrainingRun
    from sargnn.training.settings import read_settings

    source = None if start is None else load_model(start, model=model if ":" in (model or "") else None).settings
    settings = read_settings(model, assignments or [], config, seed, metric, missing, source)
    where = find_device(device)
    graphs = load_noted(data, roles)
    if resume and out is None:
        raise InputError("--resume: got no --out, expected the folder of the run to continue")
    folder = out or new_folder(f"{graphs.name}-{settings.name}")
    task = task_of(graphs, roles.task)
    chosen = _fold(split, fold, graphs, task)
    run = TrainingRun.start(
        graphs, settings, folder, fold=chosen, device=where, resume=resume, command=command_line(),
        task=task, start_from=start, freeze=freeze,
    )  # fmt: skip
    report = train_shown(run, track or [])
    result: Answer = {"run": str(folder), "model": settings.name}
    headline, *others = (metric.key for metric in run.trained.task.metrics)
    test = run.scores.get("test")
    if test:  # what means most comes first
        leading = run.trained.task.headline(run.trained.task.targets(graphs)[run.fold.test])
        result |= {f"test_{metric.key}": test[metric.key] for metric in leading if metric.key != headline}
        result |= {f"baseline_{metric.key}": beside(test, metric.key) for metric in leading}
    result |= {f"validation_{headline}": None, f"test_{headline}": None}  # for a split without such graphs
    result |= {f"{part.replace('-', '_')}_{headline}": scores[headline] for part, scores in run.scores.items()}
    if test:
        result["test_interval"] = [test["low"], test["high"]]
        result |= {f"test_{key}": test[key] for key in others}
        result["test_twins"] = run.test_twins
        result |= {} if test.get("saliency_auc") is None else {"saliency_auc": test["saliency_auc"]}
    result |= {} if run.reliance is None else {"saliency": run.reliance.verdict}
    result |= {"epochs": len(run.state.history), "best_epoch": run.state.best_epoch}
    answer(result | {"train_seconds": run.seconds, "report": str(report)}, as_json, f"trained on {data}")


def train_shown(run: TrainingRun, track: Sequence[str] = ()) -> Path:
    """Train to the end and show the progress; gives the report."""
    from sargnn.training.run import REPORT
    from sargnn.training.tracking import tracking

    for text in (*run.trained.encoder.notes, *run.notes):
        note(text)
    assert run.folder is not None
    with tracking(run, track) as trackers:
        for row in show_epochs(run, run.trained.settings.training.epochs, len(run.state.history)):
            for tracker in trackers:
                tracker.log(row)
        run.finish()
        for tracker in trackers:
            tracker.log_scores(run)
    return run.folder / REPORT


def _fold(split: Path | None, fold: int, graphs: GraphSet, task: Task) -> Fold | None:
    from sargnn.data.splits import named_folds

    if split is None:
        if fold:
            raise InputError(f"--fold: got {fold} without --split, expected the split file it is a fold of")
        return None
    folds = named_folds(split, graphs)
    if not 0 <= fold < len(folds):
        raise InputError(f"--fold: got {fold}, expected 0..{len(folds) - 1}, in {split}")
    task.check_training(task.targets(graphs), folds[fold].train)
    return folds[fold]
