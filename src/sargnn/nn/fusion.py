"""Fusing local weights with saliency (eqs. regular1, regular2): the weights with which a node sums its closed
neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from sargnn.batching import Batch

__all__ = ["Fusion"]

SAFE_EXPONENT = 40.0
"""Up to here exp and its quotients stay far from the ends of float32; beyond, the softmax is taken edge by edge."""


@dataclass(frozen=True)
class Fusion:
    r"""Saliency-aware weights of each closed neighbourhood {i} ∪ N(i).

    .. math::
        \text{weighted (regular1):}\; w_i(j) = \mathrm{softmax}_j\big(a_i(j) + \beta s(j)\big) \qquad
        \text{scaling (regular2):}\; w_i(j) = \mathrm{softmax}_j\big((1 + s(j))^\gamma a_i(j)\big)

    ``normalize="none"`` leaves the softmax out.

    >>> import torch
    >>> from sargnn.batching import PackedBatch
    >>> batch = PackedBatch.from_edges(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]]))
    >>> Fusion(beta=2.0).weights(batch.ones, torch.tensor([0.5, 0.5]), batch).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    kind: Literal["weighted", "scaling"] = "weighted"
    beta: float = 1.0
    gamma: float = 1.0
    normalize: Literal["softmax", "none"] = "softmax"

    def weights(self, local: Tensor, saliency: Tensor, batch: Batch) -> Tensor:
        """w: edge tensor of local weights a and node tensor of saliency s -> edge tensor."""
        fused = self.fused(local, self.term(batch.at_source(saliency)))
        return batch.softmax_neighbours(fused) if self.normalize == "softmax" else fused * batch.ones

    def fused(self, local: Tensor, term: Tensor) -> Tensor:
        """What the softmax is taken of: a + β s, or (1 + s)^γ a."""
        return local + term if self.kind == "weighted" else term * local

    @property
    def separable(self) -> bool:
        """Whether exp of the saliency's term can stand alone: softmax_j(a_ij + u_j) = E_ij t_j / (E t)_i with
        E = exp(a), t = exp(u). Then no softmax is taken over edges, and E, free of parameters, needs no gradient."""
        largest = abs(self.beta) if self.kind == "weighted" else 2**self.gamma
        return self.normalize == "softmax" and largest <= SAFE_EXPONENT

    def term(self, saliency: Tensor) -> Tensor:
        """What saliency brings to a weight: β s, or (1 + s)^γ."""
        return self.beta * saliency if self.kind == "weighted" else (1 + saliency) ** self.gamma
