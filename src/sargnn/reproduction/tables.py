"""Published and measured accuracies: the results of a study as Markdown, HTML and a picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sargnn.reproduction import paper
from sargnn.studies.protocol import CellResult
from sargnn.studies.statistics import Difference, paired_difference, unpaired_difference
from sargnn.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CellVerdict", "cell_verdicts", "compared", "compared_with", "figure", "html", "in_standard_errors", "judge_cell",
    "markdown", "settings_changed", "table_lines", "verdict_counts",
]  # fmt: skip

Where = tuple[str, str]

PUBLISHED_FOLDS = 10
"""Of every published deviation but those on TRIANGLES, which are over initialisations; how many is not said."""
TEST_RATIO = 1 / 9
"""n_test / n_train of the protocol's ten folds, also where a preset takes fewer of them. Validation graphs shape the
model: they count as training."""
ONE_TRAINING = "one training, no verdict"


@dataclass(frozen=True)
class CellVerdict:
    """One cell: what was published, what was measured, and what that means. Accuracies in per cent."""

    measured: float
    measured_std: float
    """Population form, as the published ones."""
    trials: int
    """Folds, or seeds where there is one fold."""
    published: float | None = None
    published_std: float | None = None
    errors: float | None = None
    """Measured minus published, in standard errors of the difference; none: without a verdict."""
    verdict: str = "without a published value"
    gain: Difference | None = None
    """Measured minus the cell of :func:`compared_with`, in points."""


def in_standard_errors(difference: float, std: float, trials: int, other_std: float, other_trials: int) -> float:
    """A difference of two means in standard errors of it: d / √(σ₁² / (n₁ - 1) + σ₂² / (n₂ - 1)).

    The deviations are of population form, and the sample variance is n / (n - 1) times their square: the standard error
    of a mean of n values is σ / √(n - 1). Folds share training graphs, so the true error is larger: after Nadeau &
    Bengio its square is (1 / n + n_test / n_train) times the sample variance, about twice as much for ten folds.
    The correction is of the difference of two models on the same folds, fold by fold. Of a published value nothing but
    a mean and a deviation is known, and not over which folds. So the plain error is taken, for both sides.

    >>> round(in_standard_errors(5.0, std=50**0.5, trials=4, other_std=5.0, other_trials=4), 4)  # 5 / √(75 / 3)
    1.0
    """
    return difference / max(sqrt(std**2 / (trials - 1) + other_std**2 / (other_trials - 1)), 1e-9)


def judge_cell(result: CellResult, published: tuple[float, float] | None) -> CellVerdict:
    """Reproduced: within two standard errors of the difference, else higher or lower. One training has no deviation and
    gets no verdict. Where trials are seeds, the published deviation is taken to be over as many."""
    mean, std, trials = 100 * result.mean, 100 * result.std, len(result.folds)
    if published is None:
        return CellVerdict(mean, std, trials)
    if trials == 1:
        return CellVerdict(mean, std, trials, *published, verdict=ONE_TRAINING)
    others = PUBLISHED_FOLDS if result.cell.folds > 1 else trials
    errors = in_standard_errors(mean - published[0], std, trials, published[1], others)
    verdict = "reproduced" if abs(errors) <= 2 else "higher" if errors > 0 else "lower"
    return CellVerdict(mean, std, trials, *published, errors, verdict)


def compared(result: CellResult, other: CellResult) -> Difference:
    """Accuracy minus that of another model, in points: over the same folds, or over the seeds of one split."""
    first, second = 100 * result.folds, 100 * other.folds
    if min(result.cell.folds, other.cell.folds) == 1:
        return unpaired_difference(first, second)
    return paired_difference(first, second, TEST_RATIO)


def compared_with(study: Study, row: str) -> str | None:
    """The row that a row is compared with: the study's baseline, the base model of a SAR model (Table 2), or that of a
    variant (Table 1)."""
    rows = {name for name, _ in study.cells}
    names = [study.baseline] if study.baseline else [row[4:] if row.startswith("sar-") else row, "base"]
    return next((name for name in names if name in rows and name != row), None)


def cell_verdicts(study: Study, results: dict[Where, CellResult]) -> dict[Where, CellVerdict]:
    """Every measured cell beside its published value and beside that of the row it is compared with."""
    found = {where: judge_cell(result, study.published.get(where)) for where, result in results.items()}
    for (row, column), result in results.items():
        other = compared_with(study, row)
        if other is not None and (other, column) in results:
            found[row, column] = replace(found[row, column], gain=compared(result, results[other, column]))
    return found


def verdict_counts(found: Iterable[CellVerdict]) -> Counter[str]:
    """How many cells have which verdict; those without one do not count."""
    return Counter(c.verdict for c in found if c.errors is not None)


def settings_changed(row: str) -> int:
    """In how many settings a row of the ablations differs from the first, with those that come with another."""
    values = paper.ABLATIONS[row]
    return len(values.keys() | {name for setting in values.items() for name in paper.IMPLIED.get(setting, ())})


def markdown(study: Study, results: dict[Where, CellResult]) -> str:
    """A table: measured ± deviation, the published value, the difference in standard errors, the verdict."""
    found = cell_verdicts(study, results)
    rows, columns = _names(study)
    cells = {
        (row, column): _bold(*_lines(study, row, found.get((row, column)), study.published.get((row, column))))
        for row, column in product(rows, columns)
    }
    body = (["<br>".join(_label(study, row)), *(cells[row, column] for column in columns)] for row in rows)
    summary = _summary(study, found) if found else ["No cell measured yet."]
    return "\n".join([f"## {study.title}", "", *table_lines(["", *columns], body), "", *summary]) + "\n"


def _summary(study: Study, found: dict[Where, CellVerdict]) -> list[str]:
    """How many cells have which verdict."""
    counts, alone = verdict_counts(found.values()), sum(c.verdict == ONE_TRAINING for c in found.values())
    told = f": {_counted(counts)}" if counts else ""
    without = f"; {alone} of one training, without a verdict" if alone else ""
    lines = [f"{len(found)} of {len(study.cells)} cells measured{told}{without}."]
    gains = [c.gain for c in found.values() if c.gain and c.gain.ends]
    if gains:
        whom = "the first row" if study.baseline else "base models"
        told = f"Against {whom}, by 95 % intervals: {_counted(Counter(gain.verdict for gain in gains))}."
        chance = f" By chance alone about {len(gains) / 20:.0f} of {len(gains)} would exclude 0."
        lines += ["", told + (chance if len(gains) >= 20 else "")]
    return lines


def _counted(verdicts: Counter[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table.

    >>> table_lines(["", "a"], [["first", "1"]])
    ['| | a |', '|---|---|', '| first | 1 |']
    """
    head, *body = ("| " + " | ".join(cells).lstrip() + " |" for cells in (columns, *rows))
    return [head, "|---" * len(columns) + "|", *body]


