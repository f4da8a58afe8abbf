"""Statistics over folds, worked by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from sargnn.studies.statistics import corrected_t_test, interval


def test_the_corrected_t_test_by_hand() -> None:
    # d = 4, s² = ((4-2)² + (4-4)² + (4-6)²) / 2 = 4; with r = 1/9 and J = 3: t = 4 / sqrt((1/3 + 1/9) 4) = 3
    found = corrected_t_test(np.array([2.0, 4.0, 6.0]), 1 / 9)
    assert (found.difference, found.statistic) == (pytest.approx(4), pytest.approx(3))
    # Student's distribution of two degrees of freedom: P(|T| > t) = 1 - t / sqrt(2 + t²)
    assert found.p_value == pytest.approx(1 - 3 / sqrt(11))


def test_the_correction_makes_it_harder_to_find_a_difference() -> None:
    differences = np.array([0.02, 0.05, 0.01, 0.04])
    plain, corrected = corrected_t_test(differences, 0.0), corrected_t_test(differences, 1 / 3)
    assert plain.p_value is not None
    assert corrected.p_value is not None
    assert plain.p_value < corrected.p_value
    assert corrected_t_test(-differences, 1 / 3).p_value == pytest.approx(corrected.p_value)


@pytest.mark.parametrize(("differences", "p_value"), [([0.0, 0.0, 0.0], 1.0), ([0.1, 0.1, 0.1], 0.0), ([0.1], None)])
def test_differences_without_a_spread(differences: list[float], p_value: float | None) -> None:
    found = corrected_t_test(np.array(differences), 0.1)
    assert (found.statistic, found.p_value) == (None, p_value)


def test_the_interval_by_hand() -> None:
    # mean 0.6, s² = 0.01, error sqrt((1/3 + 1/9) 0.01) = 1/15; t(0.975; 2) = 0.95 sqrt(2 / (1 - 0.95²)) = 4.3027
    half = 0.95 * sqrt(2 / (1 - 0.95**2)) / 15
    assert interval(np.array([0.5, 0.6, 0.7]), 1 / 9) == pytest.approx([0.6 - half, 0.6 + half])
    assert interval(np.array([0.9, 1.0, 0.5]), 1 / 9)[1] == 1.0  # type: ignore[index]
    assert interval(np.array([0.5]), 1 / 9) is None
