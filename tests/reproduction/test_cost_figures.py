"""The figures about cost are studies of cells that the tables have too."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from sargnn.reproduction import cost_figures
from sargnn.reproduction.costs import Cost, cost_job
from sargnn.reproduction.figures import FIGURES
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts, table2
from sargnn.studies.protocol import CellResult, selection_jobs


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


def test_cells_that_a_table_has_too_are_the_same_jobs() -> None:
    table = table2(PRESETS["quick"], facts)
    size = FIGURES["figure-model-size"].study(PRESETS["quick"], facts)
    shared = {job.id for job in selection_jobs(table.cells["sar-gcn", "TRIANGLES"])}
    assert {job.id for job in selection_jobs(size.cells["growing memory", "memory of 64"])} < shared
    mapped = FIGURES["figure-tsne"].study(PRESETS["quick"], facts).cells["sar-gin", "Letter-high"]
    whole = {job.id for job in selection_jobs(table.cells["sar-gin", "Letter-high"])}
    assert {job.id for job in selection_jobs(mapped)} == whole


def test_every_budget_compares_sar_with_a_wider_backbone_alone() -> None:
    study = FIGURES["figure-complexity"].study(PRESETS["quick"], facts)
    for (row, column), cell in study.cells.items():
        if not row.startswith("sar-"):
            assert cell.grid[0].model.hidden > study.cells[f"sar-{row}", column].grid[0].model.hidden


def test_claims_compare_accuracy_and_time_at_equal_parameters() -> None:
    """By hand: 60 against 50 per cent in every seed, and three times the time, where at most two is comparable."""
    preset = replace(PRESETS["smoke"], seeds=2)
    study = cost_figures.model_size(preset, lambda name: SetFacts("f", 1))
    results, costs = {}, {}
    for where, cell in study.cells.items():
        sar = where[0] == "sar-gcn"
        accuracies = np.array([0.6, 0.62]) if sar else np.array([0.5, 0.52])
        results[where] = CellResult(cell, accuracies, cell.grid[:1], ())
        costs[cost_job(cell)] = asdict(Cost(100, 1e3, 5.0, 8.0, 3e-6 if sar else 1e-6, "a device", "2.9"))
    notes = cost_figures.model_size_notes(study, results, costs)
    assert [claim.verdict for claim in notes.claims[:2]] == ["reproduced", "contradicted"]
    assert notes.claims[0].measured == "SAR-GCN at 16 features: 61 against 51, +10 points"
    assert notes.claims[0].cells[2] == "3.92 to 16.1 over 2 seeds"  # 10 -+ 4.3027 * sqrt(1 + 1)
    assert notes.claims[1].measured == "SAR-GCN at 16 features: 3.00 times that of GCN"
    assert notes.rows[0] == ("sar-gcn", "16 features", "16", "100", "1", "3.0", "a device", "61.0 ± 1.0")
    assert len(cost_figures.draw_model_size(study, results, costs).axes) == 3
