"""What held-out graphs say about a model: probabilities that mean what they say, and regions with a stated coverage.

*Temperature* (Guo et al. 2017): the logits are divided by one number T, chosen by a proper score of the held-out
graphs. It changes no prediction, only how sure the model claims to be.

*Split conformal prediction*: each of n held-out graphs that the model was not fitted to has a score, which is high
where its truth was not expected: for classes 1 - p(true class). A new graph's region is everything whose score is at
most the ⌈(n + 1) c⌉-th smallest of these. If the new graph is exchangeable with the held-out ones, the region holds
its truth with probability c or more, whatever the model is.

Classes have their calibration here; several binary targets in :mod:`sargnn.tasks.target_sets`, measured numbers in
:mod:`sargnn.tasks.intervals`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from sargnn.errors import InputError

__all__ = [
    "Bin",
    "Calibration",
    "ClassCalibration",
    "conformal_threshold",
    "expected_calibration_error",
    "fit_temperature",
    "reliability",
    "rising",
    "temperature_of",
    "with_temperature",
]

TEMPERATURES = (0.05, 20.0)
"""Where the temperature is looked for: held-out graphs that are all right, or all wrong, would have none."""


ROUNDING = 1e-6
"""How far beyond 0 and 1 a probability may be by rounding."""


class Calibration(ABC):
    """What held-out graphs say about the values of a task: one kind for each task.

    ``values`` are those of :meth:`Task.predict`, ``spread`` their standard deviation over the members of an ensemble,
    ``targets`` the truth, NaN where it is missing, and ``names`` the outputs of the task.
    """

    @classmethod
    @abstractmethod
    def fit(cls, targets: np.ndarray, values: np.ndarray, spread: np.ndarray | None = None) -> Calibration:
        """From graphs that the model was not fitted to."""

    @abstractmethod
    def apply(self, values: np.ndarray) -> np.ndarray:
        """The values, calibrated; refused where only their regions are."""

    @abstractmethod
    def regions(self, values: np.ndarray, coverage: float, spread: np.ndarray | None = None) -> np.ndarray:
        """[G, ...]: what holds each graph's truth with probability ``coverage``: sets (bool) or the ends of intervals.
        With a ``spread``, intervals are wider where the members of the ensemble disagree."""

    @abstractmethod
    def columns(self, names: Sequence[str], regions: np.ndarray) -> dict[str, list[Any]]:
        """The regions as columns of a table, by name."""

    @abstractmethod
    def sizes(self, names: Sequence[str], regions: np.ndarray) -> dict[str, Any]:
        """How large regions are on average, by the word for it."""

    @abstractmethod
    def summary(self, names: Sequence[str]) -> dict[str, Any]:
        """What was fitted, in a few numbers."""

    @abstractmethod
    def assess(
        self,
        names: Sequence[str],
        targets: np.ndarray,
        values: np.ndarray,
        coverage: float = 0.9,
        spread: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """How it does on other graphs: calibration error, coverage of the regions, and their mean size; with a
        ``spread`` also those of regions that use it."""

    @property
    @abstractmethod
    def outputs(self) -> int | None:
        """How many outputs it is of, where it keeps something of each."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What ``calibration.json`` says."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any]) -> Calibration:
        """Read :meth:`to_json` back; a ValueError says what is wrong with it."""


