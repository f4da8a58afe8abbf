"""The packed layout: concatenated nodes and listed edges, for graphs of any sizes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from sargnn.batching.base import Batch, once

__all__ = ["FilledBatch", "ListedBatch", "PackedBatch"]


class ListedBatch(Batch):
    """Concatenated nodes and listed edges, in whatever order."""

    x: Float[Tensor, "N F"]
    source: Int[Tensor, " E"]
    """Source of every edge, one self-loop per node included."""
    target: Int[Tensor, " E"]
    graph: Int[Tensor, " N"]
    """The graph of every node."""

    def softmax_nodes(self, scores: Float[Tensor, "... N"]) -> Float[Tensor, "... N"]:
        return _segment_softmax(scores, self.graph, self.num_graphs)

    def pool(self, weights: Float[Tensor, "... N"], h: Float[Tensor, "... N d"]) -> Float[Tensor, "... B d"]:
        return self.sum(weights.unsqueeze(-1) * h)

    def sum(self, h: Float[Tensor, "... N d"]) -> Float[Tensor, "... B d"]:
        return _segment_sum(h, self.graph, self.num_graphs)

    def max(self, h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        where = self.graph.unsqueeze(-1).expand_as(h)
        return h.new_zeros(self.num_graphs, h.shape[-1]).scatter_reduce(0, where, h, "amax", include_self=False)

    def spread(self, g: Float[Tensor, "... B d"]) -> Float[Tensor, "... N d"]:
        return g.index_select(-2, self.graph)

    def compare(self, g: Float[Tensor, "... B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, "... N"]:
        return (self.spread(g) * h).sum(-1)

    def at_source(self, v: Float[Tensor, "... N"]) -> Float[Tensor, "... E"]:
        return v.index_select(-1, self.source)

    def at_target(self, v: Float[Tensor, "... N"]) -> Float[Tensor, "... E"]:
        return v.index_select(-1, self.target)

    def softmax_neighbours(self, scores: Float[Tensor, "... E"]) -> Float[Tensor, "... E"]:
        return _segment_softmax(scores, self.target, len(self.x))

    def aggregate(self, weights: Float[Tensor, "... E"], h: Float[Tensor, "... N d"]) -> Float[Tensor, "... N d"]:
        messages = weights.unsqueeze(-1) * h.index_select(-2, self.source)
        return _segment_sum(messages, self.target, h.shape[-2])

    def aggregate_kinds(self, weights: Float[Tensor, "E K"], h: Float[Tensor, "N d"]) -> Float[Tensor, "N K d"]:
        """``sum_j weights_ijk h_j`` over each neighbourhood, for each of the K weights of an edge."""
        # One after the other: all at once would hold K x E x d numbers.
        return torch.stack([self.aggregate(weight, h) for weight in weights.unbind(-1)], dim=-2)

    def compare_ends(self, g: Float[Tensor, "N d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " E"]:
        """``g_i . h_j`` of every edge j -> i."""
        return (g.index_select(0, self.target) * h.index_select(0, self.source)).sum(-1)

    def moments(self, h: Float[Tensor, "N d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        mean = h.mean(0)
        return mean, (h - mean).square().mean(0), h.new_tensor(float(len(h)))  # var_mean takes ten times as long

    def per_node(self, v: Tensor) -> Tensor:
        return v

    @once
    def ones(self) -> Float[Tensor, " E"]:
        return self.x.new_ones(len(self.source))

    @once
    def loops(self) -> Float[Tensor, " E"]:
        return (self.source == self.target).to(self.x.dtype)

    @once
    def uniform(self) -> Float[Tensor, " N"]:
        sizes = self.x.new_zeros(self.num_graphs).scatter_add(0, self.graph, self.x.new_ones(len(self.x)))
        return sizes.clamp(min=1).reciprocal().index_select(0, self.graph)

    @once
    def degrees(self) -> Float[Tensor, " N"]:
        return self.x.new_zeros(len(self.x)).scatter_add(0, self.target, self.ones)


@dataclass(frozen=True, eq=False)
class PackedBatch(ListedBatch):
    """Edges between different nodes first, then one self-loop per node, in node order.

    >>> batch = PackedBatch.from_edges(torch.eye(3), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1]))
    >>> batch.degrees.tolist()
    [2.0, 2.0, 1.0]
    """

    x: Float[Tensor, "N F"]
    source: Int[Tensor, " E"]
    target: Int[Tensor, " E"]
    graph: Int[Tensor, " N"]
    num_graphs: int
    y: Shaped[Tensor, "B *targets"] | None = None
    truth: Float[Tensor, " N"] | None = None
    edges: Float[Tensor, "Fe E"] | None = None
    graph_x: Float[Tensor, "B Fg"] | None = None
    weights: Float[Tensor, " B"] | None = None

    @classmethod
    def from_edges(
        cls,
        x: Float[Tensor, "N F"],
        edge_index: Int[Tensor, "2 edges"],
        graph: Int[Tensor, " N"] | None = None,
        edge_attr: Float[Tensor, "edges Fe"] | None = None,
        graph_attr: Float[Tensor, "B Fg"] | None = None,
    ) -> PackedBatch:
        """A batch from PyTorch Geometric's ``x, edge_index, batch, edge_attr``. Repeated edges and self-loops are
        merged; the first of repeated edges gives the inputs."""
        graph = x.new_zeros(len(x), dtype=torch.long) if graph is None else graph
        between = edge_index[0] != edge_index[1]
        pairs, inputs = edge_index[:, between], None if edge_attr is None else edge_attr[between]
        key = pairs[1] * len(x) + pairs[0]
        if key.unique().numel() < key.numel():
            pairs, which = torch.unique(pairs, dim=1, return_inverse=True)
            inputs = None if inputs is None else inputs[_first_of_each(which, pairs.shape[1])]
        nodes = torch.arange(len(x), device=x.device)
        source, target = torch.cat([pairs, nodes.expand(2, -1)], dim=1)
        edges = None if inputs is None else F.pad(inputs.T, (0, len(x)))
        graphs = int(graph.max()) + 1 if len(graph) else 0
        return cls(x, source, target, graph, graphs, edges=edges, graph_x=graph_attr)

    @property
    def edge_index(self) -> Int[Tensor, "2 E"]:
        return torch.stack([self.source, self.target])


@dataclass(frozen=True, eq=False)
class FilledBatch(PackedBatch):
    """Packed into arrays of fixed lengths: padding nodes form one more graph, the last, with self-loops alone. So
    batches of any graphs have one shape."""

    has_padding = True

    @once
    def real_graphs(self) -> Float[Tensor, "B 1"]:
        sizes = self.sum(torch.ones_like(self.x[:, :1]))
        last = torch.arange(self.num_graphs, device=self.x.device).unsqueeze(1) == self.num_graphs - 1
        return ((sizes > 0) & ~last).to(self.x.dtype)

    def moments(self, h: Float[Tensor, "N d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        real = (self.graph < self.num_graphs - 1).to(h.dtype).unsqueeze(-1)
        count = real.sum()
        least = count.clamp(min=1)
        mean = (real * h).sum(0) / least
        return mean, (real * (h - mean).square()).sum(0) / least, count


def _segment_sum(h: Float[Tensor, "... M d"], segment: Int[Tensor, " M"], segments: int) -> Float[Tensor, "... S d"]:
    """Sum of the rows of equal ``segment``."""
    # Not index_add, which torch.func.vmap turns into a loop over the models.
    where = segment.unsqueeze(-1).expand_as(h)
    return h.new_zeros(*h.shape[:-2], segments, h.shape[-1]).scatter_add(-2, where, h)


def _segment_softmax(scores: Tensor, segment: Tensor, segments: int) -> Tensor:
    """Softmax over the entries of equal ``segment``, along the last axis."""
    shape = (*scores.shape[:-1], segments)
    where = segment.expand_as(scores)
    highest = scores.new_full(shape, float("-inf")).scatter_reduce(-1, where, scores.detach(), "amax")
    exponent = (scores - highest.index_select(-1, segment)).exp()
    total = scores.new_zeros(shape).scatter_add(-1, where, exponent)
    return exponent / total.index_select(-1, segment)


def _first_of_each(which: Int[Tensor, " M"], kinds: int) -> Int[Tensor, " kinds"]:
    """The position of the first entry of each kind.

    >>> _first_of_each(torch.tensor([1, 0, 1]), 2).tolist()
    [1, 0]
    """
    positions = torch.arange(len(which), device=which.device)
    return positions.new_zeros(kinds).scatter_reduce(0, which, positions, "amin", include_self=False)
