"""Where bundles are computed: the contract of an executor, and the simplest one, this process."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator

from sargnn.studies.bundles import Message, compute
from sargnn.studies.store import Job

__all__ = ["Executor", "LocalExecutor", "cores"]


class Executor(ABC):
    """Computes bundles of jobs by one function, on one kind of device."""

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
        self._work = work
        self._device = device
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
