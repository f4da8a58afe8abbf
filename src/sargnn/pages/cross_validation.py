"""The report of a cross-validation: the table of its folds, the confusion matrix, the learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from sargnn import viz
from sargnn.data.graphs import GraphSet
from sargnn.files import write_file
from sargnn.pages.environment import render
from sargnn.pages.training_report import chart, facts_of, ribbon
from sargnn.pages.words import in_markdown, settings_in_words
from sargnn.tasks import Metric
from sargnn.tasks.scores import METRICS

__all__ = ["Curves", "FoldLine", "ModelPage", "write_report"]

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class FoldLine:
    """One fold of a model: the headline score of each repeat, the epoch each kept, and the settings selected."""

    fold: int
    graphs: int
    """Test graphs."""
    scores: tuple[float | None, ...]
    """None where the test graphs do not define it."""
    epochs: tuple[int, ...]
    selected: Answer
    """As :meth:`~sargnn.training.settings.Settings.changes` gives it."""

    @property
    def mean(self) -> float | None:
        known = [score for score in self.scores if score is not None]
        return float(np.mean(known)) if known else None


@dataclass(frozen=True)
class Curves:
    """The learning curves of one training."""

    history: Mapping[str, Sequence[float]]
    """By name, one number per epoch."""
    best_epoch: int

    def draw(self, prefix: str) -> Markup:
        scores = [name for name in self.history if name.startswith("validation_") and name != "validation_loss"]
        shown = (scores[-1] if scores else "validation_accuracy").removeprefix("validation_")
        epochs = enumerate(zip(*self.history.values(), strict=True), 1)
        rows = [{"epoch": number, **dict(zip(self.history, values, strict=True))} for number, values in epochs]
        return chart(viz.learning_curves(rows, best_epoch=self.best_epoch, score=shown), prefix)


@dataclass(frozen=True)
class ModelPage:
    """What is shown of one model."""

    summary: Answer
    """``model``, ``metric``, ``mean``, ``std``, ``interval``, the scores by their keys, and ``confusion`` of classes or
    the scores of each of the ``targets``."""
    folds: Sequence[FoldLine]
    curves: Mapping[int, Curves] = field(default_factory=dict)
    """By fold; none where the validation graphs were trained on too, or the training diverged at once."""


def write_report(
    folder: Path,
    graphs: GraphSet,
    models: Sequence[ModelPage],
    comparison: Answer | None,
    *,
    made: Answer | None = None,
) -> Path:
    """Write ``report.md`` and ``report.html``; gives the page. Names come from data and are escaped there.

    ``comparison``: ``models``, ``difference`` and ``p_value``, where two are compared. ``made``: how the study was
    made, by name.
    """
    made = made or {}
    write_file(folder / "report.md", markdown(graphs, models, comparison))
    main = METRICS[models[0].summary["metric"]]
    drawn = []
    for number, each in enumerate(models):
        figure = chart(_figure(each.summary, graphs), f"m{number}c")
        curves = [(fold, shown.draw(f"m{number}f{fold}")) for fold, shown in sorted(each.curves.items())]
        drawn.append((each.summary, each.folds, figure, curves, _baselines(each.summary)))
    others = [metric for key, metric in METRICS.items() if key in models[0].summary and metric != main]
    page = render(
        "cross_validation.html.j2", graphs=graphs, models=drawn, comparison=comparison, main=main, others=others,
        kinds=_kinds(graphs), difference=comparison and difference(comparison, main), made=made,
        bounded="%" in main.form, facts=facts_of(graphs), sizes=chart(viz.size_histogram(graphs), "sizes"),
        colours=ribbon(),
    )  # fmt: skip
    write_file(folder / "report.html", page)
    return folder / "report.html"


def _figure(summary: Answer, graphs: GraphSet) -> Figure:
    if "confusion" in summary:
        return viz.confusion_matrix(np.array(summary["confusion"]), graphs.classes)
    main, targets = METRICS[summary["metric"]], summary["targets"]
    values = [scores[main.key] for scores in targets.values()]
    return viz.target_bars(list(targets), values, main.name, chance=0.5 if main.key == "auroc" else 0.0)


def _kinds(graphs: GraphSet) -> str:
    """What is predicted, counted."""
    number = len(graphs.target_names) or len(graphs.classes)
    thing = "target" if graphs.target_names else "class"
    return f"{number} {thing}" + ("" if number == 1 else "s" if thing == "target" else "es")


def markdown(graphs: GraphSet, models: Sequence[ModelPage], comparison: Answer | None) -> str:
    """The report without pictures."""
    lines = [f"# Cross-validation on {in_markdown(graphs.name)}", "", f"{len(graphs)} graphs, {_kinds(graphs)}.", ""]
    for each in models:
        lines += [f"## {in_markdown(each.summary['model'])}", "", headline(each.summary), ""]
        main = METRICS[each.summary["metric"]]
        lines += [f"| fold | graphs | test {main.in_line} | each repeat | selected |", "|---|---|---|---|---|"]
        lines += [
            f"| {line.fold} | {line.graphs} | {main.text(line.mean)} "
            f"| {', '.join(map(main.text, line.scores))} | {in_markdown(settings_in_words(line.selected), 1000)} |"
            for line in each.folds
        ]
        if "confusion" not in each.summary:
            metrics = [metric for key, metric in METRICS.items() if key in each.summary]
            lines += [
                "",
                "| target | " + " | ".join(metric.name for metric in metrics) + " |",
                "|---" * (len(metrics) + 1) + "|",
            ]
            for name, scores in each.summary["targets"].items():
                shown = " | ".join(metric.shown(scores) for metric in metrics)
                lines.append(f"| {in_markdown(name)} | {shown} |")
            lines += ["", "Means over folds and repeats.", ""]
            continue
        names = list(map(in_markdown, graphs.classes))
        lines += ["", "| true \\ predicted | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        lines += [
            f"| {name} | " + " | ".join(map(str, counts)) + " |"
            for name, counts in zip(names, each.summary["confusion"], strict=True)
        ]
        lines += ["", "Counts are summed over folds and repeats.", ""]
    return "\n".join(lines + ([verdict(comparison, METRICS[models[0].summary["metric"]]), ""] if comparison else []))


def _baselines(each: Answer) -> dict[str, float]:
    """The headline of each baseline, the mean over folds and repeats, where it is defined."""
    found = {name: scores[each["metric"]] for name, scores in each.get("baselines", {}).items()}
    return {name: value for name, value in found.items() if value is not None}


def headline(each: Answer) -> str:
    """The result in one sentence."""
    low_high, main = each["interval"], METRICS[each["metric"]]
    shown = f" (95 % interval {main.text(low_high[0])} to {main.text(low_high[1])})" if low_high else ""
    others = [metric for key, metric in METRICS.items() if each.get(key) is not None and metric != main]
    told = ", ".join(f"{metric.in_line} {metric.shown(each)}" for metric in others)
    beside = "".join(f" The {name} alone has {main.text(value)}." for name, value in _baselines(each).items())
    return f"Test {main.in_line} {main.text(each['mean'])} ± {main.text(each['std'])}{shown}, {told}.{beside}"


def difference(comparison: Answer, main: Metric) -> str:
    """How far the first model is above the second."""
    found = comparison["difference"]
    return f"{100 * found:+.1f} points" if "%" in main.form else f"{found:+.3f} in {main.in_line}"


def verdict(comparison: Answer, main: Metric) -> str:
    """The comparison in one sentence."""
    first, second = comparison["models"]
    p = "not defined" if comparison["p_value"] is None else f"{comparison['p_value']:.3g}"
    return (
        f"{first} minus {second}: {difference(comparison, main)}; "
        f"p = {p} by the corrected resampled t-test (Nadeau & Bengio 2003)."
    )
