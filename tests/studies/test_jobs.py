"""Jobs keep their ids, and rows what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from sargnn.studies.jobs import TrainingRow
from sargnn.studies.protocol import (
    Cell,
    selection_jobs,
)
from sargnn.training import settings as settings_module
from sargnn.training.loop import TrainingConfig
from sargnn.training.settings import Settings


def test_jobs_keep_their_ids_when_a_field_is_added_to_a_config(monkeypatch: pytest.MonkeyPatch) -> None:
    def ids() -> list[str]:
        grid = (Settings.of("gin", {"training.epochs": 5}), Settings.of("gin", {"model.layers": 2}))
        return [job.id for job in selection_jobs(Cell("x", "f", "gin", grid, folds=2))]

    @dataclass(frozen=True)
    class Later(TrainingConfig):
        warm_up: int = 7

    before = ids()
    monkeypatch.setattr(settings_module, "TrainingConfig", Later)
    monkeypatch.setattr(settings_module, "_usual", settings_module._usual.__wrapped__)  # which remembers no defaults
    assert ids() == before
    assert Settings.of("gin", {"training.warm_up": 8}).changes()["training"] == {"warm_up": 8}


def test_a_job_is_read_back_as_the_settings_it_was_made_of() -> None:
    settings = Settings.of("sar-gat", {"model.heads": 2, "data.encodings": "degree,random-walk", "training.epochs": 7})
    job = Cell("x", "f", "sar-gat", (settings,), folds=1).job("assess", 0, settings, 3)
    assert Settings.from_json(job.to_json()["settings"]) == job.settings
    assert job.settings == replace(settings, training=replace(settings.training, seed=3))


def test_a_row_keeps_the_details_of_any_task_as_fields() -> None:
    settings = Settings.of("gin")
    job = Cell("x", "f", "gin", (settings,), folds=1).job("assess", 0, settings, 1)
    row = TrainingRow(job, scores={"test": {"mae": 0.5}}, details={"largest_error": 2.0, "residuals": [1, -2]})
    told = row.to_json()
    assert (told["largest_error"], told["residuals"]) == (2.0, [1, -2])
    assert "details" not in told
    stored = {**job.to_json(), **told, "id": job.id, "version": "1", "commit": "c"}
    assert TrainingRow.from_json(job, stored).details == row.details


def test_a_row_of_the_selection_has_no_scores_and_no_history() -> None:
    settings = Settings.of("gin")
    job = Cell("x", "f", "gin", (settings,), folds=1).job("select", 0, settings, 0)
    told = TrainingRow(job, validation_accuracy=0.5, diverged=None).to_json()
    assert not {"scores", "history", "confusion"} & told.keys()
    assert (told["validation_accuracy"], told["validation_loss"], told["diverged"]) == (0.5, None, None)
