"""What the service does in which thread, and for whom it makes room."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sargnn.serving import service as module
from sargnn.serving.limits import Limits, Refused
from sargnn.serving.loaded import Runs
from sargnn.serving.outcomes import Outcome
from sargnn.serving.service import Service
from sargnn.serving.sets import MOST_FILES
from served import graph
from tiny import shapes


def with_service(run: Path, test: Callable[[Service], Awaitable[None]], **limits: float) -> None:
    async def body() -> None:
        service = Service(Runs([run]), Limits(**limits))
        service.start()
        try:
            await test(service)
        finally:
            await service.close()

    asyncio.run(body())


def test_what_takes_long_blocks_nobody(run: Path) -> None:
    async def test(service: Service) -> None:
        slow = asyncio.create_task(service.aside(time.sleep, 0.5))
        started = time.perf_counter()
        (outcome,) = await service.predict(await service.run("shapes"), [graph(4)])
        assert isinstance(outcome, Outcome)
        assert not slow.done() or time.perf_counter() - started > 0.4
        await slow

    with_service(run, test)


def test_the_other_thread_has_a_short_queue_and_a_time_limit(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SIDE_WORK", 1)
    free = threading.Event()

    async def test(service: Service) -> None:
        waiting = asyncio.create_task(service.aside(free.wait, 10))
        await asyncio.sleep(0.02)
        with pytest.raises(Refused, match="too many files and drawings") as caught:
            await service.aside(free.wait, 10)
        assert caught.value.status == 503
        with pytest.raises(Refused, match="no answer in 1 s"):
            await waiting
        free.set()

    with_service(run, test, timeout=1.0)


def test_browsing_makes_way_when_the_queue_is_full(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set is predicted while others ask, and in the end it is whole."""

    async def test(service: Service) -> None:
        browsed = service.sets.add(shapes(count=300), name="data")
        one = await service.run("shapes")
        service.browse(browsed, one)
        service.browse(browsed, one)  # the same again is the same work
        answers = await asyncio.gather(*(service.predict(one, [graph(4)]) for _ in range(20)), return_exceptions=True)
        assert any(isinstance(answer, list) for answer in answers)
        for _ in range(400):
            if len(browsed.said.get("shapes", {})) == 300:
                break
            await asyncio.sleep(0.02)
        assert sorted(browsed.said["shapes"]) == list(range(300))

    with_service(run, test, max_queue=130, max_graphs=100)


def test_a_set_that_was_forgotten_is_predicted_no_further(run: Path) -> None:
    async def test(service: Service) -> None:
        one = await service.run("shapes")
        names = [service.sets.add(shapes()).name]
        service.browse(service.sets.find(names[0]), one)
        for _ in range(MOST_FILES):
            service.sets.add(shapes())
        assert names[0] not in service.sets
        last = service.sets.add(shapes())
        service.browse(last, one)
        assert [key[0] for key in service._browsing] == [last.name]

    with_service(run, test)


def test_an_unknown_model_is_refused_with_the_known_ones(run: Path) -> None:
    async def test(service: Service) -> None:
        with pytest.raises(Refused, match="expected one of shapes"):
            await service.run("other")

    with_service(run, test)
