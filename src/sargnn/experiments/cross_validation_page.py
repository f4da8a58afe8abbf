"""A cross-validation on paper: the table of its folds, the confusion matrix, the learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sargnn import viz
from sargnn.data.graphs import GraphSet
from sargnn.files import write_file
from sargnn.training.protocol import CellResult

__all__ = ["write_report"]

Answer = dict[str, Any]


def write_report(folder: Path, graphs: GraphSet, results: Sequence[CellResult], answer: Answer) -> Path:
    """Write ``report.md`` and ``report.html``; gives the page. Names come from data and are escaped there."""
    summaries = [answer, *([answer["other"]] if "other" in answer else [])]
    write_file(folder / "report.md", markdown(graphs, results, summaries, answer.get("comparison")))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": _percent, "settings": _settings}
    template = environment.from_string((files("sargnn") / "templates" / "cross_validation.html.j2").read_text("utf-8"))
    models = [
        (each, fold_table(result), _confusion(each, graphs, f"m{number}"), _curves(result, f"m{number}"))
        for number, (each, result) in enumerate(zip(summaries, results, strict=True))
    ]
    page = template.render(graphs=graphs, models=models, comparison=answer.get("comparison"))
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
            f"| {line['fold']} | {line['graphs']} | {_percent(line['mean'])} "
            f"| {', '.join(map(_percent, line['accuracies']))} | {_settings(line['selected'])} |"
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
    shown = f" (95 % interval {_percent(low_high[0])} to {_percent(low_high[1])})" if low_high else ""
    auroc = "" if each["auroc"] is None else f", AUROC {each['auroc']:.3f}"
    return (
        f"Test accuracy {_percent(each['mean'])} ± {_percent(each['std'])}{shown}, "
        f"balanced accuracy {_percent(each['balanced_accuracy'])}{auroc}."
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


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _settings(changes: Answer) -> str:
    """What was selected, as ``--set`` takes it.

    >>> _settings({"name": "gcn", "model": {"layers": 2}, "training": {"learning_rate": 0.005}})
    'model.layers=2 training.learning_rate=0.005'
    """
    sections = ((section, fields) for section, fields in changes.items() if section != "name")
    return " ".join(f"{section}.{key}={value}" for section, fields in sections for key, value in fields.items())
