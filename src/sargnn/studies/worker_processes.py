"""Bundles in N worker processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any

from sargnn.allocator import keep_freed_memory
from sargnn.studies.bundles import Ended, Executor, Message, compute, cores
from sargnn.studies.store import Job

__all__ = ["WorkerProcesses"]


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
                message: Message = self.pipe.recv()
                return message
        self.process.join(1)  # its pipe ends a moment before it does
        self.stop()
        return Ended("lost", f"its worker process died (exit code {self.process.exitcode})")

    def stop(self) -> None:
        """Workers own nothing that must be put away."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class WorkerProcesses(Executor):
    """Processes of this machine that share its cores; one that dies is replaced."""

    def __init__(self, work: str, device: str, workers: int | None) -> None:
        super().__init__(work, device)
        self._workers = workers or cores()
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
        threads = max(1, cores() // self._workers)
        process = context.Process(target=_serve, args=(there, self._work, self._device, threads), daemon=True)
        process.start()
        there.close()  # so that the pipe ends when the worker does
        return _Worker(process, here)


def _serve(pipe: connection.Connection, work: str, device: str, threads: int) -> None:
    """The life of a worker process: bundles in, messages out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    threading.Thread(target=_die_with_parent, daemon=True).start()
    keep_freed_memory()
    import torch

    torch.set_num_threads(threads)
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            for message in compute(work, pipe.recv(), device):
                pipe.send(message)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
