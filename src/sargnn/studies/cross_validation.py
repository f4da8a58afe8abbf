"""``sargnn cv``: nested cross-validation of one model, or of two compared, on any data set.

Every setting of the grid is trained on each fold's training graphs and judged on its validation graphs; the best is
trained again ``repeats`` times and tested (:mod:`sargnn.studies.protocol`). Rows go to a store, so that an interrupted
run can continue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from sargnn.console import note, show_study
from sargnn.data.duplicates import twins_in_words, twins_of_tests
from sargnn.data.graphs import GraphSet
from sargnn.data.protocol_splits import has_own_folds, protocol_folds
from sargnn.data.splits import Fold, named_folds, official, stratified_folds, write_splits
from sargnn.errors import InputError
from sargnn.metrics import mean_found
from sargnn.pages.cross_validation import Curves, FoldLine, ModelPage, difference, write_report
from sargnn.pages.words import settings_in_words
from sargnn.studies.protocol import Cell, CellResult, digest
from sargnn.studies.statistics import corrected_t_test, interval
from sargnn.studies.store import Store
from sargnn.studies.study import Study, run_study
from sargnn.systems import find_system
from sargnn.tasks import Classification, Task, task_of
from sargnn.tasks.scores import METRICS
from sargnn.tasks.target_columns import mean_of_targets
from sargnn.training.hardware import versions
from sargnn.training.model_folder import CONFIG
from sargnn.training.monitor import check_monitor
from sargnn.training.settings import DEFAULT_MODEL, Settings, read_settings

__all__ = ["CrossValidation", "cross_validate", "expand", "in_words"]

DEFAULT_GRID = ("training.learning_rate=0.001,0.005",)
"""Selected from where ``--grid`` and ``--set`` leave the learning rate open; a model with training settings of its own,
or without a learning rate, has nothing to choose."""


@dataclass(frozen=True)
class CrossValidation:
    """What is estimated, and how."""

    models: Sequence[str] = (DEFAULT_MODEL,)
    """One, or two that are compared on the same folds."""
    assignments: Sequence[str] = ()
    """``key=value`` settings of all models."""
    grid: Sequence[str] = ()
    """``key=a,b`` entries, whose product is selected from; by default :data:`DEFAULT_GRID`."""
    folds: int | None = None
    """Drawn from ``seed``, stratified; by default 10, of scaffolds one. With 10, a set whose ten folds are fixed
    (:mod:`sargnn.data.protocol_splits`) uses those; a set with an official split always uses it."""
    repeats: int = 3
    """Trainings of the selected setting in each fold."""
    split: Path | None = None
    """A split file to use instead, or ``scaffold``: a single split of molecules, or as many as ``folds``."""
    seed: int = 0
    task: str | None = None
    """The kind of task; by default that of the targets."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.models) <= 2 or len(set(self.models)) < len(self.models):
            raise InputError(f"--model: got {', '.join(self.models) or 'none'}, expected one model, or two to compare")
        if self.repeats < 1:
            raise InputError(f"--repeats: got {self.repeats}, expected at least 1")


