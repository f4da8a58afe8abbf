"""The report of a cross-validation: the table of its folds, the confusion matrix, the learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sargnn import viz
from sargnn.data.graphs import GraphSet
from sargnn.files import write_file
from sargnn.pages.environment import render
from sargnn.pages.words import percent, settings_in_words

__all__ = ["Curves", "FoldLine", "ModelPage", "write_report"]

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class FoldLine:
    """One fold of a model: the test accuracy of each repeat, the epoch each kept, and the settings selected."""

    fold: int
    graphs: int
    """Test graphs."""
    accuracies: tuple[float, ...]
    epochs: tuple[int, ...]
    selected: Answer
    """As :meth:`~sargnn.training.settings.Settings.changes` gives it."""

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))


@dataclass(frozen=True)
class Curves:
    """The learning curves of one training."""

    history: Mapping[str, Sequence[float]]
    """By name, one number per epoch."""
    best_epoch: int

    def draw(self, prefix: str) -> Markup:
        epochs = enumerate(zip(*self.history.values(), strict=True), 1)
        rows = [{"epoch": number, **dict(zip(self.history, values, strict=True))} for number, values in epochs]
        return Markup(viz.to_svg(viz.learning_curves(rows, best_epoch=self.best_epoch), prefix=prefix))


@dataclass(frozen=True)
class ModelPage:
    """What is shown of one model."""

    summary: Answer
    """``model``, ``mean``, ``std``, ``interval``, ``balanced_accuracy``, ``auroc`` and ``confusion``."""
    folds: Sequence[FoldLine]
    curves: Mapping[int, Curves] = field(default_factory=dict)
    """By fold; none where the validation graphs were trained on too, or the training diverged at once."""


def write_report(folder: Path, graphs: GraphSet, models: Sequence[ModelPage], comparison: Answer | None) -> Path:
    """Write ``report.md`` and ``report.html``; gives the page. Names come from data and are escaped there.

    ``comparison``: ``models``, ``difference`` and ``p_value``, where two are compared.
    """
    write_file(folder / "report.md", markdown(graphs, models, comparison))
    drawn = []
    for number, each in enumerate(models):
        figure = viz.confusion_matrix(np.array(each.summary["confusion"]), graphs.classes)
        confusion = Markup(viz.to_svg(figure, prefix=f"m{number}c"))
        curves = [(fold, shown.draw(f"m{number}f{fold}")) for fold, shown in sorted(each.curves.items())]
        drawn.append((each.summary, each.folds, confusion, curves))
    page = render("cross_validation.html.j2", graphs=graphs, models=drawn, comparison=comparison)
    write_file(folder / "report.html", page)
    return folder / "report.html"


def markdown(graphs: GraphSet, models: Sequence[ModelPage], comparison: Answer | None) -> str:
    """The report without pictures."""
    lines = [f"# Cross-validation on {graphs.name}", "", f"{len(graphs)} graphs, {len(graphs.classes)} classes.", ""]
    for each in models:
        lines += [f"## {each.summary['model']}", "", headline(each.summary), ""]
        lines += ["| fold | graphs | test accuracy | each repeat | selected |", "|---|---|---|---|---|"]
        lines += [
            f"| {line.fold} | {line.graphs} | {percent(line.mean)} "
            f"| {', '.join(map(percent, line.accuracies))} | {settings_in_words(line.selected)} |"
            for line in each.folds
        ]
        names = [name.replace("|", "\\|") for name in graphs.classes]
        lines += ["", "| true \\ predicted | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        lines += [
            f"| {name} | " + " | ".join(map(str, counts)) + " |"
            for name, counts in zip(names, each.summary["confusion"], strict=True)
        ]
        lines += ["", "Counts are summed over folds and repeats.", ""]
    return "\n".join(lines + ([verdict(comparison), ""] if comparison else []))


def headline(each: Answer) -> str:
    """The result in one sentence."""
    low_high = each["interval"]
    shown = f" (95 % interval {percent(low_high[0])} to {percent(low_high[1])})" if low_high else ""
    auroc = "" if each["auroc"] is None else f", AUROC {each['auroc']:.3f}"
    return (
        f"Test accuracy {percent(each['mean'])} ± {percent(each['std'])}{shown}, "
        f"balanced accuracy {percent(each['balanced_accuracy'])}{auroc}."
    )


def verdict(comparison: Answer) -> str:
    """The comparison in one sentence."""
    first, second = comparison["models"]
    p = "not defined" if comparison["p_value"] is None else f"{comparison['p_value']:.3g}"
    return (
        f"{first} minus {second}: {100 * comparison['difference']:+.1f} points; "
        f"p = {p} by the corrected resampled t-test (Nadeau & Bengio 2003)."
    )
