"""The service behind every route: runs, sets, the queue, and what is done in which thread.

The model has a thread of its own. What else takes long (reading a file, laying out a graph) has another, with a short
queue. The event loop only passes messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sargnn.console import note
from sargnn.errors import InputError
from sargnn.serving.answers import warm_up
from sargnn.serving.batcher import BATCH_GRAPHS, Batcher
from sargnn.serving.browsed import BrowsedSet, map_of
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.limits import Limits, Refused, busy
from sargnn.serving.loaded import LoadedRun, Runs
from sargnn.serving.metrics import Metrics
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of
from sargnn.serving.sets import Sets

__all__ = ["Service"]

MOST_SIDE_WORK = 32
"""Files and drawings that may wait."""
MOST_EFFECTS = 500
"""Nodes of a graph in which the effect of each is found: its cost grows with their square."""
SMILES_OF_AN_ATOM = 4
"""Characters: a SMILES has brackets, digits and bonds, too."""
USUAL = Wanted()
T = TypeVar("T")
Found = GraphInput | Refused | InputError
Gone = Callable[[], Awaitable[bool]]


class Service:
    """What one server holds and does."""

    def __init__(self, runs: Runs, limits: Limits) -> None:
        self.runs = runs
        self.limits = limits
        self.sets = Sets()
        self.metrics = Metrics()
        self.batcher = Batcher(limits.max_queue, self.metrics)
        self.ready = False
        self._side = ThreadPoolExecutor(1, "side")
        self._side_work = 0
        self._browsing: dict[tuple[str, str], asyncio.Task[None]] = {}

    def start(self) -> None:
        self.batcher.start()
        self._side.submit(warm_up)  # the first drawing need not wait for matplotlib, and being ready not for drawings
        self.ready = True

    async def close(self) -> None:
        self.ready = False
        for task in self._browsing.values():
            task.cancel()
        await self.batcher.close()
        self._side.shutdown(wait=False, cancel_futures=True)

    async def run(self, name: str) -> LoadedRun:
        """The run of that name, read again if its folder has changed."""
        if name not in self.runs:
            raise Refused(404, f"got no model of that name, expected one of {', '.join(self.runs)}")
        if self.runs.outdated(name):
            await self.aside(self.runs.reload, name)
            self._forget(name)
        return self.runs[name]

    async def predict(
        self, run: LoadedRun, items: Sequence[Any], wanted: Wanted = USUAL, gone: Gone | None = None
    ) -> list[Outcome | Refused | InputError]:
        """What the run says of each graph; of one that cannot be read or is too large, why."""
        if len(items) > self.limits.max_graphs:
            raise Refused(413, f"got {len(items)} graphs, expected at most {self.limits.max_graphs} in a request")
        return await self._outcomes(run, [self._input(item, wanted) for item in items], wanted, gone)

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do what takes long and is not the model's in the other thread."""
        if self._side_work >= MOST_SIDE_WORK:
            raise busy("got too many files and drawings at once, expected fewer; try again", 2)
        self._side_work += 1
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await asyncio.get_running_loop().run_in_executor(self._side, work, *arguments)
        except TimeoutError as error:
            raise busy(f"got no answer in {self.limits.timeout:g} s; try again, or ask for less") from error
        finally:
            self._side_work -= 1

    def browse(self, browsed: BrowsedSet, run: LoadedRun) -> None:
        """Begin to predict the graphs of a set, a few at a time, so that others need not wait."""
        for forgotten in [key for key in self._browsing if key[0] not in self.sets]:
            self._browsing.pop(forgotten).cancel()
        key = (browsed.name, run.name)
        if key not in self._browsing or self._browsing[key].cancelled():
            self._browsing[key] = asyncio.get_running_loop().create_task(self._predict_set(browsed, run))

    async def vector_map(self, browsed: BrowsedSet, run: LoadedRun, method: str) -> tuple[np.ndarray, np.ndarray]:
        """The graphs of a set that the run can read, and where each is on the map."""
        said = browsed.said.get(run.name, {})
        index = np.array([g for g in sorted(said) if "error" not in said[g]], np.int64)
        if not len(index):
            return index, np.zeros((0, 2))

        def vectors(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
            return [run.trained.vectors(browsed.graphs.subset(part)) for part in parts]

        parts = np.array_split(index, -(-len(index) // BATCH_GRAPHS))
        sizes = [int(browsed.graphs.sizes[part].sum()) for part in parts]
        found = await self.batcher.submit(object(), vectors, parts, sizes, self.limits.timeout)
        return index, await self.aside(map_of, np.concatenate(found), method)

    async def _predict_set(self, browsed: BrowsedSet, run: LoadedRun) -> None:
        for start in range(0, len(browsed.graphs), BATCH_GRAPHS):
            index = range(start, min(start + BATCH_GRAPHS, len(browsed.graphs)))
            found = [self._input({"set": browsed.name, "graph": g}) for g in index]
            while True:
                try:
                    outcomes = await self._outcomes(run, found)
                    break
                except Refused:  # others come first
                    await asyncio.sleep(1)
                except Exception as error:
                    note(f"{browsed.name}: cannot be predicted by {run.name} ({type(error).__name__})")
                    return
            browsed.take(run, start, outcomes)

    async def _outcomes(
        self, run: LoadedRun, found: Sequence[Found], wanted: Wanted = USUAL, gone: Gone | None = None
    ) -> list[Outcome | Refused | InputError]:
        inputs = [one for one in found if isinstance(one, GraphInput)]
        results = iter(())
        if inputs:
            work, key = partial(outcomes_of, run.trained, run.trust, wanted), (id(run), wanted)
            sizes = [one.size * (one.size if wanted.effects else 1) for one in inputs]
            results = iter(await self.batcher.submit(key, work, inputs, sizes, self.limits.timeout, gone))
        return [next(results) if isinstance(one, GraphInput) else one for one in found]

    def _forget(self, name: str) -> None:
        """What another version of a run said."""
        for key in [key for key in self._browsing if key[1] == name]:
            self._browsing.pop(key).cancel()
            if key[0] in self.sets:
                self.sets.find(key[0]).said.pop(name, None)

    def _input(self, item: Any, wanted: Wanted = USUAL) -> Found:
        try:
            found = GraphInput.of(item, self.sets)
        except InputError as error:
            return error
        most, why = self.limits.max_nodes, ""
        if wanted.effects and most > MOST_EFFECTS:
            most, why = MOST_EFFECTS, " to find the effect of each"
        if isinstance(found.item, str):
            most *= SMILES_OF_AN_ATOM
        if found.size > most:
            what = "characters of SMILES" if isinstance(found.item, str) else "nodes"
            return Refused(413, f"got {found.size} {what}, expected at most {most}{why}")
        return found
