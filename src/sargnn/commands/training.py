"""Train a model, or search for the settings to train it with, and write a report of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sargnn.commands.inputs import Answer, load_noted
from sargnn.console import note, show_epochs, show_steps
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import require_two_classes
from sargnn.data.splits import Fold, named_folds
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.metrics import confusion
from sargnn.pages.training_report import GalleryItem, TrainingReport, choose_gallery, render
from sargnn.training.calibration import calibrate, save_calibration
from sargnn.training.run import TrainingRun, find_device, parts_of, versions
from sargnn.training.settings import DEFAULT_MODEL, Settings
from sargnn.training.tracking import tracking
from sargnn.training.trained_model import Prediction

__all__ = ["quickstart", "search", "train"]

QUICKSTART_SIZES = (4000, 500, 1000, 0)
QUICKSTART_SETTINGS = {"model.members": 1, "training.epochs": 20, "training.learning_rate": 2e-3}
"""One member and fewer epochs: a minute and not five."""


def quickstart(out: Path | None, seed: int, device: str, command: str) -> Answer:
    note("generating triangle graphs: the class is the number of triangles, the truth is the nodes in one")
    graphs = triangles(*QUICKSTART_SIZES, seed=seed)
    settings = Settings.of(DEFAULT_MODEL, {**QUICKSTART_SETTINGS, "training.seed": seed})
    run = TrainingRun.start(graphs, settings, out or _new_folder("quickstart"), device=find_device(device))
    report = _train(run, command)
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
        fold=_fold(split, fold, graphs), device=where, resume=resume,
    )  # fmt: skip
    report = _train(run, command, track)
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
    _check_classes(graphs, folds[fold].train)
    return folds[fold]


def _check_classes(graphs: GraphSet, train: np.ndarray) -> None:
    """Refuse a division whose training graphs are of one class; tell which classes they lack."""
    if graphs.y is None:
        return
    learned = np.unique(graphs.y[train]).tolist()
    if len(learned) < 2:
        only = ", ".join(repr(graphs.classes[y]) for y in learned) or "no class"
        raise InputError(f"--split: got training graphs of {only} only, expected two or more classes")
    if missing := [repr(graphs.classes[y]) for y in np.unique(graphs.y).tolist() if y not in learned]:
        note(f"no training graph has the class {', '.join(missing)}, so it is not learned")


def _train(run: TrainingRun, command: str, track: Sequence[str] = ()) -> Path:
    """Train with the progress shown, finish, calibrate, and write the report."""
    for text in run.trained.encoder.notes:
        note(text)
    training = run.trained.settings.training
    assert run.folder is not None
    with tracking(run, track) as trackers:
        for row in show_epochs(run, training.epochs, len(run.state.history)):
            for tracker in trackers:
                tracker.log(row)
        run.finish()
        for tracker in trackers:
            tracker.log_scores(run)
    if len(run.fold.validation):
        save_calibration(run.folder, calibrate(run.trained, run.graphs, run.fold.validation))
    report = run.folder / "report.html"
    write_file(report, render(_report(run, command)))
    return report


def _report(run: TrainingRun, command: str) -> TrainingReport:
    """The page of a finished run: scores of all parts, and a gallery of graphs it was not trained on."""
    trained, graphs, settings = run.trained, run.graphs, run.trained.settings
    part = "test" if "test" in run.scores else list(run.scores)[-1]
    index = parts_of(graphs, run.fold)[part]
    prediction = run.prediction
    assert prediction is not None
    true, predicted = trained.true_classes(graphs), prediction.predicted
    configs = settings.to_json()
    return TrainingReport(
        title=graphs.name,
        model=settings.name,
        settings={section: configs[section] for section in ("model", "data", "training")},
        graphs=graphs,
        fold_sizes={name: scores["graphs"] for name, scores in run.scores.items()},
        history=run.state.history,
        best_epoch=run.state.best_epoch,
        results=run.scores,
        confusion=confusion(true[index], predicted[index], len(trained.classes)),
        saliency_auc=run.scores[part].get("saliency_auc"),
        gallery=[_gallery_item(graphs, prediction, g, int(true[g])) for g in _gallery(prediction, true, index)],
        parameters=sum(p.numel() for p in trained.model.parameters()),
        train_seconds=run.seconds,
        versions=versions(),
        notes=[*graphs.notes, *trained.encoder.notes],
        command=command,
    )


def _gallery(prediction: Prediction, true: np.ndarray, index: np.ndarray) -> list[int]:
    if not len(prediction.saliency):
        return []
    chosen = choose_gallery(true[index], prediction.predicted[index], prediction.probabilities[index].max(axis=1))
    return index[chosen].tolist()


def _gallery_item(graphs: GraphSet, prediction: Prediction, g: int, true: int) -> GalleryItem:
    nodes = graphs.nodes_of(g)
    assert prediction.mean_saliency is not None
    return GalleryItem(
        graph=g,
        true_class=prediction.classes[true],
        predicted_class=prediction.classes[prediction.predicted[g]],
        probability=float(prediction.probabilities[g].max()),
        saliency=prediction.mean_saliency[nodes],
        layer="mean of the layers",
        true_saliency=None if graphs.true_saliency is None else graphs.true_saliency[nodes],
    )


def _new_folder(name: str) -> Path:
    """``runs/NAME``, or the first of ``runs/NAME-2``, ``-3``, ... that does not exist."""
    name = re.sub(r"[^\w.-]+", "-", name)  # the name of a data set comes from a file and may be anything
    numbered = (Path("runs") / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
    return next(path for path in numbered if not path.exists())
