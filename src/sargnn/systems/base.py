"""What the compared systems share: packed and dense models, and node operations that work in all layouts."""

from __future__ import annotations

from ctypes import CDLL
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from sargnn.batching import Batch, CompressedBatch, ListedBatch, PackedBatch, PaddedBatch
from sargnn.batching.kernels import Sums, drop, library
from sargnn.batching.layouts import Layout
from sargnn.nn.graph_model import Encoding, GraphModel

__all__ = [
    "TIE", "DenseModel", "PackedModel", "PaddedGroup", "dropout", "graph_max", "is_concrete",
    "kernels_for", "listed_batch", "node_ranks", "padded_groups", "real_nodes",
]  # fmt: skip

NodeValues = Float[Tensor, "*nodes"]
"""One number per node, in any layout."""
TIE = 5
"""Decimals to which scores of nodes are compared: nodes that are alike to a model differ by rounding, and which of them
is chosen must not depend on what else is in the batch."""


class PackedModel(GraphModel):
    """A system for packed batches alone, of which one model trains at a time."""

    layouts = ("packed",)
    stacked_layouts: ClassVar[tuple[Layout, ...]] = ()


class DenseModel(GraphModel):
    """A system that compares all pairs of nodes and so needs dense matrices. Packed batches are split into padded
    groups of graphs of similar size: one large graph does not make all others large."""

    stacked_layouts: ClassVar[tuple[Layout, ...]] = ("padded",)

    def encode_padded(self, batch: PaddedBatch) -> Encoding:
        """:meth:`encode` of a padded batch, without a loss, each graph independent of the others."""
        raise NotImplementedError

    def encode(self, batch: Batch) -> Encoding:
        if isinstance(batch, PaddedBatch):
            return self.encode_padded(batch)
        assert isinstance(batch, PackedBatch)
        groups = padded_groups(batch)
        encoded = [self.encode_padded(group.batch) for group in groups]
        graphs = torch.cat([group.graphs for group in groups]).argsort()
        rows = torch.cat([group.rows for group in groups]).argsort()

        def joined(parts: list[Tensor]) -> Tensor:
            return torch.cat([part[group.batch.mask] for part, group in zip(parts, groups, strict=True)])[rows]

        scores = zip(*(encoding.saliency for encoding in encoded), strict=True)
        return Encoding(
            torch.cat([encoding.graph for encoding in encoded])[graphs],
            joined([encoding.nodes for encoding in encoded]),
            tuple(joined(list(layer)) for layer in scores),
        )


class PaddedGroup(NamedTuple):
    """Some graphs of a packed batch."""

    batch: PaddedBatch
    graphs: Tensor
    """Which graphs of the packed batch they are."""
    rows: Tensor
    """Which of its rows their nodes are, graph after graph."""


def listed_batch(
    x: Float[Tensor, "N F"],
    node_ptr: Int[Tensor, " graph_starts"],
    edge_ptr: Int[Tensor, " node_starts"],
    source: Int[Tensor, " E"],
) -> ListedBatch:
    """A batch of graphs whose edges are given target after target, for the C kernels where they are available.

    >>> listed_batch(torch.ones(2, 1), torch.tensor([0, 2]), torch.tensor([0, 0, 1]), torch.tensor([0])).target.tolist()
    [1]
    """
    if (kernels := kernels_for(x)) is not None:
        return CompressedBatch(x, Sums(kernels, node_ptr, edge_ptr, source))
    target, graph = (torch.repeat_interleave(ptr.diff()) for ptr in (edge_ptr, node_ptr))
    return PackedBatch(x, source, target, graph, len(node_ptr) - 1)


