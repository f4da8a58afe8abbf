"""The calibration of several binary targets, each on the held-out graphs that have it.

Each target has a temperature of its own. Its conformal sets are *label-conditional* (Vovk 2012): a graph that has the
target is compared with held-out graphs that have it, one that lacks it with those that lack it. Where one graph in
twenty is positive, sets that mix both cover 90 % of all graphs and can miss every positive; these cover 90 % of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sargnn.errors import InputError
from sargnn.tasks.calibration import (
    Calibration,
    conformal_threshold,
    expected_calibration_error,
    fit_temperature,
    rising,
    temperature_of,
    with_temperature,
)

__all__ = ["TargetCalibration"]

WORDS = {(True, False): "0", (False, True): "1", (True, True): "0 or 1"}
"""A set in a table; none is empty."""


@dataclass(frozen=True, eq=False)
class _Target:
    """One target's temperature, and for negative and positive held-out graphs 1 - p(truth) in rising order."""

    temperature: float
    scores: tuple[np.ndarray, np.ndarray]

    @classmethod
    def fit(cls, target: np.ndarray, value: np.ndarray) -> _Target:
        known = ~np.isnan(target)
        true, both = target[known].astype(np.int64), _both(value[known])
        scores = [np.sort(1 - both[true == label, label]) for label in (0, 1)]
        return cls(fit_temperature(true, both) if known.any() else 1.0, (scores[0], scores[1]))


@dataclass(frozen=True, eq=False)
class TargetCalibration(Calibration):
    """Of values ``[G, T]``, the probability of each target.

    >>> values = np.array([[0.2, 0.9], [0.1, 0.8], [0.7, 0.4], [0.6, 0.3]])
    >>> held_out = TargetCalibration.fit(np.array([[0, 1], [0, np.nan], [1, 0], [1, 0]]), values)
    >>> regions = held_out.regions(np.array([[0.9, 0.4]]), coverage=0.6)
    >>> held_out.columns(("toxic", "soluble"), regions)
    {'set_toxic': ['1'], 'set_soluble': ['0 or 1']}
    """

    targets: tuple[_Target, ...]

    @classmethod
    def fit(cls, targets: np.ndarray, values: np.ndarray, spread: np.ndarray | None = None) -> TargetCalibration:
        if not len(targets):
            raise InputError("got no graphs to calibrate on, expected at least one")
        return cls(tuple(map(_Target.fit, targets.T, values.T)))

    def apply(self, values: np.ndarray) -> np.ndarray:
        """The probabilities with the log-odds of each target divided by its temperature."""
        own = zip(self.targets, values.T, strict=True)
        return np.stack([with_temperature(_both(value), target.temperature)[:, 1] for target, value in own], axis=1)

    def regions(self, values: np.ndarray, coverage: float, spread: np.ndarray | None = None) -> np.ndarray:
        """bool ``[G, T, 2]``: whether 0 and 1 are in the set of each target. The more probable one always is."""
        thresholds = [[conformal_threshold(scores, coverage) for scores in target.scores] for target in self.targets]
        both = np.stack([1 - values, values], axis=-1)
        likely = values[..., None] >= 0.5
        return np.asarray((1 - both <= np.array(thresholds)) | np.concatenate([~likely, likely], axis=-1))

    def columns(self, names: Sequence[str], regions: np.ndarray) -> dict[str, list[Any]]:
        own = zip(names, regions.swapaxes(0, 1).tolist(), strict=True)
        return {f"set_{name}": [WORDS[zero, one] for zero, one in sets] for name, sets in own}

    def sizes(self, names: Sequence[str], regions: np.ndarray) -> dict[str, Any]:
        return {"set_size": float(regions.sum(axis=-1).mean())}

    def summary(self, names: Sequence[str]) -> dict[str, Any]:
        """The temperature of each target, where a held-out graph has it."""
        found = [own.temperature if any(map(len, own.scores)) else None for own in self.targets]
        return {"temperature": dict(zip(names, found, strict=True))}

    def assess(
        self,
        names: Sequence[str],
        targets: np.ndarray,
        values: np.ndarray,
        coverage: float = 0.9,
        spread: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Calibration error before and after, means over the targets that these graphs have; coverage of all that is
        known, of its negatives and of its positives; mean size of the sets."""
        known, sets = ~np.isnan(targets), self.regions(values, coverage)
        covered = np.where(targets == 1, sets[..., 1], sets[..., 0])
        return {
            "ece": _error(targets, values),
            "ece_calibrated": _error(targets, self.apply(values)),
            "coverage": _share(covered[known]),
            "coverage_negatives": _share(covered[targets == 0]),
            "coverage_positives": _share(covered[targets == 1]),
            **self.sizes(names, sets),
        }

    @property
    def outputs(self) -> int:
        return len(self.targets)

    def to_json(self) -> dict[str, Any]:
        return {
            "targets": [
                {"temperature": own.temperature, "scores": [scores.tolist() for scores in own.scores]}
                for own in self.targets
            ]
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TargetCalibration:
        found = []
        for own in content["targets"]:
            negative, positive = own["scores"]
            found.append(_Target(temperature_of(own["temperature"]), (rising(negative), rising(positive))))
        return cls(tuple(found))


def _both(value: np.ndarray) -> np.ndarray:
    """The probabilities of 0 and 1."""
    return np.stack([1 - value, value], axis=1)


def _error(targets: np.ndarray, values: np.ndarray) -> float | None:
    """The mean calibration error of the targets that some graph has."""
    errors = []
    for target, value in zip(targets.T, values.T, strict=True):
        if (known := ~np.isnan(target)).any():
            errors.append(expected_calibration_error(target[known].astype(np.int64), _both(value[known])))
    return float(np.mean(errors)) if errors else None


def _share(covered: np.ndarray) -> float | None:
    return float(covered.mean()) if len(covered) else None
