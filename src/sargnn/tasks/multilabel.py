"""Several binary targets, each yes, no or missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.tasks.scores import (
    CLASS_METRICS,
    Values,
    class_scores,
    defined_mean,
    intervals,
    resampled,
    resampled_classes,
)
from sargnn.tasks.target_columns import found_columns, mean_of_targets, names_of, require_targets
from sargnn.tasks.target_sets import TargetCalibration
from sargnn.tasks.task import Metric, Task, Verdict
from sargnn.tasks.thresholds import Ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Multilabel"]

_BY_KEY = {metric.key: metric for metric in CLASS_METRICS}
NAMED = 3
"""Targets that a sentence names."""


@dataclass(frozen=True)
class Multilabel(Task):
    """Which of several binary targets a graph has: targets are float ``[G, T]``, 0, 1 or NaN where one is missing;
    values are probabilities ``[G, T]``; the loss is the mean binary cross-entropy of the targets that are there.

    >>> Multilabel(("toxic", "soluble")).verdict(np.array([0.9, 0.2]))
    Verdict(text='toxic 90%', confidence=None)
    """

    targets_by_name: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Targets of which the training graphs have one class only: nothing is learned of them."""

    kind = "multilabel"
    link = "sigmoid"
    calibration = TargetCalibration
    score_name = "accuracy"
    metrics = (
        _BY_KEY["auroc"]._replace(note="mean over targets; chance is 0.5"),
        _BY_KEY["average_precision"], _BY_KEY["balanced_accuracy"], _BY_KEY["accuracy"],
        *(_BY_KEY[key] for key in ("f1", "mcc", "brier", "log_loss")),
    )  # fmt: skip

    @classmethod
    def of(cls, graphs: GraphSet) -> Multilabel:
        targets = require_targets(graphs)
        wrong = ~np.isnan(targets) & ~np.isin(targets, (0, 1))
        if wrong.any():
            graph, column = np.argwhere(wrong)[0].tolist()
            got = f"got {targets[graph, column]:g} in {graphs.called(graph)}, target {graphs.target_names[column]!r}"
            raise InputError(f"{graphs.name}: {got}, expected 0, 1 or nothing for --task multilabel")
        return cls(graphs.target_names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.targets_by_name

    @property
    def learned(self) -> np.ndarray:
        """The columns whose scores are averaged."""
        return np.flatnonzero([name not in self.left_out for name in self.names])

    # --- targets

    def targets(self, graphs: GraphSet) -> np.ndarray:
        """float64 [G, T]: the graphs' targets in the order of this task, matched by name."""
        return found_columns(graphs, self.names, self.kind)

    def fitted(self, targets: np.ndarray, loss: str = "huber") -> Multilabel:
        return replace(self, left_out=self._of_one_class(targets))

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """The rarest target that a graph has, counted from 1; 0 for graphs that have none."""
        positive = targets == 1
        counts = positive.sum(axis=0)
        rarity = np.where(positive, counts, len(targets) + 1)
        return np.where(positive.any(axis=1), rarity.argmin(axis=1) + 1, 0)

    def check_training(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        left_out = self._of_one_class(targets[train])
        if len(left_out) == len(self.names):
            raise InputError("--split: got training graphs of one class in every target, expected both in one or more")
        if not left_out:
            return []
        named = ", ".join(map(repr, left_out))
        return [f"the training graphs have only one class of {named}: it is not learned, and left out of the mean"]

    def _of_one_class(self, targets: np.ndarray) -> tuple[str, ...]:
        both = (targets == 1).any(axis=0) & (targets == 0).any(axis=0)
        return tuple(name for name, learned in zip(self.names, both, strict=True) if not learned)

    # --- training

    def balance(self, targets: Float[Tensor, "B T"]) -> Float[Tensor, " T"]:
        """Negatives per positive of each target; 1 where a target has none of one kind."""
        ups, downs = (targets == 1).sum(0), (targets == 0).sum(0)
        return (downs.clamp(min=1) / ups.clamp(min=1)).where((ups > 0) & (downs > 0), 1.0)

    def losses(
        self, outputs: Float[Tensor, "*members B T"], targets: Float[Tensor, "*some B T"], smoothing: float = 0.0
    ) -> Float[Tensor, "*members B T"]:
        wanted = targets.nan_to_num(0.5).lerp(targets.new_full((), 0.5), smoothing).expand_as(outputs)
        return F.binary_cross_entropy_with_logits(outputs, wanted, reduction="none")

    def weights(
        self, targets: Float[Tensor, "*some B T"], balance: Float[Tensor, " T"] | None
    ) -> Float[Tensor, "*some B T"]:
        there = (~targets.isnan()).to(targets.dtype)
        return there if balance is None else there.where(targets != 1, balance)

    def graph_scores(
        self, outputs: Float[Tensor, "*members B T"], targets: Float[Tensor, "*some B T"]
    ) -> Float[Tensor, "*members B T"]:
        return ((outputs > 0) == (targets > 0.5)).double()

    # --- predictions

    def predict(self, outputs: Float[Tensor, "G T"]) -> np.ndarray:
        return outputs.double().sigmoid().cpu().numpy()

    exported = "probabilities"

    def export(self, outputs: Tensor) -> Tensor:
        return outputs.sigmoid()

    def decide(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values > 0.5, dtype=np.float64)

    def scores(self, targets: np.ndarray, values: np.ndarray) -> Values:
        return mean_of_targets([self._scores(targets, values, t) for t in self.learned.tolist()])

    def headline(self, targets: np.ndarray) -> tuple[Metric, ...]:
        return self.metrics[:2]

    def guess(self, targets: np.ndarray) -> tuple[str, np.ndarray]:
        known = np.maximum((~np.isnan(targets)).sum(axis=0), 1)
        return "frequency of each target", np.asarray(np.nansum(targets, axis=0) / known)

    def copied(self, targets: np.ndarray) -> np.ndarray:
        return targets

    def measure(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        columns = self.learned.tolist()
        found = [self._scores(targets, values, t) for t in range(len(self.names))]
        drawn = resampled(len(targets), lambda counts: self._resampled(targets, values, columns, counts))
        spread = intervals(drawn)
        means = mean_of_targets([found[t] for t in columns])
        low, high = spread["auroc"] or (means["auroc"], means["auroc"])
        return {
            "auroc": means["auroc"], "low": low, "high": high, **means,
            "intervals": {metric.key: spread[metric.key] for metric in self.metrics},
            "targets": {
                name: {**scores, "interval": spread.get(f"auroc {t}"), **_counts(targets[:, t])}
                for t, (name, scores) in enumerate(zip(self.names, found, strict=True))
            },
        }  # fmt: skip

    def _scores(self, targets: np.ndarray, values: np.ndarray, column: int) -> Values:
        return class_scores(*self._one(targets, values, column)[1:])

    def _one(
        self, targets: np.ndarray, values: np.ndarray, column: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of one target: which graphs have it, their true and predicted class, and the probabilities ``[n, 2]``."""
        there = ~np.isnan(targets[:, column])
        true, p = targets[there, column].astype(np.int64), values[there, column]
        predicted = self.decide(values)[there, column].astype(np.int64)
        return there, true, predicted, np.stack([1 - p, p], axis=1)

    def _resampled(
        self, targets: np.ndarray, values: np.ndarray, columns: list[int], counts: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The means over targets, and the AUROC of each."""
        found = {}
        for t in columns:
            there, true, predicted, probabilities = self._one(targets, values, t)
            if there.any():
                found[t] = resampled_classes(true, predicted, probabilities, counts[:, there])
        nothing = np.full(len(counts), np.nan)
        means = {
            metric.key: defined_mean(np.stack([scores[metric.key] for scores in found.values()] or [nothing], axis=1))
            for metric in self.metrics
        }
        return means | {f"auroc {t}": scores["auroc"] for t, scores in found.items()}

    def details(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        return {}

    def sentence(self, scores: Mapping[str, Any]) -> str:
        auroc = "undefined" if scores["auroc"] is None else f"{scores['auroc']:.3f}"
        return f"mean AUROC {auroc} over {len(self.learned)} targets on the {scores['graphs']:,}"

    def baseline(self, targets: np.ndarray) -> tuple[str, float] | None:
        return ("the frequency of each target alone has", 0.5) if len(targets) else None

    # --- words and pictures

    def columns(self) -> list[str]:
        return [f"probability_{name}" for name in self.names]

    def cells(self, values: np.ndarray) -> list[Any]:
        return list(values.tolist())

    def verdict(self, values: np.ndarray) -> Verdict:
        order = [t for t in np.argsort(-values, kind="stable").tolist() if self.decide(values[None])[0, t]]
        found = [f"{self.names[t]} {values[t]:.0%}" for t in order[:NAMED]]
        more = [f"{len(order) - NAMED} more"] if len(order) > NAMED else []
        return Verdict(", ".join(found + more) or f"none of {len(self.names)}", None)

    def truth(self, target: Any) -> str:
        found = [name for name, value in zip(self.names, target, strict=True) if value == 1]
        more = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
        return ", ".join(found[:NAMED] + more) or f"none of {int((~np.isnan(target)).sum())}"

    def figure(self, targets: np.ndarray, values: np.ndarray) -> Figure:
        from sargnn import viz

        areas = [self._scores(targets, values, t)["auroc"] for t in range(len(self.names))]
        return viz.target_bars(self.names, areas, "AUROC", chance=0.5)

    def figures(self, targets: np.ndarray, values: np.ndarray) -> list[tuple[str, Figure]]:
        from sargnn import viz

        there, curves = ~np.isnan(targets), self.questions(targets, values)
        found = [("ROC and precision-recall curves of each target", viz.ranking_curves(curves))] if curves else []
        learned = there & np.isin(np.arange(len(self.names)), self.learned)
        if learned.any():
            pooled = viz.reliability(targets[learned] == 1, values[learned])
            found.append(("Probability, and how often the target is there; all targets together", pooled))
        return found

    def questions(self, targets: np.ndarray, values: np.ndarray) -> list[Ranked]:
        """Whether each target is there."""
        there = ~np.isnan(targets)
        return [
            (self.names[t], targets[there[:, t], t] == 1, values[there[:, t], t])
            for t in self.learned.tolist()
            if len(np.unique(targets[there[:, t], t])) == 2
        ]

    def right(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether every target that is there is predicted right."""
        return np.asarray((np.isnan(targets) | (self.decide(values) == targets)).all(axis=1))

    # --- files

    def to_json(self) -> dict[str, Any]:
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"task": self.kind, "targets": list(self.names), **left_out}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Multilabel:
        left_out = content.get("left_out") or []
        return cls(names_of(content["targets"]), names_of(left_out) if left_out else ())


def _counts(target: np.ndarray) -> dict[str, int]:
    return {"graphs": int((~np.isnan(target)).sum()), "positive": int((target == 1).sum())}
