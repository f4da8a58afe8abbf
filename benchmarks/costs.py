"""What the recommended model costs beside every system of Table 2: one row each, for ``results/costs.jsonl``.

    python benchmarks/costs.py --out results/costs.jsonl

Each system has the first setting of its grid in Table 2, the recommended model its only one. All of them take turns in
one process with one thread, in random order, on the first fold of the set. Timed are an epoch (one graph is scored
after it, so that the time is that of the training), a prediction (from the test graphs to probabilities, inputs encoded
anew) and the model's part of a prediction (inputs ready), both of all test graphs at once. Seconds are processor time,
so that other work on the machine counts for little; ``others`` says how many cores it used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sargnn
from sargnn.bench.rows import write_rows
from sargnn.bench.timing import Times, interleave
from sargnn.console import note
from sargnn.data.protocol_splits import protocol_folds
from sargnn.data.splits import Fold
from sargnn.reproduction import paper
from sargnn.reproduction.beyond import LARGE, PLUS, SALIENT
from sargnn.reproduction.studies import SetFacts, table2
from sargnn.training.loop import TrainingState, fit, predict_outputs
from sargnn.training.run import TrainingRun

SYSTEMS = (PLUS, SALIENT, LARGE, *paper.SYSTEMS)
SETS = ("MUTAG", "PROTEINS")
ROUNDS = 5
"""Times that everything is timed; the median counts."""
KINDS = ("epoch", "prediction", "forward")


def measure(data: str, systems: Sequence[str], rounds: int) -> Iterator[dict[str, Any]]:
    """The row of each system on a set."""
    graphs = sargnn.load(data)
    fold = protocol_folds(graphs)[0]
    watched = Fold(fold.train, fold.train[:1], fold.test)
    runs = {}
    for system in systems:
        settings = settings_of(system, data)
        once = replace(settings, training=replace(settings.training, epochs=1))
        runs[system] = TrainingRun.start(graphs, once, fold=watched)
    calls = {f"{system} {kind}": call for system, run in runs.items() for kind, call in calls_of(run).items()}
    note(f"{data}: {len(runs)} systems, {rounds} rounds")
    times = interleave(calls, rounds=rounds, most_seconds=float("inf"), busy_limit=float("inf"))
    for system, run in runs.items():
        yield {
            "data": data, "system": system, "settings": settings_of(system, data).to_json(),
            "parameters": sum(p.numel() for p in run.trained.model.parameters()),
            **{kind: summary(times, f"{system} {kind}") for kind in KINDS},
            "training_graphs": len(fold.train), "test_graphs": len(fold.test),
            "batch_size": run.trained.settings.training.graphs_per_step(len(fold.train)),
            "rounds": rounds, "others": times.others,
        }  # fmt: skip


def settings_of(system: str, data: str) -> sargnn.Settings:
    """The only setting of a recommended model, or the first that Table 2 selects from."""
    if system in (PLUS, SALIENT, LARGE):
        return sargnn.Settings.of(system)
    study = table2(paper.PRESETS["lean"], lambda _: SetFacts("not needed", 10), (system,), (data,))
    return study.cells[system, data].grid[0]


def calls_of(run: TrainingRun) -> dict[str, Callable[[], float]]:
    """What is timed of a system: each call gives its own processor seconds, of one epoch or for one graph."""
    trained, config, tested = run.trained, run.trained.settings.training, run.fold.test
    rng = np.random.default_rng()

    def epoch() -> float:
        state = TrainingState.start(trained.model, trained.task, config)
        return _seconds(lambda: list(fit(state, run.data, run.fold, config)))

    def prediction() -> float:
        # In another order every time, or counts of substructures might come from the data cache.
        graphs = run.graphs.subset(rng.permutation(tested))
        return _seconds(partial(trained.predict, graphs)) / len(tested)

    def forward() -> float:
        return _seconds(partial(predict_outputs, trained.model, run.data, tested)) / len(tested)

    return dict(zip(KINDS, (epoch, prediction, forward), strict=True))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def summary(times: Times, name: str) -> dict[str, float]:
    """The median, and the distance between the quartiles."""
    low, middle, high = np.quantile(times.seconds[name], [0.25, 0.5, 0.75]).tolist()
    return {"seconds": middle, "spread": high - low}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=SETS, choices=paper.DATA_SETS)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_rows(options.out, (row for data in options.data for row in measure(data, options.systems, options.rounds)))


if __name__ == "__main__":
    main()
