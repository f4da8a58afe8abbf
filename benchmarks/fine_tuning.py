"""Does a model that has seen other molecules learn faster? Fine-tuning beside training from scratch.

    python benchmarks/fine_tuning.py --source tox21.csv --data BBBP.csv --out results/fine-tuning.jsonl
    python benchmarks/fine_tuning.py --table --out results/fine-tuning.jsonl

``sargnn-plus`` with one member is trained on the source once. On each of the first folds of the data it is then trained
from scratch, from the source's weights, and from these with the backbone frozen: on all training molecules, and on a
tenth of them. Settings are the usual ones but for the number of epochs; nothing is chosen by a score. Molecules of both
sets are not removed from either: their targets differ.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import sargnn
from sargnn.bench.rows import conditions
from sargnn.studies.statistics import paired_difference

STARTS: dict[str, dict[str, Any]] = {
    "scratch": {},
    "fine-tuned": {"start_from": True},
    "backbone frozen": {"start_from": True, "freeze": "backbone"},
}
SHARES = (1.0, 0.1)
SCORES = ("auroc", "accuracy")


def settings(epochs: int, seed: int) -> sargnn.Settings:
    values = {"model.members": 1, "training.epochs": epochs, "training.seed": seed}
    return sargnn.Settings.of("sargnn-plus", values)


def trainings(options: argparse.Namespace, source: Path) -> Iterator[dict[str, Any]]:
    """One row per training on the data."""
    graphs = sargnn.load(options.data)
    for number, fold in enumerate(sargnn.stratified_folds(graphs.y, 10, seed=options.seed)[: options.folds]):
        for share in SHARES:
            few = part(fold.train, graphs.y, share, options.seed)
            for start, how in ((name, STARTS[name]) for name in options.starts):
                given = {**how, "start_from": source} if how else {}
                own = settings(options.epochs, options.seed)
                run = sargnn.train(graphs, own, fold=replace(fold, train=few), **given)
                found = {name: {s: run.scores[name][s] for s in SCORES} for name in ("validation", "test")}
                yield {
                    "data": graphs.name, "fold": number, "start": start, "train": len(few), "seed": options.seed,
                    "epochs": options.epochs, "train_seconds": run.seconds, **found,
                }  # fmt: skip


def part(index: np.ndarray, y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A share of the graphs at ``index``, of each class alike."""
    order = np.random.default_rng(seed).permutation(index)
    chosen = [own[: max(1, round(share * len(own)))] for own in (order[y[order] == c] for c in np.unique(y[order]))]
    return np.sort(np.concatenate(chosen))


def pretrain(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on the source; its row."""
    graphs = sargnn.load(options.source)
    run = sargnn.train(graphs, settings(options.source_epochs, options.seed), folder)
    test = run.scores["test"]
    return {"data": graphs.name, "start": "source", "epochs": options.source_epochs, "test": {"auroc": test["auroc"]}}


def table(rows: list[dict[str, Any]]) -> str:
    """The mean over folds of each start, and its paired difference from scratch with a 95 % interval."""
    rows = [row for row in rows if row["start"] != "source"]
    lines = ["| training molecules | start | " + " | ".join(f"{s} | difference" for s in SCORES) + " |"]
    lines.append("|" + "---|" * (2 + 2 * len(SCORES)))
    for share in SHARES:
        size = {row["fold"]: [] for row in rows}
        for row in rows:
            size[row["fold"]].append(row["train"])
        wanted = {fold: max(found) if share == 1 else min(found) for fold, found in size.items()}
        own = [row for row in rows if row["train"] == wanted[row["fold"]]]
        for start in STARTS:
            cells = [_cell(own, start, score) for score in SCORES]
            lines.append(f"| {round(np.mean(list(wanted.values())))} | {start} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(rows: list[dict[str, Any]], start: str, score: str) -> str:
    found, base = (
        np.array([row["test"][score] for row in sorted(rows, key=lambda row: row["fold"]) if row["start"] == name])
        for name in (start, "scratch")
    )
    if start == "scratch":
        return f"{found.mean():.3f} | "
    difference = paired_difference(found, base, 1 / 8)  # test graphs beside training graphs of ten folds
    ends = "" if difference.ends is None else " ({:+.3f} to {:+.3f})".format(*difference.ends)
    return f"{found.mean():.3f} | {difference.mean:+.3f}{ends}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", help="the molecules that are seen first")
    parser.add_argument("--data", help="the molecules that are predicted")
    parser.add_argument("--starts", nargs="*", default=list(STARTS), choices=STARTS)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--source-epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    if not options.table:
        facts = conditions()
        with TemporaryDirectory() as folder, options.out.open("a") as file:
            rows = iter([pretrain(options, Path(folder) / "source")])
            for these in (rows, trainings(options, Path(folder) / "source")):
                for row in these:
                    file.write(json.dumps(row | facts) + "\n")
                    file.flush()
    print(table([json.loads(line) for line in options.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
