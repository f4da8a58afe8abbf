"""Published beside measured: verdicts worked by hand."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from sargnn.reproduction import paper
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts, ablations, table1, table2
from sargnn.reproduction.tables import (
    cell_verdicts,
    compared_with,
    figure,
    html,
    judge_cell,
    markdown,
    settings_changed,
    verdict_counts,
)
from sargnn.studies.protocol import Cell, CellResult
from sargnn.studies.study import Study


def cell(folds: int = 4) -> Cell:
    return Cell("MUTAG", "fingerprint", "sar-gcn", (), folds=folds)


def result(*folds: float) -> CellResult:
    return CellResult(cell(len(folds)), np.array(folds), (), ())


def of_seeds(*seeds: float) -> CellResult:
    return CellResult(cell(1), np.array(seeds), (), ())


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


FOUR = result(0.7, 0.8, 0.8, 0.9)
"""Mean 80, deviation sqrt(50) = 7.07 per cent."""


def test_the_difference_is_in_standard_errors() -> None:
    # four folds here, ten published: sqrt(50 / 3 + 5² / 9) = 4.4096; (80 - 75) / 4.4096 = 1.1339
    found = judge_cell(FOUR, (75.0, 5.0))
    assert (found.measured, found.measured_std, found.trials) == (pytest.approx(80), pytest.approx(sqrt(50)), 4)
    assert found.errors == pytest.approx(1.1339, abs=1e-4)
    assert found.verdict == "reproduced"


@pytest.mark.parametrize(
    ("published", "verdict"),
    [
        (80.0, "reproduced"),
        (71.2, "reproduced"),  # 8.8 / 4.4096 = 1.996
        (71.1, "higher"),  # 8.9 / 4.4096 = 2.018
        (88.8, "reproduced"),
        (88.9, "lower"),
    ],
)
def test_two_standard_errors_divide_reproduced_from_the_rest(published: float, verdict: str) -> None:
    assert judge_cell(FOUR, (published, 5.0)).verdict == verdict


@pytest.mark.parametrize(("published", "verdict"), [(86.4, "reproduced"), (86.5, "lower"), (77.5, "higher")])
def test_seeds_of_one_split_are_held_against_as_many(published: float, verdict: str) -> None:
    # 82 ± 2 over two seeds, published ± 1: sqrt(2² / 1 + 1² / 1) = 2.236, twice that is 4.47
    assert judge_cell(of_seeds(0.8, 0.84), (published, 1.0)).verdict == verdict


def test_one_training_gets_no_verdict_and_does_not_count() -> None:
    results = {("one", "MUTAG"): of_seeds(0.475), ("two", "MUTAG"): FOUR}
    given = study(one=(46.0, 1.0), two=(75.0, 5.0))
    text = markdown(given, results)
    assert "| one | **47.5**<br>published 46.0 ± 1.0<br>one training, no verdict |" in text
    assert "2 of 2 cells measured: 1 reproduced; 1 of one training, without a verdict." in text
    assert verdict_counts(cell_verdicts(given, results).values()) == {"reproduced": 1}
    assert '<td class="one">' in html(given, results)


def test_without_a_published_value_there_is_nothing_to_judge() -> None:
    found = judge_cell(FOUR, None)
    assert (found.errors, found.verdict) == (None, "without a published value")


def study(**published: tuple[float, float]) -> Study:
    names = ("one", "two")
    given: dict[Any, Any] = {(row, "MUTAG"): published[row] for row in names if row in published}
    return Study("A <study>", {(row, "MUTAG"): cell() for row in names}, given)


def test_markdown_shows_both_values_and_what_is_missing() -> None:
    text = markdown(study(one=(75.0, 5.0), two=(60.0, 1.0)), {("one", "MUTAG"): FOUR})
    assert "| one | **80.0** ± 7.1<br>published 75.0 ± 5.0<br>+1.1 s.e., reproduced |" in text
    assert "| two | not measured<br>published 60.0 ± 1.0 |" in text
    assert "1 of 2 cells measured: 1 reproduced." in text


@pytest.mark.parametrize(
    ("points", "line"),
    [
        # s² = 16 / 3, (1/4 + 1/9) s² = 1.9259, its root times t(0.975; 3) = 3.1824 is 4.4165
        ((8, 12, 8, 12), "+10.0 points from the first row (5.6 to 14.4), better"),
        ((2, 6, 2, 6), "+4.0 points from the first row (-0.4 to 8.4), no difference shown"),
        ((-8, -12, -8, -12), "-10.0 points from the first row (-14.4 to -5.6), worse"),
        ((0, 0, 0, 0), "+0.0 points from the first row, no spread, no verdict"),
    ],
)
def test_a_baseline_row_is_what_others_are_compared_with_fold_by_fold(points: tuple[int, ...], line: str) -> None:
    given = replace(study(), baseline="one")
    other = result(*(FOUR.folds + np.array(points) / 100))
    text = markdown(given, {("one", "MUTAG"): FOUR, ("two", "MUTAG"): other})
    assert "| one | **80.0** ± 7.1 |" in text
    assert line in text


def test_seeds_are_compared_unpaired() -> None:
    results = {("one", "MUTAG"): of_seeds(0.7, 0.72), ("two", "MUTAG"): of_seeds(0.82, 0.8)}
    text = markdown(replace(study(), baseline="one"), results)
    assert "+10.0 points from the first row (3.9 to 16.1) over seeds, better |" in text  # 10 -+ 4.3027 * sqrt(2)
    assert "Against the first row, by 95 % intervals: 1 better." in text


def test_sar_models_are_compared_with_their_base_models() -> None:
    two, one = table2(PRESETS["lean"], facts), table1(PRESETS["lean"], facts)
    assert [compared_with(two, row) for row in ("sar-gat", "gat", "slim")] == ["gat", None, None]
    assert [compared_with(one, row) for row in ("sar-gnn-w", "gnm-gnn", "base")] == ["base", "base", None]
    folds = result(*(FOUR.folds + np.array([0.02, 0.06, 0.02, 0.06])))
    text = markdown(two, {("gat", "MUTAG"): FOUR, ("sar-gat", "MUTAG"): folds})
    assert "+4.0 points from gat (-0.4 to 8.4), no difference shown" in text
    assert "Against base models, by 95 % intervals: 1 no difference shown." in text


def test_of_many_intervals_some_exclude_0_by_chance() -> None:
    columns = [f"set {number}" for number in range(20)]
    given = Study("Many", {(row, column): cell() for row in ("one", "two") for column in columns}, {}, "one")
    better = result(*(FOUR.folds + np.array([0.08, 0.12, 0.08, 0.12])))
    text = markdown(given, {where: FOUR if where[0] == "one" else better for where in given.cells})
    assert "by 95 % intervals: 20 better. By chance alone about 1 of 20 would exclude 0." in text


def test_every_ablation_says_in_how_many_settings_it_differs() -> None:
    counts = {row: settings_changed(row) for row in paper.ABLATIONS}
    assert counts["SAR-GCN, the equations"] == 0
    assert {row: count for row, count in counts.items() if count > 1} == {
        "no saliency (GNM-GNN)": 2, "random-walk inputs, no softmax": 2, "as published (authors' code)": 8
    }  # fmt: skip
    text = markdown(ablations(PRESETS["lean"], facts), {})
    assert "| SAR-GCN, the equations | not" in text
    assert "| uniform saliency<br>differs in 1 setting |" in text
    assert "| no saliency (GNM-GNN)<br>differs in 2 settings |" in text
    assert "as published (authors&#39; code)<br>differs in 8 settings" in html(ablations(PRESETS["lean"], facts), {})


def test_the_values_of_an_ablation_are_not_those_of_the_first_row() -> None:
    cells = ablations(PRESETS["lean"], facts).cells
    first = cells["SAR-GCN, the equations", "MUTAG"].grid[0]
    for row, values in paper.ABLATIONS.items():
        other = cells[row, "MUTAG"].grid[0]
        for name in values:
            section, key = name.split(".")
            known = {**paper.EQUATIONS, name: getattr(getattr(first, section), key, paper.EQUATIONS.get(name))}[name]
            assert getattr(getattr(other, section), key) != known, name


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
