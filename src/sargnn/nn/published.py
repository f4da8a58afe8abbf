"""The memory of the authors' released code, which is not the memory of the paper's equations.

A Transformer decoder block reads the nodes with several wide heads; one block is shared by all layers, and only the
projections of keys and values are a layer's own. Kept so that the two can be compared (``--model as-published``).
"""

from __future__ import annotations

from math import sqrt

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch

__all__ = ["PublishedMemory", "SharedBlock"]


class SharedBlock(nn.Module):
    """What all layers share: the query, the output projection and the feed-forward network of width 4 d_M."""

    def __init__(self, memory: int, attention: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(memory, heads * attention, bias=False)
        self.out = nn.Linear(heads * attention, memory)
        self.feed_forward = nn.Sequential(
            nn.Linear(memory, 4 * memory), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * memory, memory)
        )


class PublishedMemory(nn.Module):
    """One layer: M <- LN(M + attention(M, H)), M <- LN(M + FFN(M)), k times; layer norms without parameters.

    Takes and gives what :class:`~sargnn.nn.memory.GraphNeuralMemory` does; each head is ``attention`` wide.
    """

    def __init__(self, width: int, attention: int, iterations: int, shared: SharedBlock) -> None:
        super().__init__()
        self.iterations = iterations
        self.shared = shared
        self.key = nn.Linear(width, shared.heads * attention, bias=False)
        self.value = nn.Linear(width, shared.heads * attention, bias=False)

    def forward(
        self, h: Float[Tensor, "*nodes d_H"], memory: Float[Tensor, "B d_M"], batch: Batch
    ) -> Float[Tensor, "B d_M"]:
        for _ in range(self.iterations):
            memory = F.layer_norm(memory + self.attend(h, memory, batch), memory.shape[-1:])
            memory = F.layer_norm(memory + self.shared.feed_forward(memory), memory.shape[-1:])
        return memory

    def attend(
        self, h: Float[Tensor, "*nodes d_H"], memory: Float[Tensor, "B d_M"], batch: Batch
    ) -> Float[Tensor, "B d_M"]:
        heads = self.shared.heads
        key = self.key.weight.view(heads, -1, h.shape[-1])
        value = self.value.weight.view(heads, -1, h.shape[-1])
        q = self.shared.query(memory).view(len(memory), heads, -1).transpose(0, 1)
        weights = batch.softmax_nodes(batch.compare(q @ key, h) / sqrt(q.shape[-1]))
        read = batch.pool(weights, h) @ value.mT
        return self.shared.out(read.transpose(0, 1).flatten(1))
