"""Published and measured accuracies: the results of a study as Markdown, HTML and a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING

from markupsafe import escape

from sargnn.reproduction import paper
from sargnn.studies.protocol import CellResult
from sargnn.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CellVerdict", "band_table", "cell_verdicts", "figure", "html", "in_standard_errors", "judge_cell", "markdown",
    "table_lines",
]  # fmt: skip

Where = tuple[str, str]


@dataclass(frozen=True)
class CellVerdict:
    """One cell: what was published, what was measured, and what that means. Accuracies in per cent."""

    measured: float
    measured_std: float
    trials: int
    """Folds, or seeds where there is one fold."""
    published: float | None = None
    published_std: float | None = None
    errors: float | None = None
    """Measured minus published, in standard errors of the difference."""
    verdict: str = "without a published value"
    gain: float | None = None
    """Measured minus the cell of the study's baseline row, in standard errors of the difference."""

    @property
    def band(self) -> str:
        """Where the measured mean is: within two published standard deviations of the published one, or outside."""
        assert self.published is not None
        assert self.published_std is not None
        difference = self.measured - self.published
        return "within" if abs(difference) <= 2 * self.published_std else "above" if difference > 0 else "below"

    @property
    def gain_verdict(self) -> str:
        assert self.gain is not None
        return "alike" if abs(self.gain) <= 2 else "better" if self.gain > 0 else "worse"


def in_standard_errors(difference: float, std: float, trials: int, other_std: float, other_trials: int) -> float:
    """A difference of two means in standard errors of it: d / √(σ₁² / n₁ + σ₂² / n₂).

    >>> round(in_standard_errors(5.0, std=50**0.5, trials=4, other_std=5.0, other_trials=4), 4)  # 5 / √(75 / 4)
    1.1547
    """
    return difference / max(sqrt(std**2 / max(trials, 1) + other_std**2 / max(other_trials, 1)), 1e-9)


def judge_cell(where: Where, result: CellResult, published: tuple[float, float] | None) -> CellVerdict:
    """Reproduced: within two standard errors. Not reproducible as described: far below, for a reason that is known.

    The published deviation is taken to be over as many trials as ours.
    """
    mean, std, trials = 100 * result.mean, 100 * result.std, len(result.folds)
    if published is None:
        return CellVerdict(mean, std, trials)
    errors = in_standard_errors(mean - published[0], std, trials, published[1], trials)
    verdict = "reproduced" if abs(errors) <= 2 else "higher" if errors > 0 else "lower"
    known = result.cell.data in paper.REASONS and result.cell.system in paper.BOUNDED
    if verdict == "lower" and mean < published[0] - 10 and known:
        verdict = "not reproducible as described"
    return CellVerdict(mean, std, trials, *published, errors, verdict)


def cell_verdicts(study: Study, results: dict[Where, CellResult]) -> dict[Where, CellVerdict]:
    """Every measured cell with its published value and, where the study has a baseline, with that of its column."""
    found = {where: judge_cell(where, result, study.published.get(where)) for where, result in results.items()}
    for (row, column), c in found.items():
        if study.baseline not in (None, row) and (base := found.get((str(study.baseline), column))):
            spreads = c.measured_std, c.trials, base.measured_std, base.trials
            found[row, column] = replace(c, gain=in_standard_errors(c.measured - base.measured, *spreads))
    return found


def markdown(study: Study, results: dict[Where, CellResult]) -> str:
    """A table: measured ± deviation, the published value, the difference in standard errors, the verdict."""
    found = cell_verdicts(study, results)
    rows, columns = _names(study)
    cells = {where: _bold(*_lines(found.get(where), study.published.get(where))) for where in product(rows, columns)}
    lines = [f"## {study.title}", ""]
    lines += table_lines(["", *columns], ([row, *(cells[row, column] for column in columns)] for row in rows))
    verdicts = [c.verdict for c in found.values()]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    lines += ["", f"{len(found)} of {len(study.cells)} cells measured: {counts}." if found else "No cell measured yet."]
    reasons = {c.data for c in study.cells.values() if c.data in paper.REASONS}
    lines += [f"Why {name} differs: {paper.REASONS[name]}." for name in sorted(reasons)]
    return "\n".join(lines) + "\n"


def band_table(study: Study, results: dict[Where, CellResult], columns: Sequence[str]) -> str:
    """Whether each row with published values is within two published standard deviations of them or above, column by
    column, and which are not."""
    found = {where: c for where, c in cell_verdicts(study, results).items() if where[1] in columns}
    judged = {where: c for where, c in found.items() if c.published is not None}
    told = {
        where: f"{c.measured:.1f}, published {c.published} ± {c.published_std}: {c.band}" for where, c in judged.items()
    }
    rows = dict.fromkeys(row for row, _ in study.published)
    lines = table_lines(["", *columns], ([row, *(told.get((row, name), "-") for name in columns)] for row in rows))
    below = [f"{row} on {column}" for (row, column), c in judged.items() if c.band == "below"]
    count = f"{len(judged) - len(below)} of {len(judged)} measured cells are within two standard deviations or above"
    return "\n".join([*lines, "", f"{count}; below: {', '.join(below) or 'none'}."]) + "\n"


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
        lines = _lines(found.get(where), study.published.get(where))
        verdict = found[where].verdict if where in found else "missing"
        cells[where] = f'<td class="{verdict.split()[0]}">{"<br>".join(map(escape, lines))}</td>'
    body = "".join(f"<tr><th>{escape(row)}</th>{''.join(cells[row, c] for c in columns)}</tr>" for row in rows)
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
    colours = {
        "reproduced": "#2f7f79", "higher": "#3f6fb5", "lower": "#c8553d", "not reproducible as described": "#8c2f5e",
    }  # fmt: skip
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


def _lines(found: CellVerdict | None, published: tuple[float, float] | None) -> list[str]:
    """What stands in a cell: measured, published, and how they compare."""
    told = [f"published {published[0]:.1f} ± {published[1]:.1f}"] if published else []
    if found is None:
        return ["not measured", *told]
    spread = f" ± {found.measured_std:.1f}" if found.trials > 1 else ", one training"
    judged = [f"{found.errors:+.1f} s.e., {found.verdict}"] if found.errors is not None else []
    if found.gain is not None:
        judged.append(f"{found.gain:+.1f} s.e. from the first row, {found.gain_verdict}")
    return [f"{found.measured:.1f}{spread}", *told, *judged]


def _bold(measured: str, *more: str) -> str:
    """The lines of a cell in Markdown, the measured mean in bold."""
    return "<br>".join([re.sub(r"^[\d.]+", r"**\g<0>**", measured), *more])


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#22303c}
table{border-collapse:collapse}
td,th{padding:.4rem .7rem;border-bottom:1px solid #dde3e8;text-align:left;vertical-align:top}
td.reproduced{background:#e5f2f0}td.higher{background:#e6eef9}td.lower{background:#fbe9e4}td.not{background:#f5e3ec}
td.missing{color:#98a3ad}
"""
