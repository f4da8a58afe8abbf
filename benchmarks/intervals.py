"""How often intervals of numbers hold the truth, and how wide they are: ten folds of a data set, one row per fold.

    python benchmarks/intervals.py esol.csv --target logSolubility --out results/intervals.jsonl
    python benchmarks/intervals.py --table --out results/intervals.jsonl

Of each fold, a tenth tests and a tenth of the rest is held out. Intervals are calibrated on the held-out graphs and
counted on the test graphs (``observed``). One such count of a hundred graphs is uncertain by several percent, so the
graphs of both parts are also dealt anew many times, one half to calibrate and one half to test (``redealt``): to the
trained model they are alike. Both are done for intervals of one width and for those normalised by the spread.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sargnn
from sargnn.bench.rows import conditions
from sargnn.data.splits import Fold
from sargnn.tasks import Regression
from sargnn.tasks.intervals import IntervalCalibration
from sargnn.training.run import TrainingRun
from sargnn.training.settings import DEFAULT_MODEL

LEVELS = (0.5, 0.8, 0.9, 0.95)
DEALS = 200


def measure(graphs: sargnn.GraphSet, fold: Fold, model: str, values: dict[str, Any], seed: int) -> dict[str, Any]:
    """One training, and what its held-out and test graphs say."""
    settings = sargnn.Settings.of(model, {**values, "training.seed": seed})
    run = TrainingRun.start(graphs, settings, fold=fold, task=Regression.of(graphs))
    for _ in run:
        pass
    run.finish()
    assert run.prediction is not None
    assert run.prediction.spread is not None
    truth, found, spread = graphs.targets, run.prediction.values, run.prediction.spread
    assert truth is not None
    row: dict[str, Any] = {"rmse": run.scores["test"]["rmse"], "held_out": len(fold.validation), "test": len(fold.test)}
    error = np.abs(truth - found)[fold.test, 0]
    row["error_by_spread"] = [float(part.mean()) for part in np.array_split(error[spread[fold.test, 0].argsort()], 4)]
    rng, both = np.random.default_rng(seed), np.concatenate([fold.validation, fold.test])
    for level in LEVELS:
        deals = [np.array_split(rng.permutation(both), 2) for _ in range(DEALS)]
        for name in ("alike", "normalised"):
            count = partial(counted, truth, found, spread, level, name == "normalised")
            observed, redealt = count(fold.validation, fold.test), np.mean([count(*deal) for deal in deals], axis=0)
            row[f"{name}_{level}"] = {
                "observed": observed[0], "width": observed[1], "redealt": redealt[0], "redealt_width": redealt[1],
            }  # fmt: skip
    return row


def counted(
    truth: np.ndarray, found: np.ndarray, spread: np.ndarray, level: float, normalised: bool, held_out: np.ndarray,
    test: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """The fraction of test graphs inside their intervals, and the mean width of these."""
    own = IntervalCalibration.fit(truth[held_out], found[held_out], spread[held_out])
    low, high = np.moveaxis(own.regions(found[test], level, spread[test] if normalised else None), -1, 0)
    return float(((low <= truth[test]) & (truth[test] <= high)).mean()), float((high - low).mean())


def table(rows: list[dict[str, Any]]) -> str:
    """Means over folds with their standard error."""
    lines = ["| intervals | stated | observed | observed, dealt anew | width | width, dealt anew |", "|---" * 6 + "|"]
    for name in ("alike", "normalised"):
        for level in LEVELS:
            own = [row[f"{name}_{level}"] for row in rows]
            cells = [_mean([cell[key] for cell in own]) for key in ("observed", "redealt", "width", "redealt_width")]
            lines.append(f"| {name} | {level:.0%} | {' | '.join(cells)} |")
    quarters = np.mean([row["error_by_spread"] for row in rows], axis=0)
    lines.append(f"\nRMSE {_mean([row['rmse'] for row in rows])} over {len(rows)} trainings")
    lines.append(f"mean error by quarter of the spread: {', '.join(f'{error:.3f}' for error in quarters)}")
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    if not np.isfinite(values).all():
        return "infinite"
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.3f} ± {spread:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="a CSV file of molecules")
    parser.add_argument("--target", help="its column of numbers")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="of the folds and the trainings")
    parser.add_argument("--epochs", type=int, help="instead of the model's own")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    if not options.table:
        graphs = sargnn.load(options.data, labels=options.target, task="regression")
        values = {} if options.epochs is None else {"training.epochs": options.epochs}
        facts = {"data": graphs.name, "fingerprint": graphs.fingerprint, "model": options.model, **values}
        strata = Regression.of(graphs).strata(graphs.targets)
        with options.out.open("a") as file:
            for seed in options.seeds:
                for number, fold in enumerate(sargnn.stratified_folds(strata, 10, seed=seed)):
                    row = {"seed": seed, "fold": number} | measure(graphs, fold, options.model, values, seed)
                    file.write(json.dumps(facts | row | conditions()) + "\n")
                    file.flush()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    for model in sorted({row["model"] for row in rows}):
        print(f"{model}\n\n{table([row for row in rows if row['model'] == model])}\n")


if __name__ == "__main__":
    main()
