"""Edge channels: a few numbers per edge that multiply messages."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.errors import InputError

__all__ = ["EdgeChannels", "EdgeNetwork", "edge_inputs_of"]


class EdgeChannels(nn.Module):
    r"""P numbers for every edge j -> i between two nodes, computed once and shared by all layers.

    .. math::
        c_{ij} = \mathrm{ReLU}\big(W_e e_{ij} + W_x (x_i - x_j) + b\big) \in R^P, \qquad c_{ii} = 0

    with edge inputs e and node inputs x. Layers use them by an :class:`EdgeNetwork`.

    Args:
        channels: P.
        edge_inputs: features of an edge; 0 leaves W_e out.
        inputs: features of a node whose differences are read; 0 leaves W_x out.

    Shapes: reads ``batch.edges [F_e, *edges]`` and ``batch.x [*nodes, F]``; gives ``[P, *edges]``.

    >>> from sargnn.batching import PackedBatch
    >>> edges, attributes = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1.0], [-1.0]])
    >>> batch = PackedBatch.from_edges(torch.randn(2, 3), edges, edge_attr=attributes)
    >>> EdgeChannels(4, edge_inputs=1)(batch).shape  # two edges, two self-loops
    torch.Size([4, 4])
    """

    def __init__(self, channels: int, edge_inputs: int = 0, inputs: int = 0) -> None:
        super().__init__()
        self.of_edges = nn.Linear(edge_inputs, channels, bias=False) if edge_inputs else None
        self.of_nodes = nn.Linear(inputs, channels, bias=False) if inputs else None
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, batch: Batch) -> Float[Tensor, "P *edges"]:
        total = self.bias.view(-1, *[1] * batch.ones.dim())
        if self.of_edges is not None:
            inputs = edge_inputs_of(batch, self.of_edges.in_features)
            total = total + torch.tensordot(self.of_edges.weight, inputs, dims=1)
        if self.of_nodes is not None:
            projected = self.of_nodes(batch.x).movedim(-1, 0)  # [P, *nodes]: W_x (x_i - x_j) = W_x x_i - W_x x_j
            total = total + batch.at_target(projected) - batch.at_source(projected)
        return F.relu(total) * batch.between


class EdgeNetwork(nn.Module):
    r"""What edge channels add to a layer's weighted sum of z.

    .. math::
        \sum_p V_p \Big[\sum_j w_{ij} c_{ij}^p A_p z_j ;\; \sum_j w_{ij} c_{ij}^p\Big]

    Each edge has a matrix of its own, :math:`\sum_p c_{ij}^p V_p A_p`, as in edge-conditioned convolutions. Every
    channel has 1/P of the features: all of them together cost one more weighted sum.

    Args:
        channels: P.
        width: features of z.
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        part = -(-width // channels)
        self.channels = channels
        self.into = nn.Linear(width, channels * part, bias=False)
        self.out = nn.Linear(channels * (part + 1), width, bias=False)

    def messages(self, z: Float[Tensor, "*nodes d"]) -> Float[Tensor, "P *nodes part"]:
        """[A_p z ; 1] for every channel p."""
        return F.pad(torch.stack(self.into(z).chunk(self.channels, dim=-1)), (0, 1), value=1.0)

    def forward(self, sums: Float[Tensor, "P *nodes part"]) -> Float[Tensor, "*nodes d"]:
        """From the weighted sums of the messages of all channels."""
        joined: Tensor = self.out(sums.movedim(0, -2).flatten(-2))
        return joined


def edge_inputs_of(batch: Batch, width: int) -> Float[Tensor, "F_e *edges"]:
    """The edge inputs of a batch, refused if there are not ``width`` of them."""
    got = 0 if batch.edges is None else len(batch.edges)
    if batch.edges is None or got != width:
        raise InputError(f"got {got} edge inputs, expected {width} numbers per edge (edge_attr)")
    return batch.edges
