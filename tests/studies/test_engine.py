"""Bundles of jobs on every engine: whole rows, failures, deaths."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fake_study
from fake_study import FakeJob
from sargnn.errors import InputError
from sargnn.studies import engine as engine_module
from sargnn.studies.bundles import made_by
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Job, Row, Store

Work = Callable[[list[Job], str], Iterator[tuple[Job, Row]]]


@pytest.fixture
def local_work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Work], str]:
    """Makes a function of a test one that ``run_bundles`` can find in this process."""

    def register(work: Work) -> str:
        monkeypatch.setitem(sys.modules, "work_of_a_test", SimpleNamespace(work=work))
        return "work_of_a_test:work"

    return register


def numbers(store: Store) -> list[int]:
    return sorted(row["number"] for row in store.rows())


def start_run(store: Path, side: Path, count: int, seconds: float, engine: str) -> subprocess.Popen[bytes]:
    """A run in a process, and a process group, of its own."""
    arguments = map(str, (store, side, count, seconds, engine))
    return subprocess.Popen([sys.executable, fake_study.__file__, *arguments], start_new_session=True)


def wait_until(condition: Callable[[], Any], seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")


class TestWhole:
    @pytest.mark.parametrize(("engine", "workers"), [("local", None), ("processes", 2)])
    def test_every_row_is_stored_and_a_second_run_computes_nothing(
        self, store: Store, side: Path, engine: str, workers: int | None
    ) -> None:
        bundles = fake_study.bundles(side, 4, seconds=0.02)
        progress: list[tuple[int, int, float | None]] = []
        run_bundles(bundles, "fake_study:work", store, engine, workers, on_progress=lambda *now: progress.append(now))
        assert store.rows() == fake_study.rows(bundles)
        assert [done for done, _, _ in progress] == sorted(done for done, _, _ in progress)
        assert progress[0] == (0, 8, None)
        assert progress[-1] == (8, 8, 0.0)
        assert all(left is not None and left >= 0 for done, _, left in progress if done > 4)

        run_bundles(bundles, "fake_study:work", store, engine, workers, on_progress=lambda *now: progress.append(now))
        assert progress[-1] == (8, 8, 0.0)
        assert len(fake_study.traces(side, "started")) == 8

    def test_what_is_stored_is_left_out_of_its_bundle(self, store: Store, side: Path) -> None:
        bundles = fake_study.bundles(side, 2, seconds=0)
        store.finish(bundles[0][1], fake_study.result(bundles[0][1]))
        run_bundles(bundles, "fake_study:work", store)
        assert [number for number, _, _ in fake_study.traces(side, "started")] == [0, 2, 3]
        assert numbers(store) == [0, 1, 2, 3]

    def test_a_job_in_two_bundles_is_computed_once(self, store: Store, side: Path) -> None:
        (bundle,) = fake_study.bundles(side, 1, seconds=0)
        run_bundles([bundle, bundle[:1], bundle * 2], "fake_study:work", store)
        assert [number for number, _, _ in fake_study.traces(side, "started")] == [0, 1]

    def test_a_row_says_what_made_it_unless_the_work_does(
        self, store: Store, local_work: Callable[[Work], str]
    ) -> None:
        work = local_work(lambda jobs, device: ((job, {"version": "mine"} if job["x"] else {}) for job in jobs))
        run_bundles([(FakeJob({"x": 0}), FakeJob({"x": 1}))], work, store)
        assert {row["x"]: row["version"] for row in store.rows()} == {0: made_by()["version"], 1: "mine"}
        assert all(row["commit"] == made_by()["commit"] for row in store.rows())

    def test_the_time_left_is_what_ended_bundles_took(
        self, store: Store, local_work: Callable[[Work], str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr(engine_module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))

        def work(jobs: list[Job], device: str) -> Iterator[tuple[Job, Row]]:
            now[0] += 10.0 * len(jobs)  # together, as K models are
            yield from ((job, {}) for job in jobs)

        bundles = [tuple(FakeJob({"bundle": b, "job": j}) for j in range(2)) for b in range(3)]
        progress: list[tuple[int, int, float | None]] = []
        run_bundles(bundles, local_work(work), store, on_progress=lambda *now: progress.append(now))
        assert progress[:4] == [(0, 6, None), (1, 6, None), (2, 6, None), (2, 6, 40.0)]
        assert progress[4:7] == [(3, 6, 30.0), (4, 6, 20.0), (4, 6, 20.0)]
        assert progress[-1] == (6, 6, 0.0)


class TestFailures:
    @pytest.mark.parametrize(("engine", "workers"), [("local", None), ("processes", 1)])
    def test_an_input_error_is_one_line_with_its_job_and_stops_nothing_else(
        self, store: Store, side: Path, engine: str, workers: int | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        bundles = fake_study.bundles(side, 4, seconds=0)
        with pytest.raises(InputError) as error:
            run_bundles(bundles, "fake_study:refuses_number_3", store, engine, workers)
        text = str(error.value)
        assert text.startswith("1 of 8 jobs failed, the rest is stored; job ")
        assert text.endswith(": got number 3, expected another")
        assert "\n" not in text
        assert f'job {bundles[1][1].id} {{"number":3,' in text
        assert numbers(store) == [0, 1, 2, 4, 5, 6, 7]
        assert [record.getMessage() for record in caplog.records] == [text.partition("; ")[2]]

    def test_an_unexpected_error_is_logged_with_its_origin(
        self, store: Store, side: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(RuntimeError, match=r"1 of 4 jobs failed.*\"number\":3.*ValueError: Out of range float"):
            run_bundles(fake_study.bundles(side, 2, seconds=0), "fake_study:breaks_at_number_3", store)
        assert numbers(store) == [0, 1, 2]
        assert "Traceback" in caplog.text

    def test_several_failures_are_counted_and_each_is_logged(
        self, store: Store, local_work: Callable[[Work], str], caplog: pytest.LogCaptureFixture
    ) -> None:
        def work(jobs: list[Job], device: str) -> Iterator[tuple[Job, Row]]:
            raise RuntimeError("first line\nsecond line")
            yield

        bundles = [tuple(FakeJob({"bundle": b, "job": j}) for j in range(2)) for b in range(3)]
        with pytest.raises(RuntimeError, match=r"^6 of 6 jobs failed.* and 1 computed with it.* \(and 2 more failures"):
            run_bundles(bundles, local_work(work), store)
        assert len(caplog.records) == 3
        assert caplog.text.count("Traceback") == 1  # the same origin is told once
        assert "second line" not in caplog.records[1].getMessage()

    @pytest.mark.parametrize("given", [[], [FakeJob({"x": 2})]])
    def test_work_must_give_the_jobs_of_its_bundle(
        self, store: Store, local_work: Callable[[Work], str], given: list[Job]
    ) -> None:
        with pytest.raises(RuntimeError, match="gave"):
            run_bundles([(FakeJob({"x": 1}),)], local_work(lambda jobs, device: ((job, {}) for job in given)), store)
        assert store.rows() == []

    def test_an_error_after_the_last_row_is_logged(
        self, store: Store, local_work: Callable[[Work], str], caplog: pytest.LogCaptureFixture
    ) -> None:
        run_bundles([(FakeJob({"x": 1}),)], local_work(lambda jobs, device: ((job, {}) for job in jobs * 2)), store)
        assert len(store.rows()) == 1
        assert "expected each job of its bundle once" in caplog.text

    def test_a_failed_job_is_tried_again_by_the_next_run(self, store: Store, side: Path) -> None:
        bundles = fake_study.bundles(side, 2, seconds=0)
        with pytest.raises(InputError):
            run_bundles(bundles, "fake_study:refuses_number_3", store)
        run_bundles(bundles, "fake_study:work", store)
        assert store.rows() == fake_study.rows(bundles)

    def test_a_full_disk_stops_the_run_at_once_and_loses_nothing(self, store: Store, side: Path) -> None:
        bundles = fake_study.bundles(side, 40, size=1, seconds=0, padding="x" * 2000)
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(InputError, match="the disk is full"):
            run_bundles(bundles, "fake_study:work", store)
        before = len(store.rows())
        assert 0 < before < 40
        assert len(fake_study.traces(side, "started")) == before + 1
        store._db.execute("PRAGMA max_page_count = 100000")
        run_bundles(bundles, "fake_study:work", store)
        assert store.rows() == fake_study.rows(bundles)
        assert len(fake_study.traces(side, "started")) == 41

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"engine": "slurm"}, "--engine: got 'slurm', expected one of local, processes, ray"),
            ({"engine": "processes", "workers": 0}, "--workers: got 0, expected at least 1"),
            ({"workers": 2}, "--workers: got 2 in one process, expected --engine processes"),
            ({"address": "10.0.0.1:6379"}, "--address: got 10.0.0.1:6379 with the engine local, expected --engine ray"),
        ],
    )
    def test_wrong_calls(self, store: Store, side: Path, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError) as error:
            run_bundles(fake_study.bundles(side, 1), "fake_study:work", store, **options)
        assert str(error.value) == message

    def test_unknown_work_fails_before_anything_is_claimed(self, store: Store, side: Path) -> None:
        with pytest.raises(AttributeError, match="nothing"):
            run_bundles(fake_study.bundles(side, 1), "fake_study:nothing", store, "processes", 2)

    @pytest.mark.parametrize(("engine", "workers"), [("local", None), ("processes", 1)])
    def test_the_device_travels_with_the_bundle_and_names_no_job(
        self, store: Store, side: Path, engine: str, workers: int | None
    ) -> None:
        bundles = fake_study.bundles(side, 1, size=1)
        run_bundles(bundles, "fake_study:tells_its_device", store, engine, workers, device="cuda:7")
        (row,) = store.rows()
        assert (row["device"], row["id"]) == ("cuda:7", bundles[0][0].id)


class TestDeaths:
    def test_a_run_killed_at_random_and_restarted_ends_with_the_rows_of_an_undisturbed_one(
        self, tmp_path: Path, side: Path
    ) -> None:
        path, bundles, chance = tmp_path / "results.sqlite", 20, random.Random(4)
        ends: list[int] = []
        while 0 not in ends:
            assert len(ends) < 100, "no progress"
            before = len(fake_study.traces(side, "started"))
            run = start_run(path, side, bundles, 0.05, "local")
            # Every other time not while it starts but while it works.
            while len(ends) % 2 and run.poll() is None and len(fake_study.traces(side, "started")) == before:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.4))
            run.kill()
            ends.append(run.wait())
        kills = len(ends) - 1
        assert kills > 5
        with Store(path) as store:
            assert store.rows() == fake_study.rows(fake_study.bundles(side, bundles, seconds=0.05))
        # A kill can only lose the one job that was running: what had its row was never computed again.
        assert len(fake_study.traces(side, "started")) <= 2 * bundles + kills

    def test_two_runs_at_once_compute_every_job_once(self, tmp_path: Path, side: Path) -> None:
        path = tmp_path / "results.sqlite"
        runs = [start_run(path, side, 15, 0.03, "local") for _ in range(2)]
        assert [run.wait(30) for run in runs] == [0, 0]
        for event in ("started", "finished"):
            assert sorted(number for number, _, _ in fake_study.traces(side, event)) == list(range(30))
        assert {pid for _, pid, _ in fake_study.traces(side, "started")} == {run.pid for run in runs}
        with Store(path) as store:
            assert store.rows() == fake_study.rows(fake_study.bundles(side, 15, seconds=0.03))

    def test_what_another_run_computes_is_waited_for(self, store: Store, side: Path) -> None:
        first, second = fake_study.bundles(side, 2, seconds=0)
        claimed = threading.Event()

        def other_run() -> None:
            with Store(store.path) as other:
                other.claim(first)
                claimed.set()
                time.sleep(0.3)
                other.finish(first[0], fake_study.result(first[0]))
                time.sleep(0.3)  # and it ends without the other job

        thread = threading.Thread(target=other_run)
        thread.start()
        claimed.wait()
        run_bundles([first, second], "fake_study:work", store)
        thread.join()
        assert numbers(store) == [0, 1, 2, 3]
        assert [number for number, _, _ in fake_study.traces(side, "started")] == [2, 3, 1]

    @needs_linux
    def test_workers_die_with_a_killed_run_and_the_next_goes_on(self, store: Store, side: Path) -> None:
        run = start_run(store.path, side, 4, 0.3, "processes")
        wait_until(lambda: len(fake_study.traces(side, "finished")) >= 2)
        run.kill()
        run.wait()
        workers = {pid for _, pid, _ in fake_study.traces(side, "started")}
        assert run.pid not in workers
        wait_until(lambda: not any(map(is_alive, workers)))
        bundles = fake_study.bundles(side, 4, seconds=0.3)
        run_bundles(bundles, "fake_study:work", store)
        assert store.rows() == fake_study.rows(bundles)
        # Of each of the two workers, at most the row on its way and the job in its hands were lost.
        assert len(fake_study.traces(side, "started")) <= 8 + 4

    @needs_linux
    @pytest.mark.parametrize("engine", ["local", "processes"])
    def test_an_interrupt_leaves_whole_rows_no_claims_and_no_workers(
        self, store: Store, side: Path, engine: str
    ) -> None:
        run = start_run(store.path, side, 20, 0.1, engine)
        wait_until(lambda: len(store.rows()) >= 3)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the run and its workers
        assert run.wait(10) == -signal.SIGINT
        workers = {pid for _, pid, _ in fake_study.traces(side, "started")}
        assert not any(map(is_alive, workers))
        with closing(sqlite3.connect(store.path)) as db:
            assert db.execute("SELECT * FROM claims").fetchall() == []
        assert 3 <= len(store.rows()) < 40
        assert all(row in fake_study.rows(fake_study.bundles(side, 20, seconds=0.1)) for row in store.rows())

    def test_an_interrupt_of_the_work_is_passed_on(self, store: Store, local_work: Callable[[Work], str]) -> None:
        def work(jobs: list[Job], device: str) -> Iterator[tuple[Job, Row]]:
            yield jobs[0], {}
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_bundles([(FakeJob({"x": 0}), FakeJob({"x": 1}))], local_work(work), store)
        assert len(store.rows()) == 1
        assert store.claim([FakeJob({"x": 1})]) == [FakeJob({"x": 1})]
