"""One memory slot per target: after the last layer, each target reads the nodes, finds saliency and is predicted alone.

The layers, their memory and their saliency are shared. What is reported is the saliency of each target.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch

__all__ = ["SlotHeads", "TargetSlot"]


class TargetSlot(nn.Module):
    """A target's own memory read and saliency: ``s_t = F_S(F_M(H^L, M^L), H^L)``.

    Args:
        memory: F_M of the target.
        saliency: F_S of the target.
    """

    def __init__(self, memory: nn.Module, saliency: nn.Module) -> None:
        super().__init__()
        self.memory = memory
        self.saliency = saliency

    def forward(
        self, h: Float[Tensor, "*nodes d_H"], memory: Float[Tensor, "B d_M"], batch: Batch
    ) -> Float[Tensor, "*nodes"]:
        found: Tensor = self.saliency(self.memory(h, memory, batch), h, batch)
        return found


class SlotHeads(nn.Module):
    """One head for each target, of the target's own part of the vector, all parts of one width.

    >>> heads = SlotHeads([nn.Linear(2, 1), nn.Linear(2, 1)])
    >>> heads(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, heads: Iterable[nn.Module]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, vectors: Float[Tensor, "B Td"]) -> Float[Tensor, "B T"]:
        own = zip(self.heads, vectors.chunk(len(self.heads), dim=-1), strict=True)
        return torch.cat([head(vector) for head, vector in own], dim=-1)
