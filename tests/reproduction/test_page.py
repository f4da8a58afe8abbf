"""The page of all tables: generated from the rows that are kept."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from command import answer_of, error_of
from sargnn.errors import InputError
from sargnn.reproduction import optimization_figure
from sargnn.reproduction.page import facts_in, page, write_page
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import only, table2
from sargnn.studies.protocol import assessment_jobs, selection_jobs
from sargnn.studies.store import Store, read_rows

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "results" / "paper-quick.jsonl.gz"
LEAN = ROOT / "results" / "paper-lean.jsonl.gz"
WIDE = ROOT / "results" / "paper-wide.jsonl.gz"


def test_the_committed_page_is_the_generated_one(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    written = answer_of("reproduce", "page", "--rows", ROWS, "--rows", LEAN, "--rows", WIDE, "--out", out)["written"]
    assert written[0] == str(out)
    assert [Path(file).name for file in written[1:]] == ["figure-optimization.png", "figure-tsne.png"]
    assert out.read_text() == (ROOT / "docs" / "reproduction.md").read_text()


def test_the_page_needs_its_rows(tmp_path: Path) -> None:
    assert "--rows: got none" in error_of("reproduce", "page", "--out", tmp_path / "page.md")


def test_too_few_rows_are_refused(tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl.gz"
    few.write_bytes(gzip.compress(b"\n".join(gzip.decompress(ROWS.read_bytes()).splitlines()[:5]) + b"\n"))
    with pytest.raises(InputError, match="got too few rows, expected some cells of each of table1"):
        page([few])


def test_every_system_has_its_table_beside_that_of_the_family(tmp_path: Path) -> None:
    jobs = [record.job for record in read_rows(ROWS)]
    cell = table2(PRESETS["lean"], facts_in(jobs).__getitem__, ("slim",), ("MUTAG",)).cells["slim", "MUTAG"]
    made = {"device": "none", "version": "0", "commit": "0", "seconds": 1.0, "best_epoch": 2}
    with Store(tmp_path / "rows.sqlite") as store:
        for job in selection_jobs(cell):
            store.finish(job, {**made, "validation_accuracy": 0.5, "validation_loss": 1.0})
        for job in assessment_jobs(cell, cell.grid[:1] * cell.folds):
            store.finish(job, {**made, "scores": {"test": {"accuracy": 0.69 + job.fold % 2 / 50}}})
        store.export(tmp_path / "slim.jsonl.gz")
    text, _ = page([ROWS, tmp_path / "slim.jsonl.gz", tmp_path / "slim.jsonl.gz"])
    quick, lean = text.split("## Table 2: comparison\n")[1].split("## Table 2: comparison, every system, preset lean\n")
    assert "| slim |" not in quick
    # 100 (0.7 - 0.788) / sqrt((1² + 4.8²) / 9) = -8.8 / 1.6343
    assert "| slim | **70.0** ± 1.0<br>published 78.8 ± 4.8<br>-5.4 s.e., lower | not measured<br>" in lean
    assert "| MUTAG | 30 | 0.5 min | none | 0 | 0 |" in text, "a training counts once, though two files have it"


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(ROWS.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz: cannot read"):
        page([cut])


def test_facts_of_sets_come_from_rows() -> None:
    rows = [{"data": "a", "fold": fold, "fingerprint": "f"} for fold in (2, 0, 1)]
    facts = facts_in([*rows, {"data": "b", "fold": 0, "fingerprint": "g"}])
    assert (facts["a"].folds, facts["a"].fingerprint, facts["b"].folds) == (3, "f", 1)


def test_the_page_has_the_figures_whose_rows_are_kept(tmp_path: Path) -> None:
    of_tables = [r for r in read_rows(ROWS) if r.job["stage"] != "vectors" and "NVIDIA" in r.row["device"]]
    jobs = [record.job for record in of_tables]
    (tmp_path / "tables.jsonl").write_text("".join(json.dumps(record._asdict()) + "\n" for record in of_tables))
    study = only(optimization_figure.study(PRESETS["quick"], facts_in(jobs).__getitem__), "MUTAG")
    made = {"device": "none", "version": "0", "commit": "0", "seconds": 1.0, "best_epoch": 2}
    curve = {"history": {"validation_accuracy": [0.5, 0.75]}}
    with Store(tmp_path / "rows.sqlite") as store:
        store.import_rows(tmp_path / "tables.jsonl")
        for (policy, _), cell in list(study.cells.items())[:2]:
            chosen = cell.grid[:1] * cell.folds
            for job in selection_jobs(cell):
                equal = job.settings.training.learning_rate == cell.grid[0].training.learning_rate
                store.finish(job, {**made, "validation_accuracy": float(equal), "validation_loss": 1.0})
            for job in assessment_jobs(cell, chosen):
                accuracy = (0.8 if policy == "joint" else 0.6 + job.fold % 2 / 50) + job.fold / 100
                store.finish(job, {**made, **curve, "scores": {"test": {"accuracy": accuracy}}})
        store.export(tmp_path / "rows.jsonl.gz")
    written = write_page([tmp_path / "rows.jsonl.gz"], tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert written == [tmp_path / "page.md", tmp_path / "images" / "figure-optimization.png"]
    assert all(file.exists() for file in written)
    assert "![Figure: joint and alternating training](images/figure-optimization.png)" in text
    # differences 20 and 18: s² = 10 / 9; 2.2622 · √((1/10 + 1/9) s²) = 1.096
    told = "joint against alternating, every epoch: 84.5 against 65.5, +19 points | 17.9 to 20.1 over 10 folds"
    assert f"{told} | reproduced |" in text
    assert "`figure-tsne`, `figure-model-size`, `figure-complexity`: the commands exist" in text
