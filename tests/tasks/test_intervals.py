"""Conformal intervals: by hand, and the coverage that they promise on drawn data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.tasks.intervals import IntervalCalibration

NINE = np.arange(1.0, 10.0)


def drawn(graphs: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two numbers per graph with gaps, their predictions, and a spread that tells how wrong these are."""
    rng = np.random.default_rng(seed)
    spread = rng.exponential(size=(graphs, 2)) * np.array([1.0, 100.0])
    values = rng.normal(size=(graphs, 2))
    targets = values + rng.normal(size=(graphs, 2)) * spread
    targets[rng.random((graphs, 2)) < 0.2] = np.nan
    return targets, values, spread


def test_intervals_by_hand() -> None:
    held_out = IntervalCalibration.fit(NINE[:, None] * np.resize([1, -1], 9)[:, None], np.zeros((9, 1)))
    values = np.array([[10.0], [20.0]])
    assert held_out.regions(values, 0.9).tolist() == [[[1, 19]], [[11, 29]]]  # the 9th of 9: (9 + 1) 0.9
    assert held_out.regions(values, 0.5).tolist() == [[[5, 15]], [[15, 25]]]
    assert held_out.columns(["logS"], held_out.regions(values, 0.9)) == {"low_logS": [1, 11], "high_logS": [19, 29]}
    assert held_out.sizes(["logS"], held_out.regions(values, 0.9)) == {"width": 18}
    assert held_out.regions(values, 0.91).tolist() == [[[-np.inf, np.inf]]] * 2  # would be the 10th
    assert held_out.sizes(["logS"], held_out.regions(values, 0.91)) == {"width": None}
    assert held_out.summary(["logS"]) == {"median_error": 5.0}
    with pytest.raises(InputError, match=r"coverage: got 1\.5"):
        held_out.regions(values, 1.5)


def test_intervals_normalised_by_hand() -> None:
    # Spreads have the mean 2: the errors are divided by 1 + 2, 2 + 2 and 3 + 2, which gives 2, 3 and 1.
    held_out = IntervalCalibration.fit(
        np.array([[6.0], [12.0], [5.0]]), np.zeros((3, 1)), np.array([[1.0], [2.0], [3.0]])
    )
    found = held_out.regions(np.array([[0.0], [0.0]]), 0.75, np.array([[0.0], [2.0]]))
    assert found.tolist() == [[[-6, 6]], [[-12, 12]]]
    plain = IntervalCalibration.fit(np.array([[1.0]]), np.zeros((1, 1)))
    with pytest.raises(InputError, match="got a spread for a model that was calibrated without one"):
        plain.regions(np.zeros((1, 1)), 0.5, np.zeros((1, 1)))


@pytest.mark.parametrize("normalised", [False, True])
def test_each_target_is_covered_as_stated(normalised: bool) -> None:
    held_out = IntervalCalibration.fit(*drawn(4000, seed=0))
    targets, values, spread = drawn(4000, seed=1)
    found = held_out.assess(("a", "b"), targets, values, 0.9, spread if normalised else None)
    end = "_normalised" if normalised else ""
    assert found[f"coverage{end}"] == {"a": pytest.approx(0.9, abs=0.02), "b": pytest.approx(0.9, abs=0.02)}
    assert max(found[f"calibration_error{end}"].values()) < 0.02
    assert found[f"width{end}"]["b"] == pytest.approx(100 * found[f"width{end}"]["a"], rel=0.2)
    assert ("width_normalised" in found) is normalised


def test_a_spread_that_tells_the_error_makes_intervals_narrower() -> None:
    held_out, (_, values, spread) = IntervalCalibration.fit(*drawn(4000, seed=2)), drawn(4000, seed=3)
    alike, normalised = (held_out.regions(values, 0.9, given) for given in (None, spread))
    widths = [(ends[..., 1] - ends[..., 0]).mean(axis=0) for ends in (alike, normalised)]
    assert (widths[1] < 0.95 * widths[0]).all()


def test_the_promise_holds_for_few_held_out_graphs() -> None:
    """Of 2000 draws of 19 held-out graphs and one new graph, at least the stated fraction is covered."""
    covered = np.zeros((2, 3))
    levels = (0.5, 0.8, 0.9)
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        spread = rng.exponential(size=(20, 1))
        targets, values = rng.normal(size=(20, 1)) * (0.5 + spread), np.zeros((20, 1))
        held_out = IntervalCalibration.fit(targets[:19], values[:19], spread[:19])
        for row, given in enumerate((None, spread[19:])):
            for column, level in enumerate(levels):
                low, high = held_out.regions(values[19:], level, given)[0, 0]
                covered[row, column] += low <= targets[19, 0] <= high
    for row in covered:
        for count, level in zip(row, levels, strict=True):
            assert abs(count / 2000 - level) < 3.3 * (level * (1 - level) / 2000) ** 0.5


def test_gaps_count_nowhere() -> None:
    targets, values, spread = drawn(300, seed=5)
    known = ~np.isnan(targets[:, 0])
    together = IntervalCalibration.fit(targets, values, spread)
    alone = IntervalCalibration.fit(targets[known, :1], values[known, :1], spread[known, :1])
    assert np.array_equal(
        together.regions(values, 0.8, spread)[:, 0], alone.regions(values[:, :1], 0.8, spread[:, :1])[:, 0]
    )
    assert (
        together.assess(["a", "b"], targets, values)["coverage"]["a"]
        == alone.assess(["a"], targets[:, :1], values[:, :1])["coverage"]
    )
    targets[:, 1] = np.nan
    found = together.assess(["a", "b"], targets, values)
    assert found["coverage"]["b"] is found["calibration_error"]["b"] is None


def test_there_are_no_calibrated_numbers() -> None:
    held_out = IntervalCalibration.fit(NINE[:, None], np.zeros((9, 1)))
    with pytest.raises(InputError, match="calibrated: got measured numbers, expected probabilities"):
        held_out.apply(np.zeros((1, 1)))
    with pytest.raises(InputError, match="got no graphs to calibrate on"):
        IntervalCalibration.fit(np.empty((0, 1)), np.empty((0, 1)))


def test_it_comes_back_from_its_file_and_damage_is_refused() -> None:
    targets, values, spread = drawn(50, seed=6)
    for given in (None, spread):
        made = IntervalCalibration.fit(targets, values, given)
        read = IntervalCalibration.from_json(json.loads(json.dumps(made.to_json())))
        assert np.array_equal(read.regions(values, 0.8, given), made.regions(values, 0.8, given))
    damages = (
        {"errors": [2.0, 1.0]}, {"errors": [-1.0]}, {"errors": "x"}, {"errors": [1.0], "spreads": [1.0, 2.0]},
        {"errors": [1.0], "spreads": [-1.0]}, {"errors": [float("nan")]},
    )  # fmt: skip
    for damage in damages:
        with pytest.raises(ValueError, match=r"expected|could not"):
            IntervalCalibration.from_json({"targets": [damage]})
