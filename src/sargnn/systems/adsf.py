r"""ADSF-RWR: graph attention that also weighs how alike the surroundings of two nodes are.

Reference: K. Zhang, Y. Zhu, J. Wang, J. Zhang, "Adaptive Structural Fingerprints for Graph Attention Networks", ICLR
2020. A node classifier; here, as in the comparison, with sum pooling over the nodes.

The fingerprint of node i is where a random walk with restart from i is found, :math:`w_i = (1 - c)(I - c P)^{-1} e_i`
with :math:`P = A D^{-1}`, restricted to the nodes within k hops and scaled to sum 1. Two nodes are alike by the
weighted Jaccard index, and attention mixes that with what GAT looks at:

.. math::
    s_{ij} &= \frac{\sum_u \min(w_i(u), w_j(u))}{\sum_u \max(w_i(u), w_j(u))}, \qquad
    e_{ij} = \mathrm{LeakyReLU}(a^T [W h_i \| W h_j]) \\
    a_{ij} &= \frac{\alpha\,\mathrm{softmax}_j(e_{ij}) + \beta\,\mathrm{softmax}_j(s_{ij})}{\alpha + \beta}, \qquad
    h_i' = \mathrm{ELU}(\textstyle\sum_{j \in \{i\} \cup N(i)} a_{ij} W h_j)

with α, β > 0 learnt for each head. Heads are concatenated; the last layer has one.

Choices:

- The paper is followed, not its code, whose walk matrix is a star that ignores the real edges, whose index is off by
  one, which compares lists instead of numbers, and which has one softmax of a sum where the paper sums two softmaxes.
- c is fixed (the paper may learn it); the walk is on the whole graph, cut off after k hops (there on k hops alone).
- Because every w sums to 1, s = (1 - t) / (1 + t) with t half the sum of |w_i(u) - w_j(u)|.
- A node without neighbours has itself as fingerprint; s_ii = 1.
- No node scores: attention is between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import glorot

from sargnn.batching import Batch, PackedBatch
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.nn.memory import perceptron
from sargnn.systems.base import PackedModel, padded_groups
from sargnn.systems.graphormer import shortest_paths

__all__ = ["ADSF", "ADSFConfig", "fingerprints", "likeness"]


@dataclass(frozen=True)
class ADSFConfig(Hyperparameters):
    """Hyperparameters of ADSF; heads and their width are the published ones."""

    layers: int = 2
    """Attention layers."""
    hidden: int = 64
    """Features of a node after each layer, over all heads."""
    heads: int = 8
    """Attention heads of every layer but the last."""
    restart: float = 0.5
    """1 - c, how likely the walk goes back to its start at each step."""
    hops: int = 3
    """k, how far a fingerprint reaches."""
    dropout: float = 0.0
    """Dropout of attention and of inputs of each layer; the published 0.6 is for one large graph."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.restart < 1:
            raise InputError(f"model.restart: got {self.restart}, expected more than 0, less than 1")
        if self.hidden % self.heads:
            raise InputError(f"model.heads: got {self.heads}, expected a divisor of model.hidden = {self.hidden}")


class ADSF(PackedModel):
    """Graph attention with structural fingerprints, sum pooling, a perceptron."""

    def __init__(self, config: ADSFConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = c = config
        widths = [inputs] + [c.hidden] * (c.layers - 1)
        heads = [c.heads] * (c.layers - 1) + [1]
        self.layers = nn.ModuleList(
            FingerprintAttention(width, c.hidden, number, c.dropout)
            for width, number in zip(widths, heads, strict=True)
        )
        self.head = perceptron(c.hidden, c.hidden, classes, c.dropout)

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        alike = likeness(batch, self.config.restart, self.config.hops)
        h = batch.x
        for layer in self.layers:
            h = layer(h, alike, batch)
        return Encoding(batch.sum(h), h, ())


class FingerprintAttention(nn.Module):
    """One layer: attention by features and by fingerprints, mixed for each head."""

    def __init__(self, width: int, out: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.theta = nn.Linear(width, out, bias=False)
        self.attend_target = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.attend_source = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.mixture = nn.Parameter(torch.zeros(heads))
        """log(α / β): only the ratio counts."""
        glorot(self.attend_target)
        glorot(self.attend_source)

    def forward(self, h: Float[Tensor, "N d_in"], alike: Float[Tensor, " E"], batch: Batch) -> Float[Tensor, "N d_out"]:
        h = F.dropout(h, self.dropout, self.training)
        z = torch.stack(self.theta(h).chunk(self.heads, dim=-1))  # [heads, N, d / heads]
        weights = F.dropout(self.attention(z, alike, batch), self.dropout, self.training)
        return F.elu(torch.cat(tuple(batch.aggregate(weights, z)), dim=-1))

    def attention(
        self, z: Float[Tensor, "heads N d"], alike: Float[Tensor, " E"], batch: Batch
    ) -> Float[Tensor, "heads E"]:
        """(α softmax(e) + β softmax(s)) / (α + β) over each closed neighbourhood."""
        target = batch.at_target((z @ self.attend_target).squeeze(-1))
        source = batch.at_source((z @ self.attend_source).squeeze(-1))
        features = batch.softmax_neighbours(F.leaky_relu(target + source, 0.2))
        fraction = self.mixture.sigmoid().unsqueeze(-1)  # α / (α + β)
        return fraction * features + (1 - fraction) * batch.softmax_neighbours(alike)


@torch.no_grad()
def likeness(batch: PackedBatch, restart: float, hops: int) -> Float[Tensor, " E"]:
    """s_ij for every edge, 1 for self-loops."""
    out = batch.x.new_ones(len(batch.source))
    for group in padded_groups(batch):
        walks = fingerprints(group.batch.closed, restart, hops).mT[group.batch.mask]  # a row w_i for every node
        place = torch.full_like(batch.graph, -1).index_put((group.rows,), torch.arange(len(walks)).to(batch.graph))
        own = (place[batch.target] >= 0).nonzero().squeeze(1)
        apart = (walks[place[batch.target[own]]] - walks[place[batch.source[own]]]).abs().sum(-1) / 2
        out = out.index_put((own,), (1 - apart) / (1 + apart))
    return out


def fingerprints(closed: Float[Tensor, "B n n"], restart: float, hops: int) -> Float[Tensor, "B n n"]:
    """Column i is w_i: (1 - c)(I - c P)^-1 e_i within k hops of i, scaled to sum 1."""
    identity = torch.eye(closed.shape[-1]).to(closed)
    adjacency = closed - identity
    degree = adjacency.sum(-2, keepdim=True)
    walk = adjacency / degree.clamp(min=1) + identity * (degree == 0)  # a node without neighbours stays where it is
    found = torch.linalg.solve(identity - (1 - restart) * walk, restart * identity.expand_as(closed))
    near: Tensor = found * (shortest_paths(closed, hops + 1) <= hops)
    return near / near.sum(-2, keepdim=True)
