"""A cross-validation on paper: the table of its folds, the confusion matrix, the learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sargnn import viz
from sargnn.data.graphs import GraphSet
from sargnn.files import write_file
from sargnn.pages.environment import render
from sargnn.pages.words import percent, settings_in_words
from sargnn.studies.protocol import CellResult

__all__ = ["write_report"]

Answer = dict[str, Any]


def write_report(folder: Path, graphs: GraphSet, results: Sequence[CellResult], answer: Answer) -> Path:
    """Write ``report.md`` and ``report.html``; gives the page. Names come from data and are escaped there."""
    summaries = [answer, *([answer["other"]] if "other" in answer else [])]
    write_file(folder / "report.md", markdown(graphs, results, summaries, answer.get("comparison")))
    models = [
        (each, fold_table(result), _confusion(each, graphs, f"m{number}"), _curves(result, f"m{number}"))
        for number, (each, result) in enumerate(zip(summaries, results, strict=True))
    ]
    page = render("cross_validation.html.j2", graphs=graphs, models=models, comparison=answer.get("comparison"))
    write_file(folder / "report.html", page)
    return folder / "report.html"


def fold_table(result: CellResult) -> list[Answer]:
    """One line a fold: the test accuracy of each repeat, their mean, epochs kept, and what was selected."""
    lines = []
    for fold, settings in enumerate(result.selected):
        rows = [row for row in result.rows if row["fold"] == fold]
        accuracies = [row["scores"]["test"]["accuracy"] for row in rows]
        lines.append({
            "fold": fold, "graphs": rows[0]["scores"]["test"]["graphs"], "accuracies": accuracies,
            "mean": float(np.mean(accuracies)), "epochs": [row["best_epoch"] for row in rows],
            "selected": settings.changes(),
        })  # fmt: skip
    return lines


def markdown(
    graphs: GraphSet, results: Sequence[CellResult], summaries: Sequence[Answer], comparison: Answer | None
) -> str:
    """The report without pictures."""
    lines = [f"# Cross-validation on {graphs.name}", "", f"{len(graphs)} graphs, {len(graphs.classes)} classes.", ""]
    for each, result in zip(summaries, results, strict=True):
        lines += [f"## {each['model']}", "", headline(each), ""]
        lines += ["| fold | graphs | test accuracy | each repeat | selected |", "|---|---|---|---|---|"]
        lines += [
            f"| {line['fold']} | {line['graphs']} | {percent(line['mean'])} "
            f"| {', '.join(map(percent, line['accuracies']))} | {settings_in_words(line['selected'])} |"
            for line in fold_table(result)
        ]
        names = [name.replace("|", "\\|") for name in graphs.classes]
        lines += ["", "| true \\ predicted | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        lines += [
            f"| {name} | " + " | ".join(map(str, counts)) + " |"
            for name, counts in zip(names, each["confusion"], strict=True)
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


def _confusion(each: Answer, graphs: GraphSet, prefix: str) -> Markup:
    return Markup(viz.to_svg(viz.confusion_matrix(np.array(each["confusion"]), graphs.classes), prefix=f"{prefix}c"))


def _curves(result: CellResult, prefix: str) -> list[tuple[int, Markup]]:
    """The learning curves of the first repeat of each fold, but for those that diverged at once; none where the
    validation graphs were trained on too."""
    drawn: dict[int, Markup] = {}
    for row in result.rows:
        history = _history(row.get("history", {}))
        if row["fold"] not in drawn and history:
            figure = viz.learning_curves(history, best_epoch=row["best_epoch"])
            drawn[row["fold"]] = Markup(viz.to_svg(figure, prefix=f"{prefix}f{row['fold']}"))
    return sorted(drawn.items())


def _history(curves: dict[str, list[float]]) -> list[Answer]:
    """Columns as rows, one an epoch."""
    epochs = zip(*curves.values(), strict=True)
    return [{"epoch": number, **dict(zip(curves, values, strict=True))} for number, values in enumerate(epochs, 1)]
