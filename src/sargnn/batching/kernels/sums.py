"""The kernels as differentiable functions of tensors."""

from __future__ import annotations

from ctypes import CDLL, c_double, c_int, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

__all__ = ["Sums", "drop"]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the nodes of graphs and over the neighbours of nodes.

    Nodes lie graph after graph, edges target after target; every edge stays within its graph.

    >>> import torch
    >>> from sargnn.batching.kernels import library
    >>> path = dict(node_ptr=torch.tensor([0, 2]), edge_ptr=torch.tensor([0, 1, 2]), source=torch.tensor([1, 0]))
    >>> h = torch.tensor([[1.0], [2.0]])
    >>> Sums(library(h.dtype), **path).aggregate(torch.tensor([10.0, 100.0]), h).tolist()  # doctest: +SKIP
    [[20.0], [100.0]]
    """

    library: CDLL
    node_ptr: Int[Tensor, " graph_starts"]
    """Where the nodes of each graph begin."""
    edge_ptr: Int[Tensor, " node_starts"]
    """Where the edges into each node begin."""
    source: Int[Tensor, " E"]

    def attend(self, g: Float[Tensor, "B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " N"]:
        """``a_j = softmax_j(g_b . h_j)`` over the nodes of each graph."""
        return _applied(_Attend, g, h, self, False)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        """``sum_j a_j h_j`` with a as above."""
        return _applied(_Attend, g, h, self, True)

    def pool(self, w: Float[Tensor, " N"], h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        """``sum_j w_j h_j`` over the nodes of each graph."""
        return _applied(_WeightedSum, w, h, self, "pool")

    def aggregate(self, w: Float[Tensor, "*P E"], h: Float[Tensor, "*P N d"]) -> Float[Tensor, "*P N d"]:
        """``sum_j w_ij h_j`` over the neighbours of each node."""
        return _applied(_WeightedSum, w, h, self, "aggregate")

    def aggregate_kinds(self, w: Float[Tensor, "E K"], h: Float[Tensor, "N d"]) -> Float[Tensor, "N K d"]:
        """``sum_j w_ijk h_j`` over the neighbours of each node, for each of the K weights of an edge."""
        return _applied(_WeightedSum, w, h, self, "aggregate_kinds")

    def compare(self, g: Float[Tensor, "N d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " E"]:
        """``g_i . h_j`` of every edge j -> i."""
        return _applied(_Compare, g, h, self)

    def weighted_mean(
        self, w: Float[Tensor, " E"], t: Float[Tensor, " N"], z: Float[Tensor, "N d"]
    ) -> Float[Tensor, "N d"]:
        """``sum_j w_ij t_j z_j / sum_j w_ij t_j`` over the neighbours of each node; w has no gradient."""
        return _applied(_WeightedMean, w, t, z, self)

    @property
    def graphs(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """The structure that functions over edges take."""
        return self.node_ptr, self.edge_ptr, self.source

    def call(self, name: str, sizes: tuple[int, ...], *tensors: Tensor | None) -> None:
        """Call a function of the library over all graphs."""
        pointers = (c_void_p(None if tensor is None else tensor.data_ptr()) for tensor in tensors)
        getattr(self.library, name)(c_int(torch.get_num_threads()), *map(c_int64, (self.graphs, *sizes)), *pointers)


def drop(h: Float[Tensor, "..."], p: float, library: CDLL) -> Float[Tensor, "..."]:
    """Each number 0 with probability p, the others divided by 1 - p, as ``torch.nn.functional.dropout``."""
    seed = int(torch.randint(2**63 - 1, ()))  # one draw of PyTorch's generator, so that its seed decides
    return _applied(_Drop, h, p, seed, library)


def _applied(function: type[Function], *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)
    return result


class _Attend(Function):
    """a, or, if ``pooled``, sum_j a_j h_j."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, h: Tensor, sums: Sums, pooled: bool) -> Tensor:
        g, h = g.contiguous(), h.contiguous()
        a, read = h.new_empty(len(h)), torch.empty_like(g) if pooled else None
        sums.call("attend", h.shape[1:], sums.node_ptr, g, h, a, read)
        ctx.sums, ctx.pooled = sums, pooled
        ctx.save_for_backward(g, h, a)
        return a if read is None else read

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        g, h, a = ctx.saved_tensors
        grad = grad.contiguous()
        of_output = (None, grad) if ctx.pooled else (grad, None)
        grad_g, grad_h = torch.empty_like(g), torch.empty_like(h) if ctx.needs_input_grad[1] else None
        room = torch.empty_like(a)
        ctx.sums.call("attend_backward", h.shape[1:], ctx.sums.node_ptr, g, h, a, *of_output, room, grad_g, grad_h)
        return grad_g, grad_h, None, None


