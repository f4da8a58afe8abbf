"""What every layout of a batch can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Batch", "once"]


class once:
    """``functools.cached_property`` without its lock, which ``torch.compile`` cannot trace before Python 3.12."""

    def __init__(self, compute: Callable[[Any], Tensor]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, batch: Any, owner: type | None = None) -> Tensor:
        value = batch.__dict__[self.name] = self.compute(batch)
        return value


class Batch(ABC):
    """Node inputs ``x``, the structure of the graphs, targets ``y`` (one row per graph), the true saliency ``truth`` (a
    node tensor that sums to 1 over each graph), edge inputs ``edges`` (an edge tensor with a leading axis for the
    feature, 0 at self-loops), graph inputs ``graph_x``, and ``weights``, how much each graph counts in the loss.
    """

    x: Tensor
    y: Tensor | None
    truth: Tensor | None
    edges: Tensor | None
    graph_x: Tensor | None
    weights: Tensor | None
    num_graphs: int
    has_padding = False
    """Whether some rows of a node tensor are padding."""

    @abstractmethod
    def softmax_nodes(self, scores: Tensor) -> Tensor:
        """Softmax over the nodes of each graph: node -> node."""

    @abstractmethod
    def pool(self, weights: Tensor, h: Tensor) -> Tensor:
        """``sum_j weights_j h_j`` over the nodes of each graph, weights 0 at padding: node, node -> graph."""

    @abstractmethod
    def sum(self, h: Tensor) -> Tensor:
        """``sum_j h_j`` over the nodes of each graph: node -> graph."""

    @abstractmethod
    def max(self, h: Tensor) -> Tensor:
        """The largest value of each feature over the nodes of each graph, 0 where there are none: node -> graph."""

    @abstractmethod
    def spread(self, g: Tensor) -> Tensor:
        """Each graph's vector at each of its nodes: graph -> node."""

    @abstractmethod
    def compare(self, g: Tensor, h: Tensor) -> Tensor:
        """``g_b . h_j`` for every node j of graph b: graph, node -> node."""

    def resemblance(self, g: Tensor, h: Tensor) -> Tensor:
        """Softmax of ``g_b . h_j`` over the nodes of each graph: graph, node -> node."""
        return self.softmax_nodes(self.compare(g, h))

    def read(self, g: Tensor, h: Tensor) -> Tensor:
        """``sum_j softmax_j(g_b . h_j) h_j``: graph, node -> graph."""
        return self.pool(self.resemblance(g, h), h)

    @abstractmethod
    def at_source(self, v: Tensor) -> Tensor:
        """The value of the source node j of each edge j -> i: node -> edge."""

    @abstractmethod
    def at_target(self, v: Tensor) -> Tensor:
        """The value of the target node i of each edge j -> i: node -> edge."""

    @abstractmethod
    def softmax_neighbours(self, scores: Tensor) -> Tensor:
        """Softmax over each closed neighbourhood: edge -> edge."""

    @abstractmethod
    def aggregate(self, weights: Tensor, h: Tensor) -> Tensor:
        """``sum_j weights_ij h_j`` over each closed neighbourhood: edge, node -> node."""

    def neighbour_sum(self, weights: Tensor, v: Tensor) -> Tensor:
        """``sum_j weights_ij v_j`` of one number per node: edge, node -> node."""
        return self.aggregate(weights, v.unsqueeze(-1)).squeeze(-1)

    def weighted_mean(self, weights: Tensor, t: Tensor, z: Tensor) -> Tensor:
        """``sum_j weights_ij t_j z_j / sum_j weights_ij t_j`` over each closed neighbourhood, the weights free of
        parameters: edge, node, node -> node."""
        above, below = self.aggregate(weights, t.unsqueeze(-1) * z), self.neighbour_sum(weights, t)
        return above * below.reciprocal().unsqueeze(-1)  # the gradient of a product takes fewer passes

    @abstractmethod
    def moments(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and (biased) variance of each feature over all nodes, and how many nodes there are."""

    def dropout(self, h: Tensor, p: float) -> Tensor:
        """Each number 0 with probability p, the others divided by 1 - p: node -> node."""
        return F.dropout(h, p)

    @abstractmethod
    def per_node(self, v: Tensor) -> Tensor:
        """The values of the real nodes, graph after graph: node -> ``[..., N]``."""

    @property
    @abstractmethod
    def ones(self) -> Tensor:
        """1 at every edge."""

    @property
    @abstractmethod
    def loops(self) -> Tensor:
        """1 at every self-loop and 0 at other edges."""

    @property
    @abstractmethod
    def uniform(self) -> Tensor:
        """1/N at every node of a graph of N nodes."""

    @property
    @abstractmethod
    def degrees(self) -> Tensor:
        """Size of each closed neighbourhood: node."""

    @once
    def real_graphs(self) -> Tensor:
        """1 for every graph that has nodes, 0 for padding: ``[B, 1]``."""
        return (self.sum(torch.ones_like(self.x[..., :1])) > 0).to(self.x.dtype)

    @once
    def between(self) -> Tensor:
        """1 at every edge that is not a self-loop."""
        return self.ones - self.loops

    @once
    def renormalised(self) -> Tensor:
        """GCN's local weights D̃^-1/2 Ã D̃^-1/2: edge."""
        scale = self.degrees.rsqrt()
        return self.at_target(scale) * self.at_source(scale) * self.ones

    @once
    def renormalised_exp(self) -> Tensor:
        """exp of GCN's local weights: edge."""
        return self.renormalised.exp() * self.ones
