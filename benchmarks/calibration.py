"""What calibration is worth on PROTEINS: one row a training, for ``results/calibration.jsonl``, and a table of them.

    python benchmarks/calibration.py --out results/calibration.jsonl
    python benchmarks/calibration.py --table --out results/calibration.jsonl

Each split has graphs to train on (0.4), to choose the epoch by (0.1), to calibrate on (0.2) and to test on (0.3). A
model is trained with the best epoch kept, or to its last epoch. Its test graphs then tell the calibration error before
and after, with the temperature of the Brier score (what the package does) and that of the likelihood (what it does
not), and how many true classes the sets for 90 % hold: calibrated on the graphs that chose the epoch, and on others.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import sargnn
from sargnn.bench.rows import conditions
from sargnn.data.splits import Fold
from sargnn.tasks.calibration import TEMPERATURES, ClassCalibration, expected_calibration_error, with_temperature
from sargnn.training.run import TrainingRun

MODELS = ("sar-gcn", "gin")
SETTINGS = {"model.layers": 2, "model.hidden": 16, "training.learning_rate": 0.02}
COVERAGE = 0.9


def measure(graphs: sargnn.GraphSet, model: str, epochs: int, stopping: bool, seed: int) -> dict[str, Any]:
    """One training and what its test graphs say."""
    outer = sargnn.holdout(graphs, seed=seed, validation=0.2, test=0.3)
    inner = sargnn.holdout(graphs.subset(outer.train), seed=seed, validation=0.2, test=0.0)
    train, choosers = outer.train[inner.train], outer.train[inner.validation]
    fold = Fold(train, choosers if stopping else choosers[:0], outer.test)
    settings = sargnn.Settings.of(model, {**SETTINGS, "training.epochs": epochs, "training.seed": seed})
    run = TrainingRun.start(graphs, settings, fold=fold)
    for _ in run:
        pass
    true = run.trained.task.targets(graphs)
    probabilities = run.trained.predict(graphs).probabilities
    others, test = outer.validation, outer.test
    calibration = ClassCalibration.fit(true[others], probabilities[others])
    likelihood = likelihood_temperature(true[others], probabilities[others])
    row = {"model": model, "epochs": epochs, "stopping": stopping, "seed": seed, "test": len(test)}
    row |= {"temperature": calibration.temperature, "temperature_likelihood": likelihood}
    row |= calibration.assess(graphs.classes, true[test], probabilities[test], COVERAGE)
    row["ece_likelihood"] = expected_calibration_error(true[test], with_temperature(probabilities[test], likelihood))
    if stopping:
        choosing = ClassCalibration.fit(true[choosers], probabilities[choosers])
        row["coverage_choosers"] = choosing.assess(graphs.classes, true[test], probabilities[test], COVERAGE)[
            "coverage"
        ]
    return row


def likelihood_temperature(true: np.ndarray, probabilities: np.ndarray) -> float:
    """T that minimises the mean of -log p(true class)."""

    def loss(log_temperature: float) -> float:
        scaled = with_temperature(probabilities, np.exp(log_temperature))
        return float(-np.log(np.maximum(scaled[np.arange(len(true)), true], np.finfo(float).tiny)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded").x))


def table(rows: list[dict[str, Any]]) -> str:
    """Means over splits, with the standard error of the mean."""
    columns = ("ece", "ece_calibrated", "gain", "ece_likelihood", "coverage", "coverage_choosers", "set_size")
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = f"{row['model']}, {'best' if row['stopping'] else 'last'} of {row['epochs']}"
        groups.setdefault(name, []).append({**row, "gain": row["ece"] - row["ece_calibrated"]})
    lines = [f"| model, epoch | splits | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for name, own in groups.items():
        cells = [_mean([row[column] for row in own if column in row]) for column in columns]
        lines.append(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    if len(values) < 2:
        return "".join(f"{value:.3f}" for value in values)
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="PROTEINS", help="a known name or a path")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    if not options.table:
        graphs = sargnn.load(options.data)
        facts = {"data": graphs.name, "fingerprint": graphs.fingerprint} | conditions()
        with options.out.open("a") as file:
            for seed, model, stopping in product(range(options.splits), MODELS, (False, True)):
                file.write(json.dumps(measure(graphs, model, options.epochs, stopping, seed) | facts) + "\n")
                file.flush()
    print(table([json.loads(line) for line in options.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
