"""The compressed layout: packed, edges target after target, summed by the C kernels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from sargnn.batching.base import once
from sargnn.batching.compressed_rows import CompressedRows
from sargnn.batching.kernels import Sums, drop, library
from sargnn.batching.packed import ListedBatch, PackedBatch

__all__ = ["CompressedBatch"]


@dataclass(frozen=True, eq=False)
class CompressedBatch(ListedBatch):
    """Concatenated nodes, and edges in the order of their targets."""

    x: Float[Tensor, "N F"]
    sums: Sums
    y: Shaped[Tensor, "B *targets"] | None = None
    truth: Float[Tensor, " N"] | None = None
    edges: Float[Tensor, "Fe E"] | None = None
    graph_x: Float[Tensor, "B Fg"] | None = None
    weights: Float[Tensor, " B"] | None = None
    rows: CompressedRows | None = None
    """The set that the graphs are from, which keeps GCN's weights: making them anew takes 3% of a step."""
    index: Int[Tensor, " B"] | None = None
    """Which graphs of the set they are."""

    @classmethod
    def of(cls, packed: PackedBatch) -> CompressedBatch:
        """The same graphs for the C kernels, which must be there: ``choose_layout`` says."""
        kernels = library(packed.x.dtype)
        assert kernels is not None
        order = packed.target.argsort(stable=True)
        node_ptr, edge_ptr = _starts(packed.graph, packed.num_graphs), _starts(packed.target, len(packed.x))
        sums = Sums(kernels, node_ptr, edge_ptr, packed.source[order])
        edges = None if packed.edges is None else packed.edges[:, order]
        return cls(packed.x, sums, packed.y, packed.truth, edges, packed.graph_x, packed.weights)

    @property
    def num_graphs(self) -> int:  # type: ignore[override]
        return len(self.sums.node_ptr) - 1

    def resemblance(self, g: Float[Tensor, "B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " N"]:
        return self.sums.attend(g, h)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        return self.sums.read(g, h)

    def pool(self, weights: Float[Tensor, "... N"], h: Float[Tensor, "... N d"]) -> Float[Tensor, "... B d"]:
        return self.sums.pool(weights, h) if weights.dim() == 1 and h.dim() == 2 else super().pool(weights, h)

    def sum(self, h: Float[Tensor, "... N d"]) -> Float[Tensor, "... B d"]:
        return self.sums.pool(h.new_ones(len(h)), h) if h.dim() == 2 else super().sum(h)

    def aggregate(self, weights: Float[Tensor, "... E"], h: Float[Tensor, "... N d"]) -> Float[Tensor, "... N d"]:
        fits = weights.dim() <= 2 and weights.shape[:-1] == h.shape[:-2]
        return self.sums.aggregate(weights, h) if fits else super().aggregate(weights, h)

    def aggregate_kinds(self, weights: Float[Tensor, "E K"], h: Float[Tensor, "N d"]) -> Float[Tensor, "N K d"]:
        return self.sums.aggregate_kinds(weights, h)

    def compare_ends(self, g: Float[Tensor, "N d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " E"]:
        return self.sums.compare(g, h)

    def weighted_mean(
        self, weights: Float[Tensor, " E"], t: Float[Tensor, " N"], z: Float[Tensor, "N d"]
    ) -> Float[Tensor, "N d"]:
        return self.sums.weighted_mean(weights, t, z)

    def dropout(self, h: Float[Tensor, "N d"], p: float) -> Float[Tensor, "N d"]:
        return drop(h, p, self.sums.library)

    @once
    def source(self) -> Int[Tensor, " E"]:
        return self.sums.source

    @once
    def target(self) -> Int[Tensor, " E"]:
        return _repeated(self.sums.edge_ptr)

    @once
    def graph(self) -> Int[Tensor, " N"]:
        return _repeated(self.sums.node_ptr)

    @once
    def degrees(self) -> Float[Tensor, " N"]:
        return self.sums.edge_ptr.diff().to(self.x.dtype)

    @once
    def renormalised(self) -> Float[Tensor, " E"]:
        if self.rows is None or self.index is None:
            return super().renormalised
        return self.rows.edge_values(self.rows.renormalised, self.index)

    @once
    def renormalised_exp(self) -> Float[Tensor, " E"]:
        if self.rows is None or self.index is None:
            return super().renormalised_exp
        return self.rows.edge_values(self.rows.renormalised_exp, self.index)


def _repeated(ptr: Int[Tensor, " starts"]) -> Int[Tensor, " items"]:
    """The part that each item belongs to.

    >>> _repeated(torch.tensor([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    return torch.repeat_interleave(ptr.diff(), output_size=int(ptr[-1]))


def _starts(part: Int[Tensor, " items"], parts: int) -> Int[Tensor, " starts"]:
    """Where each part starts, of the part that each item belongs to.

    >>> _starts(torch.tensor([0, 0, 1]), 2).tolist()
    [0, 2, 3]
    """
    return torch.nn.functional.pad(part.bincount(minlength=parts).cumsum(0), (1, 0))
