"""Rows of the scripts of ``benchmarks/``."""

from __future__ import annotations

import json
from pathlib import Path

from sargnn import __version__
from sargnn.bench.rows import conditions, write_rows


def test_every_row_says_how_it_was_made(tmp_path: Path) -> None:
    write_rows(tmp_path / "new" / "rows.jsonl", ({"size": size} for size in (1, 2)))
    rows = [json.loads(line) for line in (tmp_path / "new" / "rows.jsonl").read_text().splitlines()]
    assert rows == [{"size": size, **conditions()} for size in (1, 2)]
    assert rows[0]["version"] == __version__
    assert {"hardware", "versions", "command", "commit"} <= rows[0].keys()
