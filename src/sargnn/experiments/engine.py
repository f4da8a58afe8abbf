"""Run jobs: in this process, in N worker processes, or on a Ray cluster (extra: ray), and end with the same rows.

Jobs come in *bundles*, each computed by one call. Wherever that happens, :func:`compute` does it and says so in
messages: a :class:`Finished` for each row, then one :class:`Ended`. The run that wants the rows takes the messages and
writes the store; workers never touch it.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from sargnn import __version__
from sargnn.errors import InputError
from sargnn.experiments.store import Job, Row, Store, job_id, to_json

__all__ = ["ENGINES", "Bundle", "made_by", "run_bundles"]

Bundle = tuple[Job, ...]
"""Jobs that are computed together by one call."""
Work = Callable[[list[Job]], Iterable[tuple[Job, Row]]]
Progress = Callable[[int, int, float | None], None]
"""Called with the jobs done, the jobs in all, and the seconds left (None: not known yet)."""

ENGINES = ("local", "processes", "ray")
ATTEMPTS = 3
"""How often a bundle is started when its worker dies."""
POLL_SECONDS = 0.5
"""How often to look whether another run has finished, or died with, the jobs it claimed."""
CONNECT_SECONDS = 60.0
"""How long a cluster may take to answer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """A job of the bundle has its row."""

    job: Job
    row: Row


@dataclass(frozen=True)
class Ended:
    """The last message of a bundle."""

    how: Literal["done", "input error", "error", "lost"]
    """lost: the worker died."""
    reason: str = ""
    """One line."""
    detail: str = ""
    """Where an unexpected error came from."""


Message = Finished | Ended


def compute(work: str, jobs: list[Job]) -> Iterator[Message]:
    """Compute a bundle. Each row says which version of the package made it; what goes wrong is the last message.

    >>> list(compute("sargnn.experiments.engine:nothing", []))
    [Ended(how='error', reason="AttributeError: module 'sargnn.experiments.engine' has no attribute 'nothing'", ...)]
    """
    missing = {job_id(job) for job in jobs}
    try:
        for job, row in _find_work(work)(jobs):
            if job_id(job) not in missing:
                raise ValueError(f"{work} gave a row of {to_json(job)}, expected each job of its bundle once")
            missing.remove(job_id(job))
            complete = {**made_by(), **row}
            to_json(complete)  # a row that is not JSON is refused here, where its job is known
            yield Finished(job, complete)
        if missing:
            raise ValueError(f"{work} gave no row of job {min(missing)}")
    except InputError as error:
        yield Ended("input error", _first_line(str(error)))
    except Exception as error:
        yield Ended("error", _first_line(f"{type(error).__name__}: {error}"), traceback.format_exc())
    else:
        yield Ended("done")


@cache
def made_by() -> Row:
    """The package version and, in a checkout, the last commit of the package, marked if it was edited since; where the
    files came without their repository, the commit that ``SARGNN_COMMIT`` names."""
    # A package installed inside some other repository has no commit there.
    commit = _git("log", "-1", "--format=%H", "--", ".")
    edited = "-edited" if commit and _git("status", "--short", ".") else ""
    return {"version": __version__, "commit": commit + edited or os.environ.get("SARGNN_COMMIT", "")}


