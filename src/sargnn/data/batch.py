"""A batch of graphs in one of a few layouts, and the primitives that a model needs of it.

*Packed* concatenates the nodes of all graphs and lists the edges: right for any sizes. *Padded* gives every graph
``n`` rows and an ``n x n`` adjacency: faster for small graphs, and of fixed shape; *paired* puts two graphs into each
matrix, so that little of it is padding. A model written against :class:`Batch` runs on all.

Three kinds of tensors appear, all of which may have further leading dimensions (attention heads):

============  ==================  ===================
kind          packed              padded
============  ==================  ===================
graph         ``[B, d]``          ``[B, d]``
node          ``[N, d]``, ``[N]`` ``[B, n, d]``, ``[B, n]``
edge          ``[E]``             ``[B, n, n]`` (target, source), 0 where there is no edge
============  ==================  ===================

"Edges" are those of the *closed* neighbourhoods {i} ∪ N(i): every node has one self-loop, whatever the data had.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from sargnn.data.tensor_set import Held

__all__ = ["Batch", "FilledBatch", "PackedBatch", "PaddedBatch", "PairedBatch"]


class once:
    """A property computed when first asked for; like ``functools.cached_property``, but free of locks, which
    ``torch.compile`` cannot see through before Python 3.12."""

    def __init__(self, compute: Callable[[Any], Tensor]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, batch: Any, owner: type | None = None) -> Tensor:
        value = batch.__dict__[self.name] = self.compute(batch)
        return value


class structural(once):
    """A value for each edge that follows from the structure alone: it is stored with the set, where a batch that comes
    from one finds it."""

    def __get__(self, batch: Any, owner: type | None = None) -> Tensor:
        if batch.held is None:
            return super().__get__(batch, owner)
        value = batch.__dict__[self.name] = batch.held.laid_out(self.name, batch.closed.shape)
        return value


class Batch(ABC):
    """Node inputs ``x``, the structure of the graphs, and what is known of them.

    ``y`` holds class indices ``[B]``; ``truth`` is a node tensor, the true saliency normalised to sum 1 over each
    graph. ``edges`` are the edge inputs, an edge tensor with a leading axis for the feature, 0 at self-loops;
    ``graph_x`` are the inputs of whole graphs.
    """

    x: Tensor
    y: Tensor | None
    truth: Tensor | None
    edges: Tensor | None
    graph_x: Tensor | None
    num_graphs: int
    held: Held | None = None
    """Where the set that the batch comes from holds its edges."""

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

    @abstractmethod
    def neighbour_sum(self, weights: Tensor, v: Tensor) -> Tensor:
        """``sum_j weights_ij v_j`` of one number a node: edge, node -> node."""

    @abstractmethod
    def moments(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and (biased) variance of each feature over all nodes, and how many nodes there are."""

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
    def between(self) -> Tensor:
        """1 at every edge that is not a self-loop."""
        return self.ones - self.loops

    @structural
    def renormalised(self) -> Tensor:
        """GCN's local weights D̃^-1/2 Ã D̃^-1/2: edge."""
        scale = self.degrees.rsqrt()
        return self.at_target(scale) * self.at_source(scale) * self.ones

    @structural
    def renormalised_exp(self) -> Tensor:
        """exp of GCN's local weights: edge."""
        return self.renormalised.exp() * self.ones


