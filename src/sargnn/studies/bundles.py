"""A bundle of jobs, how it is computed (rows and failures come as messages) and where (an :class:`Executor`)."""

from __future__ import annotations

import importlib
import os
import subprocess
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sargnn import __version__
from sargnn.errors import InputError
from sargnn.studies.store import Job, Row, to_json

__all__ = [
    "Bundle", "Ended", "Executor", "Finished", "LocalExecutor", "Message", "Work", "compute", "cores", "find_work",
    "first_line", "made_by",
]  # fmt: skip

Bundle = tuple[Job, ...]
"""Jobs that are computed together by one call."""
Work = Callable[[list[Any], str], Iterable[tuple[Job, Row]]]
"""Gives each of the jobs with its results, computed on the named device."""


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


def compute(work: str, jobs: Sequence[Job], device: str) -> Iterator[Message]:
    """Compute a bundle. Each row says which version of the package made it; what goes wrong is the last message.

    >>> list(compute("sargnn.studies.bundles:nothing", [], "cpu"))
    [Ended(how='error', reason="AttributeError: module 'sargnn.studies.bundles' has no attribute 'nothing'", ...)]
    """
    missing = {job.id for job in jobs}
    try:
        for job, row in find_work(work)(list(jobs), device):
            if job.id not in missing:
                raise ValueError(f"{work} gave a row of {to_json(job.to_json())}, expected each job of its bundle once")
            missing.remove(job.id)
            complete = {**made_by(), **row}
            to_json(complete)  # a row that is not JSON is refused here, where its job is known
            yield Finished(job, complete)
        if missing:
            raise ValueError(f"{work} gave no row of job {min(missing)}")
    except InputError as error:
        yield Ended("input error", first_line(str(error)))
    except Exception as error:
        yield Ended("error", first_line(f"{type(error).__name__}: {error}"), traceback.format_exc())
    else:
        yield Ended("done")


@cache
def made_by() -> Row:
    """The package version and its last commit, marked if it was edited since; outside a repository the commit that
    ``SARGNN_COMMIT`` names."""
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


def find_work(path: str) -> Work:
    module, _, name = path.partition(":")
    work: Work = getattr(importlib.import_module(module), name)
    return work


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


class Executor(ABC):
    """Computes bundles of jobs by one function, on one kind of device."""

    def __init__(self, work: str, device: str) -> None:
        self._work, self._device = work, device

    @abstractmethod
    def room(self) -> int:
        """How many bundles it takes at once."""

    @abstractmethod
    def start(self, ticket: int, jobs: list[Job]) -> None:
        """Begin to compute a bundle, known by its ticket from now on."""

    @abstractmethod
    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        """What the started bundles say; ends after ``seconds`` if they say nothing."""

    @abstractmethod
    def close(self) -> None:
        """Stop whatever still runs."""


class LocalExecutor(Executor):
    """One bundle after the other, in this process."""

    def __init__(self, work: str, device: str) -> None:
        super().__init__(work, device)
        self._given: list[tuple[int, list[Job]]] = []

    def room(self) -> int:
        return 1

    def start(self, ticket: int, jobs: list[Job]) -> None:
        self._given.append((ticket, jobs))

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        ticket, jobs = self._given.pop()
        for message in compute(self._work, jobs, self._device):
            yield ticket, message

    def close(self) -> None:
        pass


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
