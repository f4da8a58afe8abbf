"""The padded layout: faster for small graphs, and of fixed shape."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from sargnn.batching.base import Batch, once

__all__ = ["PaddedBatch"]


@dataclass(frozen=True, eq=False)
class PaddedBatch(Batch):
    """Every graph in ``n`` rows; those beyond its nodes are padding, with no edges but their self-loops, by which the
    softmax over their neighbourhood is defined.

    >>> closed = torch.stack([torch.ones(2, 2), torch.eye(2)])  # an edge, and a single node with a row of padding
    >>> mask = torch.tensor([[True, True], [True, False]])
    >>> PaddedBatch(torch.ones(2, 2, 3), closed, mask).degrees.tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """

    has_padding = True
    x: Float[Tensor, "B n F"]
    closed: Float[Tensor, "B n n"]
    """1 where the source (last axis) is in the closed neighbourhood of the target."""
    mask: Bool[Tensor, "B n"]
    """True at real nodes."""
    y: Shaped[Tensor, "B *targets"] | None = None
    truth: Float[Tensor, "B n"] | None = None
    edges: Float[Tensor, "Fe B n n"] | None = None
    graph_x: Float[Tensor, "B Fg"] | None = None
    weights: Float[Tensor, " B"] | None = None

    @property
    def num_graphs(self) -> int:  # type: ignore[override]
        return len(self.x)

    def softmax_nodes(self, scores: Float[Tensor, "... B n"]) -> Float[Tensor, "... B n"]:
        return (scores + self._floor).softmax(-1) * self._real

    def pool(self, weights: Float[Tensor, "... B n"], h: Float[Tensor, "... B n d"]) -> Float[Tensor, "... B d"]:
        return (weights.unsqueeze(-1) * h).sum(-2) if _fuses(h) else (weights.unsqueeze(-2) @ h).squeeze(-2)

    def sum(self, h: Float[Tensor, "... B n d"]) -> Float[Tensor, "... B d"]:
        return self.pool(self._real, h)

    def max(self, h: Float[Tensor, "B n d"]) -> Float[Tensor, "B d"]:
        largest = h.masked_fill(~self.mask.unsqueeze(-1), float("-inf")).amax(-2)
        return largest.masked_fill(~self.mask.any(-1, keepdim=True), 0.0)

    def spread(self, g: Float[Tensor, "... B d"]) -> Float[Tensor, "... B n d"]:
        return g.unsqueeze(-2).expand(*g.shape[:-1], self.mask.shape[-1], g.shape[-1])

    def compare(self, g: Float[Tensor, "... B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "... B n"]:
        # Products and sums: a batched matrix-vector product takes several times as long on small graphs.
        return (h * g.unsqueeze(-2)).sum(-1)

    def resemblance(self, g: Float[Tensor, "B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "B n"]:
        return super().resemblance(g, h) if _fuses(h) else self._attention(g, h).squeeze(-2)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "B d"]:
        return super().read(g, h) if _fuses(h) else (self._attention(g, h) @ h).squeeze(-2)

    def _attention(self, g: Float[Tensor, "B d"], h: Float[Tensor, "B n d"]) -> Float[Tensor, "B 1 n"]:
        """Softmax of ``g_b . h_j`` over the nodes of each graph."""
        scores = torch.baddbmm(self._floor.unsqueeze(-2), g.unsqueeze(-2), h.mT)
        return scores.softmax(-1) * self._real.unsqueeze(-2)

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
        return mean, ((h - mean).square() * real).sum((0, 1)) / count, count

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
    def _floor(self) -> Float[Tensor, "B n"]:
        # A floor and not -inf: a graph without any node gives zeros instead of NaN.
        return (self._real - 1) * 1e30

    @once
    def _apart(self) -> Bool[Tensor, "B n n"]:
        return self.closed == 0


def _fuses(h: Tensor) -> bool:
    """Whether a compiler makes one kernel of products and sums: a product with one row is a kernel of its own."""
    return h.is_cuda and torch.compiler.is_compiling()
