"""Requests of many clients become batches for one model thread.

Graphs wait in one bounded queue. A batch takes those in front that are for the same work, up to a number of nodes, of
which the cost of a batch depends. While one batch is computed the next one gathers; a graph that finds the thread idle
waits a moment for company. Answers go back to the requests, each in the order of its graphs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sargnn.serving.limits import Refused, busy
from sargnn.serving.metrics import Metrics

__all__ = ["Batcher"]

WAIT = 0.002
"""Seconds that a graph waits for company."""
BATCH_NODES = 4096
"""Nodes of one batch, which holds at least one graph."""
BATCH_GRAPHS = 128

Work = Callable[[Sequence[Any]], Sequence[Any]]
"""What is done to the graphs of a batch: one result, or error, for each."""


@dataclass(eq=False, slots=True)
class _Job:
    """The graphs of one request."""

    key: Hashable
    work: Work
    results: list[Any]
    left: int
    """Graphs without a result yet."""
    answer: asyncio.Future[list[Any]]
    gone: Callable[[], Awaitable[bool]] | None


@dataclass(eq=False)
class Batcher:
    """One queue, one thread. Start it in the event loop that it serves; close it there."""

    max_queue: int
    metrics: Metrics
    wait: float = WAIT
    _queue: deque[tuple[_Job, int, Any, int]] = field(default_factory=deque)
    """Job, position in it, graph, nodes."""
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._thread = ThreadPoolExecutor(1, "model")
        self._runner = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """End the thread; requests that still wait are told to come again."""
        if self._runner is not None:
            self._runner.cancel()
        for job in {id(job): job for job, *_ in self._queue}.values():
            if not job.answer.done():
                job.answer.set_exception(busy("the server is going down"))
        self._queue.clear()
        await asyncio.to_thread(self._thread.shutdown)

    @property
    def waiting(self) -> int:
        """Graphs in the queue."""
        return len(self._queue)

    async def submit(
        self,
        key: Hashable,
        work: Work,
        graphs: Sequence[Any],
        sizes: Sequence[int],
        timeout: float,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> list[Any]:
        """The results of ``work`` for each of the graphs. Graphs of equal ``key`` may share a batch.

        A queue without room, and a result that takes longer than ``timeout``, are refused with 503. ``gone`` says
        whether the client still waits: work for one that left is not begun.
        """
        if self._queue and len(self._queue) + len(graphs) > self.max_queue:
            raise busy(f"got a full queue of {len(self._queue)} graphs, expected room; try again")
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        job = _Job(key, work, [None] * len(graphs), len(graphs), answer, gone)
        self._queue.extend((job, i, graph, sizes[i]) for i, graph in enumerate(graphs))
        self._some.set()
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError as error:
            raise busy(f"got no answer in {timeout:g} s; try again, or ask for less") from error

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._some.wait()
            await asyncio.sleep(self.wait)
            batch = await self._take()
            self.metrics.queue.set(len(self._queue))
            if not batch:
                continue
            work, graphs = batch[0][0].work, [graph for _, _, graph, _ in batch]
            self.metrics.batch_graphs.observe(len(batch))
            self.metrics.batch_nodes.observe(sum(nodes for *_, nodes in batch))
            try:
                with self.metrics.model_seconds.time():
                    results = await loop.run_in_executor(self._thread, work, graphs)
            except Exception as error:  # a fault of ours: it costs this batch, and the next one is served
                for job, *_ in batch:
                    if not job.answer.done():
                        job.answer.set_exception(error)
                continue
            for (job, position, _, _), result in zip(batch, results, strict=True):
                job.results[position] = result
                job.left -= 1
                if not job.left and not job.answer.done():
                    job.answer.set_result(job.results)

    async def _take(self) -> list[tuple[_Job, int, Any, int]]:
        """The graphs of the next batch, without those that nobody waits for any more."""
        batch: list[tuple[_Job, int, Any, int]] = []
        nodes = 0
        asked: dict[int, bool] = {}
        while self._queue and len(batch) < BATCH_GRAPHS:
            job, _, _, size = self._queue[0]
            if id(job) not in asked:
                asked[id(job)] = job.gone is not None and await job.gone()
            if asked[id(job)] or job.answer.done():
                self._queue.popleft()
                if not job.answer.done():
                    job.answer.set_exception(Refused(400, "the client has left"))
                continue
            if batch and (job.key != batch[0][0].key or nodes + size > BATCH_NODES):
                break
            batch.append(self._queue.popleft())
            nodes += size
        if not self._queue:
            self._some.clear()
        return batch
