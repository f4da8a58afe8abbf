"""The page of all tables: generated from the rows that are kept."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from command import answer_of, error_of
from sargnn.errors import InputError
from sargnn.experiments.reproduction import facts_in, page

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "results" / "paper-quick.jsonl.gz"


def test_the_committed_page_is_the_generated_one(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    assert answer_of("reproduce", "page", "--rows", ROWS, "--out", out) == {"written": str(out)}
    assert out.read_text() == (ROOT / "docs" / "reproduction.md").read_text()


def test_the_page_needs_its_rows(tmp_path: Path) -> None:
    assert "--rows: got none" in error_of("reproduce", "page", "--out", tmp_path / "page.md")


def test_too_few_rows_are_refused(tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl.gz"
    few.write_bytes(gzip.compress(b"\n".join(gzip.decompress(ROWS.read_bytes()).splitlines()[:5]) + b"\n"))
    with pytest.raises(InputError, match="got too few rows, expected some cells of each of table1"):
        page(few)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(ROWS.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz: cannot read"):
        page(cut)


def test_facts_of_sets_come_from_rows() -> None:
    rows = [{"data": "a", "fold": fold, "fingerprint": "f"} for fold in (2, 0, 1)]
    facts = facts_in([*rows, {"data": "b", "fold": 0, "fingerprint": "g"}])
    assert (facts["a"].folds, facts["a"].fingerprint, facts["b"].folds) == (3, "f", 1)
