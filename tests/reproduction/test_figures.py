"""The paper's figures as commands: studies, rows, notes and pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import answer_of
from sargnn.reproduction import optimization_figure, tsne_figure
from sargnn.reproduction.figures import FIGURES, finished_rows
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts, table2
from sargnn.studies import protocol
from sargnn.studies.protocol import selection_jobs
from sargnn.studies.store import Store

SMALL = {"figure-optimization": ["--data", "MUTAG"], "figure-tsne": ["--data", "ENZYMES"]}
"""Options that make a figure of preset smoke small."""
CLAIMS = {"figure-optimization": 2, "figure-tsne": 2, "figure-model-size": 6, "figure-complexity": 4}
"""Judged in the small figure."""


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


@pytest.fixture
def known(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_computed_once_and_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("reproduce", name, "--preset", "smoke", "--out", tmp_path / "out", *SMALL.get(name, []))
    answer = answer_of(*call)
    assert answer["cells"] == answer["measured"]
    assert sum(answer["verdicts"].values()) == CLAIMS[name]
    text, page = ((tmp_path / "out" / f"{name}-smoke.{kind}").read_text() for kind in ("md", "html"))
    assert (tmp_path / "out" / f"{name}-smoke.png").read_bytes()[:4] == b"\x89PNG"
    assert f"({name}-smoke.png)" in text
    assert "| the paper | measured | difference | verdict |" in text
    assert re.search(r"<svg.*</svg>", page, re.DOTALL)
    assert "<script" not in page

    def refuse(jobs: Any, device: str) -> Any:
        raise AssertionError("nothing is left to compute")

    monkeypatch.setattr(protocol, "work", refuse)
    assert answer_of(*call) == answer
    assert answer_of(*call, "--engine", "none") == answer


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_figure_expands_to_jobs(name: str, preset: str) -> None:
    study = FIGURES[name].study(PRESETS[preset], facts)
    assert study.trainings == sum(
        len(selection_jobs(cell)) + cell.folds * cell.repeats for cell in study.cells.values()
    )
    assert {len(cell.grid) for cell in study.cells.values()} <= {
        len(PRESETS[preset].rates), PRESETS[preset].shapes * len(PRESETS[preset].rates)
    }  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_store_without_rows_gives_an_empty_figure(name: str, tmp_path: Path) -> None:
    plan = FIGURES[name]
    study = plan.study(PRESETS["smoke"], facts)
    with Store(tmp_path / "rows.sqlite") as store:
        found = finished_rows(plan, study, store)
    assert all("not measured" in row for row in plan.notes(study, *found).rows)
    assert plan.notes(study, *found).claims == ()
    plan.draw(study, *found)


def test_cells_that_a_table_has_too_are_the_same_jobs() -> None:
    table = table2(PRESETS["quick"], facts)
    size = FIGURES["figure-model-size"].study(PRESETS["quick"], facts)
    shared = {job.id for job in selection_jobs(table.cells["sar-gcn", "TRIANGLES"])}
    assert {job.id for job in selection_jobs(size.cells["growing memory", "memory of 64"])} < shared
    mapped = FIGURES["figure-tsne"].study(PRESETS["quick"], facts).cells["sar-gin", "Letter-high"]
    whole = {job.id for job in selection_jobs(table.cells["sar-gin", "Letter-high"])}
    assert {job.id for job in selection_jobs(mapped)} < whole


def test_policies_have_the_same_epochs_and_are_not_stopped_early() -> None:
    study = optimization_figure.study(PRESETS["quick"], facts)
    training = [settings.training for cell in study.cells.values() for settings in cell.grid]
    assert {(t.epochs, t.patience) for t in training} == {(100, 0)}
    assert {(t.policy, t.alternate_epochs) for t in training} == {
        ("joint", 1), ("alternating", 1), ("alternating", 10)
    }  # fmt: skip
    assert all(cell.curves for cell in study.cells.values())


def test_classes_that_stand_apart_separate_and_mixed_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 20)
    noise = rng.normal(size=(60, 4))
    apart = tsne_figure.separation(noise + 50 * np.eye(4)[classes], classes)
    mixed = tsne_figure.separation(noise, classes)
    assert apart["neighbours"] == 1.0
    assert apart["silhouette"] > 0.9
    assert abs(mixed["silhouette"]) < 0.1
    assert mixed["neighbours"] < 0.7


def test_a_silhouette_by_hand() -> None:
    # on a line: class 0 at 0 and 1, class 1 at 4 and 6; a = 1, b = 5 and 4; a = 2, b = 3.5 and 5.5
    found = tsne_figure.separation(np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    assert found["silhouette"] == pytest.approx((4 / 5 + 3 / 4 + 1.5 / 3.5 + 3.5 / 5.5) / 4)


def test_the_same_vectors_get_the_same_places() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 3))
    np.testing.assert_array_equal(tsne_figure.tsne(vectors), tsne_figure.tsne(vectors))
