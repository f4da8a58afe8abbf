"""The tables of the page on explanations are those of their rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from test_benchmarks import script

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
TABLES = re.findall(r"<!-- python benchmarks/(\w+)\.py --table --out (\S+) -->\n(.*?)\n<!-- end", PAGE, re.DOTALL)


@pytest.mark.parametrize(("name", "rows", "shown"), TABLES, ids=[name for name, *_ in TABLES])
def test_a_table_is_that_of_its_rows(name: str, rows: str, shown: str) -> None:
    assert script(name).table([json.loads(line) for line in (ROOT / rows).read_text().splitlines()]) == shown


def test_there_are_tables_to_compare() -> None:
    assert {name for name, *_ in TABLES} >= {"saliency", "when_saliency_helps"}
