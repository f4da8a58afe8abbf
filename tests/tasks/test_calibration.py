"""Temperature, calibration error and conformal sets: numbers by hand, and promises on drawn data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.errors import InputError
from sargnn.tasks.calibration import (
    Bin,
    ClassCalibration,
    conformal_threshold,
    expected_calibration_error,
    fit_temperature,
    reliability,
    with_temperature,
)


def drawn(graphs: int, classes: int, sharpness: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes drawn from softmax(z), and softmax(sharpness z), which claims too much for a sharpness above 1."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(graphs, classes))
    true = (rng.gumbel(size=logits.shape) + logits).argmax(axis=1)
    sharp = np.exp(sharpness * logits)
    return true, sharp / sharp.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_what_sharpened_the_probabilities(sharpness: float) -> None:
    true, probabilities = drawn(20000, 3, sharpness, seed=0)
    assert fit_temperature(true, probabilities) == pytest.approx(sharpness, rel=0.05)


def test_the_temperature_is_the_best_of_a_fine_grid() -> None:
    true, probabilities = drawn(50, 4, 2.0, seed=1)

    def brier(temperature: float) -> float:
        total = 0.0
        for row, label in zip(probabilities ** (1 / temperature), true, strict=True):
            total += sum((p / row.sum() - (c == label)) ** 2 for c, p in enumerate(row))
        return total

    grid = np.linspace(0.2, 8, 2000)
    assert fit_temperature(true, probabilities) == pytest.approx(grid[np.argmin([brier(t) for t in grid])], abs=0.005)


def test_one_graph_that_is_surely_wrong_does_not_outweigh_the_others() -> None:
    true, probabilities = drawn(400, 2, 1.0, seed=4)
    before = fit_temperature(true, probabilities)
    true, probabilities = np.append(true, 1), np.vstack([probabilities, [1 - 1e-300, 1e-300]])
    assert fit_temperature(true, probabilities) == pytest.approx(before, rel=0.1)


def test_a_temperature_by_hand() -> None:
    # Right three times in four at odds of 99 : 1 wants odds of 3 : 1, and log 99 / log 3 = 4.1827.
    assert fit_temperature(np.array([0, 0, 0, 1]), np.array([[0.99, 0.01]] * 4)) == pytest.approx(4.1827, abs=1e-3)


@pytest.mark.parametrize("true", [[0, 0], [1, 1]])
def test_held_out_graphs_that_are_all_alike_still_have_a_temperature(true: list[int]) -> None:
    temperature = fit_temperature(np.array(true), np.array([[0.9, 0.1], [1.0, 0.0]]))
    assert 0.05 <= temperature <= 20
    assert np.isfinite(with_temperature(np.array([[1.0, 0.0]]), temperature)).all()


@given(st.integers(0, 100), st.floats(0.02, 50))
def test_a_temperature_changes_no_prediction(seed: int, temperature: float) -> None:
    _, probabilities = drawn(20, 3, 1.0, seed)
    scaled = with_temperature(probabilities, temperature)
    assert np.allclose(scaled.sum(axis=1), 1)
    assert np.array_equal(scaled.argmax(axis=1), probabilities.argmax(axis=1))
    assert np.allclose(with_temperature(scaled, 1 / temperature), probabilities, atol=1e-6)


def test_the_calibration_error_by_hand() -> None:
    probabilities = np.array([[0.95, 0.05], [0.91, 0.09], [0.4, 0.6], [0.3, 0.7]])
    true = np.array([0, 1, 1, 1])
    found = reliability(true, probabilities, bins=5)
    assert found[:2] == [Bin(0.4, 0.6, 1, 0.6, 1.0), Bin(0.6, 0.8, 1, 0.7, 1.0)]
    assert (found[2].low, found[2].graphs, found[2].accuracy, found[2].confidence) == (0.8, 2, 0.5, pytest.approx(0.93))
    assert expected_calibration_error(true, probabilities, bins=5) == pytest.approx((0.4 + 0.3 + 2 * 0.43) / 4)
    certain = np.eye(3)
    assert expected_calibration_error(np.arange(3), certain) == 0.0


def test_the_calibration_error_sees_what_the_temperature_mends() -> None:
    held_out, other = drawn(2000, 3, 3.0, seed=2), drawn(4000, 3, 3.0, seed=3)
    found = ClassCalibration.fit(*held_out).assess(("a", "b", "c"), *other)
    assert found["ece"] > 0.1
    assert found["ece_calibrated"] < 0.03


def test_the_threshold_by_hand() -> None:
    nine = np.arange(1, 10) / 10
    assert conformal_threshold(nine, 0.9) == 0.9  # the 9th of 9: (9 + 1) 0.9
    assert conformal_threshold(nine, 0.5) == 0.5
    assert conformal_threshold(nine, 0.51) == 0.6
    assert conformal_threshold(nine, 0.91) == float("inf")  # would be the 10th
    for wrong in (0.0, 1.0, -0.2, 90.0):
        with pytest.raises(InputError, match=f"coverage: got {wrong}, expected more than 0 and less than 1"):
            conformal_threshold(nine, wrong)


@given(st.integers(0, 100), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_sets_grow_with_the_coverage_and_are_never_empty(seed: int, a: float, b: float) -> None:
    held_out = ClassCalibration.fit(*drawn(30, 4, 1.5, seed))
    _, probabilities = drawn(20, 4, 1.5, seed + 1000)
    small, large = held_out.regions(probabilities, min(a, b)), held_out.regions(probabilities, max(a, b))
    assert (small <= large).all()
    assert small[np.arange(20), probabilities.argmax(axis=1)].all()


def test_the_promise_of_split_conformal_prediction_holds() -> None:
    """Of 2000 draws of 25 held-out graphs and one new graph, the share covered is at least c, up to sampling error."""
    covered = {0.6: 0, 0.8: 0, 0.9: 0}
    for seed in range(2000):
        true, probabilities = drawn(26, 5, 4.0, seed)
        held_out = ClassCalibration(1.0, np.sort(1 - probabilities[np.arange(25), true[:25]]))
        for coverage in covered:
            covered[coverage] += bool(held_out.regions(probabilities[25:], coverage)[0, true[25]])
    for coverage, count in covered.items():
        assert count / 2000 > coverage - 3 * (coverage * (1 - coverage) / 2000) ** 0.5


def test_the_sets_are_no_larger_than_they_need_be() -> None:
    held_out = ClassCalibration.fit(*drawn(4000, 5, 4.0, seed=8))
    found = held_out.assess(("a", "b", "c", "d", "e"), *drawn(4000, 5, 4.0, seed=9), coverage=0.9)
    assert found["coverage"] == pytest.approx(0.9, abs=0.02)
    assert 1 < found["set_size"] < 5


def test_no_held_out_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="got no graphs to calibrate on"):
        ClassCalibration.fit(np.empty(0, int), np.empty((0, 2)))
