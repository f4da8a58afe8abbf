"""Run jobs: in this process, in N worker processes, or on a Ray cluster (extra: ray), and end with the same rows.

Jobs come in *bundles*, each computed by one call of :func:`~sargnn.studies.bundles.compute`, wherever it runs. It sends
a message for each row, then one that it ended. The run takes the messages and writes the store; workers never touch it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

from sargnn.errors import InputError
from sargnn.studies.bundles import Bundle, Ended, Executor, Finished, LocalExecutor, Message, find_work
from sargnn.studies.ray_cluster import RayCluster
from sargnn.studies.store import Job, Store, to_json
from sargnn.studies.worker_processes import WorkerProcesses

__all__ = ["ENGINES", "run_bundles"]

Progress = Callable[[int, int, float | None], None]
"""Called with the jobs done, the jobs in all, and the seconds left (None: not known yet)."""

ENGINES = ("local", "processes", "ray")
ATTEMPTS = 3
"""How often a bundle is started when its worker dies."""
POLL_SECONDS = 0.5
"""How often to look whether another run has finished, or died with, the jobs it claimed."""

_log = logging.getLogger(__name__)


def run_bundles(
    bundles: Iterable[Bundle], work: str, store: Store, engine: str = "local", workers: int | None = None,
    address: str | None = None, gpus: float = 0.0, device: str = "cpu", on_progress: Progress | None = None,
) -> None:  # fmt: skip
    """Compute the jobs of ``bundles`` that the store does not have, and write their rows as they come.

    ``work`` names a function ``module:function`` that takes the jobs of a bundle and the ``device`` to compute them on,
    and yields each with its row.
    ``workers``: worker processes, or bundles at once on the cluster; by default the number of cores.
    ``address``: ``host:port`` of a Ray cluster, or ``auto`` for the one of this machine; by default one is started.
    ``gpus``: the fraction of a GPU that a bundle takes on a Ray cluster.

    Jobs that another run on the same store computes are waited for. A bundle that fails does not stop the others; a
    failure is logged at once and raised at the end, as an :class:`InputError` if there were no others.

    >>> run_bundles(bundles, "sargnn.studies.protocol:work", store, engine="processes", workers=8)  # doctest: +SKIP
    """
    find_work(work)  # a wrong name fails here, not in every worker
    study = _Study(store, bundles, on_progress)
    if study.waiting:
        executor = _open_executor(engine, work, device, workers, address, gpus)
        try:
            _run(study, executor)
        finally:
            executor.close()
            with suppress(InputError):  # a claim that cannot be given up now goes stale
                store.release()
    study.raise_failures()


def _run(study: _Study, executor: Executor) -> None:
    while study.waiting or study.again or study.running:
        while len(study.running) < executor.room():
            bundle = study.next_bundle()
            if bundle is None:
                break
            executor.start(study.start(bundle), list(bundle.missing.values()))
        if study.running:
            for ticket, message in executor.messages(POLL_SECONDS):
                study.take(ticket, message)
        elif study.waiting:  # other runs have claimed what is left
            time.sleep(POLL_SECONDS)


def _open_executor(
    engine: str, work: str, device: str, workers: int | None, address: str | None, gpus: float
) -> Executor:
    if engine not in ENGINES:
        raise InputError(f"--engine: got '{engine}', expected one of {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise InputError(f"--workers: got {workers}, expected at least 1")
    if address is not None and engine != "ray":
        raise InputError(f"--address: got {address} with the engine {engine}, expected --engine ray")
    if engine == "ray":
        return RayCluster(work, device, workers, address, gpus)
    if engine == "processes":
        return WorkerProcesses(work, device, workers)
    if workers not in (None, 1):
        raise InputError(f"--workers: got {workers} in one process, expected --engine processes")
    return LocalExecutor(work, device)


@dataclass
class _Claimed:
    """A bundle that is this run's to compute."""

    missing: dict[str, Job]
    """What has no row yet, by job id."""
    attempts: int = 0
    started: float = 0.0
    rows: int = 0


