"""Does saliency show the nodes that matter? Each readout of the recommended model, where the truth is known: one row
each, for ``results/readouts.jsonl``.

    python benchmarks/readouts.py --out results/readouts.jsonl

Generated triangle graphs (the class is their number, the truth the nodes in one) and planted motifs. Trained on classes
alone; the node AUC is of test graphs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from sargnn import GraphSet, Settings, motifs, train, triangles
from sargnn.bench.rows import write_rows
from sargnn.console import note
from sargnn.reproduction.beyond import SALIENT

READOUTS = ("salient", "all", "memory", "sum")
MEMBERS = (1, 3)
SETS: dict[str, tuple[Callable[[int], GraphSet], int]] = {
    "triangles": (lambda seed: triangles(2000, 200, 1000, 0, seed=seed), 20),
    "motifs": (lambda seed: motifs(500, seed=seed), 20),
}
"""Graphs by seed, and epochs."""


def measure(data: str, seeds: int, epochs: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a set: every readout, alone and as an ensemble."""
    make, usual = SETS[data]
    for seed in range(seeds):
        graphs = make(seed)
        for readout in READOUTS:
            for members in MEMBERS if readout == "salient" else MEMBERS[:1]:
                changed = {"model.readout": readout, "model.members": members, "training.epochs": epochs or usual}
                settings = Settings.of(SALIENT, {**changed, "training.learning_rate": 2e-3, "training.seed": seed})
                test = train(graphs, settings).scores["test"]
                note(f"{data}, seed {seed}, {readout} x {members}: accuracy {test['accuracy']:.3f}")
                yield {
                    "data": data, "seed": seed, "readout": readout, "members": members, "graphs": len(graphs),
                    "epochs": settings.training.epochs, "accuracy": test["accuracy"], "node_auc": test["saliency_auc"],
                }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=tuple(SETS), choices=tuple(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="fewer, for a trial")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_rows(options.out, (row for data in options.data for row in measure(data, options.seeds, options.epochs)))


if __name__ == "__main__":
    main()
