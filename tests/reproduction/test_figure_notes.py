"""What is written beside a figure: verdicts worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.reproduction.figure_notes import Claim, FigureNotes, html, judge, judge_results, markdown
from sargnn.studies.protocol import Cell, CellResult
from sargnn.studies.statistics import Difference

NOTES = FigureNotes(
    "A <figure>",
    "How.",
    (Claim("a & b", "a: 2 against 1", Difference(1.0, (0.5, 1.5), "folds", 10), "reproduced"),),
    ("model", "x"),
    (("<gcn>", "1"),),
)


@pytest.mark.parametrize(
    ("worse", "ends", "verdict"),
    [
        ([70.0, 72.0], "3.92 to 16.1 over 2 seeds", "reproduced"),  # 10 -+ 4.3027 * sqrt(1 + 1)
        ([76.0, 78.0], "-2.08 to 10.1 over 2 seeds", "no difference shown"),
        ([90.0, 92.0], "-16.1 to -3.92 over 2 seeds", "contradicted"),
    ],
)
def test_the_interval_over_seeds_decides(worse: list[float], ends: str, verdict: str) -> None:
    claim = judge("a beats b", "a", np.array([80.0, 82.0]), np.array(worse))
    assert claim.cells[2:] == (ends, verdict)


@pytest.mark.parametrize(
    ("differences", "ends", "verdict"),
    [
        # s² = 4 and J = 3: 4.3027 * sqrt((1/3 + 1/9) 4) = 5.737
        ([4.0, 6.0, 8.0], "0.263 to 11.7 over 3 folds", "reproduced"),
        ([3.0, 5.0, 7.0], "-0.737 to 10.7 over 3 folds", "no difference shown"),
        ([-8.0, -6.0, -4.0], "-11.7 to -0.263 over 3 folds", "contradicted"),
    ],
)
def test_folds_are_compared_one_by_one(differences: list[float], ends: str, verdict: str) -> None:
    worse = np.array([40.0, 80.0, 60.0])
    claim = judge("a beats b", "a", worse + np.array(differences), worse, folds=True)
    assert claim.cells[2:] == (ends, verdict)
    cell = Cell("MUTAG", "fingerprint", "gcn", (), folds=3)
    results = [CellResult(cell, values / 100, (), ()) for values in (worse + np.array(differences), worse)]
    assert judge_results("a beats b", "a", *results).cells == claim.cells


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [([80.0], [70.0, 71.0], "one training, no verdict"), ([80.0, 80.0], [70.0, 70.0], "no spread, no verdict")],
)
def test_without_a_spread_nothing_is_judged(better: list[float], worse: list[float], verdict: str) -> None:
    claim = judge("a beats b", "a", np.array(better), np.array(worse))
    assert claim.cells[2:] == ("", verdict)


def test_markdown_has_the_picture_the_claims_and_the_numbers() -> None:
    assert markdown(NOTES, "a.png") == (
        "## A <figure>\n\n![A <figure>](a.png)\n\nHow.\n\n"
        "| the paper | measured | difference | verdict |\n|---|---|---|---|\n"
        "| a & b | a: 2 against 1 | 0.5 to 1.5 over 10 folds | reproduced |\n\n"
        "| model | x |\n|---|---|\n| <gcn> | 1 |\n"
    )
    assert "Nothing measured yet." in markdown(FigureNotes("Empty", "How.", (), ("model",), ()))


def test_html_is_escaped_and_holds_the_drawing() -> None:
    page = html(NOTES, "<svg></svg>")
    assert "<svg></svg>" in page
    assert "A &lt;figure&gt;" in page
    assert "<td>&lt;gcn&gt;</td>" in page
    assert '<tr class="reproduced">' in page
