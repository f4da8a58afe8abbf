r"""Topological forest: histograms of simple node measures, classified by a random forest. No message passing, no
gradient: a baseline that is hard to beat under a strict protocol.

Reference: C. Cai, Y. Wang, "A simple yet effective baseline for non-attributed graph classification", 2018 (local
degree profile, LDP); J. Adamczyk, W. Czech, "Strengthening structural baselines for graph classification using Local
Topological Profile", ICCS 2023 (LTP), and the code published with it; L. Breiman, "Random Forests", 2001.

The node inputs are those of every system and the encoding ``topology`` (:mod:`sargnn.data.features.degree_profiles`):
degree, least, largest, mean and deviation of the neighbours' degrees, and betweenness, Jaccard index and local degree
score of the node's edges. With b bins between the least and the largest value l, h of an input on the training nodes,

.. math::
    g_{ck} = \big|\{ i : \min(\lfloor b\,(x_{ic} - l_c) / (h_c - l_c) \rfloor, b - 1) = k \}\big|, \qquad
    p = \frac{1}{T} \sum_{t=1}^{T} p_{\text{leaf}_t(g)}, \qquad \text{logits} = \log p

where each of the T trees is grown by scikit-learn on a sample of the training graphs drawn with replacement.

Choices:

- The published code has histograms over *edges* of the three measures of edges. Here a node has the mean over its
  edges, so that the profile is a node encoding for every model.
- The published code has bins per *graph*, so that a bin means different values in different graphs. Here bins are those
  of the training nodes; what lies outside counts in the first or last bin.
- Counts are not divided by the number of nodes, as in the published code: the size of a graph is seen.
- The published method sees the structure alone. Here labels and attributes are inputs too;
  ``data.encodings=topology`` leaves them out.
- Forests are fitted in one epoch: of the training config only ``class_weights``, ``sampling`` and ``seed`` matter.
- Of several targets, and of numbers, each has a forest of its own, grown on the graphs that have the target; the
  trees of numbers choose each split from a third of the bins.
- Trees are stored as arrays, like the weights of other models: nothing in a model folder is unpickled.
- No node scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.nn.graph_model import Encoding
from sargnn.systems.forest import Forest, ForestConfig, ForestModel

__all__ = ["TopologicalForest", "TopologicalForestConfig"]

BORDER = 1e-4
"""Fraction of a bin by which a value counts as above its border: equal values may differ by rounding."""


@dataclass(frozen=True)
class TopologicalForestConfig(ForestConfig):
    """Hyperparameters of the topological forest; the defaults are the published ones."""

    bins: int = 50
    """b, bins of the histogram of every node input."""


class TopologicalForest(ForestModel):
    """Histograms of the node inputs and a forest on them; until it is fitted it finds all classes equally probable.

    >>> model = TopologicalForest(TopologicalForestConfig(), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]])).softmax(1).tolist()
    [[0.5, 0.5]]
    """

    low: Tensor
    high: Tensor

    def __init__(self, config: TopologicalForestConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        self.head = Forest(inputs * config.bins, classes)
        self.register_buffer("low", torch.zeros(inputs))
        self.register_buffer("high", torch.ones(inputs))

    def encode(self, batch: Batch) -> Encoding:
        """The histograms [B, inputs * bins] as graph vectors."""
        assert isinstance(batch, PackedBatch)
        b, inputs = self.config.bins, batch.x.shape[1]
        spread = torch.where(self.high > self.low, self.high - self.low, 1)
        place = ((batch.x - self.low) / spread * b + BORDER).clamp(0, b - 1).long()
        cell = (batch.graph.unsqueeze(1) * inputs + torch.arange(inputs, device=place.device)) * b + place
        counts = torch.bincount(cell.flatten(), minlength=batch.num_graphs * inputs * b)
        return Encoding(counts.view(batch.num_graphs, inputs * b).to(batch.x.dtype), batch.x, ())

    def prepare(self, data: TensorSet, parts: Sequence[np.ndarray]) -> None:
        """Fit the bins."""
        ends = [data.packed(part).x.aminmax(dim=0) for part in parts]
        self.low = torch.stack([low for low, _ in ends]).amin(0).to(self.low)
        self.high = torch.stack([high for _, high in ends]).amax(0).to(self.high)
