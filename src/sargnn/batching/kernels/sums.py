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
        return _Attend.apply(g, h, self, False)

    def read(self, g: Float[Tensor, "B d"], h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        """``sum_j a_j h_j`` with a as above."""
        return _Attend.apply(g, h, self, True)

    def pool(self, w: Float[Tensor, " N"], h: Float[Tensor, "N d"]) -> Float[Tensor, "B d"]:
        """``sum_j w_j h_j`` over the nodes of each graph."""
        return _Pool.apply(w, h, self)

    def aggregate(self, w: Float[Tensor, "*P E"], h: Float[Tensor, "*P N d"]) -> Float[Tensor, "*P N d"]:
        """``sum_j w_ij h_j`` over the neighbours of each node."""
        return _Aggregate.apply(w, h, self)

    def aggregate_kinds(self, w: Float[Tensor, "E K"], h: Float[Tensor, "N d"]) -> Float[Tensor, "N K d"]:
        """``sum_j w_ijk h_j`` over the neighbours of each node, for each of the K weights of an edge."""
        return _AggregateKinds.apply(w, h, self)

    def compare(self, g: Float[Tensor, "N d"], h: Float[Tensor, "N d"]) -> Float[Tensor, " E"]:
        """``g_i . h_j`` of every edge j -> i."""
        return _Compare.apply(g, h, self)

    def weighted_mean(
        self, w: Float[Tensor, " E"], t: Float[Tensor, " N"], z: Float[Tensor, "N d"]
    ) -> Float[Tensor, "N d"]:
        """``sum_j w_ij t_j z_j / sum_j w_ij t_j`` over the neighbours of each node; w has no gradient."""
        return _WeightedMean.apply(w, t, z, self)

    @property
    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """What functions that follow edges take."""
        return self.node_ptr, self.edge_ptr, self.source

    def call(self, name: str, sizes: int | tuple[int, ...], *tensors: Tensor | None) -> None:
        """A function of the library, over all graphs."""
        pointers = (c_void_p(None if tensor is None else tensor.data_ptr()) for tensor in tensors)
        graphs, sizes = len(self.node_ptr) - 1, (sizes,) if isinstance(sizes, int) else sizes
        getattr(self.library, name)(c_int(torch.get_num_threads()), *map(c_int64, (graphs, *sizes)), *pointers)


def drop(h: Float[Tensor, "..."], p: float, library: CDLL) -> Float[Tensor, "..."]:
    """Each number 0 with probability p, the others divided by 1 - p, as ``torch.nn.functional.dropout``."""
    seed = int(torch.randint(2**63 - 1, ()))  # one draw of PyTorch's generator, so that its seed decides
    return _Drop.apply(h, p, seed, library)


class _Attend(Function):
    """a, or, if ``pooled``, sum_j a_j h_j."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, h: Tensor, sums: Sums, pooled: bool) -> Tensor:
        g, h = g.contiguous(), h.contiguous()
        a, read = h.new_empty(len(h)), torch.empty_like(g) if pooled else None
        sums.call("attend", h.shape[1], sums.node_ptr, g, h, a, read)
        ctx.sums, ctx.pooled = sums, pooled
        ctx.save_for_backward(g, h, a)
        return a if read is None else read

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        g, h, a = ctx.saved_tensors
        grad = grad.contiguous()
        grad_a, grad_read = (None, grad) if ctx.pooled else (grad, None)
        grad_g, grad_h = torch.empty_like(g), torch.empty_like(h) if ctx.needs_input_grad[1] else None
        room = torch.empty_like(a)
        ctx.sums.call(
            "attend_backward", h.shape[1], ctx.sums.node_ptr, g, h, a, grad_a, grad_read, room, grad_g, grad_h
        )
        return grad_g, grad_h, None, None


class _Pool(Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, h: Tensor, sums: Sums) -> Tensor:
        w, h = w.contiguous(), h.contiguous()
        out = h.new_empty(len(sums.node_ptr) - 1, h.shape[1])
        sums.call("pool", h.shape[1], sums.node_ptr, w, h, out)
        ctx.sums = sums
        ctx.save_for_backward(w, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        w, h = ctx.saved_tensors
        grad_w, grad_h = _wanted(ctx, w, h)
        ctx.sums.call("pool_backward", h.shape[1], ctx.sums.node_ptr, w, h, grad_out.contiguous(), grad_w, grad_h)
        return grad_w, grad_h, None


class _Aggregate(Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, h: Tensor, sums: Sums) -> Tensor:
        w, h = w.contiguous(), h.contiguous()
        out = torch.empty_like(h)
        for own_w, own_h, own_out in _one_by_one(w, h, out):
            sums.call("aggregate", h.shape[-1], *sums.edges, own_w, own_h, own_out)
        ctx.sums = sums
        ctx.save_for_backward(w, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        w, h = ctx.saved_tensors
        sums: Sums = ctx.sums
        grad_w, grad_h = _wanted(ctx, w, h)
        for own in _one_by_one(w, h, grad_out.contiguous(), grad_w, grad_h):
            sums.call("aggregate_backward", h.shape[-1], *sums.edges, *own)
        return grad_w, grad_h, None


class _AggregateKinds(Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, h: Tensor, sums: Sums) -> Tensor:
        w, h = w.contiguous(), h.contiguous()
        out = h.new_empty(len(h), w.shape[1], h.shape[1])
        sizes = h.shape[1], w.shape[1]
        sums.call("aggregate_kinds", sizes, *sums.edges, w, h, out)
        ctx.sums = sums
        ctx.save_for_backward(w, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, Tensor, None]:
        w, h = ctx.saved_tensors
        sums: Sums = ctx.sums
        sizes, grad_w, grad_h = (h.shape[1], w.shape[1]), torch.empty_like(w), torch.empty_like(h)
        sums.call(
            "aggregate_kinds_backward", sizes, *sums.edges,
            w, h, grad_out.contiguous(), grad_w, grad_h,
        )  # fmt: skip
        return grad_w, grad_h, None


class _Compare(Function):
    """The products are what an edge's weight in ``sum_j w_ij h_j`` has as gradient where g is that of the sum."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, h: Tensor, sums: Sums) -> Tensor:
        g, h = g.contiguous(), h.contiguous()
        out = h.new_empty(len(sums.source))
        sums.call("aggregate_backward", h.shape[1], *sums.edges, None, h, g, out, None)
        ctx.sums = sums
        ctx.save_for_backward(g, h)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, Tensor, None]:
        g, h = ctx.saved_tensors
        sums: Sums = ctx.sums
        w, grad_g, grad_h = grad_out.contiguous(), torch.empty_like(g), torch.empty_like(h)
        sums.call("aggregate", h.shape[1], *sums.edges, w, h, grad_g)
        sums.call("aggregate_backward", h.shape[1], *sums.edges, w, h, g, None, grad_h)
        return grad_g, grad_h, None