def dropout(h: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """``F.dropout``, by the C kernel where available: on a CPU, PyTorch's draws take longer than a small linear map."""
    kernels = kernels_for(h) if p else None
    return F.dropout(h, p) if kernels is None else drop(h, p, kernels)


def kernels_for(h: Tensor) -> CDLL | None:
    """The C kernels for such numbers, if available."""
    return library(h.dtype) if is_concrete(h) else None


def is_concrete(h: Tensor) -> bool:
    """Whether these are numbers on a CPU, not traced by ``torch.compile`` or ``torch.func.vmap``."""
    traced = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    return h.device.type == "cpu" and not traced


def padded_groups(batch: PackedBatch, cells: int = 2**20) -> list[PaddedGroup]:
    """The graphs in padded batches, each of graphs of similar size, with at most ``cells`` pairs of nodes or one graph.

    >>> owner = torch.tensor([0] + [1] * 40 + [2] * 2)
    >>> batch = PackedBatch.from_edges(torch.zeros(43, 1), torch.empty(2, 0, dtype=torch.long), owner)
    >>> [group.graphs.tolist() for group in padded_groups(batch)]
    [[0, 2], [1]]
    """
    sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
    start = sizes.cumsum(0) - sizes
    order = batch.graph.argsort(stable=True)
    place = torch.empty_like(order).scatter(0, order, torch.arange(len(order), device=order.device))
    place = place - start[batch.graph]  # of each node within its graph
    groups = []
    for members in _similar(sizes.tolist(), cells):
        graphs = torch.tensor(members, device=order.device)
        rows = torch.cat([order[start[g] : start[g] + sizes[g]] for g in members])
        groups.append(PaddedGroup(_padded(batch, graphs, sizes[graphs], place, rows), graphs, rows))
    return groups


def _padded(batch: PackedBatch, graphs: Tensor, sizes: Tensor, place: Tensor, rows: Tensor) -> PaddedBatch:
    """The ``graphs`` of those ``sizes``, each node at its ``place``."""
    n = max(int(sizes.max()), 1)
    position = graphs.new_full((batch.num_graphs,), -1)
    position[graphs] = torch.arange(len(graphs), device=graphs.device)
    mask = torch.arange(n, device=graphs.device) < sizes.unsqueeze(1)
    x = batch.x.new_zeros(*mask.shape, batch.x.shape[1])
    x = x.index_put((position[batch.graph[rows]], place[rows]), batch.x[rows])
    own = position[batch.graph[batch.target]] >= 0
    source, target = batch.source[own], batch.target[own]
    closed = torch.eye(n).to(batch.x).repeat(len(graphs), 1, 1)
    where = (position[batch.graph[target]], place[target], place[source])
    closed[where] = 1
    if batch.edges is None:
        return PaddedBatch(x, closed, mask)
    edges = batch.edges.new_zeros(*closed.shape, len(batch.edges)).index_put(where, batch.edges[:, own].T)
    return PaddedBatch(x, closed, mask, edges=edges.movedim(-1, 0))


def _similar(sizes: list[int], cells: int) -> list[list[int]]:
    """Indices in groups: the largest of a group is at most 8 above twice the smallest, and all its pairs fit."""
    groups: list[list[int]] = []
    for graph in sorted(range(len(sizes)), key=sizes.__getitem__):
        size = sizes[graph]
        if groups and (len(groups[-1]) + 1) * size**2 <= cells and size <= 2 * sizes[groups[-1][0]] + 8:
            groups[-1].append(graph)
        else:
            groups.append([graph])
    return groups


def real_nodes(batch: Batch) -> NodeValues:
    """1 at every node and 0 at padding."""
    return (batch.uniform > 0).to(batch.x.dtype)


def graph_max(h: Float[Tensor, "*nodes d"], batch: Batch, kept: NodeValues) -> Float[Tensor, "B d"]:
    """The largest value of each feature over the nodes of each graph where ``kept`` is 1; 0 where there are none.

    >>> batch = PackedBatch.from_edges(torch.tensor([[1.0], [3.0], [-2.0]]), torch.empty(2, 0, dtype=torch.long))
    >>> graph_max(batch.x, batch, kept=torch.tensor([1.0, 0.0, 1.0])).item()
    1.0
    """
    largest = batch.max(h.masked_fill(kept.unsqueeze(-1) == 0, float("-inf")))
    return largest.masked_fill(largest == float("-inf"), 0.0)


def node_ranks(scores: NodeValues, batch: Batch) -> Int[Tensor, "*nodes"]:
    """Each node's rank in its graph by falling score, from 0; ties keep the order of the nodes, padding comes last.

    >>> batch = PackedBatch.from_edges(torch.zeros(3, 1), torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 0, 1]))
    >>> node_ranks(torch.tensor([0.2, 0.7, 0.1]), batch).tolist()
    [1, 0, 0]
    """
    if isinstance(batch, PaddedBatch):
        last = scores.masked_fill(~batch.mask, float("-inf"))
        return last.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    assert isinstance(batch, ListedBatch)
    order = scores.argsort(descending=True, stable=True)
    order = order[batch.graph[order].argsort(stable=True)]
    sizes = order.new_zeros(batch.num_graphs).scatter_add(0, batch.graph, torch.ones_like(order))
    place = torch.arange(len(order), device=order.device) - (sizes.cumsum(0) - sizes)[batch.graph[order]]
    return torch.zeros_like(order).scatter(0, order, place)
