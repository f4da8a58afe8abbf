"""The queue: what is batched with what, what is refused, who is forgotten. Time is held still by an event."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from sargnn.serving.batcher import BATCH_GRAPHS, BATCH_NODES, Batcher
from sargnn.serving.limits import Refused
from sargnn.serving.metrics import Metrics


class Worker:
    """Doubles numbers and remembers the batches; waits while it is held."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.free = threading.Event()
        self.free.set()
        self.threads: set[str] = set()

    def __call__(self, graphs: Sequence[int]) -> list[int]:
        self.free.wait(20)
        self.threads.add(threading.current_thread().name)
        self.batches.append(list(graphs))
        return [2 * graph for graph in graphs]


def with_batcher(test: Callable[[Batcher, Worker], Awaitable[Any]], max_queue: int = 100) -> Worker:
    """Run ``test`` in an event loop with a queue and a worker."""
    worker = Worker()

    async def body() -> None:
        batcher = Batcher(max_queue, Metrics())
        batcher.start()
        try:
            await test(batcher, worker)
        finally:
            worker.free.set()
            await batcher.close()

    asyncio.run(body())
    return worker


async def ask(
    batcher: Batcher, worker: Worker, *graphs: int, size: int = 1, key: object = "", timeout: float = 20
) -> Any:
    return await batcher.submit(key, worker, graphs, [size] * len(graphs), timeout)


def test_requests_share_a_batch_and_each_gets_its_own_answers_in_order() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        answers = await asyncio.gather(ask(batcher, worker, 1, 2), ask(batcher, worker, 3), ask(batcher, worker, 4, 5))
        assert answers == [[2, 4], [6], [8, 10]]

    worker = with_batcher(test)
    assert worker.batches == [[1, 2, 3, 4, 5]]
    assert worker.threads == {"model_0"}


def test_a_batch_ends_at_its_nodes_and_at_other_work() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        half = BATCH_NODES // 2
        big = [ask(batcher, worker, n, size=half) for n in (1, 2, 3)]
        await asyncio.gather(
            *big, ask(batcher, worker, 4, key="b"), ask(batcher, worker, 5, size=10 * BATCH_NODES, key="b")
        )

    assert with_batcher(test).batches == [[1, 2], [3], [4], [5]]


def test_a_request_of_many_graphs_takes_several_batches() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        numbers = list(range(BATCH_GRAPHS + 3))
        assert await ask(batcher, worker, *numbers) == [2 * n for n in numbers]

    assert list(map(len, with_batcher(test, 1000).batches)) == [BATCH_GRAPHS, 3]


def test_a_full_queue_is_told_at_once_and_says_when_to_come_again() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        worker.free.clear()
        first = asyncio.create_task(ask(batcher, worker, 1))
        while batcher.waiting or not first:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(ask(batcher, worker, n)) for n in range(3)]
        await asyncio.sleep(0.01)
        started = time.perf_counter()
        with pytest.raises(Refused, match="full queue") as caught:
            await ask(batcher, worker, 9)
        assert time.perf_counter() - started < 0.05
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "1")
        worker.free.set()
        assert await asyncio.gather(first, *waiting) == [[2], [0], [2], [4]]

    with_batcher(test, max_queue=3)


def test_an_answer_that_takes_too_long_is_refused_and_its_graphs_are_dropped() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        worker.free.clear()
        first = asyncio.create_task(ask(batcher, worker, 1))
        await asyncio.sleep(0.05)
        with pytest.raises(Refused, match=r"no answer in 0.05 s"):
            await ask(batcher, worker, 2, timeout=0.05)
        worker.free.set()
        await first
        assert await ask(batcher, worker, 3) == [6]

    assert with_batcher(test).batches == [[1], [3]]


def test_nothing_is_computed_for_a_client_that_left() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        async def gone() -> bool:
            return True

        worker.free.clear()
        first = asyncio.create_task(ask(batcher, worker, 1))
        await asyncio.sleep(0.05)
        left = asyncio.create_task(batcher.submit("", worker, [7, 8], [1, 1], 20, gone))
        cancelled = asyncio.create_task(ask(batcher, worker, 9))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        worker.free.set()
        assert await first == [2]
        assert await ask(batcher, worker, 3) == [6]
        with pytest.raises(Refused, match="the client has left"):
            await left

    assert with_batcher(test).batches == [[1], [3]]


def test_a_fault_costs_its_batch_and_no_other() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        def broken(graphs: Sequence[int]) -> list[int]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await batcher.submit("broken", broken, [1], [1], 20)
        assert await ask(batcher, worker, 3) == [6]

    with_batcher(test)


def test_who_waits_when_the_server_goes_down_is_told() -> None:
    async def test(batcher: Batcher, worker: Worker) -> None:
        worker.free.clear()
        first = asyncio.create_task(ask(batcher, worker, 1))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(ask(batcher, worker, 2))
        await asyncio.sleep(0.01)
        closing = asyncio.create_task(batcher.close())
        with pytest.raises(Refused, match="going down"):
            await second
        worker.free.set()
        await closing
        first.cancel()

    with_batcher(test)
