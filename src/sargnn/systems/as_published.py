r"""As published: SAR-GCN with the arithmetic of the authors' released code, which is not that of the paper's equations.

.. math::
    M &\leftarrow \mathrm{LN}(M + \mathrm{attention}(M, H)), \quad M \leftarrow \mathrm{LN}(M + \mathrm{FFN}(M)) \\
    w_i(j) &= a_i(j) + 2 \beta s(j) \quad \text{or} \quad (a_i(j) + k_j)\,k_j, \; k = (1 + s)^\gamma

The memory is a Transformer decoder block with wide heads that all layers share but for keys and values; the fusion has
no softmax and adds the saliency's term once more; the projections of the saliency are drawn anew at every call; the
classifier is twice as wide as the memory. Each can be set back to the paper's equation, so that the two can be compared
one difference at a time; ``norm = "transductive"`` is one more habit of the code, evaluating by the statistics of the
judged batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.nn.fusion import Fusion
from sargnn.nn.model import SARGNN, SARConfig
from sargnn.nn.norm import BatchNorm
from sargnn.nn.saliency import NodeSaliency

__all__ = ["AsPublished", "AsPublishedConfig", "PublishedFusion", "PublishedMemory"]


@dataclass(frozen=True)
class AsPublishedConfig(SARConfig):
    """What the authors' code computes; ``memory_block="equation"`` and so on bring back the paper's equations."""

    hidden: int = 128
    attention: int | None = 256
    saliency: Literal["learned", "uniform", "random", "redrawn", "none"] = "redrawn"
    """learned (eq. saliency); uniform, random: ablations; redrawn: random projections, drawn anew at every call; none:
    the backbone is not regularised."""
    normalize: Literal["softmax", "none", "as-published"] = "as-published"
    """softmax over each closed neighbourhood (the equations), none, or the arithmetic of the authors' code."""
    memory_block: Literal["equation", "as-published"] = "as-published"
    """The memory of the equations, or the shared Transformer block of the authors' code with its wider classifier."""
    memory_heads: int = 8
    norm: Literal["none", "batch", "layer", "transductive"] = "batch"
    """Normalisation after each layer of the backbone; transductive: batch, by the statistics of the judged batch even
    in eval mode."""
    input_norm: bool = True
    bias: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory_block == "equation":
            self.check_memory_heads()


class AsPublished(SARGNN):
    """SARGNN made of the parts of the authors' code."""

    config: AsPublishedConfig

    @property
    def draws_in_eval(self) -> bool:
        return self.config.saliency == "redrawn"

    def make_fusion(self) -> Fusion:
        c = self.config
        as_published = c.normalize == "as-published"
        return PublishedFusion(c.fusion, c.beta, c.gamma, "none") if as_published else super().make_fusion()

    def make_norm(self) -> nn.Module:
        transductive = self.config.norm == "transductive"
        return TransductiveNorm(self.config.hidden) if transductive else super().make_norm()

    def make_saliency(self, width: int) -> nn.Module:
        c = self.config
        if c.saliency == "redrawn":
            return RedrawnSaliency(width, c.memory_width, c.attention_width, learned=False)
        return super().make_saliency(width)

    def make_memory(self, widths: list[int]) -> list[nn.Module]:
        c = self.config
        if c.memory_block == "equation":
            return super().make_memory(widths)
        shared = SharedBlock(c.memory_width, c.attention_width, c.memory_heads)
        return [PublishedMemory(width, c.attention_width, c.iterations, shared) for width in widths]

    def make_head(self, width: int, hidden: int, classes: int) -> nn.Sequential:
        return super().make_head(width, hidden if self.config.memory_block == "equation" else 2 * hidden, classes)


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
        read: Tensor = self.shared.out((batch.pool(weights, h) @ value.mT).transpose(0, 1).flatten(1))
        return read


class PublishedFusion(Fusion):
    """No softmax, and the saliency's term added once more: a + 2βs, or (a + k) k with k = (1 + s)^γ."""

    def fused(self, local: Tensor, term: Tensor) -> Tensor:
        return local + 2 * term if self.kind == "weighted" else term * (local + term)


class RedrawnSaliency(NodeSaliency):
    """Projections that are drawn anew at every call and never trained."""

    def forward(
        self, memory: Float[Tensor, "B d_M"], h: Float[Tensor, "*nodes d_H"], batch: Batch
    ) -> Float[Tensor, "*nodes"]:
        self.query.reset_parameters()
        self.key.reset_parameters()
        return super().forward(memory, h, batch)


class TransductiveNorm(BatchNorm):
    """Takes the statistics of the batch in eval mode too: predictions for a graph depend on the others in its batch."""

    def forward(self, h: Float[Tensor, "*nodes d"], batch: Batch) -> Float[Tensor, "*nodes d"]:
        if self.training:
            return super().forward(h, batch)
        mean, variance, _ = batch.moments(h)
        return self.normalized(h, mean, variance)
