"""The page on models to load: its numbers are those of the rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_fine_tuning_is_told_as_it_was_measured() -> None:
    rows = [json.loads(line) for line in (ROOT / "results" / "fine-tuning.jsonl").read_text().splitlines()]
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (\d+) \| ([a-z -]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(told) == 6
    for size, start, *scores in told:
        own = [row["test"] for row in rows if (row.get("train"), row["start"]) == (int(size), start)]
        assert len(own) == 2
        found = [sum(test[name] for test in own) / len(own) for name in ("auroc", "accuracy")]
        assert list(map(float, scores)) == pytest.approx(found, abs=0.00051)
