"""The paper's figures as commands: studies, rows, notes and pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from command import answer_of
from sargnn.reproduction.figures import FIGURES, finished_rows
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts
from sargnn.studies import protocol
from sargnn.studies.protocol import selection_jobs
from sargnn.studies.store import Store

SMALL = {"figure-optimization": ["--data", "MUTAG"], "figure-tsne": ["--data", "ENZYMES"]}
"""Options that make a figure of preset smoke small."""


CLAIMS = {"figure-optimization": 2, "figure-tsne": 6, "figure-model-size": 6, "figure-complexity": 4}
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
