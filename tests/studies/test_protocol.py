"""Nested cross-validation: what is computed, what is chosen, and what no choice may see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn.data.sources import load
from sargnn.data.splits import stratified_folds, write_splits
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.studies.jobs import TrainingJob, TrainingRow
from sargnn.studies.protocol import (
    Cell,
    assessment_jobs,
    bundles,
    collect,
    digest,
    select,
    selection_jobs,
    work,
)
from sargnn.training.run import TrainingRun, score
from sargnn.training.settings import Settings
from tiny import shapes, tiny

TIMES = ("seconds", "device")


def grid_of(*rates: float, model: str = "sar-gcn", **values: Any) -> tuple[Settings, ...]:
    return tuple(tiny(model, training__learning_rate=rate, **values) for rate in rates)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds a set of 24 graphs and three folds of it."""
    graphs = shapes()
    graphs.save(tmp_path / "set")
    assert graphs.y is not None
    write_splits(tmp_path / "folds.json", stratified_folds(graphs.y, 3, seed=0))
    return tmp_path


def cell_of(folder: Path, grid: tuple[Settings, ...], data: str = "set", **more: Any) -> Cell:
    graphs = load(str(folder / data))
    values: dict[str, Any] = {"folds": 3, "repeats": 2, "splits": str(folder / "folds.json"), **more}
    return Cell(str(folder / data), graphs.fingerprint, grid[0].name, grid, **values)


def computed(jobs: list[TrainingJob]) -> list[TrainingRow]:
    """The rows of jobs, in their order."""
    rows = {job: TrainingRow.from_json(job, row) for bundle in bundles(jobs) for job, row in work(list(bundle), "cpu")}
    return [rows[job] for job in jobs]


def timeless(row: TrainingRow) -> dict[str, Any]:
    return {key: value for key, value in row.to_json().items() if key not in TIMES}


def test_permuting_test_labels_changes_no_choice_and_no_row_of_the_selection(folder: Path) -> None:
    graphs = load(str(folder / "set"))
    assert graphs.y is not None
    grid = grid_of(0.001, 0.03, model="gin")
    plain = cell_of(folder, grid, folds=1)
    fold = stratified_folds(graphs.y, 3, seed=0)[0]
    y = graphs.y.copy()
    y[fold.test] = 1 - y[fold.test]
    replace(graphs, y=y).save(folder / "lying")
    lying = cell_of(folder, grid, "lying", folds=1)
    assert lying.fingerprint != plain.fingerprint
    rows, same = computed(selection_jobs(plain)), computed(selection_jobs(lying))
    for row, other in zip(rows, same, strict=True):
        assert timeless(row) == timeless(other)
        assert replace(row.job, data=other.job.data, fingerprint=other.job.fingerprint) == other.job
    assert select(plain, rows) == select(lying, same)
    honest, flipped = (computed(assessment_jobs(cell, select(cell, rows)))[0] for cell in (plain, lying))
    assert honest.validation_loss == flipped.validation_loss
    assert honest.test["accuracy"] == pytest.approx(1 - flipped.test["accuracy"])


def test_rows_of_the_selection_hold_no_test_score(folder: Path) -> None:
    for row in computed(selection_jobs(cell_of(folder, grid_of(0.01, 0.02), folds=1, curves=True))):
        stored = row.job.to_json() | row.to_json()
        assert not {"scores", "confusion", "history", "curves"} & stored.keys()
        assert not any("test" in key for key in stored)


def test_rows_of_the_assessment_hold_all_there_is_to_report(folder: Path) -> None:
    grid = grid_of(0.01)
    cell = cell_of(folder, grid, curves=True)
    assert selection_jobs(cell) == []
    rows = computed(assessment_jobs(cell, select(cell, [])))
    assert [(row.fold, row.job.repeat) for row in rows] == [(f, r) for f in range(3) for r in (1, 2)]
    for row in rows:
        assert row.history is not None
        assert np.sum(row.details["confusion"]) == row.test["graphs"] == 8
        assert np.trace(row.details["confusion"]) / 8 == row.test["accuracy"]
        assert row.history.keys() == {"train_loss", "validation_loss", "validation_accuracy"}
        assert {len(curve) for curve in row.history.values()} == {row.epochs} == {3}
        best = row.history["validation_loss"][row.best_epoch - 1]
        assert row.validation_loss == pytest.approx(best, abs=1e-5)
    assert len({row.job.settings.training.seed for row in rows}) == 2


