"""What keeps a model that counts triangles from counting them in larger graphs: one row each, for
``results/large-graphs.jsonl``.

    python benchmarks/large_graphs.py --out results/large-graphs.jsonl

TRIANGLES by its recipe, trained on graphs of 4 to 25 nodes, tested on those and on graphs of 26 to 100. A model that
only sums what each node brings (`deepsets`) is given more and more inputs beside the number of triangles through the
node, which alone would do; then models that also pass messages.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from sargnn import Settings, train, triangles
from sargnn.bench.rows import write_rows
from sargnn.console import note
from sargnn.reproduction.beyond import SALIENT

TRIANGLES = {"data.encodings": ("substructures",), "data.substructures": ("ring3",)}
RINGS = {"data.encodings": ("substructures",)}
EVERYTHING = {"data.encodings": ("degree", "random-walk", "substructures"), "data.walk_steps": 16}
INPUTS: dict[str, dict[str, Any]] = {
    "triangles": TRIANGLES,
    "rings and cliques": RINGS,
    "rings and cliques, degrees, random walks": EVERYTHING,
}
"""What a node brings."""

ALIKE = {
    "training.learning_rate": 1e-2, "training.schedule": "cosine", "training.patience": 0, "training.epochs": 20,
    "training.monitor": "last",
}  # fmt: skip
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "deepsets": ("deepsets", ALIKE | {"model.layers": 3, "model.hidden": 64}),
    "gin": ("gin", ALIKE),
    "one member of sargnn-salient": (
        SALIENT,
        {"model.members": 1, "training.epochs": 20, "training.learning_rate": 2e-3},
    ),
}
"""The name of a row, its model and the values that are its own."""


def measure(graphs: int, seeds: int, epochs: int | None) -> Iterator[dict[str, Any]]:
    """Every model with every input."""
    for seed in range(seeds):
        made = triangles(graphs, 1000, 2000, 3000, seed=seed)
        for name, (system, values) in MODELS.items():
            for inputs, data in INPUTS.items():
                own = values | data | {"training.seed": seed} | ({"training.epochs": epochs} if epochs else {})
                scores = train(made, Settings.of(system, own)).scores
                found = {part: scores[part]["accuracy"] for part in ("train", "test", "test-large")}
                note(f"seed {seed}, {name}, {inputs}: {found}")
                yield {"model": name, "inputs": inputs, "seed": seed, "training_graphs": graphs} | found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=10_000, help="to train on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="fewer, for a trial")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_rows(options.out, measure(options.graphs, options.seeds, options.epochs))


if __name__ == "__main__":
    main()
