"""Calibration of several binary targets with gaps: by hand, target by target, and what it promises on drawn data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.tasks.calibration import ClassCalibration, fit_temperature
from sargnn.tasks.target_sets import TargetCalibration

NAMES = ("a", "b", "c")
GAP = np.nan


def drawn(graphs: int, seed: int, rates: tuple[float, ...] = (0.5, 0.05, 0.3)) -> tuple[np.ndarray, np.ndarray]:
    """Targets of these rates with a third of them missing, and probabilities that claim too much."""
    rng = np.random.default_rng(seed)
    odds = 1.5 * rng.normal(size=(graphs, len(rates))) + np.log(np.divide(rates, np.subtract(1, rates)))
    targets = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(float)
    targets[rng.random(odds.shape) < 1 / 3] = GAP
    return targets, 1 / (1 + np.exp(-2 * odds))


def test_each_target_is_calibrated_on_the_graphs_that_have_it() -> None:
    targets, values = drawn(400, seed=0)
    found = TargetCalibration.fit(targets, values)
    calibrated = found.apply(values)
    for t in range(3):
        known = ~np.isnan(targets[:, t])
        both = np.stack([1 - values[:, t], values[:, t]], axis=1)
        alone = ClassCalibration.fit(targets[known, t].astype(np.int64), both[known])
        assert found.targets[t].temperature == alone.temperature
        assert sorted(np.concatenate(found.targets[t].scores)) == pytest.approx(alone.scores.tolist())
        np.testing.assert_allclose(calibrated[:, t], alone.apply(both)[:, 1])
    assert found.targets[0].temperature == pytest.approx(2, rel=0.35)


def test_sets_by_hand() -> None:
    targets = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    values = np.array([[0.1], [0.2], [0.6], [0.9], [0.7], [0.2]])
    found = TargetCalibration.fit(targets, values)
    # negatives score 0.1, 0.2, 0.6 and positives 0.1, 0.3, 0.8; of three, the second is the threshold for 50 %
    regions = found.regions(np.array([[0.15], [0.75], [0.45], [0.25]]), coverage=0.5)
    assert regions[:, 0].tolist() == [[True, False], [False, True], [True, False], [True, False]]
    wider = found.regions(np.array([[0.15], [0.25], [0.6]]), coverage=0.75)  # thresholds 0.6 and 0.8
    assert wider[:, 0].tolist() == [[True, False], [True, True], [True, True]]
    assert found.columns(["x"], wider) == {"set_x": ["0", "0 or 1", "0 or 1"]}
    assert found.sizes(["x"], wider) == {"set_size": pytest.approx(5 / 3)}
    assert found.regions(np.array([[0.999]]), coverage=0.8)[0, 0].all()  # three graphs cannot promise as much


def test_both_labels_are_covered_however_rare_one_is() -> None:
    found = TargetCalibration.fit(*drawn(20000, seed=1))
    assessed = found.assess(NAMES, *drawn(20000, seed=2), coverage=0.9)
    for key in ("coverage", "coverage_negatives", "coverage_positives"):
        assert 0.89 < assessed[key] < 0.95  # above what was asked for where the likely label alone is right more often
    assert 1 < assessed["set_size"] < 2
    assert assessed["ece_calibrated"] < 0.02 < 0.05 < assessed["ece"]


def test_a_target_that_no_held_out_graph_has_promises_nothing() -> None:
    targets, values = drawn(50, seed=3)
    targets[:, 1] = GAP
    found = TargetCalibration.fit(targets, values)
    assert found.regions(values, 0.5)[:, 1].all()
    np.testing.assert_allclose(found.apply(values)[:, 1], values[:, 1])
    assert found.summary(NAMES)["temperature"]["b"] is None
    unknown = found.assess(NAMES, np.full_like(targets, GAP), values)
    assert unknown["ece"] is unknown["coverage"] is unknown["coverage_positives"] is None
    with pytest.raises(InputError, match="got no graphs to calibrate on"):
        TargetCalibration.fit(targets[:0], values[:0])


def test_it_comes_back_from_its_file_and_damage_is_refused() -> None:
    targets, values = drawn(60, seed=4)
    made = TargetCalibration.fit(targets, values)
    words = json.loads(json.dumps(made.to_json()))
    read = TargetCalibration.from_json(words)
    assert np.array_equal(read.apply(values), made.apply(values))
    assert np.array_equal(read.regions(values, 0.8), made.regions(values, 0.8))
    one = words["targets"][0]
    for damage in ({"temperature": 0.0}, {"scores": [[0.1]]}, {"scores": [[0.2, 0.1], []]}, {"scores": [["x"], []]}):
        with pytest.raises((ValueError, TypeError)):
            TargetCalibration.from_json({"targets": [one | damage]})


def test_the_temperature_is_that_of_the_brier_score_of_both_labels() -> None:
    value, target = np.array([0.99, 0.99, 0.99, 0.99]), np.array([1.0, 1.0, 1.0, 0.0])
    found = TargetCalibration.fit(target[:, None], value[:, None])
    assert found.targets[0].temperature == fit_temperature(np.array([1, 1, 1, 0]), np.stack([1 - value, value], 1))