def cross_validate(
    graphs: GraphSet, data: str | None, plan: CrossValidation, out: Path | None = None, workers: int = 1,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Nested cross-validation of one model, or of two on the same folds.

    Args:
        data: where ``graphs`` came from; workers load them from there. None: from a copy in the folder.
        out: the folder of the store and the report; rerun with it to continue.
        workers: processes that train in parallel; 1: this one.
        device: where they train.

    Returns:
        ``mean``, ``std``, ``folds`` (one test accuracy each, or one per repeat of a single split), ``interval``,
        ``selected``, ``balanced_accuracy``, ``auroc``, ``confusion``, ``graphs`` and ``model`` of the first model; of a
        second the same under ``other``, and ``comparison``.
    """
    if out is not None and (out / CONFIG).exists():
        raise InputError(f"--out: got {out}, which holds a trained model, expected a folder of its own")
    settings = {model: expand(model, plan.assignments, plan.grid) for model in plan.models}
    task = task_of(graphs, plan.task)
    for choices in settings.values():
        check_monitor(task, choices[0].training)
    folds = _folds(graphs, plan, task)
    with TemporaryDirectory() as temporary:
        folder = (out or Path(temporary)).resolve()
        splits = folder / f"folds-{digest(folds)}.json"
        write_splits(splits, folds)
        if data is None:
            data = str(folder / f"graphs-{graphs.fingerprint}")
            if not Path(data).exists():
                graphs.save(data)
        how: dict[str, Any] = {
            "folds": len(folds), "repeats": plan.repeats, "splits": str(splits), "curves": True, "seed": plan.seed,
            "task": plan.task, "headline": task.metrics[0].key,
        }  # fmt: skip
        cells = {
            (model, graphs.name): Cell(data, graphs.fingerprint, model, grid, **how) for model, grid in settings.items()
        }
        with Store(folder / "rows.sqlite") as store:
            engine = {"engine": "local"} if workers == 1 else {"engine": "processes", "workers": workers}
            study = Study("cross-validation", cells, {})
            results = list(run_study(study, store, show_study(), device=str(device), **engine).values())
    summaries = [summary(result, folds, task) for result in results]
    twins, tested = twins_of_tests(graphs, folds), sum(len(fold.test) for fold in folds)
    if twins:
        note(f"{graphs.name}: {twins_in_words(twins, tested)}")
    answer = {**summaries[0], "graphs": len(graphs), "test_twins": twins}
    if len(results) == 2:
        compared = corrected_t_test(results[0].folds - results[1].folds, _test_ratio(folds))
        answer |= {"other": summaries[1], "comparison": {"models": list(plan.models), **compared.__dict__}}
    if out is None:
        return answer
    pages = [ModelPage(found, *_lines_and_curves(result)) for found, result in zip(summaries, results, strict=True)]
    made = {"folds": len(folds), "repeats": plan.repeats, "seed": plan.seed, **versions()}
    report = write_report(out, graphs, pages, answer.get("comparison"), made=made)
    return answer | {"report": str(report)}


def expand(model: str, assignments: Sequence[str], grid: Sequence[str]) -> tuple[Settings, ...]:
    """The settings to select from: the product of the grid's values, on top of what is assigned.

    >>> [s.model.layers for s in expand("gcn", ["training.epochs=9"], ["model.layers=2,3"])]
    [2, 3]
    >>> [s.training.learning_rate for s in expand("gcn", [], [])]
    [0.001, 0.005]
    >>> len(expand("sargnn-plus", [], [])), len(expand("fingerprint-forest", [], []))
    (1, 1)
    """
    fixed = {assignment.partition("=")[0].strip() for assignment in assignments}
    system = find_system(model)
    open_rate = "training.learning_rate" not in fixed and not system.training and not system.model.fits_directly
    if not grid and open_rate:
        grid = DEFAULT_GRID
    choices: dict[str, list[str]] = {}
    for entry in grid:
        key, _, text = (part.strip() for part in entry.partition("="))
        values = [value.strip() for value in text.split(",") if value.strip()]
        if not key or not values:
            raise InputError(f"--grid: got {entry!r}, expected key=value,value such as model.layers=2,3")
        if key in fixed or key in choices:
            raise InputError(f"--grid: got {key} a second time, expected each setting once in --grid and --set")
        choices[key] = values
    if "training.seed" in {*fixed, *choices}:
        raise InputError("got training.seed in a setting, expected --seed, from which all seeds follow")
    points = product(*([f"{key}={value}" for value in values] for key, values in choices.items()))
    return tuple(read_settings(model, [*assignments, *point]) for point in points)


def _folds(graphs: GraphSet, plan: CrossValidation, task: Task) -> list[Fold]:
    """The outer folds, each with its inner hold-out; every one must have graphs to test."""
    if plan.split is not None:
        folds = named_folds(plan.split, graphs, plan.folds)
        for number, fold in enumerate(folds):
            if not len(fold.test):
                raise InputError(f"got no graphs in fold {number} test, expected some, in {plan.split}")
        return folds
    if official(graphs) is not None:
        note(f"{graphs.name} has an official split, which is used; the repeats take the place of folds")
        return protocol_folds(graphs)
    number = 10 if plan.folds is None else plan.folds
    if number == 10 and has_own_folds(graphs):
        return protocol_folds(graphs)
    return stratified_folds(task.strata(task.targets(graphs)), number, seed=plan.seed, groups=graphs.groups)


def summary(result: CellResult, folds: Sequence[Fold], task: Task) -> dict[str, Any]:
    """The results of one model as JSON: its headline, every other score as the mean over folds and repeats where it is
    defined, and those of each target.

    Of classes, confusion matrices are summed over folds and repeats, and the balanced accuracy is that of the sum: a
    fold need not have graphs of every class."""
    tests = [row.test for row in result.rows]
    keys = [metric.key for metric in task.metrics]
    told = {
        "model": result.cell.system, "metric": result.cell.headline, "mean": result.mean, "std": result.std,
        "interval": interval(result.defined, _test_ratio(folds), inf if task.metrics[0].lower else 1.0),
        "folds": [None if isnan(fold) else fold for fold in result.folds.tolist()],
        "selected": [settings.changes() for settings in result.selected],
        **mean_of_targets([{key: test[key] for key in keys} for test in tests]),
        "baselines": _baselines(tests),
    }  # fmt: skip
    if isinstance(task, Classification):
        confusion = np.sum([np.array(row.details["confusion"]) for row in result.rows], axis=0)
        return {**told, "balanced_accuracy": mean_found(confusion), "confusion": confusion.tolist()}
    each = {name: [{key: test["targets"][name][key] for key in keys} for test in tests] for name in task.names}
    return {**told, "targets": {name: mean_of_targets(scores) for name, scores in each.items()}}


def _baselines(tests: Sequence[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """The mean of every score of each baseline."""
    each = [test.get("baselines", {}) for test in tests]
    return {name: mean_of_targets([found[name] for found in each if name in found]) for name in each[0]}


def in_words(answer: dict[str, Any]) -> dict[str, str]:
    """What :func:`cross_validate` found, for people."""
    told = _model_in_words(answer)
    if "other" in answer:
        found = answer["comparison"]
        told |= {f"{name} of the other": text for name, text in _model_in_words(answer["other"]).items()}
        p = "" if found["p_value"] is None else f", p = {found['p_value']:.3g}"
        told["difference"] = difference(found, METRICS[answer["metric"]]) + p
    return told | {name: str(answer[name]) for name in ("graphs", "test_twins", "report") if name in answer}


def _model_in_words(answer: dict[str, Any]) -> dict[str, str]:
    main = METRICS[answer["metric"]]
    shown = main.form.format
    interval = f", 95% interval {' to '.join(map(shown, answer['interval']))}" if answer["interval"] else ""
    others = {metric.in_line: metric.shown(answer) for key, metric in METRICS.items() if key in answer}
    of_targets = {f"{main.in_line} of {name}": main.shown(own) for name, own in answer.get("targets", {}).items()}
    chosen = Counter(map(settings_in_words, answer["selected"]))
    return {
        "model": answer["model"],
        main.in_line: f"{shown(answer['mean'])} ± {shown(answer['std'])}{interval}",
        "folds": " ".join("undefined" if fold is None else shown(fold) for fold in answer["folds"]),
        **{f"{main.in_line} of the {name}": main.shown(own) for name, own in answer.get("baselines", {}).items()},
        **{name: text for name, text in others.items() if name != main.in_line},
        **of_targets,
        "selected": "; ".join(f"{text or 'the defaults'} ({count}x)" for text, count in chosen.most_common()),
    }


def _test_ratio(folds: Sequence[Fold]) -> float:
    """n_test / n_train, the mean over folds; the validation graphs shape the model, so they count as training."""
    return float(np.mean([len(fold.test) / (len(fold.train) + len(fold.validation)) for fold in folds]))


def _lines_and_curves(result: CellResult) -> tuple[list[FoldLine], dict[int, Curves]]:
    """What a page shows of each fold, and the learning curves of its first repeat that has some."""
    lines: list[FoldLine] = []
    curves: dict[int, Curves] = {}
    for fold, settings in enumerate(result.selected):
        rows = [row for row in result.rows if row.fold == fold]
        accuracies = tuple(row.test[result.cell.headline] for row in rows)
        epochs = tuple(row.best_epoch for row in rows)
        lines.append(FoldLine(fold, rows[0].test["graphs"], accuracies, epochs, settings.changes()))
        drawn = [Curves(row.history, row.best_epoch) for row in rows if row.history and row.epochs]
        curves |= {fold: drawn[0]} if drawn else {}
    return lines, curves
