"""Paired ratios, refused rounds and the load of others. Never a real time."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sargnn.bench import timing


def fake_clock(monkeypatch: pytest.MonkeyPatch, busy: list[float | None]) -> None:
    """A clock that only calls move, and others that are as busy as the list says, round by round."""
    now = [0.0]
    left = iter(busy)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing.Meter, "others", lambda self: next(left))
    monkeypatch.setattr(timing, "now", now, raising=False)


def takes(seconds: float) -> Any:
    def call() -> None:
        timing.now[0] += seconds  # type: ignore[attr-defined]

    return call


def test_ratios_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0] * 5)
    times = timing.interleave({"a": takes(3), "b": takes(2)}, rounds=5, most_seconds=1e9, busy_limit=0.1)
    assert times.ratio("a", "b") == (1.5, 0.0)
    assert (len(times.seconds["a"]), times.others, times.refused) == (5, 0.0, False)


def test_busy_rounds_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0, 0.9, 0.05, 0.9, 0.0, 0.0])
    times = timing.interleave({"a": takes(1)}, rounds=4, most_seconds=1e9, busy_limit=0.1)
    assert (len(times.seconds["a"]), times.refused) == (4, False)
    assert times.others == pytest.approx(0.0125)


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [1.5, 0.0, 0.0, 1.5, 1.5, 1.5])
    times = timing.interleave({"a": takes(1)}, rounds=4, most_seconds=1e9, busy_limit=0.1)
    assert (times.refused, len(times.seconds["a"])) == (True, 6)
    assert times.others == pytest.approx(1.0)


def test_where_others_are_not_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [None] * 3)
    times = timing.interleave({"a": takes(1)}, rounds=3, most_seconds=1e9, busy_limit=0.1)
    assert (times.refused, times.others) == (False, None)


def test_no_more_rounds_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0] * 9)
    times = timing.interleave({"a": takes(1)}, rounds=9, most_seconds=5.0, busy_limit=0.1)
    assert len(times.seconds["a"]) == 6


def test_the_meter_counts_others_and_not_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(timing, "PROC", tmp_path)
    monkeypatch.setattr(timing.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(timing, "_own_seconds", iter([1.0, 3.0]).__next__)
    monkeypatch.setattr(timing.time, "perf_counter", iter([10.0, 14.0]).__next__)
    stat.write_text("cpu  100 0 100 900 50 0 0 0 0 0\ncpu0 1 1\n")
    meter = timing.Meter()
    stat.write_text("cpu  300 0 200 999 99 10 10 80 0 0\ncpu0 1 1\n")  # 4 s busy, of which 2 s are our own
    assert meter.others() == pytest.approx((4 - 2) / 4)


def test_without_counts_of_the_system_others_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "PROC", tmp_path / "missing")
    assert timing.Meter().others() is None


def test_the_time_of_children_that_still_run_is_their_parents() -> None:
    with ProcessPoolExecutor(1) as process:
        before = timing._own_seconds()
        used = process.submit(_work_for, 0.3).result()
        assert timing._own_seconds() - before >= used - 0.05


def _work_for(seconds: float) -> float:
    while time.process_time() < seconds:
        pass
    return time.process_time()


def test_the_time_of_grandchildren_is_their_grandparents() -> None:
    """A loader beside a GPU has workers in the process of the others' contenders."""
    with ProcessPoolExecutor(1) as process:
        before = timing._own_seconds()
        used = process.submit(_have_worked, 0.3).result()
        assert timing._own_seconds() - before >= used - 0.05


def _have_worked(seconds: float) -> float:
    with ProcessPoolExecutor(1) as process:
        return process.submit(_work_for, seconds).result()
