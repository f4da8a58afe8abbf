"""The text beside a picture: what the paper claims of its figure, what was measured, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sargnn.pages.environment import render
from sargnn.reproduction.tables import TEST_RATIO, table_lines
from sargnn.studies.protocol import CellResult
from sargnn.studies.statistics import Difference, paired_difference, unpaired_difference
from sargnn.studies.store import Job, Row

__all__ = ["Claim", "FigureNotes", "Measured", "html", "judge", "judge_results", "markdown"]

Measured = Mapping[Job, Row]
"""The rows of what is measured besides accuracy, by job."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what was measured."""

    published: str
    measured: str
    difference: Difference | None
    """How far the measured difference goes the claimed way; none: there is no spread to hold it against."""
    verdict: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line of a table."""
        found = self.difference
        ends = found.ends if found else None
        told = f"{ends[0]:.3g} to {ends[1]:.3g} over {found.trials} {found.over}" if found and ends else ""
        return self.published, self.measured, told, self.verdict


@dataclass(frozen=True)
class FigureNotes:
    """The text beside the picture."""

    title: str
    caption: str
    """How the numbers were made."""
    claims: tuple[Claim, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def judge(
    published: str, what: str, better: np.ndarray, worse: np.ndarray, unit: str = "points", *, folds: bool = False
) -> Claim:
    """A claim that values of the first kind are larger on average than the others: values of the same folds, in the
    same order, or of seeds.

    Reproduced: the 95 % interval of the difference is above 0. Contradicted: below. No difference shown: 0 is inside.

    >>> claim = judge("a beats b", "a at 16", np.array([80.0, 82.0]), np.array([70.0, 72.0]))
    >>> claim.cells[1:]
    ('a at 16: 81 against 71, +10 points', '3.92 to 16.1 over 2 seeds', 'reproduced')
    """
    found = paired_difference(better, worse, TEST_RATIO) if folds else unpaired_difference(better, worse)
    measured = f"{what}: {better.mean():.3g} against {worse.mean():.3g}, {found.mean:+.3g} {unit}".strip()
    claimed = {"better": "reproduced", "worse": "contradicted"}
    return Claim(published, measured, found, claimed.get(found.verdict, found.verdict))


def judge_results(published: str, what: str, better: CellResult, worse: CellResult) -> Claim:
    """A claim that one model is more accurate than another."""
    folds = min(better.cell.folds, worse.cell.folds) > 1
    return judge(published, what, 100 * better.folds, 100 * worse.folds, folds=folds)


def markdown(notes: FigureNotes, picture: str | None = None) -> str:
    """The notes as Markdown; ``picture`` is the address of the drawing."""
    lines = [f"## {notes.title}", "", *([f"![{notes.title}]({picture})", ""] if picture else []), notes.caption, ""]
    if notes.claims:
        head = ("the paper", "measured", "difference", "verdict")
        lines += [*table_lines(head, (claim.cells for claim in notes.claims)), ""]
    lines += [*(table_lines(notes.columns, notes.rows) if notes.rows else ["Nothing measured yet."]), ""]
    return "\n".join(lines)


def html(notes: FigureNotes, drawing: str) -> str:
    """The notes as a page that opens offline, with the SVG of the picture inside."""
    return render("figure.html.j2", notes=notes, drawing=Markup(drawing))
