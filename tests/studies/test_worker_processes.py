"""Worker processes share the cores; one that dies is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

import fake_study
from fake_study import FakeJob
from sargnn.studies import worker_processes
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Store


def numbers(store: Store) -> list[int]:
    return sorted(row["number"] for row in store.rows())


def test_worker_processes_share_the_cores(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_processes, "cores", lambda: 6)
    run_bundles([(FakeJob({"x": 1}),)], "fake_study:counts_threads", store, "processes", workers=2)
    assert [row["threads"] for row in store.rows()] == [3]


def test_a_bundle_whose_worker_is_killed_is_finished_by_another(
    store: Store, side: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundles = fake_study.bundles(side, 3, seconds=0.02, deaths=1)
    run_bundles(bundles, "fake_study:dies_at_number_3", store, "processes", workers=1)
    assert store.rows() == fake_study.rows(bundles)
    started = [number for number, _, _ in fake_study.traces(side, "started")]
    assert sorted(started) == [0, 1, 2, 3, 3, 4, 5]  # only what had no row was computed again
    assert len({pid for _, pid, _ in fake_study.traces(side, "started", 3)}) == 2
    assert "exit code -9" in caplog.text


def test_a_bundle_that_always_kills_its_worker_is_given_up(store: Store, side: Path) -> None:
    bundles = fake_study.bundles(side, 3, seconds=0, deaths=99)
    with pytest.raises(RuntimeError, match=r"1 of 6 jobs failed.*\"number\":3.*worker process died"):
        run_bundles(bundles, "fake_study:dies_at_number_3", store, "processes", workers=2)
    assert numbers(store) == [0, 1, 2, 4, 5]
    assert len(fake_study.traces(side, "started", 3)) == 3
