"""``sargnn reproduce``: everything in turn, and what it refuses in one line, losing nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import answer_of, error_of
from disks import files_of_at_most
from sargnn.reproduction import paper
from sargnn.reproduction import run as reproduce
from sargnn.reproduction import studies as reproduce_study
from sargnn.reproduction.figures import FIGURES
from sargnn.reproduction.studies import only, table1, table2
from sargnn.studies import protocol, ray_cluster, store
from sargnn.studies.store import Store
from sargnn.studies.study import Study

SMOKE = ("--preset", "smoke", "--data", "MUTAG")


@pytest.fixture(autouse=True)
def known(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))


def rows_of(out: Path) -> list[dict[str, Any]]:
    with Store(out / "smoke.sqlite") as opened:
        return opened.rows()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables and a figure of two cells each on MUTAG, and a picture that costs nothing."""

    def first_two(study: Study) -> Study:
        return replace(study, cells=dict(list(study.cells.items())[:2]))

    plan = FIGURES["figure-optimization"]
    figure = replace(plan, study=lambda preset, facts: first_two(only(plan.study(preset, facts), "MUTAG")))
    studies = {
        "table1": lambda preset, facts: first_two(table1(preset, facts, data=("MUTAG",))),
        "table2": lambda preset, facts: first_two(table2(preset, facts, data=("MUTAG",))),
    }
    figures = {"figure-optimization": figure}
    monkeypatch.setattr(reproduce, "STUDIES", studies)
    monkeypatch.setattr(reproduce, "FIGURES", figures)
    monkeypatch.setattr(reproduce, "NAMES", (*studies, *figures, "figure-dss"))
    monkeypatch.setitem(reproduce.SALIENCY_FIGURES, "figure-dss", draw_nothing)


def draw_nothing(out: Path, preset: paper.Preset, graphs: Any, device: str) -> dict[str, Any]:
    out.mkdir(exist_ok=True)
    files = [out / name for name in ("a.png", "a.svg")]
    for file in files:
        file.write_text("<svg/>")
    return {"files": [str(file) for file in files], "whole": {"MUTAG": 0.0, "TRIANGLES": 1.0}, "caption": "Nothing."}


@pytest.mark.usefixtures("small")
def test_all_goes_through_everything_and_again_computes_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("reproduce", "all", "--preset", "smoke", "--out", tmp_path / "out")
    answer = answer_of(*call)
    assert answer == {
        "table1": 2, "table2": 2, "figure-optimization": 2, "figure-dss": 2, "folder": str(tmp_path / "out")
    }  # fmt: skip
    for name in ("table1", "table2", "figure-optimization", "figure-dss"):
        assert {(tmp_path / "out" / f"{name}-smoke.{kind}").exists() for kind in ("md", "html")} == {True}
    stored = rows_of(tmp_path / "out")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("nothing is left to compute")

    monkeypatch.setattr(protocol, "work", refuse)
    monkeypatch.setitem(reproduce.SALIENCY_FIGURES, "figure-dss", refuse)
    assert answer_of(*call) == answer
    assert rows_of(tmp_path / "out") == stored


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("figure-optimisation",), "NAME: got 'figure-optimisation', expected one of table1, table2, table3, abl"),
        (("table1", "--preset", "full"), "--preset: got 'full', expected one of smoke, lean, quick, wide, paper"),
        (("all", "--data", "MUTAG"), "--data: got MUTAG with all, expected a table or a figure of several sets"),
        (("figure-dss", "--data", "MUTAG"), "--data: got MUTAG with figure-dss"),
        (("figure-tsne", *SMOKE), "--data: got 'MUTAG', expected some of ENZYMES, Letter-high"),
        (("table1", *SMOKE, "--engine", "slurm"), "--engine: got 'slurm', expected one of local, processes, ray"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_one_line(arguments: tuple[str, ...], line: str, tmp_path: Path) -> None:
    assert error_of("reproduce", *arguments, "--out", tmp_path / "out").startswith(line)


def test_a_store_of_another_version_is_left_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    Store(out / "smoke.sqlite").close()
    with closing(sqlite3.connect(out / "smoke.sqlite")) as db, db:
        db.execute("UPDATE sargnn_store SET format = 'sargnn.store/9'")
    before = (out / "smoke.sqlite").read_bytes()
    line = error_of("reproduce", "table1", *SMOKE, "--out", out)
    assert "smoke.sqlite: got a store of format 'sargnn.store/9', expected 'sargnn.store/1'" in line
    assert (out / "smoke.sqlite").read_bytes() == before


def test_an_unreachable_cluster_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    monkeypatch.setattr(ray_cluster, "CONNECT_SECONDS", 3.0)
    call = ("reproduce", "figure-optimization", *SMOKE, "--out", tmp_path / "out")
    line = error_of(*call, "--engine", "ray", "--address", "127.0.0.1:1")
    assert line.startswith("--address: got 127.0.0.1:1, expected host:port of a running Ray cluster or auto")
    assert rows_of(tmp_path / "out") == []


def test_folds_that_do_not_fit_the_graphs_are_refused_before_any_work(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "mirror"
    (wrong / "splits").mkdir(parents=True)
    for name in ("ENZYMES.zip", "Letter-high.zip"):
        shutil.copy(mirror / name, wrong)
    folds = [{"test": [0, 600], "model_selection": [{"train": [1], "validation": [2]}]}]
    (wrong / "splits" / "ENZYMES_splits.json").write_text(json.dumps(folds))
    monkeypatch.setenv("SARGNN_MIRROR", str(wrong))
    reproduce_study.load_facts.cache_clear()
    line = error_of("reproduce", "figure-tsne", "--preset", "smoke", "--data", "ENZYMES", "--out", tmp_path / "out")
    assert "600" in line
    assert "ENZYMES_splits.json" in line


def test_a_full_disk_is_one_line_and_what_was_stored_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A run that cannot give up its claims leaves them to go stale: this process, which runs again, lives on.
    monkeypatch.setattr(store, "STALE_SECONDS", 1.0)
    call = ("reproduce", "figure-optimization", *SMOKE, "--out", tmp_path / "out")
    with files_of_at_most(60_000):
        line = error_of(*call)
    assert "smoke" in line
    assert "\n" not in line
    stored = rows_of(tmp_path / "out")
    assert answer_of(*call)["measured"] == 3
    assert [row for row in rows_of(tmp_path / "out") if row["id"] in {r["id"] for r in stored}] == stored
