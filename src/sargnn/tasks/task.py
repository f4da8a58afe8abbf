"""What a model is asked to predict of a graph. Everything that depends on it is asked of a :class:`Task`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sargnn.data.graphs import GraphSet
from sargnn.tasks.thresholds import Ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sargnn.tasks.calibration import Calibration

__all__ = ["Metric", "Task", "Verdict", "per_graph"]


class Metric(NamedTuple):
    """A number that is reported."""

    key: str
    """Its name in scores, rows and files."""
    name: str
    """Its name on a page."""
    form: str
    """How it is written, a format string."""
    note: str = ""
    """What it means, in a few words."""
    lower: bool = False
    """Whether lower is better."""

    def shown(self, scores: Mapping[str, Any]) -> str:
        """
        >>> Metric("accuracy", "Accuracy", "{:.1%}").shown({"accuracy": 0.905})
        '90.5%'
        """
        return self.text(scores[self.key])

    def text(self, value: float | None) -> str:
        """The number as it is written."""
        return "undefined" if value is None else self.form.format(value)

    @property
    def in_line(self) -> str:
        """Its name inside a line.

        >>> Metric("f1", "F1", "{:.3f}").in_line, Metric("accuracy", "Accuracy", "{:.1%}").in_line
        ('F1', 'accuracy')
        """
        return (
            self.name if self.name[1:2].isupper() or self.name[1:2].isdigit() else self.name[0].lower() + self.name[1:]
        )


class Verdict(NamedTuple):
    """The prediction for one graph in words.

    >>> str(Verdict("ring", 0.8)), str(Verdict("1.25 mol/L", None))
    ('ring (80%)', '1.25 mol/L')
    """

    text: str
    confidence: float | None
    """A probability, where the task has one."""

    def __str__(self) -> str:
        return self.text if self.confidence is None else f"{self.text} ({self.confidence:.0%})"


class Task(ABC):
    """Targets, loss, prediction, scores and words of one kind of prediction.

    Arrays of targets have one row per graph. A model has :attr:`outputs` numbers per graph; :meth:`predict` makes of
    them the *values* that a user sees. A new kind of task is one file: derive from this class, and add it to
    :data:`sargnn.tasks.TASKS`.
    """

    kind: ClassVar[str]
    """The name in a model folder."""
    score_name: ClassVar[str]
    """The score of every epoch beside the loss, as :meth:`graph_scores` gives it."""
    link: ClassVar[Literal["softmax", "sigmoid", "identity"]] = "identity"
    """What a model's outputs mean, by which an ensemble averages them: see :func:`sargnn.nn.ensemble.vote`."""
    metrics: ClassVar[tuple[Metric, ...]]
    """What is reported; the first is the headline."""
    calibration: ClassVar[type[Calibration] | None] = None
    """What held-out graphs say about its values, if anything."""

    @classmethod
    @abstractmethod
    def of(cls, graphs: GraphSet) -> Task:
        """The task that the targets of ``graphs`` pose; refuses targets that nothing can be learned from."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The outputs by name."""

    @property
    def outputs(self) -> int:
        """Numbers per graph that a model gives."""
        return len(self.names)

    # --- targets

    @abstractmethod
    def targets(self, graphs: GraphSet) -> np.ndarray:
        """The true values, one row per graph; refuses graphs that lack them."""

    @abstractmethod
    def strata(self, targets: np.ndarray) -> np.ndarray:
        """int64 [G]: the group of each graph. Splits keep groups in proportion; balanced sampling draws them alike."""

    @abstractmethod
    def check_training(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        """Refuse training graphs that teach nothing; what is worth telling about the others, as notes."""

    def unlearned(self, targets: np.ndarray, train: np.ndarray) -> list[str]:
        """What the training graphs do not teach, as notes; refuses those of which no model can be fitted."""
        return self.check_training(targets, train)

    def fitted(self, targets: np.ndarray, loss: str = "huber") -> Task:
        """This task with what it learns from the ``targets`` of the training graphs; ``loss``: that of numbers."""
        return self

    def encode(self, targets: np.ndarray) -> np.ndarray:
        """The targets as :meth:`loss` takes them."""
        return targets

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        """The targets that :meth:`encode` was given."""
        return encoded

    # --- training

    @abstractmethod
    def balance(self, targets: Tensor) -> Tensor:
        """How much each kind of target counts so that all kinds count alike, from those of the training graphs."""

    @abstractmethod
    def losses(self, outputs: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        """The loss of each graph, or of each of its targets: outputs ``[..., B, outputs]``, targets ``[B, ...]`` ->
        ``[..., B]`` or ``[..., B, T]``. It is finite where a target is missing."""

    @abstractmethod
    def weights(self, targets: Tensor, balance: Tensor | None) -> Tensor:
        """How much each loss counts in their mean, ``[B]`` or ``[B, T]``: 0 where a target is missing, the others all
        alike without a ``balance``."""

    def loss(
        self,
        outputs: Tensor,
        targets: Tensor,
        balance: Tensor | None = None,
        smoothing: float = 0.0,
        graphs: Tensor | None = None,
    ) -> Tensor:
        """The weighted mean of :meth:`losses` over all that is there: graphs, targets, members of an ensemble.

        ``graphs`` ``[B]``: how much each graph counts; all alike without."""
        losses = self.losses(outputs, targets, smoothing)
        weights = per_graph(self.weights(targets, balance), graphs).expand_as(losses)
        return (losses * weights).sum() / weights.sum().clamp(min=torch.finfo(losses.dtype).tiny)

    @abstractmethod
    def graph_scores(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The contribution of each graph, or of each target of each graph, to the score called :attr:`score_name`,
        which is their mean over what is there."""

    # --- predictions

    @abstractmethod
    def predict(self, outputs: Tensor) -> np.ndarray:
        """float64 [G, ...]: the values that a user sees, of the outputs ``[G, outputs]``."""

    exported: ClassVar[str] = "logits"
    """What an exported file calls the values that it gives."""

    def export(self, outputs: Tensor) -> Tensor:
        """``[G, outputs]``: the outputs as an exported file gives them, in operations that it can hold."""
        return outputs

    @abstractmethod
    def decide(self, values: np.ndarray) -> np.ndarray:
        """[G, ...]: what is predicted, in the form of :meth:`targets`."""

    @abstractmethod
    def measure(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        """Every one of :attr:`metrics`, and the ends ``low`` and ``high`` of the headline's 95 % interval."""

    def scores(self, targets: np.ndarray, values: np.ndarray) -> dict[str, float | None]:
        """Every one of :attr:`metrics` without its interval; none where it is not defined."""
        measured = self.measure(targets, values)
        return {metric.key: measured[metric.key] for metric in self.metrics}

    def headline(self, targets: np.ndarray) -> tuple[Metric, ...]:
        """The metrics that mean most for such targets, the first of all first."""
        return self.metrics[:1]

    @abstractmethod
    def details(self, targets: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        """What else a result row keeps of the test graphs, as JSON."""

    @abstractmethod
    def sentence(self, scores: Mapping[str, Any]) -> str:
        """The scores of some graphs in a few words, to be followed by which graphs."""

    @abstractmethod
    def baseline(self, targets: np.ndarray) -> tuple[str, float] | None:
        """What the headline would be without looking at the graphs, and that in words; none where there is no graph."""

    def guess(self, targets: np.ndarray) -> tuple[str, np.ndarray] | None:
        """The values that the targets of the training graphs suggest for any graph, and what that is in words."""
        return None

    def copied(self, targets: np.ndarray) -> np.ndarray:
        """The values ``[G, ...]`` that say exactly the ``targets``; NaN where one is missing."""
        raise NotImplementedError

    # --- words and pictures

    @abstractmethod
    def columns(self) -> list[str]:
        """The columns of a file of predictions."""

    def spread_columns(self) -> list[str]:
        """The columns of the spread of an ensemble, one per value, where such a file has them."""
        return []

    @abstractmethod
    def cells(self, values: np.ndarray) -> list[Any]:
        """One graph's values in these columns."""

    @abstractmethod
    def verdict(self, values: np.ndarray) -> Verdict:
        """One graph's prediction in words."""

    @abstractmethod
    def truth(self, target: Any) -> str:
        """One graph's true value in words."""

    @abstractmethod
    def figure(self, targets: np.ndarray, values: np.ndarray) -> Figure:
        """Predicted against true."""

    def figures(self, targets: np.ndarray, values: np.ndarray) -> list[tuple[str, Figure]]:
        """Further charts of predictions against the truth, each with what it shows in words."""
        return []

    def questions(self, targets: np.ndarray, values: np.ndarray) -> list[Ranked]:
        """What a threshold on a probability answers: of graphs for which yes is right of some and no of others."""
        return []

    @abstractmethod
    def right(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """bool [G]: which predictions a person would call right."""

    # --- files

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a model folder says of the task."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any]) -> Task:
        """Read :meth:`to_json` back."""


def per_graph(weights: Tensor, graphs: Tensor | None) -> Tensor:
    """The weights ``[..., B]`` or ``[..., B, T]`` of losses times those of their graphs, ``[..., B]``, where there are
    some.

    >>> per_graph(torch.ones(2, 3), torch.tensor([1.0, 0.5])).tolist()
    [[1.0, 1.0, 1.0], [0.5, 0.5, 0.5]]
    """
    if graphs is None:
        return weights
    return weights * (graphs if weights.ndim == graphs.ndim else graphs.unsqueeze(-1))
