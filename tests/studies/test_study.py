"""Studies: the paper's tables as jobs, and a real one that is killed until it is done."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from real_study import run
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts, table1
from sargnn.studies.store import Store
from sargnn.studies.study import finished_results

MAY_DIFFER = ("seconds", "commit")
"""Between two runs that are the same: the time, and the commit of a checkout that is edited while its tests run."""


def facts(data: str) -> SetFacts:
    return SetFacts(f"fingerprint of {data}", 1 if data == "TRIANGLES" else 10)


@pytest.fixture
def start(tmp_path: Path, mirror: Path) -> Callable[[Path], Any]:
    """Starts a run on a store in a process of its own, which has imported all when it begins."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sargnn.training.run", "sargnn.reproduction.studies"])

    def started(store: Path) -> Any:
        process = context.Process(target=run, args=(store, mirror, tmp_path / "cache"), daemon=True)
        process.start()
        return process

    return started


def rows_of(store: Path) -> list[dict[str, Any]]:
    with Store(store) as opened:
        return [{key: value for key, value in row.items() if key not in MAY_DIFFER} for row in opened.rows()]


def count_rows(store: Path) -> int:
    """Without a Store, which might take over what the run has claimed."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM rows").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_and_restarted_until_done_it_has_the_rows_of_an_undisturbed_run(
    start: Callable[[Path], Any], tmp_path: Path
) -> None:
    undisturbed = start(tmp_path / "calm.sqlite")
    undisturbed.join(600)
    assert undisturbed.exitcode == 0
    dice, kills = random.Random(7), 0
    process = start(tmp_path / "killed.sqlite")
    while process.is_alive() or process.exitcode != 0:
        before, deadline = count_rows(tmp_path / "killed.sqlite"), time.monotonic() + 600
        while process.is_alive() and count_rows(tmp_path / "killed.sqlite") == before:
            assert time.monotonic() < deadline, "no row in ten minutes"
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.03))
        process.kill()
        process.join(600)
        if process.exitcode != 0:
            kills += 1
            process = start(tmp_path / "killed.sqlite")
    assert kills >= 1
    expected = rows_of(tmp_path / "calm.sqlite")
    assert len(expected) == 24
    assert rows_of(tmp_path / "killed.sqlite") == expected


def test_a_store_without_rows_has_no_results(tmp_path: Path) -> None:
    with Store(tmp_path / "rows.sqlite") as store:
        assert finished_results(table1(PRESETS["smoke"], facts), store) == {}