def test_graphs_that_decide_nothing_are_trained_on(folder: Path) -> None:
    """With the last epoch kept, the assessment is that of training and validation graphs together; the selection, which
    they decide, is not."""
    kept = grid_of(0.01, 0.02, training__monitor="last")
    cell = cell_of(folder, kept, folds=1, repeats=1, curves=True)
    (row,), chosen = computed(assessment_jobs(cell, kept[:1])), computed(selection_jobs(cell))
    assert (row.validation_accuracy, row.validation_loss, row.best_epoch) == (None, None, 3)
    assert row.history is None, "it would show graphs that were trained on as validation graphs"
    assert all(other.validation_accuracy is not None and 0 <= other.validation_accuracy <= 1 for other in chosen)
    graphs = load(str(folder / "set"))
    assert graphs.y is not None
    fold = stratified_folds(graphs.y, 3, seed=0)[0]
    both = replace(fold, train=np.sort(np.concatenate([fold.train, fold.validation])))
    for expected, own in ((row.test, both), (None, fold)):
        settings = replace(kept[0], training=replace(kept[0].training, seed=1 if expected else 0))
        run = TrainingRun.start(graphs, settings, fold=own)
        for _ in run:
            pass
        if expected:
            alone = {name: value for name, value in expected.items() if name != "baselines"}
            assert alone == score(run.trained, graphs, run.trained.predict(graphs), fold.test)
        else:
            assert run.state.history[-1]["validation_loss"] == chosen[0].validation_loss


def test_the_seed_of_a_cell_shifts_all_seeds(folder: Path) -> None:
    cell = cell_of(folder, grid_of(0.01), seed=10)
    assert {job.settings.training.seed for job in assessment_jobs(cell, cell.grid * 3)} == {11, 12}


def fake_rows(cell: Cell, *scores: tuple[float, float]) -> list[TrainingRow]:
    """Validation accuracy and loss of each job of the selection."""
    return [TrainingRow(job, *score) for job, score in zip(selection_jobs(cell), scores, strict=True)]


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([(0.5, 0.1), (0.9, 0.7), (0.8, 0.1)], 1),  # the best accuracy, whatever the loss
        ([(0.9, 0.7), (0.9, 0.4), (0.8, 0.1)], 1),  # of equal ones the lower loss
        ([(0.9, 0.4), (0.9, 0.4), (0.9, 0.4)], 0),  # of equal ones the first of the grid
        ([(0.0, 1e9), (0.1, 2.0), (0.0, 1e9)], 1),  # a training that diverged is never chosen over one that did not
    ],
)
def test_the_choice_is_by_validation_accuracy_then_loss_then_order(
    scores: list[tuple[float, float]], chosen: int
) -> None:
    grid = grid_of(0.1, 0.2, 0.3)
    cell = Cell("x", "f", "sar-gcn", grid, folds=1)
    assert select(cell, fake_rows(cell, *scores)) == (grid[chosen],)


def test_each_fold_chooses_for_itself() -> None:
    grid = grid_of(0.1, 0.2)
    cell = Cell("x", "f", "sar-gcn", grid, folds=2)
    rows = fake_rows(cell, (0.9, 1.0), (0.3, 1.0), (0.8, 1.0), (0.4, 1.0))  # two folds of each setting
    assert [row.fold for row in rows] == [0, 1, 0, 1]
    assert select(cell, rows) == (grid[0], grid[1])


def assessed(cell: Cell, *accuracies: float) -> list[TrainingRow]:
    """Test accuracies of the jobs of the assessment."""
    jobs = assessment_jobs(cell, cell.grid * cell.folds)
    return [
        TrainingRow(job, scores={"test": {"accuracy": accuracy}})
        for job, accuracy in zip(jobs, accuracies, strict=True)
    ]