@dataclass(frozen=True, eq=False)
class ClassCalibration(Calibration):
    """A temperature and conformal sets, of one class per graph.

    >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> held_out = ClassCalibration.fit(np.array([0, 0, 1, 1]), probabilities)
    >>> held_out.scores.round(1).tolist()
    [0.1, 0.2, 0.3, 0.6]
    >>> held_out.regions(np.array([[0.95, 0.05], [0.55, 0.45]]), coverage=0.8).tolist()
    [[True, False], [True, True]]
    """

    temperature: float
    """T > 0; above 1, the model claims too much."""
    scores: np.ndarray
    """float64 [n]: 1 - p(true class) of the held-out graphs, in rising order."""

    @classmethod
    def fit(cls, targets: np.ndarray, values: np.ndarray, spread: np.ndarray | None = None) -> ClassCalibration:
        """From the true classes ``[n]`` and the probabilities ``[n, C]`` of graphs that the model was not fitted to."""
        if not len(targets):
            raise InputError("got no graphs to calibrate on, expected at least one")
        scores = np.sort(1 - values[np.arange(len(targets)), targets])
        return cls(fit_temperature(targets, values), scores)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """The probabilities with the logits divided by the temperature."""
        return with_temperature(values, self.temperature)

    def regions(self, values: np.ndarray, coverage: float, spread: np.ndarray | None = None) -> np.ndarray:
        """bool ``[G, C]``: which classes are in the set of each graph. The most probable one always is, which can only
        raise the coverage: an empty set would be right about nothing."""
        inside = 1 - values <= conformal_threshold(self.scores, coverage)
        inside[np.arange(len(values)), values.argmax(axis=1)] = True
        return inside

    def columns(self, names: Sequence[str], regions: np.ndarray) -> dict[str, list[Any]]:
        return {f"in_set_{name}": inside.astype(int).tolist() for name, inside in zip(names, regions.T, strict=True)}

    def sizes(self, names: Sequence[str], regions: np.ndarray) -> dict[str, Any]:
        return {"set_size": float(regions.sum(axis=1).mean())}

    def summary(self, names: Sequence[str]) -> dict[str, Any]:
        return {"temperature": self.temperature}

    def assess(
        self,
        names: Sequence[str],
        targets: np.ndarray,
        values: np.ndarray,
        coverage: float = 0.9,
        spread: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Calibration error before and after, coverage of the sets, and their mean size.

        >>> held_out = ClassCalibration(temperature=2.0, scores=np.array([0.1, 0.2, 0.3]))
        >>> held_out.assess(("a", "b"), np.array([0]), np.array([[0.8, 0.2]]), coverage=0.5)["coverage"]
        1.0
        """
        sets = self.regions(values, coverage)
        return {
            "ece": expected_calibration_error(targets, values),
            "ece_calibrated": expected_calibration_error(targets, self.apply(values)),
            "coverage": float(sets[np.arange(len(targets)), targets].mean()),
            **self.sizes(names, sets),
        }

    @property
    def outputs(self) -> None:
        return None

    def to_json(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "scores": self.scores.tolist()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ClassCalibration:
        scores = rising(content["scores"])
        if len(scores) and not -ROUNDING <= scores[0] <= scores[-1] <= 1 + ROUNDING:
            raise ValueError("expected scores from 0 to 1")
        return cls(temperature_of(content["temperature"]), scores)


def conformal_threshold(scores: np.ndarray, coverage: float) -> float:
    """The ⌈(n + 1) c⌉-th smallest of n rising scores: the largest score inside a region. Infinite where there are too
    few for the coverage.

    >>> conformal_threshold(np.arange(1, 10) / 10, 0.9), conformal_threshold(np.array([0.1]), 0.9)
    (0.9, inf)
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage: got {coverage}, expected more than 0 and less than 1")
    rank = ceil((len(scores) + 1) * coverage - 1e-9)  # 0.9 * 10 is 9
    return float(scores[rank - 1]) if rank <= len(scores) else float("inf")


def rising(scores: Any) -> np.ndarray:
    """float64 [n]: scores from a file; a ValueError if they are not finite numbers in rising order.

    >>> rising([0.1, 0.5]).tolist()
    [0.1, 0.5]
    """
    numbers = isinstance(scores, list) and all(type(score) in (int, float) for score in scores)
    read = np.array(scores if numbers else [np.nan], dtype=np.float64)
    if not (read.ndim == 1 and np.isfinite(read).all() and (np.diff(read) >= 0).all()):
        raise ValueError("expected finite scores in rising order")
    return read


def temperature_of(value: Any) -> float:
    """A temperature from a file; a ValueError if it is none that is ever fitted, such as NaN.

    >>> temperature_of(1.5)
    1.5
    """
    low, high = TEMPERATURES
    if type(value) not in (int, float) or not low / 2 <= value <= high * 2:
        raise ValueError(f"got a temperature of {value!r}, expected {low} to {high}")
    return float(value)


def fit_temperature(true: np.ndarray, probabilities: np.ndarray) -> float:
    """T that minimises the Brier score, the mean of Σ_c (softmax(log p / T)_c - [c is true])².

    A proper score like the likelihood, but bounded: of a network that sums over nodes, one large graph can have logits
    in the hundreds, and if it is wrong, no likelihood hears the other graphs.

    >>> sure = np.array([[0.99, 0.01]] * 4)
    >>> round(fit_temperature(np.array([0, 0, 0, 1]), sure), 2)  # right three times in four
    4.18
    """
    from scipy.optimize import minimize_scalar  # which only fitting needs

    wanted = np.eye(probabilities.shape[1])[true]

    def brier(log_temperature: float) -> float:
        return float(np.square(with_temperature(probabilities, np.exp(log_temperature)) - wanted).sum(axis=1).mean())

    grid = np.log(np.geomspace(*TEMPERATURES, num=60))  # not convex: the best of a grid first
    best = int(np.argmin([brier(point) for point in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(np.exp(minimize_scalar(brier, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x))


def with_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """softmax(log p / T): the same order of the classes, less sure for T > 1.

    >>> with_temperature(np.array([[0.8, 0.2]]), 2.0).round(3).tolist()
    [[0.667, 0.333]]
    """
    scaled = _logarithms(probabilities) / temperature
    return np.exp(scaled - np.logaddexp.reduce(scaled, axis=1, keepdims=True))


@dataclass(frozen=True)
class Bin:
    """Graphs whose predicted class has a probability above ``low`` and up to ``high``.

    >>> Bin(low=0.8, high=1.0, graphs=50, confidence=0.93, accuracy=0.8).accuracy  # this model claims too much
    0.8
    """

    low: float
    high: float
    graphs: int
    confidence: float
    """Mean probability of the predicted class."""
    accuracy: float
    """Share of the graphs that are predicted right: equal to the confidence if the model is calibrated."""


def reliability(true: np.ndarray, probabilities: np.ndarray, bins: int = 15) -> list[Bin]:
    """The reliability diagram: ``bins`` of equal width, those without graphs left out.

    >>> reliability(np.array([0, 1]), np.array([[0.75, 0.25], [1.0, 0.0]]), bins=2)
    [Bin(low=0.5, high=1.0, graphs=2, confidence=0.875, accuracy=0.5)]
    """
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == true
    number = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    found = []
    for b in np.unique(number).tolist():
        inside = number == b
        means = float(confidence[inside].mean()), float(right[inside].mean())
        found.append(Bin(b / bins, (b + 1) / bins, int(inside.sum()), *means))
    return found


def expected_calibration_error(true: np.ndarray, probabilities: np.ndarray, bins: int = 15) -> float:
    """ECE = Σ_b n_b / n |accuracy_b - confidence_b| over the bins of the reliability diagram.

    >>> round(expected_calibration_error(np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]])), 2)
    0.45
    """
    return sum(b.graphs * abs(b.accuracy - b.confidence) for b in reliability(true, probabilities, bins)) / len(true)


def _logarithms(probabilities: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)))
