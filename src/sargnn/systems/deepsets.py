r"""DeepSets: the structure-free baseline. It sees which nodes there are and never how they are joined.

Reference: F. Errica, M. Podda, D. Bacciu, A. Micheli, "A Fair Comparison of Graph Neural Networks for Graph
Classification", ICLR 2020 (their "DeepMultisets", after M. Zaheer et al., "Deep Sets", NeurIPS 2017).

.. math:: g = \sum_i \sigma(W h_i + b), \qquad \text{logits} = F_{MLP}(g)

Choices:

- Errica et al. take this form for ENZYMES and the social sets, and a perceptron on the *sum* of the inputs for the
  other chemical sets. Both see the multiset of node inputs alone; with one-hot inputs they see the same. This form
  serves all.
- With degree inputs (sets without node labels) the baseline does see the degrees, as in the published comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from sargnn.batching import Batch
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.nn.memory import perceptron

__all__ = ["DeepSets", "DeepSetsConfig"]


@dataclass(frozen=True)
class DeepSetsConfig(Hyperparameters):
    """Hyperparameters of DeepSets; the published grid has 32, 128 and 256 features."""

    layers: int = 1
    """Linear maps with ReLU on every node before the sum."""
    hidden: int = 128
    """Features of a node and of the classifier's hidden layer."""
    dropout: float = 0.0
    """Dropout inside the classifier."""


class DeepSets(GraphModel):
    """A perceptron on every node, their sum, a perceptron on that; edges are never looked at.

    >>> import torch
    >>> model = DeepSets(DeepSetsConfig(hidden=16), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    def __init__(self, config: DeepSetsConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        widths = [inputs] + [config.hidden] * (config.layers - 1)
        self.nodes = nn.ModuleList(nn.Linear(width, config.hidden) for width in widths)
        self.head = perceptron(config.hidden, config.hidden, classes, config.dropout)

    def encode(self, batch: Batch) -> Encoding:
        h = batch.x
        for layer in self.nodes:
            h = layer(h).relu()
        return Encoding(batch.sum(h), h, ())
