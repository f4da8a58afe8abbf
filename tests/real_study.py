"""A few cells of Table 1 that processes of a test compute: they find these functions by their names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import table1
from sargnn.studies.store import Store
from sargnn.studies.study import Study, run_study

PRESET = replace(PRESETS["smoke"], rates=((1e-3, 0.0), (5e-3, 0.0)))
"""With a choice to make: smoke has none."""


def study() -> Study:
    """Two variants of two backbones on MUTAG: 16 trainings to select by, 8 to assess."""
    whole = table1(PRESET, data=("MUTAG",))
    chosen = {
        (variant, column): cell
        for (variant, column), cell in whole.cells.items()
        if variant in ("base", "sar-gnn-w") and column in ("gcn MUTAG", "sage MUTAG")
    }
    return replace(whole, cells=chosen)


def run(store: Path, mirror: Path, cache: Path) -> None:
    """Compute what is missing in the store."""
    os.environ |= {"SARGNN_MIRROR": str(mirror), "SARGNN_DATA": str(cache)}
    with Store(store) as opened:
        run_study(study(), opened, lambda *state: None)
