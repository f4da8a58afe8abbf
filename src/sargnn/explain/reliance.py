"""Does a model rely on what its saliency shows? Graphs with their most salient nodes alone, and without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from sargnn.batching.tensor_set import TensorSet
from sargnn.explain.masking import hard_mask, masked_outputs
from sargnn.explain.metrics import Interval, interval, random_scores
from sargnn.nn.graph_model import GraphModel

__all__ = ["Reliance", "reliance"]

SPARSITIES = (0.5, 0.7, 0.8)
"""Fractions of the nodes that are not among the most salient, which are kept alone or removed."""


class Reliance(NamedTuple):
    r"""How far predictions move, :math:`\frac{1}{T} \sum_t |v_t - v_t^{masked}|`, mean over graphs with 95 % interval:
    of probabilities, or of numbers in their own unit."""

    graphs: int
    kept: Interval
    """With the most salient nodes alone: little, if they suffice."""
    random_kept: Interval
    """With as many random nodes alone."""
    removed: Interval
    """Without the most salient nodes: far, if they are needed."""
    random_removed: Interval

    @property
    def suffices(self) -> bool:
        """Whether salient nodes alone are shown to move predictions less than random ones."""
        return self.kept.high < self.random_kept.low

    @property
    def needed(self) -> bool:
        """Whether predictions are shown to move further without salient nodes than without random ones."""
        return self.removed.low > self.random_removed.high

    @property
    def verdict(self) -> str:
        """In words.

        >>> low, high = Interval(0.1, 0.0, 0.2), Interval(0.5, 0.4, 0.6)
        >>> Reliance(9, low, high, high, high).verdict
        'saliency beats random nodes in what suffices, and not in what is needed'
        """
        if self.suffices and self.needed:
            return "saliency beats random nodes, in what suffices and in what is needed"
        if not (self.suffices or self.needed):
            return "saliency is not shown to beat random nodes: do not read the decision off it"
        better, worse = ("suffices", "is needed") if self.suffices else ("is needed", "suffices")
        return f"saliency beats random nodes in what {better}, and not in what {worse}"

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "verdict": self.verdict}


def reliance(
    model: GraphModel,
    data: TensorSet,
    index: np.ndarray,
    saliency: np.ndarray,
    predict: Callable[[Tensor], np.ndarray],
    seed: int = 0,
) -> Reliance | None:
    """For the graphs at ``index`` with two nodes or more and the ``saliency [N]`` of all nodes of the set, by what
    ``predict`` makes of outputs; none where there are fewer than two such graphs.

    >>> from sargnn.data.graphs import pack
    >>> from sargnn.nn import SARGNN, ModelConfig
    >>> data = TensorSet(pack([(3, [(0, 1), (1, 0)])] * 2), np.eye(6, 2, dtype=np.float32))
    >>> model = SARGNN(ModelConfig(), inputs=2, classes=2)
    >>> reliance(model, data, np.arange(2), np.ones(6), lambda outputs: outputs.softmax(1).numpy()).graphs
    2
    """
    index = index[data.sizes[index] > 1]
    if len(index) < 2:
        return None
    starts = np.cumsum(data.sizes) - data.sizes
    scores = np.concatenate([saliency[starts[g] : starts[g] + data.sizes[g]] for g in index])
    node_graph = np.repeat(np.arange(len(index)), data.sizes[index])
    whole = predict(masked_outputs(model, data, index))
    moved: dict[str, list[np.ndarray]] = {}
    for sparsity in SPARSITIES:
        for name, own in (("", scores), ("random_", random_scores(len(scores), seed))):
            top = hard_mask(own, node_graph, sparsity, seed)
            for what, mask in (("kept", top), ("removed", ~top)):
                change = np.abs(whole - predict(masked_outputs(model, data, index, mask)))
                moved.setdefault(name + what, []).append(change.reshape(len(index), -1).mean(axis=1))
    found = {name: interval(np.mean(some, axis=0)) for name, some in moved.items()}
    return Reliance(len(index), **{name: one for name, one in found.items() if one is not None})
