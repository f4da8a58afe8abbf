r"""Graphormer: a Transformer over the nodes of a graph that knows how far apart they are.

Reference: C. Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", NeurIPS 2021, and its code
(version 1.0, "Slim" form).

.. math::
    h_i^0 &= W x_i + z^-_{\deg^- i} + z^+_{\deg^+ i}, \qquad h_0 = \text{a learnt vector, the graph's token} \\
    A_{ij} &= \mathrm{softmax}_j(q_i \cdot k_j / \sqrt{d_h} + b_{\phi(i,j)} + c_{ij}) \\
    H' &= H + \mathrm{MHA}(\mathrm{LN}(H)), \qquad H'' = H' + \mathrm{FFN}(\mathrm{LN}(H'))

where φ(i, j) is the length of a shortest path and b a learnt number for each length and head, the same in all layers;
between the token and a node it is one number of its own. With edge inputs,
:math:`c_{ij} = \frac{1}{\phi(i,j)} \sum_l W_l e_l` over the edges :math:`e_1, e_2, ...` of the path from j to i, with a
learnt map to the heads for each place on a path; else c = 0. GELU, feed-forward width d, a last LN, and a linear map on
the token.

Choices:

- The published code embeds integer node types; here a linear map does the same for one-hot labels and takes attributes.
- Nodes at distance ``model.max_distance`` or more, or unconnected, attend only through the token, as published.
- Of several shortest paths the published code takes one, depending on the order of the nodes; here c is the mean over
  all of them. Its embedding of edge types and matrix per place are one matrix W_l.
- The published sizes (12 layers, d = 80 to 768) are for millions of molecules; none are published for these sets.
  Degrees beyond the table share its last row.
- Warm-up of the learning rate is not offered; the schedule is that of all systems.
- Node scores: the attention that the token pays to the nodes in each layer, the mean of its heads, without the part
  that it pays to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import PaddedBatch
from sargnn.errors import InputError
from sargnn.nn.edges import edge_inputs_of
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.systems.base import DenseModel, dropout, is_concrete

__all__ = ["Graphormer", "GraphormerConfig", "path_means", "shortest_paths"]

NEVER = -1e30
"""Added to a score whose weight shall be 0; a row of -inf would have no softmax."""


@dataclass(frozen=True)
class GraphormerConfig(Hyperparameters):
    """Hyperparameters of Graphormer: sizes for sets of a few hundred graphs."""

    layers: int = 4
    """Transformer blocks."""
    hidden: int = 64
    """d, features of a node and of the feed-forward net."""
    heads: int = 8
    """Attention heads."""
    max_degree: int = 136
    """Rows of the tables of degrees."""
    max_distance: int = 20
    """Nodes at this distance or more do not attend to each other."""
    dropout: float = 0.1
    """Dropout of attention weights and of what each block adds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % self.heads:
            raise InputError(f"model.heads: got {self.heads}, expected a divisor of model.hidden = {self.hidden}")


