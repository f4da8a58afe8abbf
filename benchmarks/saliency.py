"""Does saliency show the nodes that decide? Models trained on classes alone, where these nodes are known: one row per
training, for ``results/saliency.jsonl``.

    python benchmarks/saliency.py --out results/saliency.jsonl
    python benchmarks/saliency.py --data ba-2motifs --models sargnn-plus gsat --seeds 3 --out rows.jsonl
    python benchmarks/saliency.py --table --out results/saliency.jsonl

The graphs of a set are the same for every seed; initialisation and order of training change. Of Mutagenicity the node
AUC is of mutagens, against their nitro and amine groups. ``agreement``: mean rank correlation with the maps of each
earlier seed. ``reliance``: how far probabilities of test graphs move with the salient nodes alone, or without them,
beside as many random ones (:mod:`sargnn.explain.reliance`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sargnn import GraphSet, Settings, colors, motifs, triangles
from sargnn.bench.rows import conditions
from sargnn.console import note
from sargnn.data.known_truth import ba_2motifs, mutagenicity, spurious_motif
from sargnn.data.splits import holdout, official
from sargnn.explain.metrics import agreement, node_aucs
from sargnn.training.run import train

SETS: dict[str, Callable[[], GraphSet]] = {
    "triangles": lambda: triangles(4000, 500, 1000, 0),
    "ba-2motifs": ba_2motifs,
    "motifs": lambda: motifs(1000),
    "colors": lambda: colors(500, 500, 1000, 0),
    "spurious-motif .5": lambda: spurious_motif(0.5, 3000, 300, 600),
    "spurious-motif .9": lambda: spurious_motif(0.9, 3000, 300, 600),
    "mutagenicity, explained": lambda: mutagenicity(explained_only=True),
    "mutagenicity": mutagenicity,
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "sargnn-plus": ("sargnn-plus", {}),
    "sargnn-salient": ("sargnn-salient", {}),
    "gsat": ("gsat", {"model.attention": "nodes", "model.rate": 0.5, "training.epochs": 50}),
    "one member": ("sargnn-plus", {"model.members": 1}),
    "one member, memory and saliency in every layer": (
        "sargnn-plus",
        {"model.members": 1, "model.saliency": "learned"},
    ),
    "one member of sargnn-salient": ("sargnn-salient", {"model.members": 1}),
}
"""Models by name: settings that differ from those of a system."""


def measure(data: str, models: list[str], seeds: range) -> Iterator[dict[str, Any]]:
    """The rows of a set: every model with every seed."""
    graphs = SETS[data]()
    fold = official(graphs) or holdout(graphs)
    test = graphs.subset(fold.test)
    for name in models:
        system, changed = MODELS[name]
        maps: list[np.ndarray] = []
        for seed in seeds:
            start = time.perf_counter()
            run = train(graphs, Settings.of(system, {**changed, "training.seed": seed}), fold=fold)
            seconds = time.perf_counter() - start
            maps.append(run.trained.saliency(test))
            row = {"data": data, "model": name, "seed": seed, "system": system, "settings": changed}
            row |= {"accuracy": run.scores["test"]["accuracy"], **found(maps, test), "train_seconds": seconds}
            note(f"{data}, {name}, seed {seed}: accuracy {row['accuracy']:.3f}, node AUC {row['node_auc']:.3f}")
            yield row | {"reliance": run.reliance.to_json() if run.reliance else None}


def found(maps: list[np.ndarray], test: GraphSet) -> dict[str, Any]:
    """How right the last map is, and how much like those before."""
    assert test.true_saliency is not None
    explained = np.bincount(test.node_graph, test.true_saliency, len(test)) > 0
    if test.class_titles and "mutagen" in test.class_titles:
        explained &= test.y == test.class_titles.index("mutagen")
    aucs = node_aucs(maps[-1], test.true_saliency, test.node_graph)[explained]
    alike = [float(np.nanmean(agreement(maps[-1], other, test.node_graph))) for other in maps[:-1]]
    return {"node_auc": float(np.nanmean(aucs)), "graphs": int((~np.isnan(aucs)).sum()), "agreement": alike}


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each set and model: means over seeds, of the node AUC the worst too, and how often a test of
    reliance was passed."""
    lines = [
        "| set | model | seeds | node AUC, mean | worst | between seeds | suffices | needed | accuracy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data, model in dict.fromkeys((row["data"], row["model"]) for row in rows):
        own = [row for row in rows if (row["data"], row["model"]) == (data, model)]
        aucs, alike = [row["node_auc"] for row in own], [one for row in own for one in row["agreement"]]
        tested = [row["reliance"] for row in own if row["reliance"]]
        passed = [
            f"{sum(wins(reliance) for reliance in tested)} of {len(tested)}"
            for wins in (
                lambda r: r["kept"][2] < r["random_kept"][1],
                lambda r: r["removed"][1] > r["random_removed"][2],
            )
        ]
        cells = [f"{np.mean(aucs):.3f}", f"{min(aucs):.3f}", f"{np.mean(alike):.2f}" if alike else "", *passed]
        accuracy = 100 * np.mean([row["accuracy"] for row in own])
        lines.append(f"| {data} | `{model}` | {len(own)} | {' | '.join(cells)} | {accuracy:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=tuple(SETS), choices=tuple(SETS))
    parser.add_argument("--models", nargs="+", default=tuple(MODELS), choices=tuple(MODELS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True, help="the file that the rows are added to")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.table:
        print(table([json.loads(line) for line in options.out.read_text().splitlines()]))
        return
    with options.out.open("a") as file:
        for data in options.data:
            for row in measure(data, options.models, range(options.seeds)):
                file.write(json.dumps(row | conditions()) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
