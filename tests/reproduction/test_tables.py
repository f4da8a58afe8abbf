"""Published beside measured: verdicts worked by hand."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from sargnn.reproduction.tables import band_table, figure, html, judge_cell, markdown
from sargnn.studies.protocol import Cell, CellResult
from sargnn.studies.study import Study

WHERE = ("sar-gcn", "MUTAG")


def cell(data: str = "MUTAG") -> Cell:
    return Cell(data, "fingerprint", "sar-gcn", (), folds=4)


def result(*folds: float, data: str = "MUTAG") -> CellResult:
    return CellResult(cell(data), np.array(folds), (), ())


FOUR = result(0.7, 0.8, 0.8, 0.9)
"""Mean 80, deviation sqrt(50) = 7.07 per cent."""


def test_the_difference_is_in_standard_errors() -> None:
    # sqrt((7.0711² + 5²) / 4) = sqrt(75 / 4) = 4.3301; (80 - 75) / 4.3301 = 1.1547
    found = judge_cell(WHERE, FOUR, (75.0, 5.0))
    assert (found.measured, found.measured_std, found.trials) == (pytest.approx(80), pytest.approx(sqrt(50)), 4)
    assert found.errors == pytest.approx(1.1547, abs=1e-4)
    assert found.verdict == "reproduced"


@pytest.mark.parametrize(
    ("published", "verdict"),
    [
        (80.0, "reproduced"),
        (71.4, "reproduced"),  # 8.6 / 4.3301 = 1.986
        (71.3, "higher"),  # 8.7 / 4.3301 = 2.009
        (88.6, "reproduced"),
        (88.7, "lower"),
        (99.0, "lower"),  # no reason is known for MUTAG
    ],
)
def test_two_standard_errors_divide_reproduced_from_the_rest(published: float, verdict: str) -> None:
    assert judge_cell(WHERE, FOUR, (published, 5.0)).verdict == verdict


@pytest.mark.parametrize(
    ("published", "verdict"),
    [(89.0, "lower"), (90.0, "lower"), (90.1, "not reproducible as described"), (70.0, "higher")],
)
def test_not_reproducible_needs_ten_points_and_a_reason(published: float, verdict: str) -> None:
    assert judge_cell(WHERE, result(0.8, 0.8, data="TRIANGLES"), (published, 0.1)).verdict == verdict


def test_the_reason_is_one_of_systems_that_the_wl_test_bounds() -> None:
    counted = replace(result(0.8, 0.8, data="TRIANGLES"), cell=replace(cell("TRIANGLES"), system="dss-gnn"))
    assert judge_cell(("dss-gnn", "TRIANGLES"), counted, (93.3, 1.1)).verdict == "lower"


@pytest.mark.parametrize(
    ("published", "band"),
    [(80.0, "within"), (90.0, "within"), (90.1, "below"), (70.0, "within"), (69.9, "above")],
)
def test_the_band_is_two_published_deviations_wide(published: float, band: str) -> None:
    assert judge_cell(WHERE, FOUR, (published, 5.0)).band == band


def test_rows_below_their_band_are_named() -> None:
    given = study(one=(75.0, 5.0), two=(95.0, 7.0))
    text = band_table(given, {(row, "MUTAG"): FOUR for row in ("one", "two")}, ["MUTAG", "PROTEINS"])
    assert text.splitlines()[2:] == [
        "| one | 80.0, published 75.0 ± 5.0: within | - |",
        "| two | 80.0, published 95.0 ± 7.0: below | - |",
        "",
        "1 of 2 measured cells are within two standard deviations or above; below: two on MUTAG.",
    ]
    nothing = band_table(given, {}, ["MUTAG"])
    assert nothing.endswith("0 of 0 measured cells are within two standard deviations or above; below: none.\n")


def test_one_training_has_no_deviation() -> None:
    text = markdown(study(one=(46.0, 1.0)), {("one", "MUTAG"): result(0.475)})
    assert "| one | **47.5**, one training<br>published 46.0 ± 1.0<br>+1.5 s.e., reproduced |" in text


def test_without_a_published_value_there_is_nothing_to_judge() -> None:
    found = judge_cell(WHERE, FOUR, None)
    assert (found.errors, found.verdict) == (None, "without a published value")


def study(**published: tuple[float, float]) -> Study:
    names = ("one", "two")
    given: dict[Any, Any] = {(row, "MUTAG"): published[row] for row in names if row in published}
    return Study("A <study>", {(row, "MUTAG"): cell() for row in names}, given)


def test_markdown_shows_both_values_and_what_is_missing() -> None:
    text = markdown(study(one=(75.0, 5.0), two=(60.0, 1.0)), {("one", "MUTAG"): FOUR})
    assert "| one | **80.0** ± 7.1<br>published 75.0 ± 5.0<br>+1.2 s.e., reproduced |" in text
    assert "| two | not measured<br>published 60.0 ± 1.0 |" in text
    assert "1 of 2 cells measured: 1 reproduced." in text


@pytest.mark.parametrize(
    ("folds", "line"),
    [
        ((0.7, 0.8, 0.8, 0.9), "+0.0 s.e. from the first row, alike"),
        ((0.8, 0.9, 0.9, 1.0), "+2.0 s.e. from the first row, alike"),  # 10 / √(50 / 4 + 50 / 4) = 2
        ((0.9, 0.9, 0.9, 0.9), "+2.8 s.e. from the first row, better"),  # 10 / √(50 / 4)
        ((0.6, 0.6, 0.6, 0.6), "-5.7 s.e. from the first row, worse"),
    ],
)
def test_a_baseline_row_is_what_others_are_compared_with(folds: tuple[float, ...], line: str) -> None:
    given = replace(study(), baseline="one")
    text = markdown(given, {("one", "MUTAG"): FOUR, ("two", "MUTAG"): result(*folds)})
    assert "| one | **80.0** ± 7.1 |" in text
    assert line in text


def test_an_empty_study_is_a_table_too() -> None:
    assert "No cell measured yet." in markdown(study(), {})


def test_html_is_escaped_and_coloured_by_verdict() -> None:
    text = html(study(one=(99.0, 5.0)), {("one", "MUTAG"): FOUR})
    assert "A &lt;study&gt;" in text
    assert "<study>" not in text
    assert '<td class="lower">' in text
    assert '<td class="missing">not measured</td>' in text
    assert "**" not in text
    assert "&lt;br&gt;" not in text


def test_the_figure_has_a_point_for_each_published_cell() -> None:
    drawn = figure(study(one=(75.0, 5.0)), {("one", "MUTAG"): FOUR, ("two", "MUTAG"): FOUR})
    labels = [text.get_text() for text in drawn.axes[0].get_legend().get_texts()]
    assert "reproduced (1)" in labels
    assert "lower (0)" in labels
