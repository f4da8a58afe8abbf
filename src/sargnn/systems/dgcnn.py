r"""DGCNN: convolutions colour the nodes, the nodes are sorted by colour, and an ordinary 1-D CNN reads the sequence.

Reference: M. Zhang, Z. Cui, M. Neumann, Y. Chen, "An End-to-End Deep Learning Architecture for Graph Classification",
AAAI 2018, its code, and the port of Errica et al. (2020).

1. :math:`Z_t = \tanh(\tilde D^{-1} \tilde A Z_{t-1} W_t + b_t)`, widths 32, 32, 32, 1; all side by side: n x 97.
2. SortPooling: nodes by falling last channel, the first k rows, zero rows where there are fewer nodes.
3. Convolution with kernel and stride 97 to 16 channels, ReLU, maximum over pairs, convolution with kernel 5 to 32
   channels, ReLU: 32 (⌊(k - 2) / 2⌋ + 1 - 4) numbers. Classified by a perceptron of 128 with dropout.

Choices:

- k, ``model.nodes``: the published rule takes the smallest number, at least 10, such that a fraction of 0.6 (0.9 for
  social sets) of all graphs, test graphs too, have no more nodes: 19 for MUTAG, 36 for ENZYMES, 32 for PROTEINS, 19 for
  TRIANGLES, 10 for Letter-high, 31 for IMDB-BINARY, 22 for IMDB-MULTI. Here k is a hyperparameter, equal in all folds.
- The published code divides the bias by the degree as well (its linear map comes after the sum, before the division);
  Errica's does not, and neither does this.
- The paper breaks ties of the last channel by the channels before it. Both codes, PyTorch Geometric and this model keep
  the order of the nodes: harmless between nodes that 1-WL cannot tell apart, whose rows are equal.
- The published IMDB runs have constant inputs; here every system has the inputs of ``data.encodings``.
- No node scores: the last channel says where a node stands in the sequence, not how much it matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch, PackedBatch, PaddedBatch
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.nn.memory import perceptron
from sargnn.systems.base import node_ranks, real_nodes

__all__ = ["DGCNN", "DGCNNConfig"]


@dataclass(frozen=True)
class DGCNNConfig(Hyperparameters):
    """Hyperparameters of DGCNN; the defaults are the published ones."""

    AT_LEAST = (("nodes", 10),)
    layers: int = 3
    """Graph convolutions before the last one, which has a single feature."""
    hidden: int = 32
    """Features of a node after each of them."""
    nodes: int = 30
    """k, rows that SortPooling keeps; published: as many as 60 % of the graphs have nodes, but at least 10."""
    classifier: int = 128
    """Features of the classifier's hidden layer."""
    dropout: float = 0.5
    """Dropout inside the classifier."""


class DGCNN(GraphModel):
    """Convolutions, SortPooling, a 1-D CNN."""

    def __init__(self, config: DGCNNConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        widths = [inputs] + [config.hidden] * config.layers
        self.layers = nn.ModuleList(nn.Linear(width, out) for width, out in zip(widths, [*widths[1:], 1], strict=True))
        width = config.layers * config.hidden + 1
        self.sequence = nn.Sequential(
            nn.Conv1d(1, 16, width, width), nn.ReLU(), nn.MaxPool1d(2, 2), nn.Conv1d(16, 32, 5), nn.ReLU()
        )
        length = (config.nodes - 2) // 2 + 1 - 4
        self.head = perceptron(32 * length, config.classifier, classes, config.dropout)

    def encode(self, batch: Batch) -> Encoding:
        z, every = batch.x, []
        for layer in self.layers:
            z = layer(batch.aggregate(batch.ones, z) / batch.degrees.unsqueeze(-1)).tanh()
            every.append(z)
        h = torch.cat(every, dim=-1)
        rows = sort_pool(h, self.config.nodes, batch)
        return Encoding(self.sequence(rows.flatten(-2).unsqueeze(-2)).flatten(-2), h, ())


def sort_pool(h: Float[Tensor, "*nodes d"], k: int, batch: Batch) -> Float[Tensor, "B k d"]:
    """The k rows of each graph with the highest last channel, falling; zero rows after the last node."""
    rank = node_ranks(h[..., -1].detach(), batch).clamp(max=k)  # all others meet in row k, which is cut off
    rows = h.new_zeros(batch.num_graphs, k + 1, h.shape[-1])
    if isinstance(batch, PaddedBatch):
        real = real_nodes(batch).unsqueeze(-1) * h
        return rows.scatter(1, rank.unsqueeze(-1).expand_as(h), real)[:, :k]
    assert isinstance(batch, PackedBatch)
    return rows.index_put((batch.graph, rank), h)[:, :k]
