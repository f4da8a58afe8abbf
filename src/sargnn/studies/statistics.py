"""Statistics over the folds of a cross-validation, whose training sets overlap."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from scipy.stats import t as student

__all__ = ["TTest", "corrected_t_test", "interval"]


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


def interval(scores: np.ndarray, test_ratio: float) -> list[float] | None:
    """95 % interval of the mean over folds, with the variance of :func:`corrected_t_test`; none for a single fold.

    >>> [round(end, 4) for end in interval(np.array([0.5, 0.6, 0.7]), test_ratio=0.5)]  # 0.6 -+ 4.3027 * 0.0913
    [0.2072, 0.9928]
    """
    error = _standard_error(scores, test_ratio)
    if error is None:
        return None
    half = float(student.ppf(0.975, len(scores) - 1)) * error
    assert isfinite(half)
    return [max(0.0, float(scores.mean()) - half), min(1.0, float(scores.mean()) + half)]


def _standard_error(values: np.ndarray, test_ratio: float) -> float | None:
    count = len(values)
    return None if count < 2 else sqrt((1 / count + test_ratio) * float(values.var(ddof=1)))
