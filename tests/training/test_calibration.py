"""The calibration of a saved model: its file, its commands, and what it does on PROTEINS."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import betabinom

from command import answer_of, error_of
from sargnn.data.sources import load
from sargnn.data.splits import Fold, holdout
from sargnn.errors import InputError
from sargnn.tasks import Classification
from sargnn.tasks.calibration import with_temperature
from sargnn.training.calibration import calibrate, load_calibration, save_calibration
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from tiny import FOLD, shapes, tiny

TASK = Classification(("ring", "path"))


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_calibration_is_saved_beside_its_weights_and_refused_for_others(tmp_path: Path) -> None:
    run = train(shapes(), tiny(), tmp_path / "run", fold=FOLD)
    folder = tmp_path / "run"
    made = calibrate(run.trained, run.graphs, FOLD.validation)
    assert len(made.scores) == 4
    assert load_calibration(folder, TASK).scores == pytest.approx(made.scores)  # the run has left it there
    (folder / "calibration.json").unlink()
    with pytest.raises(InputError, match=r"calibration.json: no such file, expected .* sargnn calibrate .*run DATA"):
        load_calibration(folder, TASK)
    save_calibration(folder, made)
    read = load_calibration(folder, TASK)
    assert (read.temperature, read.scores.tolist()) == (made.temperature, made.scores.tolist())

    file = folder / "calibration.json"
    words = json.loads(file.read_text())
    for damage in ({"format": "other"}, {"temperature": -1.0}, {"scores": [2, 1]}, {"scores": "x"}, {"scores": [[1]]}):
        file.write_text(json.dumps(words | damage))
        with pytest.raises(InputError, match=r"calibration\.json: (got another file|not a readable calibration)"):
            load_calibration(folder, TASK)
    file.write_text(json.dumps(words | {"weights": "of another model"}))
    with pytest.raises(InputError, match="got the calibration of other weights"):
        load_calibration(folder, TASK)


def test_the_commands(tmp_path: Path) -> None:
    data, run, out = tmp_path / "shapes", tmp_path / "run", tmp_path / "out.csv"
    shapes(count=60).save(data)
    small = ["--set", "model.hidden=8", "--set", "training.epochs=2", "--model", "gcn"]
    answer_of("train", data, "--out", run, *small)
    before = (run / "calibration.json").read_bytes()

    answer = answer_of("predict", run, data, "--out", out, "--coverage", 0.7, "--calibrated")
    rows = rows_of(out)
    sizes = [(row["in_set_path"] == "1") + (row["in_set_ring"] == "1") for row in rows]
    assert len(rows) == 60
    assert min(sizes) >= 1
    assert answer["mean_set_size"] == pytest.approx(np.mean(sizes))
    held_out = load_calibration(run, TASK)
    answer_of("predict", run, data, "--out", tmp_path / "raw.csv")
    raw = rows_of(tmp_path / "raw.csv")
    names = ("probability_ring", "probability_path")
    table = np.array([[float(row[name]) for name in names] for row in raw])
    calibrated = np.array([[float(row[name]) for name in names] for row in rows])
    assert np.allclose(with_temperature(table, held_out.temperature), calibrated)
    assert "in_set_ring" not in raw[0]

    answer = answer_of("calibrate", run, data)
    assert (run / "calibration.json").read_bytes() == before
    assert answer["graphs"] == 6
    assert {"temperature", "test_ece", "test_ece_calibrated", "test_coverage", "test_set_size"} <= answer.keys()
    assert "expected graphs that the model was not trained on" in error_of("calibrate", run, data, "--part", "all")
    assert "coverage: got 1.5" in error_of("predict", run, data, "--out", out, "--coverage", 1.5)
    (run / "calibration.json").unlink()
    assert "no such file" in error_of("predict", run, data, "--out", out, "--calibrated")


def test_on_held_out_proteins(mirror: Path) -> None:
    """Sets cover as many graphs as they say, up to the sampling error of both parts, which is beta-binomial; and the
    temperature mends a model that no early stopping has kept from claiming too much."""
    graphs = load(mirror / "PROTEINS.zip")
    values = {"model.layers": 2, "model.hidden": 16, "training.epochs": 30, "training.learning_rate": 0.02}
    for seed in range(3):
        parts = holdout(graphs, seed=seed, validation=0.4, test=0.4)
        fold = Fold(parts.train, parts.train[:0], parts.test)
        run = TrainingRun.start(graphs, Settings.of("sar-gcn", values | {"training.seed": seed}), fold=fold)
        for _ in run:
            pass
        held_out = calibrate(run.trained, graphs, parts.validation)
        test = graphs.subset(parts.test)
        true, probabilities = run.trained.task.targets(test), run.trained.predict(test).probabilities
        for coverage in (0.8, 0.9, 0.95):
            found = held_out.assess(graphs.classes, true, probabilities, coverage)
            rank = int(np.ceil((len(parts.validation) + 1) * coverage))
            covered = betabinom(len(test), rank, len(parts.validation) + 1 - rank)
            assert covered.ppf(0.001) <= found["coverage"] * len(test) <= covered.ppf(0.999)
        assert found["ece_calibrated"] < found["ece"] - 0.01
