"""The four readouts: what of a graph's memory and node features is classified."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sargnn.batching import Batch

__all__ = ["READOUTS", "Readout"]


class Readout(ABC):
    """From the last node features and the last memory to the vector of the graph. It has no weights of its own.

    Shapes: node features ``[*nodes, d_H]``, memory ``[B, d_M]``, saliency ``[*nodes]``; gives ``[B, width]``.
    """

    reads_memory: ClassVar[bool] = False
    """Whether it needs M^{L+1}, one more read of the memory than the layers have."""
    reads_saliency: ClassVar[bool] = False
    """Whether it needs a saliency of its own, F_S(M^{L+1}, H^L), which is then the one that is reported."""

    @abstractmethod
    def width(self, hidden: int, memory: int) -> int:
        """Features of the vector, of d_H and d_M."""

    def classifier_width(self, hidden: int, memory: int) -> int:
        """Features of the classifier's hidden layer."""
        return hidden

    @abstractmethod
    def __call__(
        self, h: Tensor, memory: Tensor | None, saliency: Tensor | None, batch: Batch
    ) -> Float[Tensor, "B width"]:
        """The vector; memory and saliency are there where it reads them."""


class MemoryReadout(Readout):
    """M^{L+1}, the paper's."""

    reads_memory = True

    def width(self, hidden: int, memory: int) -> int:
        return memory

    def classifier_width(self, hidden: int, memory: int) -> int:
        return memory

    def __call__(self, h: Tensor, memory: Tensor | None, saliency: Tensor | None, batch: Batch) -> Tensor:
        assert memory is not None
        return memory


class SumReadout(Readout):
    """Σ_j h_j."""

    def width(self, hidden: int, memory: int) -> int:
        return hidden

    def __call__(self, h: Tensor, memory: Tensor | None, saliency: Tensor | None, batch: Batch) -> Tensor:
        return batch.sum(h)


class AllReadout(Readout):
    """[M^{L+1}, Σ_j h_j, max_j h_j]."""

    reads_memory = True

    def width(self, hidden: int, memory: int) -> int:
        return memory + 2 * hidden

    def __call__(self, h: Tensor, memory: Tensor | None, saliency: Tensor | None, batch: Batch) -> Tensor:
        assert memory is not None
        return torch.cat([memory, batch.sum(h), batch.max(h)], dim=-1)


class SalientReadout(Readout):
    """[p, p log n] with p = Σ_j s_j h_j over the n nodes: what is not salient is not classified."""

    reads_saliency = True

    def width(self, hidden: int, memory: int) -> int:
        return 2 * hidden

    def __call__(self, h: Tensor, memory: Tensor | None, saliency: Tensor | None, batch: Batch) -> Tensor:
        assert saliency is not None
        mean, nodes = batch.pool(saliency, h), batch.sum(torch.ones_like(h[..., :1]))
        return torch.cat([mean, mean * nodes.clamp(min=1).log()], dim=-1)


READOUTS: dict[str, Readout] = {
    "memory": MemoryReadout(),
    "sum": SumReadout(),
    "all": AllReadout(),
    "salient": SalientReadout(),
}
