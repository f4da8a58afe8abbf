"""Everything that is measured in one process, with one number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from sargnn.allocator import keep_freed_memory
from sargnn.bench.contenders import CONTENDERS, Contender, Workload
from sargnn.bench.timing import Times, interleave, seconds
from sargnn.console import note
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.sources import load
from sargnn.data.splits import Fold, stratified_folds
from sargnn.data.synthetic import triangles
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import Member, ModelStack, fit_together

__all__ = ["Cell", "check_equal", "measure"]

BATCHES = 4
"""Random batches that a step is measured on: no two of them have the same shape."""
EPOCH_BATCHES = 40
"""Batches per epoch: as many as are in 5,000 graphs at batch size 128."""
GPU_EPOCH_GRAPHS = 30_000
"""Graphs per epoch on a GPU: as many as TRIANGLES has to train on."""
STUDY_SEEDS, STUDY_EPOCHS = 3, 300
"""Of a study: seeds per fold, epochs per training."""
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
SHAPES = [*(("nodes", n, n, 2 * n) for n in (10, 20, 40, 80)), *(("edges", m, 25, m) for m in (25, 50, 100, 200))]
"""What grows, its size, and the nodes and edges of random graphs of that size."""
GROWTH_MODELS = (1, 3, 10, 30)
"""Models that train together."""

OTHERS = ("pyg-gcn", "pyg-sar-gcn", "mask-sar-gcn")
"""Contenders that are not this project's."""

Row = dict[str, Any]
Call = Callable[[], Any]
"""What is timed; one that gives a number of seconds has timed itself."""


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

    @property
    def epoch_graphs(self) -> int:
        return EPOCH_BATCHES * self.batch if self.device == "cpu" else GPU_EPOCH_GRAPHS


class Source:
    """TRIANGLES graphs, as many as the cells need, and what makes inputs of them."""

    def __init__(self, cells: list[Cell]) -> None:
        self.graphs = triangles(-(-max(cell.epoch_graphs for cell in cells) // 10) * 10, 0, 0, 0)
        self.encoder = Encoder.fit(DataConfig(), self.graphs)

    def draw(self, count: int) -> GraphSet:
        """``count`` of the graphs at random: the set itself is sorted by class."""
        return self.graphs.subset(np.random.default_rng(0).permutation(len(self.graphs))[:count])

    def workload(self, count: int, device: str) -> Workload:
        chosen = self.draw(count)
        return Workload(chosen, self.encoder.encode(chosen), torch.device(device))


def measure(cells: list[Cell]) -> list[Row]:
    """The rows of all cells, which have one number of threads and one device.

    This project's contenders run here, with memory handled as in training; the others in a process of their own, with
    the defaults.
    """
    torch.set_num_threads(cells[0].threads)
    rows: list[Row] = []
    with _process(_open, cells) as elsewhere:
        keep_freed_memory()
        source = Source(cells)
        for cell in cells:
            note(f"{cell.kind}: batch {cell.batch}, hidden {cell.hidden}, threads {cell.threads}")
            theirs = tuple(name for name in cell.contenders if name in OTHERS)
            ours = tuple(name for name in cell.contenders if name not in OTHERS)
            prepare, make_rows = KINDS[cell.kind]
            calls = prepare(replace(cell, contenders=ours), source)
            if theirs:
                names = elsewhere.submit(_prepare, replace(cell, contenders=theirs)).result()
                calls |= {name: partial(_run_in, elsewhere, name) for name in names}
            times = interleave(calls, rounds=cell.rounds, most_seconds=cell.most_seconds, busy_limit=cell.busy_limit)
            rows += make_rows(cell, times)
    return rows


_here: dict[str, Any] = {}
"""What a process that :func:`_process` started holds: the graphs, and the calls at hand by name."""


def _process(initializer: Callable[..., None], *arguments: Any) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=initializer, initargs=arguments)


def _open(cells: list[Cell]) -> None:
    torch.set_num_threads(cells[0].threads)
    _here["source"] = Source(cells)


def _prepare(cell: Cell) -> list[str]:
    _here["calls"] = KINDS[cell.kind][0](cell, _here["source"])
    return list(_here["calls"])


def _run_in(process: ProcessPoolExecutor, name: str) -> float:
    """Seconds as measured over there."""
    return process.submit(_seconds_of, name).result()


def _seconds_of(name: str) -> float:
    return seconds(_here["calls"][name])


def step_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """Forward and backward of one batch, without its assembly and without the optimiser."""
    return _steps_of(cell, source.workload(BATCHES * cell.batch, cell.device), cell.batch)


def epoch_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """Assembly, forward, backward and Adam over all batches."""
    work = source.workload(cell.epoch_graphs, cell.device)
    running = {name: contender.epochs(cell.batch) for name, contender in _built(cell, work).items()}
    return {name: _finished(partial(next, epochs), cell) for name, epochs in running.items()}


def assembly_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """Batches out of graphs chosen at random."""
    work = source.workload(EPOCH_BATCHES * cell.batch, cell.device)
    batches = _batches(work, cell.batch)
    built = _built(cell, work)
    return {name: _finished(partial(_each, contender.batch, batches), cell) for name, contender in built.items()}


def batch_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """Steps of several batch sizes."""
    work = source.workload(BATCHES * cell.batch, cell.device)
    sizes = {size: _steps_of(cell, work, size) for size in _batch_sizes(cell)}
    return {f"{name} {size}": call for size, calls in sizes.items() for name, call in calls.items()}


def _batch_sizes(cell: Cell) -> list[int]:
    return [size for size in GROWTH_BATCHES if size <= cell.batch] or [cell.batch]


def batch_rows(cell: Cell, times: Times) -> Iterator[Row]:
    """Seconds at every size; and the largest batch compared with a quarter of it."""
    sizes = _batch_sizes(cell)
    for name, size in product(cell.contenders, sizes):
        yield _growth_row(cell, times, f"{name} {size}", name, "batch", size)
    largest, quarter = sizes[-1], sizes[-1] // 4
    for name in cell.contenders if quarter in sizes else ():
        row = _ratio_row(cell, times, f"{name} {largest}", f"{name} {quarter}")
        yield row | {"kind": "step", "contender": name, "reference": name, "reference_batch": quarter}


def shape_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """Steps on random graphs of growing size, and of growing density."""
    calls = {}
    for by, size, nodes, edges in SHAPES:
        graphs = random_graphs(BATCHES * cell.batch, nodes, edges)
        work = Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device(cell.device))
        calls.update({f"{name} {by} {size}": call for name, call in _steps_of(cell, work, cell.batch).items()})
    return calls


