"""Normalisation of node features and of graph vectors, in any layout. The paper's equations have none."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch

__all__ = ["BatchNorm", "LayerNorm", "VectorNorm", "make_norm"]


class BatchNorm(nn.Module):
    """``torch.nn.BatchNorm1d`` over the nodes of a batch, padding left out, running statistics included."""

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, width: int, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum = momentum
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_variance", torch.ones(width))

    def forward(self, h: Float[Tensor, "*nodes d"], batch: Batch) -> Float[Tensor, "*nodes d"]:
        if self.training and not batch.has_padding and len(h) > 1:
            return F.batch_norm(
                h, self.running_mean, self.running_variance, self.weight, self.bias, True, self.momentum, self.epsilon
            )
        mean, variance = self.running_mean, self.running_variance
        if self.training:
            mean, variance, count = self.moments(h, batch)
            unbiased = variance.detach() * (count / (count - 1).clamp(min=1))
            for running, new in ((self.running_mean, mean.detach()), (self.running_variance, unbiased)):
                running.mul_(1 - self.momentum).add_(new * self.momentum)  # lerp_ has no vectorised form
        return self.normalized(h, mean, variance)

    def moments(self, h: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and variance of each feature, and over how many rows."""
        return batch.moments(h)

    def normalized(self, h: Tensor, mean: Float[Tensor, " d"], variance: Float[Tensor, " d"]) -> Tensor:
        """(h - mean) / √(variance + ε), scaled and shifted."""
        return (h - mean) * (variance + self.epsilon).rsqrt() * self.weight + self.bias


class VectorNorm(BatchNorm):
    """``torch.nn.BatchNorm1d`` over the vectors ``[B, d]`` of a batch's graphs, padding left out. A graph that is alone
    in its batch is normalised by the running statistics: it has no variance of its own."""

    def moments(self, h: Float[Tensor, "B d"], batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        real = batch.real_graphs
        count = real.sum()
        mean = (real * h).sum(0) / count.clamp(min=1)
        variance = (real * (h - mean).square()).sum(0) / count.clamp(min=1)
        own, running = (mean, variance), (self.running_mean, self.running_variance)
        mean, variance = (torch.where(count > 1, new, old) for new, old in zip(own, running, strict=True))
        return mean, variance, count


class LayerNorm(nn.Module):
    """Layer normalisation of each node's features, equal to ``torch.nn.LayerNorm``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, h: Float[Tensor, "*nodes d"], batch: Batch) -> Float[Tensor, "*nodes d"]:
        return F.layer_norm(h, self.weight.shape, self.weight, self.bias)


class NoNorm(nn.Module):
    """The features as they are."""

    def forward(self, h: Float[Tensor, "*nodes d"], batch: Batch) -> Float[Tensor, "*nodes d"]:
        return h


def make_norm(kind: str, width: int) -> nn.Module:
    """The norm of that name: none, batch or layer."""
    if kind == "none":
        return NoNorm()
    return LayerNorm(width) if kind == "layer" else BatchNorm(width)
