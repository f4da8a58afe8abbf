"""The pages about explaining say what is so: their examples run, and every number of the comparison is in the rows."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sargnn
from sargnn.training.settings import Settings

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_explainers", ROOT / "docs" / "make_explainers.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(maker: ModuleType) -> list[dict[str, Any]]:
    return maker.read_rows()


def test_the_tutorial_runs_and_prints_what_it_says(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    settings = Settings.of("sar-sage", {"training.epochs": 2, "model.hidden": 8})
    sargnn.train(sargnn.load("MUTAG"), settings, "run")
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    for code, expected in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page, re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "explain.md", "exec"), scope)
        assert not expected or printed.getvalue() == expected
    assert 0 <= scope["plus"] <= 1


def test_the_page_of_explainers_is_made_of_the_rows(maker: ModuleType, rows: list[dict[str, Any]]) -> None:
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(rows)


def test_no_table_is_wider_than_a_page(maker: ModuleType, rows: list[dict[str, Any]]) -> None:
    rules = [line for line in maker.page(rows).splitlines() if line.startswith("|") and set(line) <= set("|- ")]
    assert max(line.count("|") - 1 for line in rules) <= 8


def test_every_row_says_how_it_was_made_and_random_is_always_there(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["command"]
        assert row["hardware"]
        assert {"python", "torch", "torch_geometric"} <= set(row["versions"])
    compared = {row["data"] for row in rows if row["explainer"] == "gnn-explainer"}
    assert len(compared) >= 3
    assert compared <= {row["data"] for row in rows if row["explainer"] == "random" and row["part"] == "test"}


def test_saliency_is_a_hundred_times_faster_than_gnn_explainer_in_the_same_run(rows: list[dict[str, Any]]) -> None:
    """By the recorded processor times: nothing is timed here."""
    seconds = {(row["command"], row["model"], row["explainer"]): row.get("cpu_seconds_per_graph") for row in rows}
    slow = {key[:2]: value for key, value in seconds.items() if key[2] == "gnn-explainer"}
    assert slow
    assert all(value > 100 * seconds[*run, "saliency-mean"] for run, value in slow.items())
