"""The five readouts: which vector of a graph is classified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from sargnn.batching import Batch

__all__ = ["READOUTS", "Readout"]


@dataclass(frozen=True)
class Readout:
    """``vector(h, memory, saliency, batch)``, from the last node features ``[*nodes, d_H]``, the last memory
    ``[B, d_M]`` and the readout's saliency ``[*nodes]``, the latter two None unless it reads them, to ``[B, width]``.

    Its width is ``of_hidden`` d_H + ``of_memory`` d_M. It has no weights of its own.
    """

    vector: Callable[[Tensor, Any, Any, Batch], Tensor]
    of_hidden: int = 0
    of_memory: int = 0
    """Above 0 it needs M^{L+1}: one more read of the memory than there are layers."""
    reads_saliency: bool = False
    """Whether it needs a saliency of its own, F_S(M^{L+1}, H^L), which is then the one that is reported."""
    reads_gates: bool = False
    """Whether it takes the gates of a :class:`~sargnn.nn.gates.GatedReadout` in place of a saliency; their
    distribution over the nodes is then the one that is reported."""

    def width(self, hidden: int, memory: int) -> int:
        return self.of_hidden * hidden + self.of_memory * memory

    def classifier_width(self, hidden: int, memory: int) -> int:
        """Features of the classifier's hidden layer."""
        return hidden if self.of_hidden else memory


def _memory(h: Tensor, memory: Float[Tensor, "B d_M"], saliency: Any, batch: Batch) -> Float[Tensor, "B d_M"]:
    """M^{L+1}, the paper's."""
    return memory


def _sum(h: Tensor, memory: Any, saliency: Any, batch: Batch) -> Float[Tensor, "B d_H"]:
    """Σ_j h_j."""
    return batch.sum(h)


def _all(h: Tensor, memory: Float[Tensor, "B d_M"], saliency: Any, batch: Batch) -> Float[Tensor, "B width"]:
    """[M^{L+1}, Σ_j h_j, max_j h_j]."""
    return torch.cat([memory, batch.sum(h), batch.max(h)], dim=-1)


def _salient(h: Tensor, memory: Any, saliency: Float[Tensor, "*nodes"], batch: Batch) -> Float[Tensor, "B width"]:
    """[p, p log n] with p = Σ_j s_j h_j over the n nodes: only what salient nodes contribute is classified."""
    mean, nodes = batch.pool(saliency, h), batch.sum(torch.ones_like(h[..., :1]))
    return torch.cat([mean, mean * nodes.clamp(min=1).log()], dim=-1)


def _gated(h: Tensor, memory: Any, gates: Float[Tensor, "*nodes"], batch: Batch) -> Float[Tensor, "B width"]:
    """[Σ_j g_j h_j / Σ_j g_j, Σ_j g_j h_j]: what the gates let through, as a mean and as a sum, which counts."""
    total, mass = batch.pool(gates, h), batch.pool(gates, torch.ones_like(h[..., :1]))
    return torch.cat([total / mass.clamp(min=torch.finfo(h.dtype).tiny), total], dim=-1)


READOUTS = {
    "memory": Readout(_memory, of_memory=1),
    "sum": Readout(_sum, of_hidden=1),
    "all": Readout(_all, of_hidden=2, of_memory=1),
    "salient": Readout(_salient, of_hidden=2, reads_saliency=True),
    "gated": Readout(_gated, of_hidden=2, reads_gates=True),
}