class Graphormer(DenseModel):
    """A Transformer with degrees in its inputs and distances in its attention."""

    optional_inputs = ("edge_inputs",)

    def __init__(self, config: GraphormerConfig, inputs: int, classes: int, edge_inputs: int = 0) -> None:
        super().__init__()
        self.config = config
        d = config.hidden
        self.inputs = nn.Linear(inputs, d, bias=False)
        self.in_degree = nn.Parameter(torch.randn(config.max_degree + 1, d) * 0.02)
        self.out_degree = nn.Parameter(torch.randn(config.max_degree + 1, d) * 0.02)
        self.token = nn.Parameter(torch.randn(d) * 0.02)
        self.distance_bias = nn.Parameter(torch.randn(config.max_distance, config.heads) * 0.02)
        self.token_bias = nn.Parameter(torch.randn(config.heads) * 0.02)
        self.blocks = nn.ModuleList(Block(d, config.heads, config.dropout) for _ in range(config.layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, classes)
        shape = (config.max_distance - 1, config.heads, edge_inputs)
        self.path_bias = nn.Parameter(torch.randn(shape) * 0.02) if edge_inputs else None

    def encode_padded(self, batch: PaddedBatch) -> Encoding:
        last = self.config.max_degree
        in_degree = (batch.closed.sum(-1) - 1).long().clamp(max=last)
        out_degree = (batch.closed.sum(-2) - 1).long().clamp(max=last)
        degrees = F.embedding(in_degree, self.in_degree) + F.embedding(out_degree, self.out_degree)
        nodes = self.inputs(batch.x) + degrees
        h = torch.cat([self.token.expand(len(nodes), 1, -1), nodes], dim=1)
        h = dropout(h, self.config.dropout if self.training else 0.0)
        bias = self._bias(batch)
        scores = []
        for block in self.blocks:
            h, attention = block(h, bias)
            to_nodes = attention[..., 0, 1:].mean(-2)
            scores.append(to_nodes / to_nodes.sum(-1, keepdim=True).clamp(min=1e-30))
        h = self.norm(h)
        return Encoding(h[:, 0], h[:, 1:], tuple(scores))

    def _bias(self, batch: PaddedBatch) -> Float[Tensor, "B heads n1 n1"]:
        """b_φ(i,j) with the token before the nodes, and never for pairs that are too far apart or padding."""
        distance = shortest_paths(batch.closed, self.config.max_distance)
        near = (distance < self.config.max_distance) & batch.mask.unsqueeze(-2)
        known = F.embedding(distance.clamp(max=self.config.max_distance - 1), self.distance_bias).movedim(-1, 1)
        if self.path_bias is not None:
            edges = edge_inputs_of(batch, self.path_bias.shape[-1])
            known = known + path_means(self.path_bias, edges, distance, batch.between).movedim(0, 1)
        known = torch.where(near.unsqueeze(1), known, NEVER)
        shape = (*known.shape[:2], 1, known.shape[-1] + 1)
        token = self.token_bias.view(-1, 1, 1)
        real = F.pad(batch.mask, (1, 0), value=True)[:, None, None]
        first_row = torch.where(real, token, NEVER).expand(shape)
        return torch.cat([first_row, torch.cat([token.expand(*known.shape[:3], 1), known], dim=-1)], dim=-2)


class Block(nn.Module):
    """Pre-norm Transformer block with a bias on its attention; also gives the attention ``[B, heads, n, n]``."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(
        self, h: Float[Tensor, "B n d"], bias: Float[Tensor, "B heads n n"]
    ) -> tuple[Float[Tensor, "B n d"], Float[Tensor, "B heads n n"]]:
        parts = self.query_key_value(self.norms[0](h)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        attention = (q * q.shape[-1] ** -0.5 @ k.mT + bias).softmax(-1)
        read = self._drop(attention) @ v
        h = h + self._drop(self.out(read.transpose(1, 2).flatten(-2)))
        return h + self._drop(self.feed_forward(self.norms[1](h))), attention

    def _drop(self, h: Tensor) -> Tensor:
        return dropout(h, self.dropout if self.training else 0.0)


@torch.no_grad()
def shortest_paths(closed: Float[Tensor, "B n n"], longest: int) -> Int[Tensor, "B n n"]:
    """The length of a shortest path from j (last axis) to i, or ``longest`` where it is that long or there is none.

    >>> path = torch.tensor([[[1.0, 1, 0], [1, 1, 1], [0, 1, 1]]])
    >>> shortest_paths(path, 20).tolist()
    [[[0, 1, 2], [1, 0, 1], [2, 1, 0]]]
    """
    reached = torch.eye(closed.shape[-1], dtype=closed.dtype, device=closed.device).expand_as(closed)
    distance = torch.zeros_like(closed)
    for _ in range(min(longest, closed.shape[-1])):  # no shortest path has more steps than there are nodes
        distance = distance + (1 - reached)
        wider = (closed @ reached).clamp(max=1)
        if is_concrete(closed) and wider.equal(reached):
            break
        reached = wider
    return torch.where(reached > 0, distance, longest).long()


def path_means(
    weights: Float[Tensor, "longest heads F"],
    edges: Float[Tensor, "F B n n"],
    distance: Int[Tensor, "B n n"],
    between: Float[Tensor, "B n n"],
) -> Float[Tensor, "heads B n n"]:
    """The mean of W_l e_l over the edges of a path from j (last axis) to i, and over all shortest paths; 0 where there
    is none.

    Paths grow by one edge at a time: with their number N and the sum S of their values, N' = A N and S' = A S + (W_l e)
    N wherever the distance has grown by one too.
    """
    paths = torch.eye(between.shape[-1], dtype=between.dtype, device=between.device).expand_as(between)
    sums = means = between.new_zeros(weights.shape[1], *between.shape)
    for length, weight in enumerate(weights[: between.shape[-1] - 1], start=1):
        reached = (distance == length).to(between.dtype)
        sums = reached * (between @ sums + torch.tensordot(weight, edges, dims=1) @ paths)
        paths = reached * (between @ paths)
        means = means + sums / (length * paths.clamp(min=1))
    return means
