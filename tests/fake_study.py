"""A study whose jobs cost nothing: rows are a function of the job, and a side file counts what was computed.

Workers find the functions by their names, ``fake_study:...``; ``python fake_study.py`` is a run that a test can kill.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sargnn.errors import InputError
from sargnn.studies.bundles import Bundle, made_by
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Job, Row, Store


@dataclass(frozen=True)
class FakeJob(Job):
    """A job of any values."""

    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def to_json(self) -> Row:
        return self.values


def bundles(side: Path, count: int, size: int = 2, seconds: float = 0.05, **more: Any) -> list[Bundle]:
    """``count`` bundles of ``size`` jobs, each of which takes ``seconds`` and leaves its traces in folder ``side``."""
    side.mkdir(exist_ok=True)
    common = {"side": str(side), "seconds": seconds, **more}
    return [tuple(FakeJob({"number": n, **common}) for n in range(b * size, (b + 1) * size)) for b in range(count)]


def result(job: FakeJob) -> Row:
    # A fixed commit: the checkout may change while its tests run.
    return {"score": int(job.id, 16) / 2**64, "commit": "any", "device": "none"}


def rows(bundles: list[Bundle]) -> list[Row]:
    """What a store holds when all is done."""
    done = [
        {**job.to_json(), **made_by(), **result(FakeJob(job.to_json())), "id": job.id}
        for bundle in bundles
        for job in bundle
    ]
    return sorted(done, key=lambda row: row["id"])


def work(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    """Compute the jobs one after the other."""
    for job in jobs:
        _trace(job, "started")
        time.sleep(job["seconds"])
        _trace(job, "finished")
        yield job, result(job)


def refuses_number_3(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    for job, row in work(jobs, device):
        if job["number"] == 3:
            raise InputError("got number 3, expected another")
        yield job, row


def breaks_at_number_3(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    for job, row in work(jobs, device):
        yield job, row if job["number"] != 3 else {"score": float("nan")}


def dies_at_number_3(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    """The worker is killed in job 3, ``job["deaths"]`` times."""
    for job, row in work(jobs, device):
        if job["number"] == 3 and len(traces(Path(job["side"]), "started", 3)) <= job["deaths"]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield job, row


def tells_its_device(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    for job in jobs:
        yield job, {"device": device}


def counts_threads(jobs: list[FakeJob], device: str) -> Iterator[tuple[FakeJob, Row]]:
    import torch

    for job in jobs:
        yield job, {"threads": torch.get_num_threads()}


def _trace(job: FakeJob, event: str) -> None:
    # One write of a short line to a file opened for appending is whole, whoever else appends.
    with (Path(job["side"]) / event).open("a") as file:
        file.write(f"{job['number']} {os.getpid()} {os.getppid()}\n")


def traces(side: Path, event: str, number: int | None = None) -> list[tuple[int, int, int]]:
    """What happened: (number of the job, process, its parent), in order; of one job if ``number`` is given."""
    path = side / event
    lines = path.read_text().splitlines() if path.exists() else []
    found = [tuple(map(int, line.split())) for line in lines]
    return [trace for trace in found if number in (None, trace[0])]


def main(store: str, side: str, count: str, seconds: str, engine: str) -> None:
    with Store(store) as opened:
        workers = 2 if engine == "processes" else None
        planned = importlib.import_module("fake_study").bundles(Path(side), int(count), seconds=float(seconds))
        run_bundles(planned, "fake_study:work", opened, engine, workers)  # of that module, not of __main__


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if whoever runs the tests ignores it
    main(*sys.argv[1:])
