"""Everything that is measured in one process, with one number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from sargnn.allocator import keep_freed_memory
from sargnn.bench.contenders import CONTENDERS, Contender, Workload
from sargnn.bench.timing import Times, interleave
from sargnn.console import note
from sargnn.data.encodings import DataConfig, Encoder
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold
from sargnn.data.synthetic import triangles
from sargnn.training.ensemble import Ensemble, Member
from sargnn.training.settings import Settings

__all__ = ["Cell", "check_equal", "measure"]

BATCHES = 4
"""Random batches that a step is measured on: not two of them have the same shape."""
EPOCH_BATCHES = 40
"""Batches of an epoch: as many as are in 5,000 graphs at batch size 128."""
TOLERANCE = 1e-4
"""Largest difference of losses, and of gradients relative to their length, in float32."""

REFERENCES = {
    "sar-gcn": ("pyg-gcn", "pyg-sar-gcn", "gcn"),
    "sar-gcn-compiled": ("pyg-gcn", "pyg-sar-gcn", "sar-gcn"),
    "gcn-compiled": ("pyg-gcn", "gcn"),
    "mask-sar-gcn": ("sar-gcn",),
}
"""What a contender is compared with, if not with pyg-gcn alone."""

GROWTH_BATCHES = (32, 128, 512)
GROWTH_NODES = (10, 20, 40, 80)
"""Nodes of random graphs with twice as many edges."""
GROWTH_EDGES = (25, 50, 100, 200)
"""Edges of random graphs with 25 nodes."""
GROWTH_MODELS = (1, 3, 10, 30)
"""Models that train together."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """What to measure: kind of measurement, contenders, sizes."""

    kind: str
    contenders: tuple[str, ...]
    batch: int
    hidden: int
    threads: int
    device: str
    rounds: int
    most_seconds: float
    busy_limit: float


class Source:
    """TRIANGLES graphs, and what makes inputs of them."""

    def __init__(self, count: int) -> None:
        self.graphs = triangles(-(-count // 10) * 10, 0, 0, 0)
        self.encoder = Encoder.fit(DataConfig(), self.graphs)

    def workload(self, count: int, device: str) -> Workload:
        """``count`` of the graphs, drawn at random: the set itself is sorted by class."""
        chosen = self.graphs.subset(np.random.default_rng(0).permutation(len(self.graphs))[:count])
        return Workload(chosen, self.encoder.encode(chosen), torch.device(device))


def measure(cells: list[Cell]) -> list[Row]:
    """The rows of all cells, which have one number of threads and one device."""
    torch.set_num_threads(cells[0].threads)
    keep_freed_memory()  # for every contender alike
    source = Source(max(cell.batch for cell in cells) * EPOCH_BATCHES)
    rows: list[Row] = []
    for cell in cells:
        note(f"{cell.kind}: batch {cell.batch}, hidden {cell.hidden}, threads {cell.threads}")
        rows += KINDS[cell.kind](cell, source)
    return rows


def steps(cell: Cell, source: Source) -> Iterator[Row]:
    """Forward and backward of one batch, without its assembly and without the optimiser."""
    work = source.workload(BATCHES * cell.batch, cell.device)
    yield from _rows(cell, _timed(cell, _step_calls(cell, work, _batches(work, cell.batch))))


def epochs(cell: Cell, source: Source) -> Iterator[Row]:
    """Assembly, forward, backward and Adam over all batches."""
    work = source.workload(EPOCH_BATCHES * cell.batch, cell.device)
    contenders = _built(cell, work)
    check_equal(contenders, _batches(work, cell.batch)[:1])
    running = {name: contender.epochs(cell.batch) for name, contender in contenders.items()}
    calls = {name: _finished(partial(next, epochs), work.device) for name, epochs in running.items()}
    yield from _rows(cell, _timed(cell, calls))


def assembly(cell: Cell, source: Source) -> Iterator[Row]:
    """Batches out of graphs chosen at random."""
    work = source.workload(EPOCH_BATCHES * cell.batch, cell.device)
    batches = _batches(work, cell.batch)
    calls = {
        name: _finished(partial(_each, contender.batch, batches), work.device)
        for name, contender in _built(cell, work).items()
    }
    yield from _rows(cell, _timed(cell, calls))


def growth_by_batch(cell: Cell, source: Source) -> Iterator[Row]:
    """Steps of several batch sizes side by side. The row compares the largest with a quarter of it."""
    work = source.workload(BATCHES * cell.batch, cell.device)
    sizes = [size for size in GROWTH_BATCHES if size <= cell.batch] or [cell.batch]
    calls = {
        (name, size): call for size in sizes for name, call in _step_calls(cell, work, _batches(work, size)).items()
    }
    times = _timed(cell, {f"{name} {size}": call for (name, size), call in calls.items()})
    for name, size in calls:
        yield _growth_row(cell, times, f"{name} {size}", contender=name, by="batch", size=size)
    for name in cell.contenders:
        if sizes[-1] // 4 in sizes:
            ratio, spread = times.ratio(f"{name} {sizes[-1]}", f"{name} {sizes[-1] // 4}")
            yield _row(cell, times, f"{name} {sizes[-1]}", ratio, spread) | {
                "kind": "step", "contender": name, "reference": name, "reference_batch": sizes[-1] // 4,
            }  # fmt: skip


def growth_by_shape(cell: Cell, source: Source) -> Iterator[Row]:
    """Steps on random graphs of growing size, and of growing density."""
    shapes = [("nodes", n, n, 2 * n) for n in GROWTH_NODES] + [("edges", m, 25, m) for m in GROWTH_EDGES]
    for by, size, nodes, edges in shapes:
        graphs = random_graphs(BATCHES * cell.batch, nodes, edges)
        work = Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device(cell.device))
        times = _timed(cell, _step_calls(cell, work, _batches(work, cell.batch)))
        for name in cell.contenders:
            yield _growth_row(cell, times, name, contender=name, by=by, size=size)


def growth_by_models(cell: Cell, source: Source) -> Iterator[Row]:
    """An epoch of K models at once, on as many graphs as MUTAG has."""
    graphs = source.graphs.subset(np.random.default_rng(0).permutation(len(source.graphs))[:188])
    train, held_out = np.split(np.arange(len(graphs)), [len(graphs) * 9 // 10])
    fold = Fold(train, held_out, held_out[:0])
    settings = Settings.of("sar-gcn", {"model.hidden": cell.hidden, "training.patience": 0})
    members = [Member(fold, replace(settings.training, seed=seed)) for seed in range(max(GROWTH_MODELS))]
    together = {k: Ensemble(graphs, settings, members[:k], cell.device) for k in GROWTH_MODELS}
    calls = {str(k): _finished(partial(_epoch_of, ensemble), ensemble.device) for k, ensemble in together.items()}
    times = _timed(cell, calls)
    for k in GROWTH_MODELS:
        yield _growth_row(cell, times, str(k), contender="sar-gcn", by="models", size=k)


def folds(cell: Cell, source: Source) -> Iterator[Row]:
    """An epoch of each of ten folds of a set like MUTAG: all at once, and one after the other."""
    graphs = random_graphs(188, nodes=18, edges=20)
    settings = Settings.of(
        "sar-gcn", {"model.hidden": cell.hidden, "training.batch_size": cell.batch, "training.patience": 0}
    )
    parts = np.array_split(np.random.default_rng(0).permutation(len(graphs)), 10)
    held_in = [np.concatenate(parts[:k] + parts[k + 1 :]) for k in range(10)]
    members = [
        Member(Fold(train, part, part[:0]), settings.training) for train, part in zip(held_in, parts, strict=True)
    ]
    together = Ensemble(graphs, settings, members, cell.device)
    encoder = Encoder.fit(DataConfig(), graphs)
    alone = []
    for train in held_in:
        work = Workload(graphs.subset(train), encoder.encode(graphs.subset(train)), torch.device(cell.device))
        alone.append(CONTENDERS["pyg-sar-gcn"][1](work, work.model("sar-gcn", cell.hidden)).epochs(cell.batch))
    calls = {"sar-gcn": partial(_epoch_of, together), "pyg-sar-gcn": partial(_each, next, alone)}
    yield from _rows(cell, _timed(cell, {name: _finished(call, together.device) for name, call in calls.items()}))


KINDS: dict[str, Callable[[Cell, Source], Iterator[Row]]] = {
    "step": steps,
    "epoch": epochs,
    "assembly": assembly,
    "growth by batch": growth_by_batch,
    "growth by shape": growth_by_shape,
    "growth by models": growth_by_models,
    "folds": folds,
}


def _epoch_of(ensemble: Ensemble) -> None:
    ensemble.launch()
    ensemble.collect()


def check_equal(contenders: dict[str, Contender], indices: list[np.ndarray]) -> None:
    """Contenders of a family must give the same loss and gradient on the same graphs."""
    first: dict[str, tuple[str, list[torch.Tensor]]] = {}
    for name, contender in contenders.items():
        family = CONTENDERS[name][0]
        batches = [contender.batch(index) for index in indices]
        got = [value for b in batches for value in (contender.step(b), contender.gradient(b))]
        other, expected = first.setdefault(family, (name, got))
        worst = max(float((g - e).norm() / e.norm().clamp(min=1)) for g, e in zip(got, expected, strict=True))
        if not worst <= TOLERANCE:
            raise AssertionError(f"{name} and {other} differ by {worst:.1e}: they do not compute the same thing")


def random_graphs(count: int, nodes: int, edges: int, seed: int = 0) -> GraphSet:
    """Undirected graphs with that many nodes and pairs drawn at random, of two classes.

    >>> random_graphs(4, nodes=10, edges=20).num_nodes
    40
    """
    rng = np.random.default_rng([seed, nodes, edges])
    pairs = np.stack(np.triu_indices(nodes, 1), axis=1)
    drawn = [pairs[rng.choice(len(pairs), min(edges, len(pairs)), replace=False)] for _ in range(count)]
    both_ways = [(nodes, np.concatenate([one, one[:, ::-1]])) for one in drawn]
    return pack(both_ways, y=np.arange(count) % 2, classes=("even", "odd"))


def _batches(work: Workload, size: int) -> list[np.ndarray]:
    """Random batches, of which no two have the same shape."""
    order = np.random.default_rng(1).permutation(len(work.graphs))
    return [order[start : start + size] for start in range(0, BATCHES * size, size)]


def _built(cell: Cell, work: Workload) -> dict[str, Contender]:
    models = {family: work.model(family, cell.hidden) for family in {CONTENDERS[name][0] for name in cell.contenders}}
    return {name: CONTENDERS[name][1](work, models[CONTENDERS[name][0]]) for name in cell.contenders}


def _step_calls(cell: Cell, work: Workload, indices: list[np.ndarray]) -> dict[str, Callable[[], None]]:
    contenders = _built(cell, work)
    check_equal(contenders, indices)
    return {
        name: _finished(partial(_each, contender.step, [contender.batch(index) for index in indices]), work.device)
        for name, contender in contenders.items()
    }


def _each(call: Callable[[Any], Any], items: list[Any]) -> None:
    for item in items:
        call(item)


def _finished(call: Callable[[], Any], device: torch.device) -> Callable[[], None]:
    """The call, and the wait for what a GPU still does."""

    def wait() -> None:
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return wait


def _timed(cell: Cell, calls: dict[str, Callable[[], None]]) -> Times:
    return interleave(calls, rounds=cell.rounds, most_seconds=cell.most_seconds, busy_limit=cell.busy_limit)


def _rows(cell: Cell, times: Times) -> Iterator[Row]:
    """Every contender against its references."""
    for contender in cell.contenders:
        for reference in REFERENCES.get(contender, ("pyg-gcn",)):
            if reference in cell.contenders and reference != contender:
                row = _row(cell, times, contender, *times.ratio(contender, reference))
                yield row | {"kind": cell.kind, "contender": contender, "reference": reference}


def _row(cell: Cell, times: Times, name: str, ratio: float, spread: float) -> Row:
    """What rows of all kinds have; kind, contender and reference, which come first, are filled in by the caller."""
    return {
        "kind": "", "contender": "", "reference": "",
        "batch": cell.batch, "hidden": cell.hidden, "threads": cell.threads, "ratio": ratio, "spread": spread,
        "device": cell.device, "rounds": len(times.seconds[name]), "others": times.others, "refused": times.refused,
        "seconds": float(np.median(times.seconds[name])),
    }  # fmt: skip


def _growth_row(cell: Cell, times: Times, name: str, *, contender: str, by: str, size: int) -> Row:
    """Seconds at one size, for the drawings."""
    return {
        "kind": "growth", "contender": contender, "by": by, "size": size,
        "batch": cell.batch, "hidden": cell.hidden, "threads": cell.threads,
        "seconds": float(np.median(times.seconds[name])), "refused": times.refused,
    }  # fmt: skip
