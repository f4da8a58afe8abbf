"""What is written beside a figure: verdicts worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.reproduction.figure_notes import Claim, FigureNotes, html, judge, markdown

NOTES = FigureNotes(
    "A <figure>", "How.", (Claim("a & b", "a: 2 against 1", 3.0, "reproduced"),), ("model", "x"), (("<gcn>", "1"),)
)


@pytest.mark.parametrize(
    ("worse", "errors", "verdict"),
    [
        ([70.0, 71.0], 9.391, "reproduced"),  # 10.5 / √(2 / 2 + 0.5 / 2)
        ([78.0, 80.0], 1.414, "not seen"),  # 2 / √(2 / 2 + 2 / 2)
        ([78.0, 84.0], 0.0, "not seen"),
        ([91.0, 92.0], -9.391, "contradicted"),
    ],
)
def test_two_standard_errors_divide_what_is_seen_from_what_is_not(
    worse: list[float], errors: float, verdict: str
) -> None:
    claim = judge("a beats b", "a", np.array([80.0, 82.0]), np.array(worse))
    assert claim.errors == pytest.approx(errors, abs=1e-3)
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [([80.0], [70.0, 71.0], "not judged: one trial"), ([80.0, 80.0], [70.0, 70.0], "not judged: no spread")],
)
def test_without_a_spread_nothing_is_judged(better: list[float], worse: list[float], verdict: str) -> None:
    claim = judge("a beats b", "a", np.array(better), np.array(worse))
    assert (claim.errors, claim.verdict) == (None, verdict)


def test_markdown_has_the_picture_the_claims_and_the_numbers() -> None:
    assert markdown(NOTES, "a.png") == (
        "## A <figure>\n\n![A <figure>](a.png)\n\nHow.\n\n"
        "| the paper | measured | difference | verdict |\n|---|---|---|---|\n"
        "| a & b | a: 2 against 1 | +3.0 s.e. | reproduced |\n\n"
        "| model | x |\n|---|---|\n| <gcn> | 1 |\n"
    )
    assert "Nothing measured yet." in markdown(FigureNotes("Empty", "How.", (), ("model",), ()))


def test_html_is_escaped_and_holds_the_drawing() -> None:
    page = html(NOTES, "<svg></svg>")
    assert "<svg></svg>" in page
    assert "A &lt;figure&gt;" in page
    assert "<td>&lt;gcn&gt;</td>" in page
    assert '<tr class="reproduced">' in page
