"""Train a model, or search for the settings to train it with, and write a report of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sargnn.commands.inputs import Answer, load_noted
from sargnn.console import note, show_epochs, show_steps
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import require_two_classes
from sargnn.data.splits import Fold, named_folds
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.tasks import task_of
from sargnn.training.hardware import find_device
from sargnn.training.run import REPORT, TrainingRun
from sargnn.training.settings import DEFAULT_MODEL, Settings
from sargnn.training.tracking import tracking

__all__ = ["quickstart", "search", "train"]

QUICKSTART_SIZES = (4000, 500, 1000, 0)
QUICKSTART_SETTINGS = {"model.members": 1, "training.epochs": 20, "training.learning_rate": 2e-3}
"""One member and fewer epochs: a minute and not five."""


def quickstart(out: Path | None, seed: int, device: str, command: str) -> Answer:
    note("generating triangle graphs: the class is the number of triangles, the truth is the nodes in one")
    graphs = triangles(*QUICKSTART_SIZES, seed=seed)
    settings = Settings.of(DEFAULT_MODEL, {**QUICKSTART_SETTINGS, "training.seed": seed})
    run = TrainingRun.start(
        graphs, settings, out or _new_folder("quickstart"), device=find_device(device), command=command
    )
    report = _train(run)
    test = run.scores["test"]
    return {
        "test_accuracy": test["accuracy"],
        "saliency_auc": test["saliency_auc"],
        "train_seconds": run.seconds,
        "run": str(run.folder),
        "report": str(report),
    }


def train(
    data: str, out: Path | None, settings: Settings, device: str, split: Path | None, fold: int, resume: bool,
    command: str, track: Sequence[str] = (),
) -> Answer:  # fmt: skip
    where = find_device(device)
    graphs = load_noted(data)
    if resume and out is None:
        raise InputError("--resume: got no --out, expected the folder of the run to go on with")
    run = TrainingRun.start(
        graphs, settings, out or _new_folder(f"{graphs.name}-{settings.name}"),
        fold=_fold(split, fold, graphs), device=where, resume=resume, command=command,
    )  # fmt: skip
    report = _train(run, track)
    answer: Answer = {"run": str(run.folder), "model": settings.name}
    answer |= {"validation_accuracy": None, "test_accuracy": None}  # for a split without such graphs
    answer |= {f"{part.replace('-', '_')}_accuracy": s["accuracy"] for part, s in run.scores.items()}
    if test := run.scores.get("test"):
        answer["test_interval"] = [test["low"], test["high"]]
        answer["test_balanced_accuracy"] = test["balanced_accuracy"]
        answer |= {} if test.get("saliency_auc") is None else {"saliency_auc": test["saliency_auc"]}
    return answer | {
        "epochs": len(run.state.history),
        "best_epoch": run.state.best_epoch,
        "train_seconds": run.seconds,
        "report": str(report),
    }


def search(data: str, out: Path | None, settings: Settings, device: str, space: list[str], trials: int) -> Answer:
    from sargnn.studies.search import Search, judged_by, read_space

    where, graphs = find_device(device), load_noted(data)
    require_two_classes(graphs)
    folder = out or _new_folder(f"{graphs.name}-search")
    study = Search.start(
        graphs, settings, folder, space=read_space(space) if space else None, trials=trials, device=where
    )
    for _ in show_steps(study, trials - study.done, "trial"):
        pass
    best = study.save_best(folder)
    return {
        "trials": study.done, "pruned": study.pruned, judged_by(settings): study.study.best_value,
        "best": study.study.best_params, "config": str(best), "folder": str(folder),
    }  # fmt: skip


def _fold(split: Path | None, fold: int, graphs: GraphSet) -> Fold | None:
    if split is None:
        if fold:
            raise InputError(f"--fold: got {fold} without --split, expected the split file it is a fold of")
        return None
    folds = named_folds(split, graphs)
    if not 0 <= fold < len(folds):
        raise InputError(f"--fold: got {fold}, expected 0..{len(folds) - 1}, in {split}")
    task = task_of(graphs)
    for text in task.check_training(task.targets(graphs), folds[fold].train):
        note(text)
    return folds[fold]


def _train(run: TrainingRun, track: Sequence[str] = ()) -> Path:
    """Train to the end with the progress shown; where the report is."""
    for text in run.trained.encoder.notes:
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


def _new_folder(name: str) -> Path:
    """``runs/NAME``, or the first of ``runs/NAME-2``, ``-3``, ... that does not exist."""
    name = re.sub(r"[^\w.-]+", "-", name)  # the name of a data set comes from a file and may be anything
    numbered = (Path("runs") / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
    return next(path for path in numbered if not path.exists())
