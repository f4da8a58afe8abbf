"""The study of the recommended model: what is planned, and that its jobs name the whole recipe."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sargnn.reproduction import beyond as module
from sargnn.reproduction import paper
from sargnn.reproduction.beyond import (
    ALL,
    LARGE,
    PARTS,
    PLUS,
    SALIENT,
    SALIENT_SEARCHED,
    SEARCHED,
    WIDE,
    beyond,
    own_grid,
    recipe,
    searched_grid,
)
from sargnn.reproduction.studies import SetFacts
from sargnn.studies.protocol import assessment_jobs, selection_jobs
from sargnn.systems import SYSTEMS
from sargnn.training.settings import Settings


def facts(name: str) -> SetFacts:
    return SetFacts(f"fingerprint of {name}", 1 if name == "TRIANGLES" else 10)


def first_id(values: dict[str, float]) -> str:
    study = beyond(replace(paper.PRESETS["quick"], **values), facts)
    cell = study.cells[SALIENT, "MUTAG"]
    return assessment_jobs(cell, cell.grid * cell.folds)[0].id


def test_every_set_has_the_model_in_five_forms_and_three_have_its_parts_and_the_searched_systems() -> None:
    study = beyond(paper.PRESETS["quick"], facts)
    everywhere = (PLUS, SALIENT, ALL, LARGE, SALIENT_SEARCHED)
    assert {data for row, data in study.cells if row in everywhere} == set(paper.DATA_SETS)
    assert {data for row, data in study.cells if row not in everywhere} == set(paper.ABLATION_SETS)
    assert len(study.cells) == 5 * 7 + 3 * (len(PARTS) - 1 + len(SEARCHED))
    own = {(row, data): cell for (row, data), cell in study.cells.items() if row not in {*SEARCHED, SALIENT_SEARCHED}}
    assert {cell.repeats for (row, _), cell in own.items() if row not in {*everywhere, WIDE}} == {1}
    assert {cell.repeats for (row, _), cell in own.items() if row == PLUS} == {1}
    assert all(selection_jobs(cell) == [] for cell in own.values()), "there is nothing to choose"


def test_the_choice_is_from_four_settings_of_which_one_is_the_model_itself() -> None:
    grid = beyond(paper.PRESETS["quick"], facts).cells[SALIENT_SEARCHED, "PROTEINS"].grid
    assert len({json.dumps(settings.changes()) for settings in grid}) == len(own_grid()) == 4
    named = Settings.of(SALIENT)
    same = [s for s in grid if (s.model, s.data, s.training) == (named.model, named.data, named.training)]
    assert len(same) == 1
    assert {settings.training for settings in grid} == {named.training}


@pytest.mark.parametrize("system", SEARCHED.values())
def test_a_searched_system_chooses_from_eight_settings_and_is_trained_as_the_model_is(system: str) -> None:
    grid = searched_grid(system, "ENZYMES", paper.PRESETS["quick"])
    assert len({json.dumps(settings.changes()) for settings in grid}) == 8
    trained = {replace(settings.training, learning_rate=0.001) for settings in grid}
    assert trained == {replace(Settings.of(SALIENT).training, learning_rate=0.001)}
    assert sum("random-walk" in settings.data.encodings for settings in grid) == 4


@pytest.mark.parametrize("name", [PLUS, SALIENT, LARGE])
def test_the_model_is_the_one_of_that_name(name: str) -> None:
    (settings,) = beyond(paper.PRESETS["quick"], facts).cells[name, "PROTEINS"].grid
    named = Settings.of(name)
    assert (settings.model, settings.data, settings.training) == (named.model, named.data, named.training)


def test_another_recipe_has_other_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    before = first_id({})
    plus = SYSTEMS[SALIENT]
    monkeypatch.setitem(SYSTEMS, SALIENT, replace(plus, values={**plus.values, "dropout": 0.25}))
    assert recipe()["model.dropout"] == 0.25
    assert first_id({}) != before


def test_a_preset_of_fewer_epochs_has_fewer() -> None:
    assert first_id({"epochs": 3}) != first_id({})
    assert first_id({"epochs": 1000}) == first_id({}), "the recipe says how many there are at most"


def test_no_printed_number_is_higher() -> None:
    for column, data in enumerate(paper.DATA_SETS):
        system, (accuracy, _) = module.best_printed(data)
        assert accuracy == max(row[column][0] for row in paper.TABLE2.values())
        assert paper.TABLE2[system][column][0] == accuracy
