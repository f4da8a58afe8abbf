"""The text beside a picture: what the paper claims of its figure, what was measured, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sargnn.pages.environment import render
from sargnn.reproduction.tables import in_standard_errors, table_lines
from sargnn.studies.store import Job, Row

__all__ = ["Claim", "FigureNotes", "Measured", "html", "judge", "markdown"]

Measured = Mapping[Job, Row]
"""The rows of what is measured besides accuracy, by job."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what was measured."""

    published: str
    measured: str
    errors: float | None
    """How far the measured difference goes the claimed way, in its standard errors; none: without a spread."""
    verdict: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line of a table."""
        difference = "" if self.errors is None else f"{self.errors:+.1f} s.e."
        return self.published, self.measured, difference, self.verdict


@dataclass(frozen=True)
class FigureNotes:
    """The text beside the picture."""

    title: str
    caption: str
    """How the numbers were made."""
    claims: tuple[Claim, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def judge(published: str, what: str, better: np.ndarray, worse: np.ndarray, unit: str = "points") -> Claim:
    """A claim that values of the first kind (one per trial, two trials at least) are larger on average than the others.

    Reproduced: by more than two standard errors of the difference. Not seen: within two. Contradicted: the other way.

    >>> claim = judge("a beats b", "a at 16", np.array([80.0, 82.0]), np.array([70.0, 71.0]), "points")
    >>> claim.measured, round(claim.errors, 1), claim.verdict  # 10.5 / √(2 / 2 + 0.5 / 2)
    ('a at 16: 81 against 70.5, +10.5 points', 9.4, 'reproduced')
    """
    gain = float(better.mean() - worse.mean())
    measured = f"{what}: {better.mean():.3g} against {worse.mean():.3g}, {gain:+.3g} {unit}".strip()
    if min(len(better), len(worse)) < 2:
        return Claim(published, measured, None, "not judged: one trial")
    spread, other = float(better.std(ddof=1)), float(worse.std(ddof=1))
    if max(spread, other) < 1e-12:
        return Claim(published, measured, None, "not judged: no spread")
    errors = in_standard_errors(gain, spread, len(better), other, len(worse))
    verdict = "not seen" if abs(errors) <= 2 else "reproduced" if errors > 0 else "contradicted"
    return Claim(published, measured, errors, verdict)


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
