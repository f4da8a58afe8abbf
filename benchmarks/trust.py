"""Do trust columns find wrong predictions? One row per training, for ``results/trust.jsonl``, a table and a picture.

    python benchmarks/trust.py BBBP.csv --out results/trust.jsonl
    python benchmarks/trust.py --table --out results/trust.jsonl --picture results/trust.png

Each training is on the split by scaffold, with a seed of its own. Its row keeps, for every test graph, whether the
prediction was wrong, and every column that might tell. The table has the AUROC of each column for "this prediction is
wrong": the mean over seeds, with the 95 % interval over test graphs drawn with replacement, and its difference to the
baseline, 1 less the model's confidence.

The combination was fixed before test graphs were looked at: the mean of the ranks that confidence, distance and spread
have among those of the validation graphs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata

import sargnn
from sargnn import viz
from sargnn.bench.rows import conditions
from sargnn.data.scaffolds import scaffold_split
from sargnn.training.neighbours import nearest_vectors
from sargnn.training.run import TrainingRun
from sargnn.training.settings import DEFAULT_MODEL
from sargnn.viz.distance import distance_groups, error_by_distance

COLUMNS = {
    "unsure": "1 - confidence (baseline)",
    "distance": "distance to the nearest training molecule (1 - Tanimoto)",
    "distance_3": "mean distance to the nearest three",
    "vector_distance": "distance of the model's vectors",
    "unseen_scaffold": "unseen scaffold",
    "unseen_categories": "unseen categories",
    "spread": "spread of the ensemble",
    "combined": "mean rank of confidence, distance and spread",
}
PARTS_OF_RANK = ("unsure", "distance", "spread")
DRAWS = 2000


def measure(graphs: sargnn.GraphSet, model: str, inputs: str, seed: int) -> dict[str, Any]:
    """One training, and what every column says of its test graphs."""
    fold = scaffold_split(graphs)
    settings = sargnn.Settings.of(model, {"training.seed": seed, "data.graph_encodings": inputs})
    run = TrainingRun.start(graphs, settings, fold=fold)
    for _ in run:
        pass
    run.finish()
    columns = {part: _columns(run, index) for part, index in (("validation", fold.validation), ("test", fold.test))}
    return {
        "data": graphs.name, "fingerprint": graphs.fingerprint, "split": "scaffold", "model": model,
        "members": settings.model.members, "inputs": inputs, "fold": 0, "repeat": seed, "seconds": run.seconds,
        "scores": run.scores, "columns": columns,
    }  # fmt: skip


def _columns(run: TrainingRun, index: np.ndarray) -> dict[str, list[float]]:
    graphs = run.graphs.subset(index)
    found = run.trained.predict(graphs)
    trust = run.trust_reference.trust(graphs, found)
    assert trust.unseen_scaffold is not None
    known = run.trained.vectors(run.graphs.subset(run.fold.train))
    values = {
        "wrong": ~run.trained.task.right(run.trained.task.targets(graphs), found.values),
        "unsure": 1 - found.values.max(axis=1),
        "distance": trust.distances[:, 0],
        "distance_3": trust.distances.mean(axis=1),
        "vector_distance": nearest_vectors(run.trained.vectors(graphs), known, 1)[0][:, 0],
        "percentile": trust.percentile,
        "unseen_scaffold": trust.unseen_scaffold,
        "unseen_categories": np.array([len(names) for names in trust.unseen_categories]),
        "spread": np.zeros(len(graphs)) if trust.spread is None else trust.spread,
    }
    return {name: np.round(value.astype(float), 6).tolist() for name, value in values.items()}


def combined(columns: dict[str, dict[str, list[float]]]) -> np.ndarray:
    """[K]: the mean rank, from 0 to 1, that the test graphs have among the validation graphs."""
    ranks = []
    for name in PARTS_OF_RANK:
        held_out = np.sort(columns["validation"][name])
        ranks.append(np.searchsorted(held_out, columns["test"][name]) / len(held_out))
    return np.asarray(np.mean(ranks, axis=0))


def auroc(wrong: np.ndarray, values: np.ndarray) -> float:
    """The probability that a wrong prediction has the larger value than a right one."""
    ranks, bad = rankdata(values), int(wrong.sum())
    return float((ranks[wrong].sum() - bad * (bad + 1) / 2) / (bad * (len(wrong) - bad)))


def aurocs(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """By column: the mean AUROC over the rows, of all test graphs and then of :data:`DRAWS` sets of them."""
    trials = []
    for row in rows:
        test = {name: np.array(values) for name, values in row["columns"]["test"].items()}
        trials.append(test | {"combined": combined(row["columns"])})
    count = len(trials[0]["wrong"])
    rng = np.random.default_rng(0)
    draws = [np.arange(count), *(rng.integers(count, size=count) for _ in range(DRAWS))]
    return {
        name: np.array([
            np.mean([auroc(trial["wrong"][draw] > 0, trial[name][draw]) for trial in trials]) for draw in draws
        ])
        for name in COLUMNS
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| model | inputs | seeds | column | AUROC | less the baseline |", "|---|---|---|---|---|---|"]
    for model, inputs in dict.fromkeys((row["model"], row["inputs"]) for row in rows):
        own = [row for row in rows if (row["model"], row["inputs"]) == (model, inputs)]
        found = aurocs(own)
        for name, words in COLUMNS.items():
            lines.append(
                f"| {model} | {inputs or 'none'} | {len(own)} | {words} | {_with_ends(found[name], '{:.3f}')} | "
                f"{_with_ends(found[name] - found['unsure'], '{:+.3f}')} |"
            )
    return "\n".join(lines)


def _with_ends(values: np.ndarray, form: str) -> str:
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return f"{form.format(values[0])} ({form.format(low)} to {form.format(high)})"


def picture(rows: list[dict[str, Any]], model: str) -> Figure:
    """The wrong fraction by distance: of each test graph, over the seeds of the trainings without further inputs."""
    own = [row["columns"]["test"] for row in rows if (row["model"], row["inputs"]) == (model, "")]
    wrong = np.mean([columns["wrong"] for columns in own], axis=0)
    return error_by_distance(distance_groups(np.array(own[0]["distance"]), wrong), similarity=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="?", help="a file of molecules")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--seeds", type=int, nargs="*", default=range(5))
    parser.add_argument("--inputs", nargs="*", default=("", "descriptors"), help="values of data.graph_encodings")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    parser.add_argument("--picture", type=Path, help="also draw error by distance")
    options = parser.parse_args()
    if not options.table:
        graphs, facts = sargnn.load(options.data), conditions()
        with options.out.open("a") as file:
            for seed in options.seeds:
                for inputs in options.inputs:
                    file.write(json.dumps(measure(graphs, options.model, inputs, seed) | facts) + "\n")
                    file.flush()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    print(table(rows))
    if options.picture:
        viz.save(picture(rows, options.model), options.picture)


if __name__ == "__main__":
    main()