class _WeightedSum(Function):
    """``pool``, ``aggregate`` (of each head or channel in front of w and h) and ``aggregate_kinds``."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, h: Tensor, sums: Sums, name: str) -> Tensor:
        w, h = w.contiguous(), h.contiguous()
        kinds = w.shape[1:] if name == "aggregate_kinds" else ()
        rows, structure = (sums.graphs, (sums.node_ptr,)) if name == "pool" else (h.shape[-2], sums.edges)
        out = h.new_empty(*h.shape[:-2], rows, *kinds, h.shape[-1])
        ctx.sums, ctx.name, ctx.rest = sums, name, ((h.shape[-1], *kinds), *structure)
        for own in _one_by_one(w, h, out):
            sums.call(name, *ctx.rest, *own)
        ctx.save_for_backward(w, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        w, h = ctx.saved_tensors
        for_w, for_h, *_ = ctx.needs_input_grad
        grad_w, grad_h = torch.empty_like(w) if for_w else None, torch.empty_like(h) if for_h else None
        for own in _one_by_one(w, h, grad_out.contiguous(), grad_w, grad_h):
            ctx.sums.call(f"{ctx.name}_backward", *ctx.rest, *own)
        return grad_w, grad_h, None, None


class _Compare(Function):
    """The gradient of w in ``sum_j w_ij h_j`` where g is that of the sum."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, h: Tensor, sums: Sums) -> Tensor:
        g, h = g.contiguous(), h.contiguous()
        out = h.new_empty(len(sums.source))
        sums.call("aggregate_backward", h.shape[1:], *sums.edges, None, h, g, out, None)
        ctx.sums = sums
        ctx.save_for_backward(g, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, Tensor, None]:
        g, h = ctx.saved_tensors
        w, grad_g, grad_h = grad_out.contiguous(), torch.empty_like(g), torch.empty_like(h)
        ctx.sums.call("aggregate", h.shape[1:], *ctx.sums.edges, w, h, grad_g)
        ctx.sums.call("aggregate_backward", h.shape[1:], *ctx.sums.edges, w, h, g, None, grad_h)
        return grad_g, grad_h, None


class _WeightedMean(Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, t: Tensor, z: Tensor, sums: Sums) -> Tensor:
        w, t, z = w.contiguous(), t.contiguous(), z.contiguous()
        fraction, out = torch.empty_like(w), torch.empty_like(z)
        sums.call("weighted_mean", z.shape[1:], *sums.edges, w, t, z, fraction, out)
        ctx.sums = sums
        ctx.save_for_backward(t, z, fraction, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[None, Tensor, Tensor, None]:
        t, z, *_ = saved = ctx.saved_tensors
        grads = torch.empty_like(t), torch.empty_like(z)
        ctx.sums.call("weighted_mean_backward", z.shape[1:], *ctx.sums.edges, *saved, grad_out.contiguous(), *grads)
        return None, *grads, None


class _Drop(Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, p: float, seed: int, library: CDLL) -> Tensor:
        ctx.rest = p, seed, library
        return _dropped(h, *ctx.rest)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, None, None, None]:
        return _dropped(grad_out, *ctx.rest), None, None, None  # the seed drops the same places again


def _dropped(h: Tensor, p: float, seed: int, library: CDLL) -> Tensor:
    h = h.contiguous()
    out = torch.empty_like(h)
    pointers = (c_void_p(tensor.data_ptr()) for tensor in (h, out))
    level = min(int(p * 2**32), 2**32 - 1)
    library.drop(c_int64(h.numel()), c_uint64(seed), c_uint32(level), c_double(1 / (1 - p)), *pointers)
    return out


def _one_by_one(w: Tensor, h: Tensor, *more: Tensor | None) -> Any:
    """The tensors of each head or channel, or themselves where h has none in front."""
    if h.dim() == 2:
        return [(w, h, *more)]
    return zip(w, h, *([None] * len(h) if tensor is None else tensor for tensor in more), strict=True)