class _Study:
    """Where the jobs of a run stand."""

    def __init__(self, store: Store, bundles: Iterable[Bundle], on_progress: Progress | None) -> None:
        self.waiting: deque[dict[str, Job]] = deque()  # not claimed by this run, perhaps by another
        self.again: deque[_Claimed] = deque()  # their worker died
        self.running: dict[int, _Claimed] = {}  # by ticket
        self._store = store
        self._on_progress = on_progress
        self._failures: list[Ended] = []
        self._total = self._done = self._failed = 0
        self._tickets = count()
        # For the time left: what the bundles that ended took, and how many ran at once when the last was started.
        self._timed_jobs, self._timed_seconds, self._at_once = 0, 0.0, 1
        seen: set[str] = set()
        for bundle in bundles:
            jobs = {job.id: job for job in bundle if job.id not in seen}
            seen |= jobs.keys()
            self._wait_for(jobs, store.missing(jobs.values()))
        self._total = len(seen)
        self._report()

    def next_bundle(self) -> _Claimed | None:
        """A bundle whose worker died, or the next that can be claimed, less what others have claimed or finished."""
        if self.again:
            return self.again.popleft()
        for _ in range(len(self.waiting)):
            jobs = self.waiting.popleft()
            claimed = {job.id: job for job in self._store.claim(jobs.values())}
            others = {id: job for id, job in jobs.items() if id not in claimed}
            if self._wait_for(others, self._store.missing(others.values())):
                self._report()
            if claimed:
                return _Claimed(claimed)
        return None

    def start(self, bundle: _Claimed) -> int:
        """The ticket under which a bundle runs from now on."""
        ticket = next(self._tickets)
        bundle.attempts += 1
        bundle.started = time.monotonic()
        self.running[ticket] = bundle
        self._at_once = len(self.running)
        return ticket

    def take(self, ticket: int, message: Message) -> None:
        """Act on what a worker said."""
        bundle = self.running[ticket]
        if isinstance(message, Finished):
            self._store.finish(message.job, message.row)
            del bundle.missing[message.job.id]
            bundle.rows += 1
            self._done += 1
        else:
            del self.running[ticket]
            self._end(bundle, message)
        self._report()

    def raise_failures(self) -> None:
        """Raise what went wrong, in one line."""
        if not self._failures:
            return
        kind = InputError if all(end.how == "input error" for end in self._failures) else RuntimeError
        more = "" if len(self._failures) == 1 else f" (and {len(self._failures) - 1} more failures, logged above)"
        raise kind(f"{self._failed} of {self._total} jobs failed, the rest is stored; {self._failures[0].reason}{more}")

    def _wait_for(self, jobs: dict[str, Job], missing: list[Job]) -> int:
        """Put what is missing of ``jobs`` in line; the number of the others, which are done."""
        if missing:
            self.waiting.append({job.id: job for job in missing})
        finished = len(jobs) - len(missing)
        self._done += finished
        return finished

    def _end(self, bundle: _Claimed, end: Ended) -> None:
        self._timed_jobs += bundle.rows
        self._timed_seconds += time.monotonic() - bundle.started
        bundle.rows = 0
        if not bundle.missing:
            if end.how != "done":
                _log.warning("after the last row of a bundle: %s", end.reason)
            return
        line = f"{_name(list(bundle.missing.values()))}: {end.reason}"
        if end.how == "lost" and bundle.attempts < ATTEMPTS:
            _log.warning("%s; starting it again", line)
            self.again.append(bundle)
            return
        told = any(end.detail == other.detail for other in self._failures)
        _log.error("%s", line if told or not end.detail else f"{line}\n{end.detail}")
        self._failures.append(replace(end, reason=line))
        self._failed += len(bundle.missing)
        self._store.release(bundle.missing.values())

    def _report(self) -> None:
        if self._on_progress is None:
            return
        ahead = self._total - self._done - self._failed
        seconds = self._timed_seconds / self._timed_jobs * ahead / self._at_once if self._timed_jobs else None
        self._on_progress(self._done, self._total, seconds if ahead else 0.0)


def _name(jobs: list[Job]) -> str:
    """The first job by its id and content, and how many were computed with it."""
    text = to_json(jobs[0].to_json())
    more = f" and {len(jobs) - 1} computed with it" if len(jobs) > 1 else ""
    return f"job {jobs[0].id} {text if len(text) <= 300 else text[:300] + '...'}{more}"
