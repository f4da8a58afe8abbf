"""The table of systems in the documentation has every system and no other."""

from __future__ import annotations

import re
from pathlib import Path

from sargnn.systems import SYSTEMS

DOCS = Path(__file__).parents[2] / "docs" / "systems.md"


def test_every_system_is_in_the_table() -> None:
    first_table = DOCS.read_text().split("## ")[0]
    rows = [line.split("|")[1] for line in first_table.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows[1:] for name in re.findall(r"`([^`]+)`", row)) == sorted(SYSTEMS)


def test_the_systems_of_both_layouts_are_named() -> None:
    """Those that are not packed_only, besides the SAR models."""
    layouts = DOCS.read_text().split("## Layouts")[1].split("##")[0]
    both = set(re.findall(r"`([^`]+)`", layouts))
    packed = {n for n, s in SYSTEMS.items() if getattr(s.model, "packed_only", False)}
    ours = {n for n, s in SYSTEMS.items() if s.place.startswith("sargnn.nn")}
    assert both == set(SYSTEMS) - packed - ours
