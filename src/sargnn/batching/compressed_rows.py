"""The structure of a whole set in compressed rows, from which the C kernels assemble batches."""

from __future__ import annotations

from ctypes import c_int64, c_void_p
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from sargnn.batching.kernels import Sums, library
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.batching.tensor_set import TensorSet

__all__ = ["CompressedRows"]


class CompressedRows:
    """Closed neighbourhoods of all nodes of a set, edges target after target; a batch copies the rows of its graphs."""

    def __init__(self, data: TensorSet) -> None:
        _check_structure(data)
        nodes = int(data.node_ptr[-1])
        starts = np.repeat(data.node_ptr[:-1], np.diff(data.edge_ptr))
        local_source, local_target = data.edges.numpy()
        within = np.arange(nodes) - np.repeat(data.node_ptr[:-1], data.sizes)
        target = np.concatenate([local_target + starts, np.arange(nodes)])
        order = np.argsort(target, kind="stable")
        self._dtype = data.x.dtype
        self._order = torch.from_numpy(order)
        """Where each edge stands among the set's edges between two nodes, followed by its self-loops."""
        self._source = torch.from_numpy(np.concatenate([local_source, within])[order])  # by its place in the graph
        edge_ptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=nodes))])
        self._edge_ptr = torch.from_numpy(edge_ptr)  # of every node
        self._node_ptr = torch.from_numpy(data.node_ptr.astype(np.int64))
        self._edges_of_graph = torch.from_numpy(edge_ptr[data.node_ptr])
        self.edge_x: Float[Tensor, "Fe E"] | None = None
        if data.edge_x is not None:
            loops = data.edge_x.new_zeros(len(data.edge_x), nodes)
            self.edge_x = torch.cat([data.edge_x, loops], dim=1).index_select(1, self._order)

    @cached_property
    def renormalised(self) -> Float[Tensor, " E"]:
        """GCN's local weight of every edge of the set."""
        whole = self.sums(torch.arange(len(self._node_ptr) - 1))
        degrees = whole.edge_ptr.diff()
        scale = degrees.to(self._dtype).rsqrt()
        return scale.repeat_interleave(degrees) * scale.index_select(0, whole.source)

    @cached_property
    def renormalised_exp(self) -> Float[Tensor, " E"]:
        return self.renormalised.exp()

    def sums(self, index: Int[Tensor, " B"]) -> Sums:
        """The structure of the graphs at ``index``."""
        kernels = library(self._dtype)
        assert kernels is not None
        node_ptr = index.new_empty(len(index) + 1)
        edge_ptr = index.new_empty(_length(self._node_ptr, index) + 1)
        source = index.new_empty(_length(self._edges_of_graph, index))
        tensors = (self._node_ptr, self._edge_ptr, self._source, index, node_ptr, edge_ptr, source)
        kernels.assemble(c_int64(len(index)), *(c_void_p(tensor.data_ptr()) for tensor in tensors))
        return Sums(kernels, node_ptr, edge_ptr, source)

    def gather(self, values: Float[Tensor, "N *F"], index: Int[Tensor, " B"]) -> Float[Tensor, "n *F"]:
        """The values of the nodes of the graphs at ``index``."""
        return self._gather(values, self._node_ptr, index)

    def edge_values(self, values: Float[Tensor, "*Fe E"], index: Int[Tensor, " B"]) -> Float[Tensor, "*Fe e"]:
        """The values of the edges of the graphs at ``index``."""
        if values.dim() == 2:
            return torch.stack([self.edge_values(own, index) for own in values])
        return self._gather(values, self._edges_of_graph, index)

    def _gather(self, values: Tensor, ptr: Int[Tensor, " starts"], index: Int[Tensor, " B"]) -> Tensor:
        kernels = library(values.dtype)
        assert kernels is not None
        out = values.new_empty(_length(ptr, index), *values.shape[1:])
        width = values.shape[1] if values.dim() == 2 else 1
        tensors = (ptr, index, values, out)
        kernels.gather(c_int64(len(index)), c_int64(width), *(c_void_p(tensor.data_ptr()) for tensor in tensors))
        return out


def _check_structure(data: TensorSet) -> None:
    """Refuse pointers that fall and edges that leave their graph: files may hold them, and the kernels do not check."""
    if data.node_ptr[0] != 0 or (data.sizes < 0).any() or data.node_ptr[-1] != len(data.x):
        raise InputError(f"got graphs whose pointers do not divide {len(data.x)} nodes, expected them to rise to that")
    graph = np.repeat(np.arange(len(data)), np.diff(data.edge_ptr))
    ends = data.edges.numpy()
    outside = np.flatnonzero(((ends < 0) | (ends >= data.sizes[graph])).any(0))
    if len(outside):
        (source, target), which = ends[:, outside[0]], graph[outside[0]]
        last = data.sizes[which] - 1
        raise InputError(f"got an edge {source} -> {target} in graph {which}, expected nodes 0..{last}")


def _length(ptr: Int[Tensor, " starts"], index: Int[Tensor, " B"]) -> int:
    """Items of the parts at ``index``."""
    return int((ptr.index_select(0, index + 1) - ptr.index_select(0, index)).sum())
