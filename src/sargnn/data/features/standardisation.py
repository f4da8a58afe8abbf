"""Mean and deviation of columns over the training graphs, chunk by chunk, and columns over their deviation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import inf

import numpy as np

__all__ = ["moments", "over_deviation"]


def over_deviation(values: np.ndarray, deviation: tuple[float, ...] | float) -> np.ndarray:
    """Columns over their deviations in training; one that was constant there is 0, since no weight has learned it.

    >>> over_deviation(np.array([[3.0, 1.1]]), (2.0, 0.0)).tolist()
    [[1.5, 0.0]]
    """
    return np.asarray(np.divide(values, deviation, out=np.zeros(values.shape), where=np.asarray(deviation) > 0))


def moments(blocks: Iterable[np.ndarray]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each column over the rows of all blocks, without those that are NaN there; the deviation of
    a constant column is 0."""
    found = reduce(_Moments.joined, map(_Moments.of, blocks))
    # Rounding can give a constant column a deviation of 1e-17, so the values themselves are asked.
    deviation = np.where(found.high > found.low, np.sqrt(found.variance), 0.0)
    return tuple(found.mean.tolist()), tuple(deviation.tolist())


@dataclass(frozen=True, eq=False)
class _Moments:
    """What is known of each column of some rows."""

    rows: int | np.ndarray
    """How many; where values are missing, of each column."""
    mean: np.ndarray
    variance: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> _Moments:
        if np.isnan(values).any():
            known = np.ma.masked_invalid(values)
            found, ends = (known.mean(axis=0), known.var(axis=0)), (known.min(axis=0), known.max(axis=0))
            mean, variance = (value.filled(0.0) for value in found)
            return cls(known.count(axis=0), mean, variance, ends[0].filled(inf), ends[1].filled(-inf))
        return cls(len(values), values.mean(axis=0), values.var(axis=0), values.min(axis=0), values.max(axis=0))

    def joined(self, other: _Moments) -> _Moments:
        """Those of both together (Chan et al., 1979), without the cancellation of a difference of sums of squares."""
        rows = self.rows + other.rows
        weight, apart = other.rows / np.maximum(rows, 1), other.mean - self.mean
        return _Moments(
            rows,
            self.mean + weight * apart,
            (1 - weight) * self.variance + weight * other.variance + weight * (1 - weight) * apart**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )
