"""Statistics over folds, worked by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from sargnn.studies.statistics import corrected_t_test, interval, paired_difference, unpaired_difference


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


HALF = 0.95 * sqrt(2 / (1 - 0.95**2))
"""t(0.975; 2) = 4.3027."""


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([8.0, 10.0, 12.0], "better"),  # 10 -+ 4.3027 * 4/3 = 4.26 to 15.74
        ([4.0, 6.0, 8.0], "better"),  # 6 -+ 5.737
        ([3.0, 5.0, 7.0], "no difference shown"),  # 5 -+ 5.737
        ([-1.0, 0.0, 1.0], "no difference shown"),
        ([-8.0, -6.0, -4.0], "worse"),
    ],
)
def test_paired_differences_by_hand(differences: list[float], verdict: str) -> None:
    # s² = 4 (1 in the fourth); with r = 1/9 and J = 3 the error is sqrt((1/3 + 1/9) s²) = 4/3
    second = np.array([50.0, 90.0, 70.0])
    found = paired_difference(second + np.array(differences), second, 1 / 9)
    half = HALF * sqrt(4 / 9 * np.var(differences, ddof=1))
    assert found.mean == pytest.approx(np.mean(differences))
    assert found.ends == pytest.approx((found.mean - half, found.mean + half))
    assert (found.verdict, found.over, found.trials) == (verdict, "folds", 3)


@pytest.mark.parametrize(
    ("second", "ends", "verdict"),
    [
        # v = 1 and 1: error sqrt(2), (1 + 1)² / (1 + 1) = 2 degrees of freedom
        ([70.0, 72.0], (10 - HALF * sqrt(2), 10 + HALF * sqrt(2)), "better"),
        ([75.0, 77.0], (5 - HALF * sqrt(2), 5 + HALF * sqrt(2)), "no difference shown"),
        ([90.0, 92.0], (-10 - HALF * sqrt(2), -10 + HALF * sqrt(2)), "worse"),
        # v = 1 and 0: error 1, one degree of freedom, t(0.975; 1) = tan(0.475 π) = 12.7062
        ([71.0, 71.0], (10 - 12.7062, 10 + 12.7062), "no difference shown"),
    ],
)
def test_seeds_are_not_paired(second: list[float], ends: tuple[float, float], verdict: str) -> None:
    found = unpaired_difference(np.array([80.0, 82.0]), np.array(second))
    assert found.ends == pytest.approx(ends, abs=1e-4)
    assert (found.verdict, found.over, found.trials) == (verdict, "seeds", 2)
    turned = unpaired_difference(np.array([80.0, 82.0]), np.array(second[::-1]))
    assert turned.ends == pytest.approx(found.ends), "the order of seeds means nothing"


def test_without_a_spread_there_is_no_verdict() -> None:
    one, alike = np.array([80.0]), np.array([70.0, 70.0])
    assert unpaired_difference(one, alike).verdict == "one training, no verdict"
    assert unpaired_difference(alike + 5, alike).verdict == "no spread, no verdict"
    assert paired_difference(alike + 5, alike, 1 / 9).verdict == "no spread, no verdict"
    assert paired_difference(one, one - 5, 1 / 9).ends is None
