"""Attention of graph vectors over the nodes of padded graphs, with gradients written by hand.

In a row of ``n`` nodes and ``k`` graphs, ``g [rows, k, d]`` is compared with ``h [rows, n, d]``. PyTorch's own gradient
adds up outer products of the size of ``h`` one by one, one of them transposed; here they are one product.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["read", "resemblance"]


def resemblance(g: Tensor, h: Tensor, own: Tensor, floor: Tensor) -> Tensor:
    """``softmax(g hᵀ)`` over the nodes of each graph: ``[rows, k, n]``.

    ``own`` is 1 where a node belongs to a graph, and ``floor`` 0 there and very negative elsewhere: a floor and not -inf,
    so that a graph without nodes gives zeros instead of NaN.

    >>> own = torch.tensor([[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    >>> resemblance(torch.zeros(1, 2, 4), torch.ones(1, 3, 4), own, (own - 1) * 1e30).tolist()
    [[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]
    """
    return _Resemblance.apply(g, h, own, floor)


def read(g: Tensor, h: Tensor, own: Tensor, floor: Tensor) -> Tensor:
    """``softmax(g hᵀ) h``, what each graph reads of its nodes: ``[rows, k, d]``.

    >>> own = torch.ones(1, 1, 2)
    >>> read(torch.zeros(1, 1, 2), torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), own, own - 1).tolist()
    [[[2.0, 3.0]]]
    """
    return _Read.apply(g, h, own, floor)[0]


class _Resemblance(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(g: Tensor, h: Tensor, own: Tensor, floor: Tensor) -> Tensor:
        return _weights(g, h, own, floor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2], output)

    @staticmethod
    def backward(ctx: Any, d_weights: Tensor) -> tuple[Tensor | None, ...]:
        g, h, weights = ctx.saved_tensors
        d_scores = _through_softmax(d_weights, weights)
        d_h = d_scores.mT @ g if ctx.needs_input_grad[1] else None
        return d_scores @ h, d_h, None, None


class _Read(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(g: Tensor, h: Tensor, own: Tensor, floor: Tensor) -> tuple[Tensor, Tensor]:
        weights = _weights(g, h, own, floor)
        return weights @ h, weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs[:2], output[1])

    @staticmethod
    def backward(ctx: Any, d_read: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        g, h, weights = ctx.saved_tensors
        d_scores = _through_softmax(d_read @ h.mT, weights)
        d_h = None
        if ctx.needs_input_grad[1]:
            d_h = torch.cat([weights, d_scores], dim=-2).mT @ torch.cat([d_read, g], dim=-2)
        return d_scores @ h, d_h, None, None


def _weights(g: Tensor, h: Tensor, own: Tensor, floor: Tensor) -> Tensor:
    return torch.baddbmm(floor, g, h.mT).softmax(-1) * own


def _through_softmax(d_weights: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; where weights are 0 it is 0."""
    return torch.ops.aten._softmax_backward_data(d_weights, weights, -1, weights.dtype)