class _WeightedMean(Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, t: Tensor, z: Tensor, sums: Sums) -> Tensor:
        w, t, z = w.contiguous(), t.contiguous(), z.contiguous()
        share, out = torch.empty_like(w), torch.empty_like(z)
        sums.call("weighted_mean", z.shape[1], *sums.edges, w, t, z, share, out)
        ctx.sums = sums
        ctx.save_for_backward(t, z, share, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[None, Tensor, Tensor, None]:
        t, z, share, out = ctx.saved_tensors
        sums: Sums = ctx.sums
        grad_t, grad_z = torch.empty_like(t), torch.empty_like(z)
        sums.call(
            "weighted_mean_backward", z.shape[1], *sums.edges,
            t, z, share, out, grad_out.contiguous(), grad_t, grad_z,
        )  # fmt: skip
        return None, grad_t, grad_z, None


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


def _wanted(ctx: Any, w: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Room for the gradients of weights and features, where they are asked for."""
    for_w, for_h = ctx.needs_input_grad[:2]
    return torch.empty_like(w) if for_w else None, torch.empty_like(h) if for_h else None


def _one_by_one(*tensors: Tensor | None) -> Any:
    """The tensors of each head or channel, or themselves where there are none in front."""
    if tensors[0] is None or tensors[0].dim() == 1:
        return [tensors]
    return zip(*([None] * len(tensors[0]) if tensor is None else tensor for tensor in tensors), strict=True)
