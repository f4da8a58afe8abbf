"""One class per graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from sargnn import metrics
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import require_two_classes
from sargnn.errors import InputError
from sargnn.tasks.calibration import ClassCalibration
from sargnn.tasks.scores import CLASS_METRICS, Values, class_scores, intervals, resampled, resampled_classes
from sargnn.tasks.target_columns import names_of
from sargnn.tasks.task import Metric, Task, Verdict
from sargnn.tasks.thresholds import Ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Classification"]

IMBALANCED = 0.7
"""Fraction of the largest class above which accuracy says little."""


@dataclass(frozen=True)
class Classification(Task):
    """Which of several classes a graph belongs to: targets are class indices ``[G]``, values are probabilities
    ``[G, C]``, the loss is cross-entropy.

    >>> task = Classification(("ring", "path"))
    >>> task.verdict(np.array([0.2, 0.8]))
    Verdict(text='path', confidence=0.8)
    """

    classes: tuple[str, ...]

    kind = "classification"
    link = "softmax"
    calibration = ClassCalibration
    score_name = "accuracy"
    metrics = CLASS_METRICS

    @classmethod
    def of(cls, graphs: GraphSet) -> Classification:
        require_two_classes(graphs)
        return cls(graphs.classes)

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes

    def targets(self, graphs: GraphSet) -> np.ndarray:
        """int64 [G]: the graphs' classes as this task counts them, matched by name."""
        if graphs.y is None:
            raise InputError(f"{graphs.name} has no class labels, expected them to compare with")
        index = {name: i for i, name in enumerate(self.classes)}
        codes: np.ndarray = np.array([index.get(name, -1) for name in graphs.classes], np.int64)[graphs.y]
        if (codes < 0).any():
            graph = int(np.argmax(codes < 0))
            got = f"got class {graphs.classes[graphs.y[graph]]!r} in graph {graph} of {graphs.name}"
            raise InputError(f"{got}, expected one of those trained on: {', '.join(self.classes)}")
        return codes

    def strata(self, targets: np.ndarray) -> np.ndarray:
        return targets

    def check_training(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        learned = np.unique(targets[train]).tolist()
        if len(learned) < 2:
            only = ", ".join(repr(self.classes[y]) for y in learned) or "no class"
            raise InputError(f"--split: got training graphs of {only} only, expected two or more classes")
        return self.unlearned(targets, train)

    def unlearned(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        learned = np.unique(targets[train]).tolist()
        missing = [repr(self.classes[y]) for y in np.unique(targets).tolist() if y not in learned]
        return [f"no training graph has the class {', '.join(missing)}, so it is not learned"] if missing else []

    def balance(self, targets: Int[Tensor, " B"]) -> Float[Tensor, " C"]:
        """n / (C n_c): a class counts in inverse proportion to its graphs."""
        counts = targets.bincount(minlength=self.outputs)
        return counts.sum() / (counts.clamp(min=1) * len(counts))

    def losses(
        self, outputs: Float[Tensor, "*members B C"], targets: Int[Tensor, "*some B"], smoothing: float = 0.0
    ) -> Float[Tensor, "*members B"]:
        y = targets.expand(outputs.shape[:-1])
        each = F.cross_entropy(outputs.flatten(0, -2), y.flatten(), reduction="none", label_smoothing=smoothing)
        return each.view_as(y)

    def weights(self, targets: Int[Tensor, "*some B"], balance: Float[Tensor, " C"] | None) -> Float[Tensor, "*some B"]:
        return targets.new_ones(targets.shape).float() if balance is None else balance[targets]

    def loss(
        self,
        outputs: Float[Tensor, "*members B C"],
        targets: Int[Tensor, " B"],
        balance: Float[Tensor, " C"] | None = None,
        smoothing: float = 0.0,
        graphs: Float[Tensor, " B"] | None = None,
    ) -> Float[Tensor, ""]:
        if balance is not None or graphs is not None:  # PyTorch's weights would tilt the smoothed part too
            return super().loss(outputs, targets, balance, smoothing, graphs)
        y = targets.expand(outputs.shape[:-1]).flatten()
        return F.cross_entropy(outputs.flatten(0, -2), y, label_smoothing=smoothing)

    def graph_scores(
        self, outputs: Float[Tensor, "*members B C"], targets: Int[Tensor, "*some B"]
    ) -> Float[Tensor, "*members B"]:
        return (outputs.argmax(-1) == targets).double()

    def predict(self, outputs: Float[Tensor, "G C"]) -> np.ndarray:
        return outputs.double().softmax(1).cpu().numpy()

    def decide(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values.argmax(axis=1))

    def measure(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        given = targets, self.decide(values), values
        scores = self.scores(targets, values)
        low, high = metrics.wilson_interval(scores["accuracy"] or 0.0, len(targets))
        drawn = resampled(len(targets), lambda counts: resampled_classes(*given, counts))
        spread = intervals(drawn) | {"accuracy": [low, high]}
        return {"accuracy": scores["accuracy"], "low": low, "high": high, **scores, "intervals": spread}

    def scores(self, targets: np.ndarray, values: np.ndarray) -> Values:
        return class_scores(targets, self.decide(values), values)

    def headline(self, targets: np.ndarray) -> tuple[Metric, ...]:
        """Accuracy; where a class has more than 70 % of the graphs, balanced accuracy and AUROC."""
        largest = np.bincount(targets).max() / len(targets) if len(targets) else 0.0
        return self.metrics[1:3] if largest > IMBALANCED else self.metrics[:1]

    def guess(self, targets: np.ndarray) -> tuple[str, np.ndarray]:
        return "largest class", np.bincount(targets, minlength=self.outputs) / max(len(targets), 1)

    def copied(self, targets: np.ndarray) -> np.ndarray:
        return np.asarray(np.eye(self.outputs)[targets])

    def details(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        return {"confusion": metrics.confusion(targets, self.decide(values), self.outputs).tolist()}

    def sentence(self, scores: Mapping[str, Any]) -> str:
        return f"right on {scores['accuracy'] * scores['graphs']:,.0f} of {scores['graphs']:,}"

    def baseline(self, targets: np.ndarray) -> tuple[str, float] | None:
        if not len(targets):
            return None
        return "the largest class alone is", float(np.bincount(targets).max() / len(targets))

    def columns(self) -> list[str]:
        return ["class", *(f"probability_{name}" for name in self.classes)]

    def cells(self, values: np.ndarray) -> list[Any]:
        return [self.classes[int(values.argmax())], *values.tolist()]

    def verdict(self, values: np.ndarray) -> Verdict:
        return Verdict(self.classes[int(values.argmax())], float(values.max()))

    def truth(self, target: Any) -> str:
        return self.classes[int(target)]

    def figure(self, targets: np.ndarray, values: np.ndarray) -> Figure:
        from sargnn import viz

        return viz.confusion_matrix(np.array(self.details(targets, values)["confusion"]), self.classes)

    def figures(self, targets: np.ndarray, values: np.ndarray) -> list[tuple[str, Figure]]:
        from sargnn import viz

        found = []
        if curves := self.questions(targets, values):
            found.append(("ROC and precision-recall curves", viz.ranking_curves(curves)))
        hit, confidence = self.decide(values) == targets, values.max(axis=1)
        return [
            *found,
            ("Probability of the predicted class, and how often it is right", viz.reliability(hit, confidence)),
        ]

    def questions(self, targets: np.ndarray, values: np.ndarray) -> list[Ranked]:
        """Whether a graph is of the second of two classes."""
        both = self.outputs == 2 and len(np.unique(targets)) == 2
        return [(self.classes[1], targets == 1, values[:, 1])] if both else []

    def right(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.asarray(self.decide(values) == targets)

    def to_json(self) -> dict[str, Any]:
        return {"classes": list(self.classes)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Classification:
        return cls(names_of(content["classes"]))