def shape_rows(cell: Cell, times: Times) -> Iterator[Row]:
    for (by, size, *_), name in product(SHAPES, cell.contenders):
        yield _growth_row(cell, times, f"{name} {by} {size}", name, by, size)


def model_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """An epoch of K models at once, on as many graphs as MUTAG has."""
    graphs = source.draw(188)
    train, held_out = np.split(np.arange(len(graphs)), [len(graphs) * 9 // 10])
    fold = Fold(train, held_out, held_out[:0])
    settings = Settings.of("sar-gcn", {"model.hidden": cell.hidden, "training.patience": 0})
    stacks = {k: _stack(graphs, settings, [fold] * k, cell) for k in GROWTH_MODELS}
    return {str(k): _finished(partial(next, iter(stack)), cell) for k, stack in stacks.items()}


def model_rows(cell: Cell, times: Times) -> Iterator[Row]:
    return (_growth_row(cell, times, str(k), "sar-gcn", "models", k) for k in GROWTH_MODELS)


def fold_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """An epoch of each of ten folds of a set like MUTAG: this project's models as ``cv`` trains them, on a GPU all at
    once, on a CPU in as many processes as there are threads; others one by one."""
    graphs = random_graphs(min(188, 6 * cell.batch), nodes=18, edges=20)  # 188 at batch 32
    parts = np.array_split(np.random.default_rng(0).permutation(len(graphs)), 10)
    folds = [Fold(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k], parts[k][:0]) for k in range(10)]
    calls: dict[str, Call] = {}
    for name in cell.contenders:
        if name in OTHERS or (cell.device == "cpu" and cell.threads == 1):
            call = _one_by_one(name, graphs, folds, cell)
        elif cell.device == "cpu":
            call = _side_by_side(name, graphs, folds, cell)
        else:
            call = partial(next, iter(_stack(graphs, _settings(name, cell, epochs=10**6), folds, cell)))
        calls[name] = _finished(call, cell)
    return calls


def study_calls(cell: Cell, source: Source) -> dict[str, Call]:
    """A whole study of MUTAG: ten folds with three seeds each, all at once, from the graphs to the best weights."""
    graphs = load("MUTAG")
    return {name: _finished(partial(_study, name, graphs, cell), cell) for name in cell.contenders}


def _study(name: str, graphs: GraphSet, cell: Cell) -> None:
    assert graphs.y is not None
    folds = [fold for fold in stratified_folds(graphs.y) for _ in range(STUDY_SEEDS)]
    stack = _stack(graphs, _settings(name, cell, STUDY_EPOCHS), folds, cell)
    fit_together([stack])
    stack.results()


def study_rows(cell: Cell, times: Times) -> Iterator[Row]:
    for name in cell.contenders:
        size = {"data": "MUTAG", "models": 10 * STUDY_SEEDS, "epochs": STUDY_EPOCHS}
        yield {"kind": "study", "contender": name, **size, **_circumstances(cell, times, name)}


def _side_by_side(name: str, graphs: GraphSet, folds: list[Fold], cell: Cell) -> Call:
    """The folds divided among processes of one thread each."""
    alone, n = replace(cell, threads=1), cell.threads
    workers = [_process(_prepare_folds, name, graphs, folds[k::n], alone) for k in range(n)]
    return lambda: _each(lambda epoch: epoch.result(), [worker.submit(_seconds_of, "folds") for worker in workers])


def _prepare_folds(name: str, graphs: GraphSet, folds: list[Fold], cell: Cell) -> None:
    torch.set_num_threads(cell.threads)
    keep_freed_memory()
    _here["calls"] = {"folds": _one_by_one(name, graphs, folds, cell)}


def _settings(name: str, cell: Cell, epochs: int) -> Settings:
    sizes = {"model.hidden": cell.hidden, "training.batch_size": cell.batch}
    return Settings.of(name, sizes | {"training.epochs": epochs, "training.patience": 0})


def _stack(graphs: GraphSet, settings: Settings, folds: list[Fold], cell: Cell) -> ModelStack:
    """A model for each fold, with a seed of its own."""
    members = [Member(fold, replace(settings.training, seed=seed)) for seed, fold in enumerate(folds)]
    return ModelStack(graphs, settings, members, cell.device)


def _one_by_one(name: str, graphs: GraphSet, folds: list[Fold], cell: Cell) -> Call:
    encoder = Encoder.fit(DataConfig(), graphs)
    sets = [graphs.subset(fold.train) for fold in folds]
    works = [Workload(own, encoder.encode(own), torch.device(cell.device)) for own in sets]
    built = [_built(replace(cell, contenders=(name,)), work)[name] for work in works]
    return partial(_each, next, [contender.epochs(cell.batch) for contender in built])


def ratio_rows(cell: Cell, times: Times) -> Iterator[Row]:
    """Every contender against its references."""
    for contender in cell.contenders:
        for reference in REFERENCES.get(contender, ("pyg-gcn",)):
            if reference in cell.contenders and reference != contender:
                spent = {"reference_seconds": float(np.median(times.seconds[reference]))}
                yield _ratio_row(cell, times, contender, reference) | spent


KINDS: dict[str, tuple[Callable[..., dict[str, Call]], Callable[..., Iterator[Row]]]] = {
    "step": (step_calls, ratio_rows),
    "epoch": (epoch_calls, ratio_rows),
    "assembly": (assembly_calls, ratio_rows),
    "folds": (fold_calls, ratio_rows),
    "study": (study_calls, study_rows),
    "growth by batch": (batch_calls, batch_rows),
    "growth by shape": (shape_calls, shape_rows),
    "growth by models": (model_calls, model_rows),
}
"""Kind of measurement -> what to call, given a cell and a source, and the rows, given the cell and the times."""


def check_equal(contenders: dict[str, Contender], indices: list[np.ndarray]) -> None:
    """Contenders of a family must give the same loss and gradient on the same graphs."""
    first: dict[str, tuple[str, list[torch.Tensor]]] = {}
    for name, contender in contenders.items():
        batches = [contender.batch(index) for index in indices]
        got = [value for b in batches for value in (contender.step(b), contender.gradient(b))]
        other, expected = first.setdefault(CONTENDERS[name][0], (name, got))
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


def _steps_of(cell: Cell, work: Workload, size: int) -> dict[str, Call]:
    """Steps over batches, once the contenders have been shown to be equal, also to those of the other process."""
    indices = _batches(work, size)
    families = {CONTENDERS[name][0] for name in cell.contenders}
    others = tuple(name for name in OTHERS if CONTENDERS[name][0] in families and name not in cell.contenders)
    check_equal(_built(replace(cell, contenders=cell.contenders + others), work), indices)
    return {
        name: _finished(partial(_each, contender.step, [contender.batch(index) for index in indices]), cell)
        for name, contender in _built(cell, work).items()
    }


def _each(call: Callable[[Any], Any], items: list[Any]) -> None:
    for item in items:
        call(item)


def _finished(call: Call, cell: Cell) -> Call:
    """The call, and the wait for what a GPU still does."""
    on_gpu = torch.device(cell.device).type == "cuda"

    def wait() -> None:
        call()
        if on_gpu:
            torch.cuda.synchronize(cell.device)

    return wait


def _ratio_row(cell: Cell, times: Times, contender: str, reference: str) -> Row:
    ratio, spread = times.ratio(contender, reference)
    return {
        "kind": cell.kind, "contender": contender, "reference": reference,
        **_circumstances(cell, times, contender, ratio=ratio, spread=spread),
    }  # fmt: skip


def _growth_row(cell: Cell, times: Times, name: str, contender: str, by: str, size: int) -> Row:
    """Seconds at one size, for the drawings."""
    return {"kind": "growth", "contender": contender, "by": by, "size": size, **_circumstances(cell, times, name)}


def _circumstances(cell: Cell, times: Times, name: str, **found: float) -> Row:
    """Sizes, what was found, and how."""
    return {
        "batch": cell.batch, "hidden": cell.hidden, "threads": cell.threads, **found,
        "device": cell.device, "rounds": len(times.seconds[name]), "others": times.others, "refused": times.refused,
        "seconds": float(np.median(times.seconds[name])),
    }  # fmt: skip