def test_a_folds_score_is_the_mean_of_its_repeats() -> None:
    grid = grid_of(0.1)
    cell = Cell("x", "f", "sar-gcn", grid, folds=2, repeats=2)
    result = collect(cell, grid * 2, assessed(cell, 0.5, 0.7, 0.8, 1.0))
    assert result.folds.tolist() == pytest.approx([0.6, 0.9])
    assert (result.mean, result.std) == (pytest.approx(0.75), pytest.approx(0.15))


def test_a_single_division_counts_its_repeats() -> None:
    grid = grid_of(0.1)
    cell = Cell("x", "f", "sar-gcn", grid, folds=1, repeats=2)
    assert collect(cell, grid, assessed(cell, 0.5, 0.7)).folds.tolist() == [0.5, 0.7]


def test_an_official_division_is_tested_on_its_large_graphs_too(tmp_path: Path) -> None:
    graphs = triangles(20, 10, 10, 10)
    graphs.save(tmp_path / "set")
    grid = (tiny("gcn", training__epochs=1),)
    cell = Cell(str(tmp_path / "set"), graphs.fingerprint, "gcn", grid, folds=1, repeats=2)
    rows = computed(assessment_jobs(cell, grid))
    for row in rows:
        assert {part: scores["graphs"] for part, scores in (row.scores or {}).items()} == {"test": 10, "test-large": 10}
    assert len(collect(cell, grid, rows).folds) == 2


def test_bundles_hold_every_job_once_and_never_mix_data() -> None:
    cells = [
        Cell(data, "f", model, grid_of(0.1, 0.2, model=model), folds=3)
        for data in ("one", "two")
        for model in ("gcn", "gin", "sar-gcn")
    ]
    jobs = [job for cell in cells for job in selection_jobs(cell)]
    for at_once, expected in ((1, 6), (2, 4), (8, 2)):
        made = bundles(jobs, at_once)
        assert len(made) == expected
        assert sorted(job.id for bundle in made for job in bundle) == sorted(job.id for job in jobs)
        assert all(len({job.data for job in bundle}) == 1 for bundle in made)
    assert bundles([]) == []


@pytest.mark.parametrize("values", [{"model__dropout": 0.5}, {"training__layout": "packed"}, {}])
def test_rows_do_not_depend_on_the_bundle(folder: Path, values: dict[str, Any]) -> None:
    cell = cell_of(folder, grid_of(0.01, model="gin", **values))
    jobs = assessment_jobs(cell, cell.grid * 3)
    together = [timeless(row) for row in computed(jobs)]
    assert [timeless(computed([job])[0]) for job in jobs] == together


def test_a_training_that_diverges_has_a_row_that_says_so(folder: Path) -> None:
    cell = cell_of(folder, grid_of(1e30, 0.01, model="gin"), folds=1)
    wild, calm = computed(selection_jobs(cell))
    assert wild.diverged
    assert calm.diverged is None
    assert select(cell, [wild, calm]) == (cell.grid[1],)


def test_data_that_changed_since_the_jobs_were_made_are_refused(folder: Path) -> None:
    cell = replace(cell_of(folder, grid_of(0.01)), fingerprint="0123456789abcdef")
    with pytest.raises(InputError, match=r"got graphs with fingerprint .*, expected 0123456789abcdef") as error:
        list(work(assessment_jobs(cell, cell.grid * 3), "cpu"))
    assert "\n" not in str(error.value)


def test_the_digest_names_folds_by_their_content() -> None:
    y = np.array([0, 1] * 12)
    one, same, other = (digest(stratified_folds(y, 3, seed=seed)) for seed in (0, 0, 1))
    assert one == same != other


def test_a_row_is_read_back_as_it_was_written(folder: Path) -> None:
    cell = cell_of(folder, grid_of(0.01), folds=1, repeats=1, curves=True)
    (row,) = computed(assessment_jobs(cell, cell.grid))
    stored = json.loads(
        json.dumps(row.job.to_json() | row.to_json() | {"id": row.job.id, "version": "1", "commit": "c"})
    )
    again = TrainingRow.from_json(row.job, stored)
    assert again.to_json() == row.to_json()
    assert (again.version, again.commit) == ("1", "c")
