"""The paper's tables as studies: cells, grids, and the jobs of the kept rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.reproduction import paper
from sargnn.reproduction.beyond import beyond
from sargnn.reproduction.page import facts_in
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import STUDIES, SetFacts, only, plan_study, table1, table2
from sargnn.studies.protocol import Cell, selection_jobs
from sargnn.studies.store import read_rows
from sargnn.training.settings import Settings

RESULTS = Path(__file__).parents[2] / "results"


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_study_expands_to_jobs_of_one_budget(name: str, preset: str) -> None:
    study = STUDIES[name](PRESETS[preset], facts)
    sizes = {len(cell.grid) for cell in study.cells.values()}
    assert sizes == {PRESETS[preset].shapes * len(PRESETS[preset].rates)}
    for cell in list(study.cells.values())[::9]:
        assert len(set(cell.grid)) == len(cell.grid)
        jobs = selection_jobs(cell)
        assert len({job.id for job in jobs}) == len(jobs)
        assert cell.folds == (1 if cell.data == "TRIANGLES" else PRESETS[preset].folds)
    assert study.published.keys() <= study.cells.keys()


def test_table_2_has_every_system_of_the_paper_and_two_baselines() -> None:
    study = table2(PRESETS["lean"], facts)
    assert list(dict.fromkeys(row for row, _ in study.cells)) == [*paper.TABLE2, "deepsets", "topological-forest"]
    assert len(study.cells) == 22 * 7
    assert study.cells.keys() - study.published.keys() == {
        (row, data) for row in ("deepsets", "topological-forest") for data in paper.DATA_SETS
    }


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("system", paper.SYSTEMS)
def test_settings_of_a_grid_differ_in_what_the_system_heeds(system: str, preset: str) -> None:
    (cell,) = table2(PRESETS[preset], facts, systems=(system,), data=("MUTAG",)).cells.values()
    heeded = [
        (s.model, () if system == "topological-forest" else (s.training.learning_rate, s.training.weight_decay))
        for s in cell.grid
    ]
    assert len(set(heeded)) == len(heeded) == PRESETS[preset].shapes * len(PRESETS[preset].rates)
    own = system in paper.SHAPES
    assert (cell.grid[0].model == Settings.of(system).model) == own, "other systems begin with their defaults"
    assert getattr(cell.grid[0].model, "norm", "as its authors say") == ("as its authors say" if own else "batch")


def test_the_selection_of_lean_is_a_part_of_that_of_quick() -> None:
    lean, quick = (table2(PRESETS[preset], facts, data=("MUTAG", "TRIANGLES")) for preset in ("lean", "quick"))
    for where, cell in lean.cells.items():
        assert ids_of(cell) < ids_of(quick.cells[where])


def test_the_rows_that_are_kept_are_those_of_the_jobs_of_quick() -> None:
    rows = {record.id: record.job for record in read_rows(RESULTS / "paper-quick.jsonl.gz")}
    study = table2(PRESETS["quick"], facts_in(rows.values()).__getitem__)
    for backbone in paper.TABLE1["base"]:
        for data in paper.DATA_SETS:
            assert ids_of(study.cells[backbone, data]) <= rows.keys()
            assert ids_of(study.cells[f"sar-{backbone}", data]) <= rows.keys()


def ids_of(cell: Cell) -> set[str]:
    return {job.id for job in selection_jobs(cell)}


def test_table_1_is_complete() -> None:
    study = table1(PRESETS["paper"], facts)
    assert len(study.cells) == len(study.published) == 6 * 4 * 2
    assert study.published["sar-gnn-s", "sage MUTAG"] == (87.4, 3.1)


def test_the_grids_of_saliency_hold_beta_gamma_iterations_layers_and_width() -> None:
    grid = table2(PRESETS["paper"], facts, systems=("sar-gcn",), data=("MUTAG",)).cells["sar-gcn", "MUTAG"].grid
    for field in ("beta", "gamma", "iterations", "layers", "hidden", "fusion"):
        assert len({getattr(settings.model, field) for settings in grid}) > 1, field


def test_a_part_of_a_study_by_data_sets() -> None:
    study = table2(PRESETS["smoke"], facts)
    assert {cell.data for cell in only(study, "MUTAG,ENZYMES").cells.values()} == {"MUTAG", "ENZYMES"}
    assert only(study, None) is study
    with pytest.raises(InputError, match="--data: got 'MUTAGG', expected some of"):
        only(study, "MUTAGG")


def test_a_part_of_a_study_by_systems_or_rows() -> None:
    study = beyond(PRESETS["smoke"], facts)
    assert {row for row, _ in only(study, None, "gsn,sargnn-plus").cells} == {"gsn, searched", "sargnn-plus"}
    with pytest.raises(InputError, match="--systems: got 'sargnn-pluss', expected some of"):
        only(study, None, "sargnn-pluss")


def test_sets_that_are_not_asked_for_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("sargnn.reproduction.studies.load_facts", lambda name: read.append(name) or facts(name))
    study = plan_study(table2, PRESETS["smoke"], "MUTAG,ENZYMES")
    assert set(read) == {"MUTAG", "ENZYMES"}
    assert study.cells == only(table2(PRESETS["smoke"], facts), "MUTAG,ENZYMES").cells


def test_every_ablation_finds_its_rows() -> None:
    """Also those of the authors' code, whose rows were computed when it was a setting of sar-gcn."""
    rows = {record.id: record.job for record in read_rows(RESULTS / "paper-quick.jsonl.gz")}
    study = STUDIES["ablations"](PRESETS["quick"], facts_in(rows.values()).__getitem__)
    of_authors = [job for job in rows.values() if job["system"] == "as-published"]
    assert len(of_authors) == 280
    assert {cell.system for (row, _), cell in study.cells.items() if row in paper.OF_THE_AUTHORS_CODE} == {
        "as-published"
    }
    missing = [where for where, cell in study.cells.items() if not ids_of(cell) <= rows.keys()]
    assert set(missing) <= {("batch statistics at test", data) for data in ("ENZYMES", "Letter-high")}