def _git(*arguments: str) -> str:
    package = Path(__file__).parents[1]
    try:
        done = subprocess.run(["git", "-C", package, *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _find_work(path: str) -> Work:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def run_bundles(
    bundles: Iterable[Bundle],
    work: str,
    store: Store,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    gpus: float = 0.0,
    on_progress: Progress | None = None,
) -> None:
    """Compute the jobs of ``bundles`` that the store does not have, and write their rows as they come.

    ``work`` names a function ``module:function`` that takes the jobs of a bundle and yields each with its row.
    ``workers``: worker processes, or bundles at once on the cluster; by default as many as there are cores.
    ``address``: ``host:port`` of a Ray cluster, or ``auto`` for the one of this machine; by default one is started.
    ``gpus``: the share of a GPU that a bundle takes on a Ray cluster.

    Jobs that another run on the same store computes are waited for. A bundle that fails does not stop the others; what
    failed is logged at once and raised at the end, as an :class:`InputError` if that is all that went wrong.

    >>> run_bundles(bundles, "sargnn.training.protocol:work", store, engine="processes", workers=8)  # doctest: +SKIP
    """
    _find_work(work)  # a wrong name fails here, not in every worker
    study = _Study(store, bundles, on_progress)
    if study.waiting:
        place = _open_engine(engine, work, workers, address, gpus)
        try:
            _run(study, place)
        finally:
            place.close()
            with suppress(InputError):  # a claim that cannot be given up now goes stale
                store.release()
    study.raise_failures()


def _run(study: _Study, engine: Engine) -> None:
    while study.waiting or study.again or study.running:
        while len(study.running) < engine.room():
            bundle = study.next_bundle()
            if bundle is None:
                break
            engine.start(study.start(bundle), list(bundle.missing.values()))
        if study.running:
            for ticket, message in engine.messages(POLL_SECONDS):
                study.take(ticket, message)
        elif study.waiting:  # other runs have claimed what is left
            time.sleep(POLL_SECONDS)


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
            jobs = {job_id(job): job for job in bundle if job_id(job) not in seen}
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
            claimed = {job_id(job): job for job in self._store.claim(jobs.values())}
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
            del bundle.missing[job_id(message.job)]
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
            self.waiting.append({job_id(job): job for job in missing})
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
    text = to_json(jobs[0])
    more = f" and {len(jobs) - 1} computed with it" if len(jobs) > 1 else ""
    return f"job {job_id(jobs[0])} {text if len(text) <= 300 else text[:300] + '...'}{more}"


class Engine(ABC):
    """A place where bundles are computed."""

    @abstractmethod
    def room(self) -> int:
        """How many bundles it takes at once."""

    @abstractmethod
    def start(self, ticket: int, jobs: list[Job]) -> None:
        """Begin to compute a bundle, known by its ticket from now on."""

    @abstractmethod
    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        """What the bundles that were started say; if they say nothing, an end after so many seconds."""

    @abstractmethod
    def close(self) -> None:
        """Stop whatever still runs."""


def _open_engine(engine: str, work: str, workers: int | None, address: str | None, gpus: float) -> Engine:
    if engine not in ENGINES:
        raise InputError(f"--engine: got '{engine}', expected one of {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise InputError(f"--workers: got {workers}, expected at least 1")
    if address is not None and engine != "ray":
        raise InputError(f"--address: got {address} with the engine {engine}, expected --engine ray")
    if engine == "ray":
        return RayCluster(work, workers, address, gpus)
    if engine == "processes":
        return WorkerProcesses(work, workers or _cores())
    if workers not in (None, 1):
        raise InputError(f"--workers: got {workers} in one process, expected --engine processes")
    return ThisProcess(work)


class ThisProcess(Engine):
    """One bundle after the other, here."""

    def __init__(self, work: str) -> None:
        self._work = work
        self._given: list[tuple[int, list[Job]]] = []

    def room(self) -> int:
        return 1

    def start(self, ticket: int, jobs: list[Job]) -> None:
        self._given.append((ticket, jobs))

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        ticket, jobs = self._given.pop()
        for message in compute(self._work, jobs):
            yield ticket, message

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    pipe: connection.Connection

    @property
    def handles(self) -> set[Any]:
        """What can be waited for: a message, or its death."""
        return {self.pipe, self.process.sentinel}

    def receive(self) -> Message:
        """Its next message, or that it died."""
        with suppress(EOFError, OSError):
            if self.pipe.poll():
                return self.pipe.recv()
        self.process.join(1)  # its pipe ends a moment before it does
        self.stop()
        return Ended("lost", f"its worker process died (exit code {self.process.exitcode})")

    def stop(self) -> None:
        """Workers own nothing that must be put away."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class WorkerProcesses(Engine):
    """Processes of this machine that share its cores; one that dies is replaced."""

    def __init__(self, work: str, workers: int) -> None:
        self._work = work
        self._workers = workers
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def room(self) -> int:
        return self._workers

    def start(self, ticket: int, jobs: list[Job]) -> None:
        worker = self._idle.pop() if self._idle else self._hire()
        self._busy[ticket] = worker
        with suppress(OSError):  # it died while idle, as its next message will say
            worker.pipe.send(jobs)

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        ready = connection.wait([handle for worker in self._busy.values() for handle in worker.handles], seconds)
        for ticket in [ticket for ticket, worker in self._busy.items() if not worker.handles.isdisjoint(ready)]:
            message = self._busy[ticket].receive()
            if isinstance(message, Ended):
                worker = self._busy.pop(ticket)
                self._idle += [worker] if message.how != "lost" else []
            yield ticket, message

    def close(self) -> None:
        for worker in [*self._idle, *self._busy.values()]:
            worker.stop()

    def _hire(self) -> _Worker:
        # spawn: a fork would share the threads and the GPU state of this process.
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        threads = max(1, _cores() // self._workers)
        process = context.Process(target=_serve, args=(there, self._work, threads), daemon=True)
        process.start()
        there.close()  # so that the pipe ends when the worker does
        return _Worker(process, here)


def _serve(pipe: connection.Connection, work: str, threads: int) -> None:
    """The life of a worker process: bundles in, messages out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    threading.Thread(target=_die_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            for message in compute(work, pipe.recv()):
                pipe.send(message)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class RayCluster(Engine):
    """Tasks of a Ray cluster, one a bundle; one whose worker or node is lost is started elsewhere."""

    def __init__(self, work: str, workers: int | None, address: str | None, gpus: float) -> None:
        self._ray = _import_ray()
        self._work = work
        self._workers = workers
        self._streams: dict[int, Any] = {}
        self._connected_here = not self._ray.is_initialized()
        if self._connected_here:
            _connect(self._ray, address, workers)
        self._need = {"CPU": 1.0, "GPU": gpus} if gpus else {"CPU": 1.0}
        if gpus > self._ray.cluster_resources().get("GPU", 0):
            self.close()
            raise InputError(f"got a Ray cluster with fewer GPUs than the {gpus:g} that a bundle takes")
        # Ray would compute a lost bundle anew from its start; the run does so for the rows that have not come.
        options = {"num_cpus": 1, "num_gpus": gpus, "max_retries": 0, "num_returns": "streaming"}
        # Ray looks for a generator function, which the type checks of tests would hide.
        self._task = self._ray.remote(**options)(inspect.unwrap(compute))

    def room(self) -> int:
        if self._workers is not None:
            return self._workers
        there = self._ray.cluster_resources()
        # Twice what can run, so that a node that ends a bundle has the next at hand.
        return 2 * max(1, int(min(there.get(name, 0) / share for name, share in self._need.items())))

    def start(self, ticket: int, jobs: list[Job]) -> None:
        self._streams[ticket] = self._task.remote(self._work, jobs)

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        streams = list(self._streams.items())
        ready, _ = self._ray.wait([stream for _, stream in streams], timeout=seconds)
        for ticket, stream in streams:
            if stream in ready:
                message = self._receive(stream)
                if isinstance(message, Ended):
                    del self._streams[ticket]
                yield ticket, message

    def close(self) -> None:
        for stream in self._streams.values():
            self._ray.cancel(stream, force=True)
        if self._connected_here:
            self._ray.shutdown()

    def _receive(self, stream: Any) -> Message:
        try:
            return self._ray.get(next(stream))
        except self._ray.exceptions.RayTaskError as error:
            return Ended("error", _first_line(f"{type(error.cause).__name__}: {error.cause}"), str(error))
        except (self._ray.exceptions.RayError, StopIteration) as error:
            return Ended("lost", f"its worker was lost ({type(error).__name__})")


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray warns until this is chosen
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine: got ray, which is not installed: pip install 'sargnn[ray]'") from error
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "error"}
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        rows_are_small = 100 * 2**20
        cores = workers or _cores()
        ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=rows_are_small, **quiet)
    else:
        _check_cluster(address)
        ray.init(address, **quiet)


def _check_cluster(address: str) -> None:
    """Ray tries for minutes to reach a cluster that is not there: ask first, in a process that can be stopped."""
    probe = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False)"
    try:
        if address != "auto":
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        subprocess.run(
            [sys.executable, "-c", probe, address], capture_output=True, text=True, timeout=CONNECT_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        reason = f"no answer in {CONNECT_SECONDS:.0f} s"
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().rpartition("\n")[2]
    except (OSError, ValueError, OverflowError) as error:
        reason = str(error)
    else:
        return
    raise InputError(f"--address: got {address}, expected host:port of a running Ray cluster or auto ({reason})")
