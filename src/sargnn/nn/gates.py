"""The gated readout: every node says for itself how much of it is read."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import VectorNorm
from sargnn.nn.readouts import READOUTS

__all__ = ["GatedReadout"]


class GatedReadout(nn.Module):
    r"""A graph's vector from its nodes, each as far as its own gate is open, and the saliency that the gates are.

    .. math::
        g_j = \sigma\big(F_{MLP}([x_j \| h^1_j \| \dots \| h^L_j])\big), \qquad
        z = \mathrm{Norm}\Big(\Big[\frac{\sum_j g_j h^L_j}{\sum_j g_j} \,\Big\|\, \sum_j g_j h^L_j\Big]\Big), \qquad
        s_j = \frac{g_j}{\sum_k g_k}

    A node whose gate is 0 adds nothing to z. Unlike a softmax, gates do not compete: where the class is a number of
    nodes, only these can be open, and the sum counts them. The gate sees the node's inputs and its features after
    every layer, so that it need not light up the neighbours of what decides. Norm is batch normalisation over graphs.

    Args:
        inputs: F, node inputs.
        hidden: d_H, features of a node after each layer.
        layers: L.

    Shapes: node inputs and features after each layer ``[*nodes, F], [*nodes, d_H] x L``; gives ``[B, 2 d_H]`` and
    ``[*nodes]``, a distribution over the nodes of each graph.

    >>> from sargnn.batching import PackedBatch
    >>> batch = PackedBatch.from_edges(torch.randn(5, 3), torch.tensor([[0, 1], [1, 0]]))
    >>> z, s = GatedReadout(inputs=3, hidden=8, layers=1)([batch.x, torch.randn(5, 8)], batch)
    >>> tuple(z.shape), round(s.sum().item(), 4)
    ((1, 16), 1.0)
    """

    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.mlp = perceptron(inputs + layers * hidden, hidden, 1)
        self.norm = VectorNorm(READOUTS["gated"].width(hidden, 0))

    def forward(
        self, features: Sequence[Float[Tensor, "*nodes _"]], batch: Batch
    ) -> tuple[Float[Tensor, "B width"], Float[Tensor, "*nodes"]]:
        gates = self.gates(features, batch)
        vector = self.norm(READOUTS["gated"].vector(features[-1], None, gates, batch), batch)
        return vector, distribution(gates, batch)

    def gates(self, features: Sequence[Float[Tensor, "*nodes _"]], batch: Batch) -> Float[Tensor, "*nodes"]:
        """g, 0 at padding."""
        opened = self.mlp(torch.cat(tuple(features), dim=-1)).squeeze(-1).sigmoid()
        return torch.where(batch.uniform > 0, opened, 0.0)


def distribution(gates: Float[Tensor, "*nodes"], batch: Batch) -> Float[Tensor, "*nodes"]:
    """Gates divided by their sum over each graph; uniform where all are 0."""
    total = batch.spread(batch.sum(gates.unsqueeze(-1))).squeeze(-1)
    return torch.where(total > 0, gates / total.clamp(min=torch.finfo(gates.dtype).tiny), batch.uniform)