@dataclass(frozen=True, eq=False)
class PackedBatch(Batch):
    """Concatenated nodes, listed edges.

    >>> batch = PackedBatch.from_edges(torch.eye(3), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1]))
    >>> batch.degrees.tolist()
    [2.0, 2.0, 1.0]
    """

    x: Float[Tensor, "N F"]
    source: Int[Tensor, " E"]
    """Source of every edge: the edges between different nodes first, then one self-loop a node, in node order."""
    target: Int[Tensor, " E"]
    graph: Int[Tensor, " N"]
    """The graph of every node."""
    num_graphs: int
    y: Int[Tensor, " B"] | None = None
    truth: Float[Tensor, " N"] | None = None
    edges: Float[Tensor, "Fe E"] | None = None
    graph_x: Float[Tensor, "B Fg"] | None = None

    @classmethod
    def from_edges(
        cls,
        x: Float[Tensor, "N F"],
        edge_index: Int[Tensor, "2 edges"],
        graph: Int[Tensor, " N"] | None = None,
        edge_attr: Float[Tensor, "edges Fe"] | None = None,
        graph_attr: Float[Tensor, "B Fg"] | None = None,
    ) -> PackedBatch:
        """A batch from PyTorch Geometric's ``x, edge_index, batch, edge_attr``. Repeated edges are merged, of which the
        first keeps its inputs, and self-loops.

        As in PyTorch Geometric, ``edge_index`` holds (source, target).
        """
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

    def neighbour_sum(self, weights: Float[Tensor, "... E"], v: Float[Tensor, "... N"]) -> Float[Tensor, "... N"]:
        return self.aggregate(weights, v.unsqueeze(-1)).squeeze(-1)

    def moments(self, h: Float[Tensor, "N d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        variance, mean = torch.var_mean(h, dim=0, correction=0)
        return mean, variance, h.new_tensor(float(len(h)))

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
class FilledBatch(PackedBatch):
    """Packed into arrays of fixed lengths: nodes that remain belong to one more graph, the last, and have no edges but
    loops. So batches of any graphs have one shape."""

    def moments(self, h: Float[Tensor, "N d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        real = (self.graph < self.num_graphs - 1).to(h.dtype).unsqueeze(-1)
        count = real.sum()
        mean = (real * h).sum(0) / count.clamp(min=1)
        return mean, (real * (h - mean).square()).sum(0) / count.clamp(min=1), count


@dataclass(frozen=True, eq=False)
class PaddedBatch(Batch):
    """Every graph in ``n`` rows; rows beyond a graph's own nodes are padding, which no real node ever sees.

    A padding row has its own self-loop, so that a softmax over its neighbourhood is defined.

    >>> closed = torch.stack([torch.ones(2, 2), torch.eye(2)])  # an edge, and a single node with a row of padding
    >>> mask = torch.tensor([[True, True], [True, False]])
    >>> PaddedBatch(torch.ones(2, 2, 3), closed, mask).degrees.tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """

    x: Float[Tensor, "B n F"]
    closed: Float[Tensor, "B n n"]
    """1 where the source (last axis) is in the closed neighbourhood of the target."""
    mask: Bool[Tensor, "B n"]
    """True at real nodes."""
    y: Int[Tensor, " B"] | None = None
    truth: Float[Tensor, "B n"] | None = None
    edges: Float[Tensor, "Fe B n n"] | None = None
    graph_x: Float[Tensor, "B Fg"] | None = None
    held: Held | None = None

    @property
    def num_graphs(self) -> int:  # type: ignore[override]
        return len(self.x)

    def softmax_nodes(self, scores: Float[Tensor, "... B n"]) -> Float[Tensor, "... B n"]:
        return (scores + self._floor.squeeze(-2)).softmax(-1) * self._real

    def pool(self, weights: Float[Tensor, "... B n"], h: Float[Tensor, "... B n d"]) -> Float[Tensor, "... B d"]:
        return (weights.unsqueeze(-2) @ h).squeeze(-2)

    def sum(self, h: Float[Tensor, "... B n d"]) -> Float[Tensor, "... B d"]:
        return self.pool(self._real, h)

    def max(self, h: Float[Tensor, "B n d"]) -> Float[Tensor, "B d"]:
        return _largest(h, self.mask)

    def spread(self, g: Float[Tensor, "... B d"]) -> Float[Tensor, "... B n d"]:
        return g.unsqueeze(-2).expand(*g.shape[:-1], self.mask.shape[-1], g.shape[-1])

    def compare(self, g: Float[Tensor, "... B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "... B n"]:
        # Products and sums: a batched matrix-vector product takes several times as long on small graphs.
        return (h * g.unsqueeze(-2)).sum(-1)

    def resemblance(self, g: Float[Tensor, "B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "B n"]:
        return self._attention(g.unsqueeze(-2), h).squeeze(-2)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "B d"]:
        return (self._attention(g.unsqueeze(-2), h) @ h).squeeze(-2)

    def _attention(self, g: Float[Tensor, "rows k d"], h: Float[Tensor, "rows n d"]) -> Float[Tensor, "rows k n"]:
        """Softmax of ``g hᵀ`` over the nodes of each of the ``k`` graphs of a row."""
        return torch.baddbmm(self._floor, g, h.mT).softmax(-1) * self.own

    def at_source(self, v: Float[Tensor, "... B n"]) -> Float[Tensor, "... B #n n"]:
        return v.unsqueeze(-2)

    def at_target(self, v: Float[Tensor, "... B n"]) -> Float[Tensor, "... B n #n"]:
        return v.unsqueeze(-1)

    def softmax_neighbours(self, scores: Float[Tensor, "... B n #n"]) -> Float[Tensor, "... B n n"]:
        return scores.masked_fill(self._apart, float("-inf")).softmax(-1)

    def aggregate(
        self, weights: Float[Tensor, "... B n n"], h: Float[Tensor, "... B n d"]
    ) -> Float[Tensor, "... B n d"]:
        return weights @ h

    def neighbour_sum(
        self, weights: Float[Tensor, "... B n n"], v: Float[Tensor, "... B n"]
    ) -> Float[Tensor, "... B n"]:
        return (weights * v.unsqueeze(-2)).sum(-1)

    def moments(self, h: Float[Tensor, "B n d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        real = self._real.unsqueeze(-1)
        count = self._real.sum()
        mean = (h * real).sum((0, 1)) / count
        variance = ((h - mean).square() * real).sum((0, 1)) / count
        return mean, variance, count

    def per_node(self, v: Tensor) -> Tensor:
        return v[..., self.mask]

    @property
    def ones(self) -> Float[Tensor, "B n n"]:
        return self.closed

    @once
    def loops(self) -> Float[Tensor, "n n"]:
        return torch.eye(self.mask.shape[-1], dtype=self.x.dtype, device=self.x.device)

    @once
    def uniform(self) -> Float[Tensor, "B n"]:
        return self._real / self._real.sum(-1, keepdim=True).clamp(min=1)

    @once
    def degrees(self) -> Float[Tensor, "B n"]:
        return self.closed.sum(-1)

    @once
    def _real(self) -> Float[Tensor, "B n"]:
        return self.mask.to(self.x.dtype)

    @once
    def own(self) -> Float[Tensor, "B 1 n"]:
        """1 where a node belongs to the graph of its row."""
        return self._real.unsqueeze(-2)

    @once
    def _floor(self) -> Float[Tensor, "rows own n"]:
        # A floor and not -inf: a graph without any node gives zeros instead of NaN.
        return (self.own - 1) * 1e30

    @once
    def _apart(self) -> Bool[Tensor, "B n n"]:
        return self.closed == 0


@dataclass(frozen=True, eq=False)
class PairedBatch(PaddedBatch):
    """Padded, but every row of ``n`` nodes holds two graphs, a large one and a small one, so that little is padding.

    Graphs are numbered row after row: graph ``2 r`` comes first in row ``r``, graph ``2 r + 1`` second. Of an odd
    number of graphs the last is alone.
    """

    x: Float[Tensor, "rows n F"]
    closed: Float[Tensor, "rows n n"]
    mask: Bool[Tensor, "rows n"]
    y: Int[Tensor, " B"] | None = None
    truth: Float[Tensor, "rows n"] | None = None
    edges: Float[Tensor, "Fe rows n n"] | None = None
    own: Float[Tensor, "rows 2 n"] = field(kw_only=True)
    """1 where a node is of the first, of the second graph of its row."""
    graphs: int = field(kw_only=True)

    @property
    def num_graphs(self) -> int:  # type: ignore[override]
        return self.graphs

    def softmax_nodes(self, scores: Float[Tensor, "... rows n"]) -> Float[Tensor, "... rows n"]:
        return ((scores.unsqueeze(-2) + self._floor).softmax(-1) * self.own).sum(-2)

    def pool(self, weights: Float[Tensor, "... rows n"], h: Float[Tensor, "... rows n d"]) -> Float[Tensor, "... B d"]:
        return self._by_graph((weights.unsqueeze(-2) * self.own) @ h)

    def sum(self, h: Float[Tensor, "... rows n d"]) -> Float[Tensor, "... B d"]:
        return self._by_graph(self.own @ h)

    def max(self, h: Float[Tensor, "rows n d"]) -> Float[Tensor, "B d"]:
        return self._by_graph(_largest(h.unsqueeze(-3), self.own > 0))

    def spread(self, g: Float[Tensor, "... B d"]) -> Float[Tensor, "... rows n d"]:
        return self.own.mT @ self._by_row(g)

    def compare(self, g: Float[Tensor, "... B d"], h: Float[Tensor, "rows n d"]) -> Float[Tensor, "... rows n"]:
        return (self._by_row(g) @ h.mT * self.own).sum(-2)

    def resemblance(self, g: Float[Tensor, "B d"], h: Float[Tensor, "rows n d"]) -> Float[Tensor, "rows n"]:
        return self._attention(self._by_row(g), h).sum(-2)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "rows n d"]) -> Float[Tensor, "B d"]:
        return self._by_graph(self._attention(self._by_row(g), h) @ h)

    def _by_graph(self, pairs: Float[Tensor, "... rows 2 d"]) -> Float[Tensor, "... B d"]:
        return pairs.flatten(-3, -2)[..., : self.graphs, :]

    def _by_row(self, g: Float[Tensor, "... B d"]) -> Float[Tensor, "... rows 2 d"]:
        whole = F.pad(g, (0, 0, 0, 1)) if self.graphs % 2 else g
        return whole.unflatten(-2, (-1, 2))

    @once
    def uniform(self) -> Float[Tensor, "rows n"]:
        return (self.own / self.own.sum(-1, keepdim=True).clamp(min=1)).sum(-2)


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


def _largest(h: Float[Tensor, "... n d"], kept: Bool[Tensor, "... n"]) -> Float[Tensor, "... d"]:
    """The largest value of each feature over the rows that are ``kept``, 0 where there are none."""
    largest = h.masked_fill(~kept.unsqueeze(-1), float("-inf")).amax(-2)
    return largest.masked_fill(~kept.any(-1, keepdim=True), 0.0)