def html(study: Study, results: dict[Where, CellResult]) -> str:
    """The same table as one page that opens offline; colour says the verdict."""
    found = cell_verdicts(study, results)
    rows, columns = _names(study)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    cells = {}
    for where in product(rows, columns):
        lines = _lines(study, where[0], found.get(where), study.published.get(where))
        verdict = found[where].verdict if where in found else "missing"
        cells[where] = f'<td class="{verdict.split()[0]}">{"<br>".join(map(escape, lines))}</td>'
    names = {row: Markup("<br>").join(_label(study, row)) for row in rows}
    body = "".join(f"<tr><th>{names[row]}</th>{''.join(cells[row, c] for c in columns)}</tr>" for row in rows)
    title = escape(study.title)
    return (
        f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1><table><tr><th></th>{head}</tr>{body}</table>"
    )


def figure(study: Study, results: dict[Where, CellResult]) -> Figure:
    """Measured against published: one point per cell, the diagonal is agreement."""
    from matplotlib.figure import Figure

    from sargnn.viz import house_style

    found = [c for c in cell_verdicts(study, results).values() if c.published is not None]
    colours = {"reproduced": "#2f7f79", "higher": "#3f6fb5", "lower": "#c8553d", ONE_TRAINING: "#98a3ad"}
    with house_style():
        drawn = Figure(figsize=(6, 6), layout="constrained")
        axes = drawn.add_subplot(xlabel="published accuracy, %", ylabel="measured accuracy, %", title=study.title)
        low = min([c.measured for c in found] + [c.published or 0 for c in found], default=0) - 3
        axes.plot([low, 101], [low, 101], color="#b9c0c7", linewidth=1)
        for verdict, colour in colours.items():
            some = [c for c in found if c.verdict == verdict]
            axes.errorbar(
                [c.published or 0 for c in some], [c.measured for c in some], xerr=[c.published_std or 0 for c in some],
                yerr=[c.measured_std for c in some], fmt="o", color=colour, elinewidth=0.5,
                label=f"{verdict} ({len(some)})",
            )  # fmt: skip
        axes.legend(loc="upper left", frameon=False)
    return drawn


def _names(study: Study) -> tuple[list[str], list[str]]:
    rows = list(dict.fromkeys(row for row, _ in study.cells))
    return rows, list(dict.fromkeys(column for _, column in study.cells))


def _label(study: Study, row: str) -> list[str]:
    """The name of a row; of an ablation, with the number of settings in which it differs from the first row."""
    changed = settings_changed(row) if row in paper.ABLATIONS and row != study.baseline else 0
    return [row, *([f"differs in {changed} setting{'s' * (changed > 1)}"] if changed else [])]


def _lines(study: Study, row: str, found: CellVerdict | None, published: tuple[float, float] | None) -> list[str]:
    """What stands in a cell: measured, published, and how they compare."""
    told = [f"published {published[0]:.1f} ± {published[1]:.1f}"] if published else []
    if found is None:
        return ["not measured", *told]
    spread = f" ± {found.measured_std:.1f}" if found.trials > 1 else ", one training"
    judged = [f"{found.errors:+.1f} s.e., {found.verdict}"] if found.errors is not None else []
    if found.verdict == ONE_TRAINING:
        spread, judged = "", [ONE_TRAINING]
    if found.gain is not None:
        whom = "the first row" if study.baseline else compared_with(study, row)
        judged.append(_told(found.gain, str(whom)))
    return [f"{found.measured:.1f}{spread}", *told, *judged]


def _told(gain: Difference, whom: str) -> str:
    """A difference in points, its interval and its verdict."""
    ends = " ({:.1f} to {:.1f})".format(*gain.ends) if gain.ends else ""
    over = " over seeds" if gain.over == "seeds" and gain.ends else ""
    return f"{gain.mean:+.1f} points from {whom}{ends}{over}, {gain.verdict}"


def _bold(measured: str, *more: str) -> str:
    """The lines of a cell in Markdown, the measured mean in bold."""
    return "<br>".join([re.sub(r"^[\d.]+", r"**\g<0>**", measured), *more])


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#22303c}
table{border-collapse:collapse}
td,th{padding:.4rem .7rem;border-bottom:1px solid #dde3e8;text-align:left;vertical-align:top}
td.reproduced{background:#e5f2f0}td.higher{background:#e6eef9}td.lower{background:#fbe9e4}
td.missing{color:#98a3ad}
"""
