"""Graphs as tensors on one device, from which batches are made by index arithmetic."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from sargnn.batching import Batch, CompressedBatch, PackedBatch, PaddedBatch
from sargnn.batching.compressed_rows import CompressedRows
from sargnn.batching.layouts import AskedLayout, Layout, choose_layout
from sargnn.data.cache import data_folder
from sargnn.data.graphs import GraphSet, ranges
from sargnn.data.set_chunks import SetChunks
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.data.features.encoder import Encoder

__all__ = ["StreamedSet", "TensorSet", "held_set", "tensor_set"]

HELD = 2**28
"""Bytes that edges and inputs of a set may take in memory; larger sets are read and encoded batch by batch."""


class TensorSet:
    """A :class:`GraphSet` with its inputs as tensors on one device; batches are made by index arithmetic.

    >>> from sargnn.data.graphs import pack
    >>> graphs = pack([(2, [(0, 1), (1, 0)]), (1, [])], y=[0, 1], classes=["edge", "dot"])
    >>> TensorSet(graphs, np.ones((3, 1), np.float32)).padded(np.array([1, 0])).mask.tolist()
    [[True, False], [True, True]]
    """

    def __init__(
        self,
        graphs: GraphSet,
        x: np.ndarray,
        *,
        edge_x: np.ndarray | None = None,
        graph_x: np.ndarray | None = None,
        device: torch.device | str = "cpu",
        layout: AskedLayout = "auto",
    ) -> None:
        self.device = torch.device(device)
        self.layout = layout
        self.sizes = graphs.sizes
        self.y: Tensor | None = None
        self.edge_x: Float[Tensor, "Fe E"] | None = None
        self.graph_x: Float[Tensor, "G Fg"] | None = None if graph_x is None else self._put(graph_x)
        self.weights: Float[Tensor, " G"] | None = None
        if graphs.weights is not None:
            self.weights = self._put(np.array(graphs.weights, np.float32))
        self._hold(graphs, x, edge_x)
        if graphs.y is not None:
            self.set_targets(graphs.y)

    def set_targets(self, targets: np.ndarray) -> None:
        """What is to be predicted, one row per graph: by default the classes that the graphs come with."""
        y = torch.from_numpy(np.array(targets)).to(self.device)
        self.y = y.to(self.x.dtype) if y.is_floating_point() else y

    def _hold(self, graphs: GraphSet, x: np.ndarray, edge_x: np.ndarray | None) -> None:
        """Put inputs and structure on the device; index arithmetic stays on the CPU."""
        between = graphs.edges[0] != graphs.edges[1]
        counts = np.bincount(graphs.edge_graph[between], minlength=len(graphs))
        self.edge_ptr = np.concatenate([[0], np.cumsum(counts)])
        self.node_ptr = np.array(graphs.node_ptr)
        self.edges = self._put(graphs.edges[:, between].astype(np.int64))
        if edge_x is not None:
            self.edge_x = self._put(np.ascontiguousarray(edge_x[between].T))
        self._x = self._put(_with_zero_row(x))
        self.x = self._x[:-1]
        self._truth = self.truth = None
        if graphs.true_saliency is not None:
            self._truth = self._put(_with_zero_row(_distribution(graphs))).to(self.x.dtype)
            self.truth = self._truth[:-1]

    def _put(self, values: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(values)
        return tensor if self.device.type == "cpu" else tensor.to(self.device)  # even an idle .to() takes its time

    def __len__(self) -> int:
        return len(self.sizes)

    def batch(self, index: np.ndarray, layouts: Sequence[Layout], *, traced: bool = False) -> Batch:
        """The graphs at ``index`` in the best of the ``layouts`` that a model takes, see :func:`choose_layout`."""
        layout = choose_layout(
            layouts, self.sizes[index], self.layout, device=self.device, dtype=self.x.dtype, traced=traced
        )
        if layout == "compressed":
            return self.compressed(index)
        return self.packed(index) if layout == "packed" else self.padded(index)

    def packed(self, index: np.ndarray) -> PackedBatch:
        nodes, graph = self._put(ranges(self.node_ptr, index)), np.repeat(np.arange(len(index)), self.sizes[index])
        edges, counts = ranges(self.edge_ptr, index), self.edge_ptr[index + 1] - self.edge_ptr[index]
        starts = self._put(np.repeat(np.cumsum(self.sizes[index]) - self.sizes[index], counts))
        loops = torch.arange(len(nodes), device=self.device)
        chosen = self._put(edges)
        source, target = (torch.cat([ends.index_select(0, chosen) + starts, loops]) for ends in self.edges)
        truth = None if self.truth is None else self.truth.index_select(0, nodes)
        edge_x = None if self.edge_x is None else F.pad(self.edge_x.index_select(1, chosen), (0, len(nodes)))
        return PackedBatch(
            self.x.index_select(0, nodes), source, target, self._put(graph), len(index),
            truth=truth, edges=edge_x, **self._of_graphs(index),
        )  # fmt: skip

    def compressed(self, index: np.ndarray) -> CompressedBatch:
        """The graphs at ``index`` for the C kernels."""
        chosen = torch.from_numpy(np.ascontiguousarray(index, np.int64))
        rows = self.rows
        return CompressedBatch(
            rows.gather(self.x, chosen), rows.sums(chosen), rows=rows, index=chosen,
            truth=None if self.truth is None else rows.gather(self.truth, chosen),
            edges=None if rows.edge_x is None else rows.edge_values(rows.edge_x, chosen),
            **self._of_graphs(index),
        )  # fmt: skip

    @cached_property
    def rows(self) -> CompressedRows:
        return CompressedRows(self)

    def padded(self, index: np.ndarray, size: int | None = None) -> PaddedBatch:
        """The graphs at ``index``, each in ``size`` rows (default: the size of the largest of them)."""
        sizes = self.sizes[index, None]
        place = np.arange(sizes.max() if size is None else size)
        mask = place < sizes
        rows = self._put(np.where(mask, self.node_ptr[index, None] + place, self.node_ptr[-1]).ravel())
        edges, counts = self._put(ranges(self.edge_ptr, index)), self.edge_ptr[index + 1] - self.edge_ptr[index]
        source, target = (ends.index_select(0, edges) for ends in self.edges)
        corners = self._put(np.repeat(np.arange(len(index)) * len(place) ** 2, counts))  # of each edge's matrix
        positions = corners + source + target * len(place)
        closed = self.x.new_zeros(*mask.shape, len(place))
        closed.view(-1).index_fill_(0, positions, 1)
        closed.diagonal(dim1=1, dim2=2).fill_(1)
        return PaddedBatch(
            self._x.index_select(0, rows).view(*mask.shape, -1), closed, self._put(mask),
            truth=None if self._truth is None else self._truth.index_select(0, rows).view(mask.shape),
            edges=None if self.edge_x is None else _laid_out(self.edge_x[:, edges], positions, closed.shape),
            **self._of_graphs(index),
        )  # fmt: skip

    def _of_graphs(self, index: np.ndarray) -> dict[str, Any]:
        """What is known of each graph as a whole."""
        chosen = self._put(index)
        known = {"y": self.y, "graph_x": self.graph_x, "weights": self.weights}
        return {name: None if value is None else value.index_select(0, chosen) for name, value in known.items()}


class StreamedSet(TensorSet):
    """A set too large to hold: structure is read and inputs are made batch by batch, from disk where the arrays are
    memory-mapped. If it is to be read ``often``, inputs that take long to make are made once, into a temporary file.
    ``x`` and ``truth`` have no rows, only the type and width of batches."""

    def __init__(self, graphs: GraphSet, encoder: Encoder, *, often: bool = False, **more: Any) -> None:
        self.graphs = graphs
        self.encoder = encoder
        keeps, width = often and graphs.num_nodes > 0, len(encoder.costly)
        self.costly = _made_once(graphs, graphs.num_nodes, width, encoder.encode_costly) if keeps and width else None
        self.costly_graphs = (
            _made_once(graphs, len(graphs), encoder.graph_width, encoder.encode_graphs)
            if keeps and encoder.graphs_cost
            else None
        )
        super().__init__(graphs, np.empty((0, encoder.width), np.float32), **more)

    def _hold(self, graphs: GraphSet, x: np.ndarray, edge_x: np.ndarray | None) -> None:
        self.x = torch.from_numpy(x).to(self.device)
        self.truth = None if graphs.true_saliency is None else self.x.new_empty(0)

    def packed(self, index: np.ndarray) -> PackedBatch:
        return TensorSet.packed(*self._part(index))

    def padded(self, index: np.ndarray, size: int | None = None) -> PaddedBatch:
        return TensorSet.padded(*self._part(index), size)

    def compressed(self, index: np.ndarray) -> CompressedBatch:
        return TensorSet.compressed(*self._part(index))

    def _part(self, index: np.ndarray) -> tuple[TensorSet, np.ndarray]:
        """A set of the graphs at ``index`` alone, and their indices in it."""
        costly = None if self.costly is None else self.costly[ranges(self.graphs.node_ptr, index)]
        graph_x = None if self.costly_graphs is None else np.array(self.costly_graphs[index])
        part = held_set(self.graphs.subset(index), self.encoder, costly, graph_x, device=self.device)
        part.y = None if self.y is None else self.y[torch.from_numpy(index).to(self.device)]
        return part, np.arange(len(index))


def tensor_set(graphs: GraphSet, encoder: Encoder, *, often: bool = False, **more: Any) -> TensorSet:
    """The graphs with inputs made by ``encoder``, a :class:`StreamedSet` if they would take more than ``HELD`` bytes;
    ``more`` are ``device`` and ``layout`` of a :class:`TensorSet`."""
    edge_bytes, node_bytes, graph_bytes = 16 + 4 * encoder.edge_width, 4 * encoder.width, 4 * encoder.graph_width
    if edge_bytes * graphs.num_edges + node_bytes * graphs.num_nodes + graph_bytes * len(graphs) > HELD:
        return StreamedSet(graphs, encoder, often=often, **more)
    return held_set(graphs, encoder, **more)


def _made_once(graphs: GraphSet, rows: int, width: int, encode: Callable[[GraphSet], np.ndarray]) -> np.ndarray:
    """float32 [rows, width]: inputs that take long to make, mapped from an unnamed file, in the cache if it can be
    written. Written as a file, not through the map: a page without room on the disk would end the process."""
    shape = rows, width
    with suppress(OSError):
        data_folder().mkdir(parents=True, exist_ok=True)
    folder = data_folder() if os.access(data_folder(), os.W_OK) else Path(gettempdir())
    try:
        with TemporaryFile(dir=folder) as file:
            for piece in SetChunks(graphs):
                file.write(encode(piece).tobytes())
            file.flush()
            return np.memmap(file, np.float32, "r", shape=shape)
    except OSError as error:
        size = f"{4 * shape[0] * shape[1] / 2**20:,.0f} MiB"
        raise InputError(
            f"cannot write the inputs of {graphs.name}, {size}, to {folder}: {error.strerror}; "
            "expected room there, or SARGNN_DATA set to a folder with room"
        ) from error


def held_set(
    graphs: GraphSet,
    encoder: Encoder,
    costly: np.ndarray | None = None,
    graph_x: np.ndarray | None = None,
    **more: Any,
) -> TensorSet:
    """The graphs with all inputs that ``encoder`` makes; the costly ones and those of graphs may be there already."""
    edge_x = encoder.encode_edges(graphs) if encoder.edge_width else None
    if graph_x is None and encoder.graph_width:
        graph_x = encoder.encode_graphs(graphs)
    return TensorSet(graphs, encoder.encode(graphs, costly), edge_x=edge_x, graph_x=graph_x, **more)


def _laid_out(values: Float[Tensor, "F edges"], positions: Tensor, shape: torch.Size) -> Float[Tensor, "F rows n n"]:
    """The values of edges, each at its position in matrices of that shape, which are 0 elsewhere."""
    return values.new_zeros(len(values), shape.numel()).index_copy_(1, positions, values).view(-1, *shape)


def _with_zero_row(values: np.ndarray) -> np.ndarray:
    """A copy with one row of zeros below, for padding to read."""
    return np.concatenate([values, np.zeros_like(values, shape=(1, *values.shape[1:]))])


def _distribution(graphs: GraphSet) -> np.ndarray:
    """True saliency divided by its sum over each graph; zeros where a graph has none."""
    assert graphs.true_saliency is not None
    total = np.bincount(graphs.node_graph, weights=graphs.true_saliency, minlength=len(graphs))
    return np.asarray(graphs.true_saliency / np.maximum(total, 1e-12)[graphs.node_graph])
