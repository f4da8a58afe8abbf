"""Statistics over the folds of a cross-validation, whose training sets overlap, and over the seeds of one split."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from scipy.stats import t as student

__all__ = ["Difference", "TTest", "corrected_t_test", "interval", "paired_difference", "unpaired_difference"]


@dataclass(frozen=True)
class TTest:
    """Two models on the same folds."""

    difference: float
    """Mean accuracy of the first minus that of the second."""
    statistic: float | None
    """t; none where it is not defined: a single fold, or the same difference in every fold."""
    p_value: float | None
    """Two-sided; none for a single fold."""


def corrected_t_test(differences: np.ndarray, test_ratio: float) -> TTest:
    """The corrected resampled t-test of Nadeau & Bengio (2003).

    Training sets of folds overlap, so differences d_1..d_J are not independent and the plain t-test finds too much.
    With r = n_test / n_train (``test_ratio``), the mean d and the sample variance s² of the differences,

        t = d / sqrt((1/J + r) s²)

    is compared with Student's distribution of J - 1 degrees of freedom.

    >>> found = corrected_t_test(np.array([0.1, 0.2, 0.3]), test_ratio=0.5)  # sqrt((1/3 + 1/2) 0.01) = 0.0913
    >>> round(found.difference, 6), round(found.statistic, 4), round(found.p_value, 2)
    (0.2, 2.1909, 0.16)
    """
    difference = float(differences.mean())
    error = _standard_error(differences, test_ratio)
    if error is None:
        return TTest(difference, None, None)
    if error < 1e-12:  # all differences alike, up to rounding
        return TTest(difference, None, 1.0 if abs(difference) < 1e-12 else 0.0)
    statistic = difference / error
    return TTest(difference, statistic, float(2 * student.sf(abs(statistic), len(differences) - 1)))


def interval(scores: np.ndarray, test_ratio: float, highest: float = 1.0) -> list[float] | None:
    """95 % interval of the mean over folds, with the variance of :func:`corrected_t_test`; none for a single fold. It
    lies between 0 and the ``highest`` score there can be.

    >>> [round(end, 4) for end in interval(np.array([0.5, 0.6, 0.7]), test_ratio=0.5)]  # 0.6 -+ 4.3027 * 0.0913
    [0.2072, 0.9928]
    """
    error = _standard_error(scores, test_ratio)
    if error is None:
        return None
    half = float(student.ppf(0.975, len(scores) - 1)) * error
    assert isfinite(half)
    return [max(0.0, float(scores.mean()) - half), min(highest, float(scores.mean()) + half)]


@dataclass(frozen=True)
class Difference:
    """How much higher the values of a first model are than those of a second, and its 95 % interval."""

    mean: float
    ends: tuple[float, float] | None
    """None where there is no interval: a single value, or no spread at all."""
    over: str
    """What the values are of: folds or seeds."""
    trials: int
    """Values of each model; of two, the fewer."""

    @property
    def verdict(self) -> str:
        """Whether the interval excludes 0.

        >>> Difference(2.0, (0.5, 3.5), "folds", 10).verdict, Difference(2.0, (-0.5, 4.5), "folds", 10).verdict
        ('better', 'no difference shown')
        """
        if self.ends is None:
            return "one training, no verdict" if self.trials < 2 else "no spread, no verdict"
        low, high = self.ends
        return "better" if low > 0 else "worse" if high < 0 else "no difference shown"


def paired_difference(first: np.ndarray, second: np.ndarray, test_ratio: float) -> Difference:
    """Of two models on the same folds, in the same order: the interval of :func:`corrected_t_test`.

    >>> found = paired_difference(np.array([0.6, 0.8, 1.0]), np.array([0.5, 0.6, 0.7]), test_ratio=0.5)
    >>> [round(end, 4) for end in found.ends], found.verdict  # 0.2 -+ 4.3027 * 0.0913
    ([-0.1928, 0.5928], 'no difference shown')
    """
    differences = first - second
    error = _standard_error(differences, test_ratio)
    trials = len(differences)
    return _difference(float(differences.mean()), error, float(trials - 1), "folds", trials)


def unpaired_difference(first: np.ndarray, second: np.ndarray) -> Difference:
    """Of two models on one split, each trained with some seeds: Welch's interval. Seeds of two models have nothing in
    common, so they are not paired; what another split would give, it does not say.

    With the variances v = s² / n of the two means, the error is sqrt(v₁ + v₂), and Student's distribution has
    (v₁ + v₂)² / (v₁² / (n₁ - 1) + v₂² / (n₂ - 1)) degrees of freedom.

    >>> found = unpaired_difference(np.array([80.0, 82.0]), np.array([70.0, 72.0]))  # v = 1 and 1, two degrees
    >>> [round(end, 3) for end in found.ends], found.verdict  # 10 -+ 4.3027 * 1.4142
    ([3.915, 16.085], 'better')
    """
    mean, trials = float(first.mean() - second.mean()), min(len(first), len(second))
    if trials < 2:
        return Difference(mean, None, "seeds", trials)
    one, other = (float(values.var(ddof=1)) / len(values) for values in (first, second))
    spread = one**2 / (len(first) - 1) + other**2 / (len(second) - 1)
    freedom = (one + other) ** 2 / spread if spread > 0 else 1.0
    return _difference(mean, sqrt(one + other), freedom, "seeds", trials)


def _difference(mean: float, error: float | None, freedom: float, over: str, trials: int) -> Difference:
    if error is None or error < 1e-12:  # a single value, or all alike up to rounding
        return Difference(mean, None, over, trials)
    half = float(student.ppf(0.975, freedom)) * error
    return Difference(mean, (mean - half, mean + half), over, trials)


def _standard_error(values: np.ndarray, test_ratio: float) -> float | None:
    count = len(values)
    return None if count < 2 else sqrt((1 / count + test_ratio) * float(values.var(ddof=1)))
