"""The page about the recommended model says what rows say, and names every setting in which it leaves the paper."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sargnn.reproduction import paper
from sargnn.reproduction.beyond import LARGE, PLUS, SALIENT, beyond
from sargnn.reproduction.studies import SetFacts, table2
from sargnn.studies.jobs import TrainingRow
from sargnn.studies.protocol import Cell, CellResult, assessment_jobs, collect, selection_jobs
from sargnn.training.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"


Accuracy = Callable[[int], float]
"""Of a fold."""


def in_turns(even: float, odd: float) -> Accuracy:
    return lambda fold: odd if fold % 2 else even


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_beyond", DOCS / "make_beyond.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(maker: ModuleType) -> Any:
    return maker.read_measured(maker.row_files())


def test_the_page_is_made_of_the_rows_that_are_kept(maker: ModuleType, kept: Any) -> None:
    assert maker.PAGE.read_text(encoding="utf-8") == maker.kept_page(kept), "run: python docs/make_beyond.py"


def test_no_table_is_wider_than_a_page(maker: ModuleType) -> None:
    lines = [line for line in maker.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|---")]
    assert max(line.count("|---") for line in lines) <= 7


def test_so_is_the_table_of_the_readme(maker: ModuleType, kept: Any) -> None:
    assert maker.README.read_text(encoding="utf-8") == maker.readme(kept.plus), "run: python docs/make_beyond.py"
    assert maker.BEGIN in maker.readme({})


def test_every_setting_that_leaves_the_equations_is_in_the_recipe(maker: ModuleType) -> None:
    changed = set(told_settings(PLUS)) - set(told_settings("sar-gin"))
    table = maker.TEMPLATE.read_text(encoding="utf-8").split("## What is in the recipe?")[1].split("## ")[0]
    assert changed == set(re.findall(r"`(\w+\.\w+=[^`]+)`", table))


def told_settings(system: str) -> Iterator[str]:
    """Every setting as ``--set`` would take it."""
    settings = Settings.of(system)
    for section in ("model", "data", "training"):
        for key, value in vars(getattr(settings, section)).items():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
            yield f"{section}.{key}={text}"


def test_costs_are_of_the_recipe_as_it_is(maker: ModuleType) -> None:
    rows = [row for row in maker.read_lines("costs.jsonl") if row["system"] in (SALIENT, LARGE)]
    assert {row["data"] for row in rows} == {"MUTAG", "PROTEINS"}
    assert all(Settings.from_json(row["settings"]) == Settings.of(row["system"]) for row in rows), (
        "run benchmarks/costs.py"
    )
    assert all(row["command"] and row["hardware"] and row["versions"] for row in rows)


def test_rows_are_of_the_recipe_as_it_is(maker: ModuleType, kept: Any) -> None:
    """A job does not name the defaults of its system, so that rows of another recipe would pass for this one: at least
    the models must be as large."""
    for costs in maker.read_lines("costs.jsonl"):
        if result := kept.plus.get((costs["system"], costs["data"])):
            assert {row.parameters for row in result.rows if row.fold == 0} == {costs["parameters"]}


def test_without_rows_nothing_is_measured(maker: ModuleType) -> None:
    text = maker.page(maker.Measured({}, {}, frozenset()))
    assert f"`{SALIENT}`: above the best printed number on 0 of 0 sets; 0 of 8 goals reached, 8 not measured" in text
    assert f"| PROTEINS | 76.8<br>sar-gcn | 78.0{' | not measured' * 4} |" in text
    assert "Of 0 tests, 0 show" in text


def test_a_cell_is_measured_when_all_its_rows_are_there(maker: ModuleType, tmp_path: Path) -> None:
    cells = {where: beyond_cell(*where) for where in ((SALIENT, "MUTAG"), ("one member", "MUTAG"))}
    records = [record for cell in cells.values() for record in records_of(cell, in_turns(0.9, 0.8))]
    records += records_of(table2_cell("gsn", "MUTAG"), in_turns(0.9, 0.7))
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records if record is not records[39]))
    found = maker.read_measured([file])
    assert found.plus.keys() == {(SALIENT, "MUTAG")}, "a fold of the other is missing"
    assert found.accuracy(SALIENT, "MUTAG") == "85.0"
    assert found.accuracy("gsn", "MUTAG") == "80.0†"
    assert found.accuracy("gin", "MUTAG") == "not measured"
    assert " 30 trainings on a GPU; version 1; commit c." in maker.page(found)


def test_interval_and_verdict_by_hand(maker: ModuleType) -> None:
    """0.9 and 0.8 in turns: mean 85, s² = 1/360, r = 10/90, so that 85 -+ 2.2622 · 100 √((1/10 + 1/9) / 360)."""
    table = maker.goals({(PLUS, "MUTAG"): result(beyond_cell(PLUS, "MUTAG"), in_turns(0.9, 0.8))})
    assert "| MUTAG | 87.4<br>sar-sage | 90.0 | **85.0** (79.5 to 90.5)<br>-2.4, 5.00 short | not measured |" in table
    assert "on 0 of 1 sets; 0 of 8 goals reached, 7 not measured" in table


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.9, "goal reached"), (0.8996, "0.04 short")])
def test_a_goal_is_reached_by_the_mean_itself(maker: ModuleType, accuracy: float, verdict: str) -> None:
    table = maker.goals({(SALIENT, "MUTAG"): result(beyond_cell(SALIENT, "MUTAG"), lambda _: accuracy)})
    assert f"<br>+2.6, {verdict} |" in table
    assert f"on 1 of 1 sets; {int(accuracy == 0.9)} of 8 goals reached" in table


def test_parts_and_rivals_are_compared_fold_by_fold(maker: ModuleType) -> None:
    """Differences 0 and 0.1 in turns: d = 0.05, √((1/10 + 1/9) / 360) = 0.02422, so t = 2.065 and p = 0.069."""
    scores = {SALIENT: in_turns(0.9, 0.8), "one member": in_turns(0.9, 0.7), "uniform saliency": in_turns(0.8, 0.7)}
    plus = {(row, "MUTAG"): result(beyond_cell(row, "MUTAG"), accuracy) for row, accuracy in scores.items()}
    others = {("gsn", "MUTAG"): result(table2_cell("gsn", "MUTAG"), in_turns(0.9, 0.7))}
    table = maker.parts(plus)
    assert "| one member | 80.0<br>-5.0, p = 0.069 | not measured | not measured |" in table
    assert "Of 2 differences, shown (p < 0.05):\n\n* worse: uniform saliency on MUTAG\n* better: none\n" in table
    table = maker.rivals(maker.Measured(plus, others, frozenset(others)))
    assert "| MUTAG | 85.0 | gsn 80.0†<br>+5.0, p = 0.069 | not measured | not measured |" in table
    assert "Of 1 tests, 0 show" in table


def test_saliency_adds_no_accuracy_only_where_the_interval_is_narrow(maker: ModuleType) -> None:
    """Differences 0 and 0.1 in turns: 5 -+ 2.2622 · 2.422 points; 0 and 0.01: a tenth of it, so within two points."""
    uniform = {"MUTAG": in_turns(0.9, 0.7), "ENZYMES": in_turns(0.9, 0.79)}
    plus = {(SALIENT, data): result(beyond_cell(SALIENT, data), in_turns(0.9, 0.8)) for data in uniform}
    plus |= {(maker.UNIFORM, data): result(beyond_cell(maker.UNIFORM, data), own) for data, own in uniform.items()}
    told = maker.saliency_verdict(plus)
    assert "as accurate, within 2 points, on: ENZYMES.\n" in told
    assert "95 % interval in points: MUTAG -0.5 to 10.5, ENZYMES -0.0 to 1.0." in told
    assert "on: no set." in maker.saliency_verdict({})


def test_one_split_has_a_large_part_and_no_test(maker: ModuleType) -> None:
    plus = {(SALIENT, "TRIANGLES"): result(beyond_cell(SALIENT, "TRIANGLES", folds=1), lambda _: 0.999)}
    others = {("gsn", "TRIANGLES"): result(table2_cell("gsn", "TRIANGLES", folds=1), lambda _: 0.9)}
    table = maker.goals({(PLUS, data): found for (_, data), found in plus.items()})
    assert "| TRIANGLES | 93.3<br>dss-gnn | 99.9 | **99.9** (99.9 to 99.9)<br>+6.6, goal reached |" in table
    assert "| TRIANGLES,<br>26-100 nodes | - | 99.0 | **89.9** (89.9 to 89.9)<br>9.09 short |" in table
    table = maker.rivals(maker.Measured(plus, others, frozenset()))
    assert "| TRIANGLES | 99.9 | gsn 90.0<br>+9.9 | not measured" in table


def test_costs_are_shown_of_the_best_measured_systems(maker: ModuleType) -> None:
    accuracies = {"gsn": 0.7, "slim": 0.8}
    others = {(s, "MUTAG"): result(table2_cell(s, "MUTAG"), in_turns(a, a)) for s, a in accuracies.items()}
    time = {"seconds": 0.00125, "spread": 0.0}
    row = {"data": "MUTAG", "parameters": 1234, "epoch": time, "prediction": time, "forward": time, "rounds": 5}
    row |= {"hardware": "a CPU", "versions": {"torch": "2"}, "others": 0.51}
    costs = [{**row, "system": system} for system in (SALIENT, LARGE, "gin", "gsn", "slim")]
    table = maker.cost_table(maker.Measured({}, others, frozenset()), costs)
    assert [line.split(" | ")[1] for line in table.splitlines()[2:6]] == [
        f"`{SALIENT}`",
        f"`{LARGE}`",
        "`slim`",
        "`gsn`",
    ]
    assert "| MUTAG | `slim` | 80.0 | 1,234 | 0.00125 s | 1.25 ms | 1.25 ms |" in table
    assert "Medians of 5 rounds; a CPU;\ntorch 2;\ncores used by other work meanwhile: 0.5." in table


def test_trials_are_one_line_per_variant_and_split_where_they_are_too_wide(maker: ModuleType) -> None:
    changes = {"model.layers": 2, "data.encodings": ["auto", "degree"], "residual": True}
    row = {"edges": "none", "epochs": 50, "accuracy_of_one": 0.5, "accuracy_of_four": 0.625, "hardware": "a GPU"}
    rows = [{**row, "data": "MUTAG", "changes": {}}, {**row, "data": "PROTEINS", "changes": changes}]
    table = maker.trials([{"base": {"model.layers": 3}}, *rows])
    assert "| changed | edges | epochs | MUTAG |\n|---|---|---|---|\n| nothing | none | 50 | 50.0, 62.5 |\n\n" in table
    assert "| changed | edges | epochs | PROTEINS |" in table
    assert "| model.layers=2<br>data.encodings=auto,degree<br>residual | none | 50 | 50.0, 62.5 |" in table
    assert "Base: model.layers=3. Trained on a GPU." in table


def test_later_trials_stand_beside_what_saliency_finds(maker: ModuleType) -> None:
    changes = {"residual layers": True, "model.hidden": 128}
    rows = [
        {"data": "PROTEINS", "changes": {}, "accuracy_of_one": 0.5, "accuracy_of_three": 0.625},
        {"data": "MUTAG", "changes": changes, "accuracy_of_one": 0.75, "accuracy_of_three": 0.8},
        {"data": "motifs", "changes": {}, "node_auc": 0.9},
        {"data": "motifs", "changes": {}, "node_auc": 0.123},
    ]
    table = maker.later_trials(rows)
    assert "| changed | MUTAG |\n|---|---|\n| residual layers<br>model.hidden=128 | 75.0, 80.0 |\n\n" in table
    assert "| changed | PROTEINS |\n|---|---|\n| nothing | 50.0, 62.5 |\n\n" in table
    assert "| changed | motifs: node AUC |\n|---|---|\n| nothing | 0.90, 0.12 |" in table


def test_large_graphs_are_one_line_per_model_and_its_inputs(maker: ModuleType) -> None:
    row = {"model": "gin", "inputs": "rings", "training_graphs": 1000, "train": 1.0, "test": 0.5, "test-large": 0.25}
    table = maker.large_graphs([row, {**row, "inputs": "degrees"}, {**row, "test-large": 0.125}])
    assert "| gin | rings | 100.0, 100.0 | 50.0, 50.0 | 25.0, 12.5 |" in table
    assert "| gin | degrees | 100.0 | 50.0 | 25.0 |" in table
    assert "Trained on 1,000 generated" in table


def test_the_kept_trials_of_the_recipe_say_what_the_page_says(maker: ModuleType) -> None:
    """Of the memory that is added to every node: better on two sets, worse on three, and its saliency astray."""
    rows = maker.read_lines("recipe-validation.jsonl")
    added = {"the memory is added to every node": True}
    of = {
        (row["data"], bool(row["changes"])): row["accuracy_of_three"]
        for row in rows
        if row["changes"] in ({}, added) and "accuracy_of_three" in row
    }
    better = {data for data, changed in of if changed and of[data, True] > of[data, False]}
    assert better == {"ENZYMES", "Letter-high"}
    assert len({data for data, _ in of}) == 5
    aucs = [row["node_auc"] for row in rows if row["data"] == "motifs" and row["changes"] == added]
    assert min(aucs) < 0.2


def test_no_trial_had_the_salient_readout_as_the_page_says(maker: ModuleType) -> None:
    _, *rows = maker.read_lines("beyond-validation.jsonl")
    assert rows
    assert not any("readout" in key for row in rows for key in row["changes"])


def beyond_cell(row: str, data: str, folds: int = 10) -> Cell:
    return beyond(paper.PRESETS["quick"], lambda _: SetFacts("f", folds), (data,)).cells[row, data]


def table2_cell(system: str, data: str, folds: int = 10) -> Cell:
    return table2(paper.PRESETS["lean"], lambda _: SetFacts("f", folds), (system,), (data,)).cells[system, data]


def result(cell: Cell, accuracy: Accuracy) -> CellResult:
    """Of rows in which every fold has that accuracy."""
    jobs = assessment_jobs(cell, cell.grid[:1] * cell.folds)
    rows = {record["id"]: record["row"] for record in records_of(cell, accuracy)}
    return collect(cell, cell.grid[:1] * cell.folds, [TrainingRow.from_json(job, rows[job.id]) for job in jobs])


def records_of(cell: Cell, accuracy: Accuracy) -> list[dict[str, Any]]:
    """All rows of a cell: ten test graphs in every fold, and large ones of which nine tenths as many are right."""
    jobs = [*selection_jobs(cell), *assessment_jobs(cell, cell.grid[:1] * cell.folds)]
    return [
        {
            "id": job.id, "job": job.to_json(), "finished": "2026-01-01T00:00:00+00:00",
            "row": {
                "validation_accuracy": 0.5, "validation_loss": 1.0, "device": "a GPU", "version": "1", "commit": "c",
                "scores": {
                    "test": {"accuracy": accuracy(job.fold), "graphs": 10},
                    "test-large": {"accuracy": 0.9 * accuracy(job.fold), "graphs": 10},
                },
            },
        }
        for job in jobs
    ]  # fmt: skip
