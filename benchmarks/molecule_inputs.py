"""What descriptors and Morgan counts add on molecules: one row per training, for ``results/molecule-inputs.jsonl``.

    python benchmarks/molecule_inputs.py BBBP.csv --out results/molecule-inputs.jsonl
    python benchmarks/molecule_inputs.py BBBP.csv --scaffold --repeats 5 --out results/molecule-inputs.jsonl
    python benchmarks/molecule_inputs.py --table --out results/molecule-inputs.jsonl

Every variant is trained on the training graphs of the same folds with the same seeds. The inner validation graphs
decide which is better; test scores stand beside them and decide nothing. Differences are paired over folds, or over the
seeds of the one scaffold split.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import sargnn
from sargnn.bench.rows import conditions
from sargnn.data.scaffolds import scaffold_split
from sargnn.data.splits import Fold, stratified_folds
from sargnn.studies.statistics import paired_difference
from sargnn.tasks import task_of
from sargnn.training.run import TrainingRun

VARIANTS = ("", "descriptors", "morgan", "descriptors,morgan")
SCORES = ("auroc", "accuracy", "rmse", "mae", "r2", "average_precision")


def folds_of(graphs: sargnn.GraphSet, scaffold: bool, folds: int) -> list[Fold]:
    """The one split by scaffold, or folds stratified as the task says."""
    task = task_of(graphs)
    return [scaffold_split(graphs)] if scaffold else stratified_folds(task.strata(task.targets(graphs)), folds)


def trainings(graphs: sargnn.GraphSet, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The scores of every variant on every fold and repeat, fold by fold."""
    folds = list(enumerate(folds_of(graphs, options.scaffold, options.folds)))[: options.first]
    for (number, fold), repeat, variant in product(folds, range(options.repeats), options.variants):
        values = {"model.members": options.members, "data.graph_encodings": variant, "training.seed": repeat}
        run = TrainingRun.start(graphs, sargnn.Settings.of(options.model, values), fold=fold)
        for _ in run:
            pass
        run.finish()
        yield {
            "data": graphs.name, "fingerprint": graphs.fingerprint,
            "split": "scaffold" if options.scaffold else "random",
            "model": options.model, "members": options.members, "inputs": variant, "fold": number, "repeat": repeat,
            "seconds": run.seconds, "scores": run.scores,
        }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Mean scores of each variant, and its differences to the model without such inputs."""
    groups: dict[tuple[str, str, int], dict[str, dict[tuple[int, int], dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in rows:
        where, trial = (row["data"], row["split"], row["members"]), (row["fold"], row["repeat"])
        groups[where][row["inputs"]][trial] = row["scores"]
    lines = ["| data | split | members | inputs | trials | score | validation | difference | test | difference |"]
    lines.append("|---" * 10 + "|")
    for (data, split, members), variants in groups.items():
        base = variants[""]
        for inputs, found in variants.items():
            trials = sorted(base.keys() & found.keys())
            for score in SCORES:
                if all(found[trial]["validation"].get(score) is not None for trial in trials):
                    cells = [_cell(base, found, trials, part, score) for part in ("validation", "test")]
                    head = f"| {data} | {split} | {members} | {inputs or 'none'} | {len(trials)} | {score} |"
                    lines.append(f"{head} {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(base: dict[Any, Any], found: dict[Any, Any], trials: list[Any], part: str, score: str) -> str:
    own, without = (np.array([of[trial][part][score] for trial in trials], float) for of in (found, base))
    if own is without or np.array_equal(own, without):
        return f"{own.mean():.3f} | "
    sizes = [of["graphs"] for of in (found[trials[0]]["test"], found[trials[0]]["train"])]
    one_split = len({fold for fold, _ in trials}) == 1
    difference = paired_difference(own, without, 0.0 if one_split else sizes[0] / sizes[1])
    ends = "" if difference.ends is None else " ({:+.3f} to {:+.3f})".format(*difference.ends)
    return f"{own.mean():.3f} | {difference.mean:+.3f}{ends}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="*", help="files of molecules")
    parser.add_argument("--labels", action="append", help="columns of the targets, where they are not found")
    parser.add_argument("--variants", nargs="*", default=VARIANTS, help="values of data.graph_encodings; '' is none")
    parser.add_argument("--model", default="sargnn-salient")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--first", type=int, help="only the first of the folds")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--scaffold", action="store_true", help="the split by scaffold in place of random folds")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    if not options.table:
        facts = conditions()
        with options.out.open("a") as file:
            for data in options.data:
                for row in trainings(
                    sargnn.load(data, **({"labels": options.labels} if options.labels else {})), options
                ):
                    file.write(json.dumps(row | facts) + "\n")
                    file.flush()
    print(table([json.loads(line) for line in options.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
