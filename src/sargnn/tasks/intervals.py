"""Conformal intervals of measured numbers, with a stated coverage, each target on the held-out graphs that have it.

*Split conformal*: ŷ ± q, with q the ⌈(n + 1) c⌉-th smallest error |y - ŷ| of the n held-out graphs. All intervals are
equally wide.

*Normalised by the spread*: ŷ ± q (u + δ), with u the standard deviation over the members of an ensemble, δ its mean
over the held-out graphs, and q the same quantile of the errors |y - ŷ| / (u + δ): wider where the members disagree.
δ keeps members that agree by chance from promising too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sargnn.errors import InputError
from sargnn.tasks.calibration import Calibration, conformal_threshold, rising

__all__ = ["IntervalCalibration"]

LEVELS = np.arange(1, 20) / 20
"""The stated coverages over which the calibration error is a mean."""


@dataclass(frozen=True, eq=False)
class _Target:
    """One target's held-out graphs."""

    errors: np.ndarray
    """float64 [n]: |y - ŷ|, in rising order."""
    spreads: np.ndarray | None
    """float64 [n]: the spread of the same graphs; none for a single model."""

    @classmethod
    def fit(cls, target: np.ndarray, value: np.ndarray, spread: np.ndarray | None) -> _Target:
        known = ~np.isnan(target)
        errors = np.abs(target - value)[known]
        order = np.argsort(errors, kind="stable")
        return cls(errors[order], None if spread is None else spread[known][order])

    @property
    def has_valid_spreads(self) -> bool:
        """One finite number of 0 or more per error, or none at all."""
        if self.spreads is None:
            return True
        valid = np.isfinite(self.spreads) & (self.spreads >= 0)
        return self.spreads.shape == self.errors.shape and bool(valid.all())

    def half_width(self, coverage: float, spread: np.ndarray | None) -> np.ndarray | float:
        """Half the width of the intervals, of each graph where a ``spread`` is given."""
        if spread is None:
            return conformal_threshold(self.errors, coverage)
        if self.spreads is None:
            raise InputError("got a spread for a model that was calibrated without one, expected an ensemble")
        least = max(self.spreads.mean(), np.finfo(float).tiny) if len(self.spreads) else 1.0
        scores = np.sort(self.errors / (self.spreads + least))
        return np.asarray(conformal_threshold(scores, coverage) * (spread + least))


@dataclass(frozen=True, eq=False)
class IntervalCalibration(Calibration):
    """Of values ``[G, T]``, numbers in the user's own unit.

    >>> held_out = IntervalCalibration.fit(np.array([[1.0], [2.0], [np.nan]]), np.array([[1.5], [2.25], [7.0]]))
    >>> held_out.regions(np.array([[4.0]]), coverage=0.5).tolist()
    [[[3.5, 4.5]]]
    """

    targets: tuple[_Target, ...]

    @classmethod
    def fit(cls, targets: np.ndarray, values: np.ndarray, spread: np.ndarray | None = None) -> IntervalCalibration:
        if not len(targets):
            raise InputError("got no graphs to calibrate on, expected at least one")
        spreads = [None] * len(targets.T) if spread is None else spread.T
        return cls(tuple(map(_Target.fit, targets.T, values.T, spreads)))

    def apply(self, values: np.ndarray) -> np.ndarray:
        raise InputError("calibrated: got measured numbers, expected probabilities; a coverage gives intervals")

    def regions(self, values: np.ndarray, coverage: float, spread: np.ndarray | None = None) -> np.ndarray:
        """float64 ``[G, T, 2]``: the ends of the interval of each target, infinite where too few graphs were held out
        for the coverage; with a ``spread`` ``[G, T]``, normalised by it."""
        spreads = [None] * len(self.targets) if spread is None else spread.T
        halves = [own.half_width(coverage, spread) for own, spread in zip(self.targets, spreads, strict=True)]
        half = np.stack([np.broadcast_to(half, len(values)) for half in halves], axis=1)
        return np.stack([values - half, values + half], axis=-1)

    def columns(self, names: Sequence[str], regions: np.ndarray) -> dict[str, list[Any]]:
        ends = {"low": regions[..., 0], "high": regions[..., 1]}
        return {f"{end}_{name}": ends[end][:, t].tolist() for t, name in enumerate(names) for end in ends}

    def sizes(self, names: Sequence[str], regions: np.ndarray) -> dict[str, Any]:
        """Mean widths; none where an interval has no end."""
        widths = (regions[..., 1] - regions[..., 0]).mean(axis=0).tolist()
        return {"width": _by_name(names, [width if np.isfinite(width) else None for width in widths])}

    def summary(self, names: Sequence[str]) -> dict[str, Any]:
        """The median error of the held-out graphs of each target."""
        medians = [float(np.median(own.errors)) if len(own.errors) else None for own in self.targets]
        return {"median_error": _by_name(names, medians)}

    def assess(
        self,
        names: Sequence[str],
        targets: np.ndarray,
        values: np.ndarray,
        coverage: float = 0.9,
        spread: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Of each target: the mean of | observed - stated coverage | over stated coverages of 5 % to 95 %, the coverage
        observed at ``coverage``, and the mean width there. With a ``spread``, the same again of intervals normalised
        by it."""
        alike = self._assess(names, targets, values, coverage, None)
        if spread is None:
            return alike
        normalised = self._assess(names, targets, values, coverage, spread)
        return alike | {f"{word}_normalised": value for word, value in normalised.items()}

    def _assess(
        self, names: Sequence[str], targets: np.ndarray, values: np.ndarray, coverage: float, spread: np.ndarray | None
    ) -> dict[str, Any]:
        observed = self._observed(targets, values, coverage, spread)
        errors = [np.abs(self._observed(targets, values, c, spread) - c) for c in LEVELS.tolist()]
        regions = self.regions(values, coverage, spread)
        known = [[None if np.isnan(x) else x for x in of.tolist()] for of in (np.mean(errors, axis=0), observed)]
        return {
            "calibration_error": _by_name(names, known[0]),
            "coverage": _by_name(names, known[1]),
            **self.sizes(names, regions),
        }

    def _observed(
        self, targets: np.ndarray, values: np.ndarray, coverage: float, spread: np.ndarray | None
    ) -> np.ndarray:
        """float64 [T]: the fraction of known targets inside their intervals; NaN where none is known."""
        low, high = np.moveaxis(self.regions(values, coverage, spread), -1, 0)
        known = ~np.isnan(targets)
        inside = (known & (low <= targets) & (targets <= high)).sum(axis=0)
        return np.asarray(np.where(known.any(axis=0), inside / np.maximum(known.sum(axis=0), 1), np.nan))

    @property
    def outputs(self) -> int:
        return len(self.targets)

    def to_json(self) -> dict[str, Any]:
        return {
            "targets": [
                {
                    "errors": own.errors.tolist(),
                    **({} if own.spreads is None else {"spreads": own.spreads.tolist()}),
                }
                for own in self.targets
            ]
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> IntervalCalibration:
        found = []
        for own in content["targets"]:
            errors, spreads = rising(own["errors"]), own.get("spreads")
            target = _Target(errors, None if spreads is None else np.array(spreads, dtype=np.float64))
            if (errors < 0).any() or not target.has_valid_spreads:
                raise ValueError("expected errors of 0 or more and as many spreads")
            found.append(target)
        return cls(tuple(found))


def _by_name(names: Sequence[str], values: Sequence[float | None]) -> Any:
    """The value of a single target, or those of several by name: numbers of different units have no mean."""
    return values[0] if len(names) == 1 else dict(zip(names, values, strict=True))
