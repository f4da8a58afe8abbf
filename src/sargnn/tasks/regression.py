"""One or several measured numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from sargnn.data.graphs import GraphSet
from sargnn.data.io.targets import LARGEST
from sargnn.errors import InputError
from sargnn.tasks.intervals import IntervalCalibration
from sargnn.tasks.scores import NUMBER_METRICS, Values, intervals, number_scores, resampled, resampled_numbers
from sargnn.tasks.target_columns import found_columns, mean_of_targets, names_of, require_targets
from sargnn.tasks.task import Task, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Regression"]

QUANTILES = 10
"""Strata of a split, where there are graphs for as many."""
NAMED = 3
FAR = 100
"""How often the width of the middle half a value is from the median if the others look alike beside it."""


@dataclass(frozen=True)
class Regression(Task):
    """Measured numbers of a graph: targets are float ``[G, T]``, NaN where one is missing; values are the numbers in
    the user's own unit. The model learns ``(target - center) / scale``, both of the training graphs.

    >>> task = Regression(("logS",)).fitted(np.array([[1.0], [3.0]]))
    >>> task.center, task.scale, task.predict(torch.tensor([[0.5]])).tolist()
    ((2.0,), (1.0,), [[2.5]])
    """

    targets_by_name: tuple[str, ...]
    center: tuple[float, ...] = ()
    """The mean of each target over the training graphs; empty before :meth:`fitted`."""
    scale: tuple[float, ...] = ()
    """The standard deviation of each target over the training graphs; 1 where all are equal."""
    loss_name: str = "huber"
    """``huber``: squared up to one standard deviation and linear beyond, so that single large errors count less;
    ``squared``: squared everywhere."""

    kind = "regression"
    link = "identity"
    calibration = IntervalCalibration
    score_name = "mae"
    metrics = NUMBER_METRICS

    @classmethod
    def of(cls, graphs: GraphSet) -> Regression:
        require_targets(graphs)
        return cls(graphs.target_names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.targets_by_name

    # --- targets

    def targets(self, graphs: GraphSet) -> np.ndarray:
        """float64 [G, T]: the graphs' targets in the order of this task, matched by name."""
        return found_columns(graphs, self.names, self.kind)

    def fitted(self, targets: np.ndarray, loss: str = "huber") -> Regression:
        center, scale = [], []
        for name, column in zip(self.names, targets.T, strict=True):
            there = column[~np.isnan(column)]
            if (largest := np.abs(there).max(initial=0)) > LARGEST:
                raise InputError(f"{name}: got a value of {largest:g}, expected at most {LARGEST:g}")
            center.append(float(there.mean()) if len(there) else 0.0)
            scale.append(float(there.std()) or 1.0 if len(there) else 1.0)
        return replace(self, center=tuple(center), scale=tuple(scale), loss_name=loss)

    def encode(self, targets: np.ndarray) -> np.ndarray:
        return np.asarray((targets - np.array(self.center)) / np.array(self.scale))

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        return np.asarray(encoded * np.array(self.scale) + np.array(self.center))

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Tenths by rank; of several targets, by the mean of their ranks."""
        order = np.argsort(targets, axis=0, kind="stable").argsort(axis=0).astype(np.float64)
        counts = np.maximum((~np.isnan(targets)).sum(axis=0), 1)
        ranks = np.where(np.isnan(targets), np.nan, order / counts)
        known = np.maximum((~np.isnan(ranks)).sum(axis=1), 1)
        place = (np.nansum(ranks, axis=1) / known).argsort(kind="stable").argsort()
        parts = max(1, min(QUANTILES, len(targets) // QUANTILES))
        return np.asarray(place * parts // max(len(targets), 1), dtype=np.int64)

    def check_training(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        constant = []
        for name, column in zip(self.names, targets[train].T, strict=True):
            if len(np.unique(column[~np.isnan(column)])) < 2:
                constant.append(name)
        if len(constant) == len(self.names):
            only = ", ".join(map(repr, constant[:NAMED]))
            raise InputError(f"--split: got no two different values of {only} in training, expected different numbers")
        named = ", ".join(map(repr, constant))
        told = [f"the training graphs have no two different values of {named}: it is not learned"] if constant else []
        return [*told, *filter(None, map(_far, self.names, targets[train].T))]

    # --- training

    def balance(self, targets: Float[Tensor, "B T"]) -> Float[Tensor, " T"]:
        return targets.new_ones(targets.shape[1])

    def losses(
        self, outputs: Float[Tensor, "*members B T"], targets: Float[Tensor, "*some B T"], smoothing: float = 0.0
    ) -> Float[Tensor, "*members B T"]:
        wanted = torch.where(targets.isnan(), outputs.detach(), targets)
        if self.loss_name == "huber":
            return F.huber_loss(outputs, wanted, reduction="none")
        return (outputs - wanted).square()

    def weights(
        self, targets: Float[Tensor, "*some B T"], balance: Float[Tensor, " T"] | None
    ) -> Float[Tensor, "*some B T"]:
        return (~targets.isnan()).to(targets.dtype)

    def graph_scores(
        self, outputs: Float[Tensor, "*members B T"], targets: Float[Tensor, "*some B T"]
    ) -> Float[Tensor, "*members B T"]:
        """The absolute errors in the user's own unit."""
        return ((outputs - targets).abs() * _constant(self.scale, outputs.device)).nan_to_num(0.0).double()

    # --- predictions

    def predict(self, outputs: Float[Tensor, "G T"]) -> np.ndarray:
        return self.decode(outputs.double().cpu().numpy())

    exported = "values"

    def export(self, outputs: Tensor) -> Tensor:
        return outputs * outputs.new_tensor(self.scale) + outputs.new_tensor(self.center)

    def decide(self, values: np.ndarray) -> np.ndarray:
        return values

    def scores(self, targets: np.ndarray, values: np.ndarray) -> Values:
        return mean_of_targets([_scores(*pair) for pair in zip(targets.T, values.T, strict=True)])

    def guess(self, targets: np.ndarray) -> tuple[str, np.ndarray]:
        known = np.maximum((~np.isnan(targets)).sum(axis=0), 1)
        return "mean of the training graphs", np.asarray(np.nansum(targets, axis=0) / known)

    def copied(self, targets: np.ndarray) -> np.ndarray:
        return targets

    def measure(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        found = [_scores(*pair) for pair in zip(targets.T, values.T, strict=True)]
        drawn = resampled(len(targets), lambda counts: self._resampled(targets, values, counts))
        spread = intervals(drawn)
        means = mean_of_targets(found)
        low, high = spread["rmse"] or (means["rmse"], means["rmse"])
        return {
            "rmse": means["rmse"], "low": low, "high": high, **means,
            "intervals": {metric.key: spread[metric.key] for metric in self.metrics},
            "targets": {
                name: {**scores, "interval": spread.get(f"rmse {t}"), "graphs": int((~np.isnan(targets[:, t])).sum())}
                for t, (name, scores) in enumerate(zip(self.names, found, strict=True))
            },
        }  # fmt: skip

    def _resampled(self, targets: np.ndarray, values: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
        """The means over targets, and the RMSE of each."""
        each = {}
        for t in range(len(self.names)):
            there = ~np.isnan(targets[:, t])
            if there.any():
                each[t] = resampled_numbers(targets[there, t], values[there, t], counts[:, there])
        nothing = [np.full(len(counts), np.nan)]
        means = {
            metric.key: np.mean([scores[metric.key] for scores in each.values()] or nothing, axis=0)
            for metric in self.metrics
        }
        return means | {f"rmse {t}": scores["rmse"] for t, scores in each.items()}

    def details(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        return {}

    def sentence(self, scores: Mapping[str, Any]) -> str:
        return f"off by {scores['mae']:.3g} in the mean on the {scores['graphs']:,}"

    def baseline(self, targets: np.ndarray) -> tuple[str, float] | None:
        if not len(targets):
            return None
        alone = np.broadcast_to(np.array(self.center), targets.shape)
        rmse = self.scores(targets, alone)["rmse"]
        return None if rmse is None else ("the mean of the training graphs alone has", rmse)

    # --- words and pictures

    def columns(self) -> list[str]:
        return [f"predicted_{name}" for name in self.names]

    def spread_columns(self) -> list[str]:
        return [f"spread_{name}" for name in self.names]

    def cells(self, values: np.ndarray) -> list[Any]:
        return list(values.tolist())

    def verdict(self, values: np.ndarray) -> Verdict:
        return Verdict(self._in_words(values), None)

    def truth(self, target: Any) -> str:
        return self._in_words(target)

    def _in_words(self, numbers: np.ndarray) -> str:
        if len(self.names) == 1:
            return f"{numbers[0]:.4g}"
        told = [f"{name} {value:.4g}" for name, value in zip(self.names, numbers, strict=True) if not np.isnan(value)]
        more = [f"{len(told) - NAMED} more"] if len(told) > NAMED else []
        return ", ".join(told[:NAMED] + more)

    def figure(self, targets: np.ndarray, values: np.ndarray) -> Figure:
        from sargnn import viz

        return viz.parity(targets, values, self.names)

    def right(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether every number that is there is nearer to the truth than half a standard deviation of training."""
        near = np.abs(values - targets) <= np.array(self.scale) / 2
        return np.asarray((near | np.isnan(targets)).all(axis=1))

    # --- files

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.kind, "targets": list(self.names), "center": list(self.center), "scale": list(self.scale),
            "loss": self.loss_name,
        }  # fmt: skip

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Regression:
        center, scale = (tuple(map(float, content[key])) for key in ("center", "scale"))
        names, sound = names_of(content["targets"]), all(map(isfinite, (*center, *scale))) and min(scale, default=0) > 0
        if not sound or not len(names) == len(center) == len(scale) or content["loss"] not in ("huber", "squared"):
            raise InputError("got no sound center, scale and loss, expected finite numbers for each target")
        return cls(names, center, scale, content["loss"])


def _scores(target: np.ndarray, values: np.ndarray) -> Values:
    there = ~np.isnan(target)
    return number_scores(target[there], values[there])


def _far(name: str, column: np.ndarray) -> str:
    """That a few values are so far from the others that these look alike beside them."""
    there = column[~np.isnan(column)]
    low, median, high = np.percentile(there, (25, 50, 75)) if len(there) else (0.0, 0.0, 0.0)
    far = there[np.abs(there - median) > FAR * (high - low)]
    if low == high or not len(far):
        return ""
    some = f"{len(far)} of {len(there)} values of {name!r}, such as {far[0]:g},"
    return f"the training graphs have {some} beside which the others look alike: correct them, or predict logarithms"


@cache
def _constant(values: tuple[float, ...], device: torch.device) -> Tensor:
    """Made once, so that a step captured on a GPU copies nothing to it."""
    return torch.tensor(values, dtype=torch.float64, device=device)
