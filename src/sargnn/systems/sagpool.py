r"""SAGPool: self-attention graph pooling. A graph convolution scores the nodes, the best are kept, block after block.

Reference: J. Lee, I. Lee, J. Kang, "Self-Attention Graph Pooling", ICML 2019, hierarchical form, and the code published
with it.

Each of three blocks is

.. math::
    H &\leftarrow \mathrm{ReLU}(\mathrm{GCN}(H)), \qquad z = \mathrm{GCN}(H) \in R^n \\
    \text{keep} &= \text{the } \lceil r\,n \rceil \text{ nodes of highest } z, \qquad h_i \leftarrow \tanh(z_i)\, h_i \\
    r_b &= [\max_i h_i \,\|\, \mathrm{mean}_i h_i]

on the graph that the kept nodes induce, with GCN(H) = D̃^{-1/2} Ã D̃^{-1/2} H W + b. The sum of the three readouts is
classified by a perceptron of widths d, d/2.

Choices:

- Dropped nodes stay in place, masked, instead of being cut out: the same arithmetic in a fixed shape.
- PyTorch Geometric's ``SAGPooling`` has a further 1 x 1 weight on scores of which only the sign counts; not here.
- Ties (up to rounding) are broken by the order of the nodes, as in the published code. With constant or degree inputs,
  nodes that 1-WL cannot tell apart tie, and which of them stays changes the induced graph.
- Node scores: the softmax of z over the nodes that a block keeps; 0 for those it drops.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.systems.base import TIE, NodeValues, graph_max, node_ranks, real_nodes

__all__ = ["SAGPool", "SAGPoolConfig"]


@dataclass(frozen=True)
class SAGPoolConfig(Hyperparameters):
    """Hyperparameters of SAGPool; the defaults are those of the published code."""

    AT_LEAST = (("hidden", 2),)
    layers: int = 3
    """Blocks of convolution and pooling."""
    hidden: int = 128
    """d, features of a node after each block."""
    ratio: float = 0.5
    """Fraction of the nodes that a block keeps, rounded up."""
    dropout: float = 0.5
    """Dropout inside the classifier."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio <= 1:
            raise InputError(f"model.ratio: got {self.ratio}, expected more than 0, at most 1")


class SAGPool(GraphModel):
    """Three blocks of convolution and self-attention pooling; its node scores are those of every block."""

    def __init__(self, config: SAGPoolConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        d = config.hidden
        self.layers = nn.ModuleList(nn.Linear(width, d) for width in [inputs] + [d] * (config.layers - 1))
        self.scores = nn.ModuleList(nn.Linear(d, 1) for _ in range(config.layers))
        self.head = nn.Sequential(
            nn.Linear(2 * d, d), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(d, d // 2), nn.ReLU(),
            nn.Linear(d // 2, classes),
        )  # fmt: skip

    def encode(self, batch: Batch) -> Encoding:
        h, kept = batch.x, real_nodes(batch)
        vector: Tensor | float = 0.0
        scores: list[Tensor] = []
        for layer, score in zip(self.layers, self.scores, strict=True):
            h = convolve(h, kept, layer, batch).relu()
            z = convolve(h, kept, score, batch).squeeze(-1)
            kept = best(z, kept, self.config.ratio, batch)
            h = (z.tanh() * kept).unsqueeze(-1) * h
            mean = batch.sum(h) / batch.sum(kept.unsqueeze(-1)).clamp(min=1)
            vector = vector + torch.cat([graph_max(h, batch, kept), mean], dim=-1)
            scores.append(batch.softmax_nodes(z.masked_fill(kept == 0, -1e30)))
        assert isinstance(vector, Tensor)
        return Encoding(vector, h, tuple(scores))


def convolve(
    h: Float[Tensor, "*nodes d_in"], kept: NodeValues, linear: nn.Module, batch: Batch
) -> Float[Tensor, "*nodes d_out"]:
    """GCN(H) on the graph induced by the kept nodes."""
    edges = batch.ones * batch.at_target(kept) * batch.at_source(kept)
    scale = batch.neighbour_sum(edges, kept).clamp(min=1).rsqrt()
    out: Tensor = linear(batch.aggregate(edges * batch.at_target(scale) * batch.at_source(scale), h))
    return out


def best(z: NodeValues, kept: NodeValues, ratio: float, batch: Batch) -> NodeValues:
    """1 at the ⌈ratio n⌉ nodes of highest ``z`` among the n kept ones of each graph.

    >>> from sargnn.batching import PackedBatch
    >>> batch = PackedBatch.from_edges(torch.zeros(3, 1), torch.empty(2, 0, dtype=torch.long))
    >>> best(torch.tensor([0.1, 0.9, 0.5]), torch.ones(3), 0.5, batch).tolist()
    [0.0, 1.0, 1.0]
    """
    ranks = node_ranks(z.detach().round(decimals=TIE).masked_fill(kept == 0, float("-inf")), batch)
    # A little less before rounding up: 0.1 times 30 is 3, whatever binary fractions make of it.
    left = (ratio * batch.sum(kept.unsqueeze(-1)) - 1e-4).ceil().clamp(min=1)
    return kept * (ranks < batch.spread(left).squeeze(-1))
