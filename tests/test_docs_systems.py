"""The tables of systems in the documentation have every system and no other, and what rows say."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sargnn.nn import SARGNN
from sargnn.reproduction import paper
from sargnn.reproduction.page import facts_in
from sargnn.reproduction.studies import STUDIES
from sargnn.studies.protocol import assessment_jobs, selection_jobs
from sargnn.systems import SYSTEMS

DOCS = Path(__file__).parents[1] / "docs" / "systems.md"


def test_every_system_is_in_the_table() -> None:
    first_table = DOCS.read_text().split("## ")[0]
    rows = [line.split("|")[1] for line in first_table.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows[1:] for name in re.findall(r"`([^`]+)`", row)) == sorted(SYSTEMS)


def test_the_systems_of_both_layouts_are_named() -> None:
    """Those that train K at once, besides the SAR models."""
    layouts = DOCS.read_text().split("## Layouts")[1].split("##")[0]
    both = set(re.findall(r"`([^`]+)`", layouts))
    packed = {n for n, s in SYSTEMS.items() if not s.model.stacked_layouts}
    ours = {n for n, s in SYSTEMS.items() if issubclass(s.model, SARGNN)}
    assert both == set(SYSTEMS) - packed - ours


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_systems", DOCS.with_name("make_systems.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_accuracies_are_those_of_the_rows_that_are_kept(maker: ModuleType) -> None:
    assert DOCS.read_text() == maker.page(maker.row_files()), "run: python docs/make_systems.py"


def test_a_cell_is_measured_when_all_its_rows_are_there(maker: ModuleType, tmp_path: Path) -> None:
    """GCN on MUTAG, right in 3 of 4 graphs of the even folds and in 1 of 2 of the odd ones, whatever is selected."""
    records = records_of("quick", "gcn", "MUTAG", folds=10)
    whole, short = written(tmp_path / "whole.jsonl.gz", records), written(tmp_path / "short.jsonl.gz", records[:-1])
    found = maker.measured([whole])
    assert found == {("gcn", "MUTAG"): "**62.5±12.5**"}
    assert maker.measured([short]) == {("gcn", "MUTAG"): "**62.5±12.5**†"}, "enough for the preset lean"
    assert maker.measured([written(tmp_path / "few.jsonl.gz", records[:-3])]) == {}
    table = maker.table(maker.published(), found)
    assert "| `gcn` | 71.6±10.9<br>**62.5±12.5** | 68.1±4.0 |" in table
    assert "| `topological-forest` | - |" in table


def test_one_training_has_no_deviation(maker: ModuleType, tmp_path: Path) -> None:
    file = written(tmp_path / "rows.jsonl.gz", records_of("lean", "gsn", "TRIANGLES", folds=1))
    assert maker.measured([file]) == {("gsn", "TRIANGLES"): "**75.0**†"}


def records_of(preset: str, system: str, data: str, folds: int) -> list[dict[str, Any]]:
    """All rows of a cell, right in 3 of 4 graphs of the even folds and in 1 of 2 of the odd ones."""
    facts = facts_in([{"data": data, "fingerprint": "f", "fold": folds - 1}])
    cell = STUDIES["table2"](paper.PRESETS[preset], facts.__getitem__).cells[system, data]
    jobs = [*selection_jobs(cell), *assessment_jobs(cell, cell.grid[:1] * cell.folds)]
    return [
        {
            "id": job.id, "job": job.to_json(), "finished": "2026-01-01T00:00:00+00:00",
            "row": {
                "validation_accuracy": 0.5, "validation_loss": 1.0,
                "scores": {"test": {"accuracy": 0.5 if job.fold % 2 else 0.75}},
            },
        }
        for job in jobs
    ]  # fmt: skip


def written(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    return file
