"""The graphs of K models on the device, from which K batches of one shape are made at each step.

All shapes between the indices of a step's graphs and its batches are fixed, so that on a GPU this is part of the
captured step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from sargnn.batching import Batch, FilledBatch, PaddedBatch
from sargnn.batching.layouts import Layout
from sargnn.batching.tensor_set import TensorSet, held_set
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet

__all__ = ["BatchStack", "Fields", "Room", "make_stack"]

Fields = dict[str, Tensor]
"""The tensors of K batches, by the names they have in a batch, each with a leading axis for the model."""


class Room(NamedTuple):
    """Rows that every member's batch has for nodes, one or more of them for padding, and for edges between nodes."""

    nodes: int = 0
    edges: int = 0

    def holds(self, other: Room) -> bool:
        return self.nodes >= other.nodes and self.edges >= other.edges

    def grown(self, other: Room) -> Room:
        """With room for ``other`` and 10 % more, so that it seldom has to grow again."""
        return Room(*(max(own, need + need // 10) for own, need in zip(self, other, strict=True)))


class BatchStack(ABC):
    """The ``held`` graphs as rows, with a blank row at the end for the index -1, "no graph".

    ``sets`` have the same graphs with the inputs of one encoder each; ``encoder`` is the set of each member.
    """

    def __init__(self, sets: Sequence[TensorSet], encoder: Sequence[int], held: np.ndarray) -> None:
        self.data = sets[0]
        self.device = self.data.device
        assert self.data.y is not None
        self.place = np.full(len(self.data) + 1, -1)
        self.place[held] = np.arange(len(held))
        self.y = [_then_blank(self.data.y[held])]
        """The targets, of all members alike or of each."""
        self.weights = None if self.data.weights is None else _then_blank(self.data.weights[held])
        self.encoder = torch.tensor(encoder, device=self.device).unsqueeze(1)
        self.graph_x = _stacked([_then_blank(data.graph_x[held]) for data in sets if data.graph_x is not None])

    def set_targets(self, targets: Sequence[np.ndarray], held: np.ndarray) -> None:
        """Give each member targets of its own."""
        put = (torch.from_numpy(own[held]).to(self.device, self.data.x.dtype) for own in targets)
        self.y = [_then_blank(own) for own in put]

    def rows(self, graphs: np.ndarray) -> Tensor:
        """The rows of ``graphs`` as a tensor on the device; -1 stays -1."""
        return torch.from_numpy(self.place[graphs]).to(self.device)

    @abstractmethod
    def room(self, graphs: np.ndarray) -> Room:
        """What batches of these graphs, ``[..., B]``, need."""

    @abstractmethod
    def fields(self, rows: Int[Tensor, "K B"], room: Room) -> Fields:
        """The batches of all members."""

    def graph_inputs(self, rows: Int[Tensor, "K B"]) -> Fields:
        """The inputs of whole graphs."""
        return {} if self.graph_x is None else {"graph_x": self.graph_x[self.encoder, rows]}

    @abstractmethod
    def batch(self, fields: Fields, graphs: int) -> Batch:
        """One member's batch of ``graphs`` graphs or more, from its part of the fields."""

    def targets(self, rows: Int[Tensor, "K B"]) -> tuple[Shaped[Tensor, "K B *targets"], Bool[Tensor, "K B"]]:
        """The targets, and which entries are graphs at all."""
        shared = len(self.y) == 1
        own = self.y[0][rows] if shared else torch.stack([y[r] for y, r in zip(self.y, rows, strict=True)])
        return own, rows >= 0

    def graph_weights(self, rows: Int[Tensor, "K B"]) -> Float[Tensor, "K B"]:
        """How much each graph counts in the loss; 0 for "no graph"."""
        real = (rows >= 0).to(self.data.x.dtype)
        return real if self.weights is None else real * self.weights[rows]


class PaddedStack(BatchStack):
    """The ``used`` graphs padded to one size: for small graphs of similar sizes."""

    def __init__(self, sets: Sequence[TensorSet], encoder: Sequence[int], used: np.ndarray) -> None:
        super().__init__(sets, encoder, used)
        padded = [data.padded(used) for data in sets]
        self.x = torch.stack([_then_blank(batch.x) for batch in padded])
        self.edges = _stacked([_then_blank(batch.edges, dim=1) for batch in padded if batch.edges is not None])
        self.closed = torch.cat([padded[0].closed, padded[0].loops.unsqueeze(0)])
        self.mask = _then_blank(padded[0].mask)
        self.truth = None if padded[0].truth is None else _then_blank(padded[0].truth)

    def room(self, graphs: np.ndarray) -> Room:
        return Room()

    def fields(self, rows: Int[Tensor, "K B"], room: Room) -> Fields:
        fields = {"x": self.x[self.encoder, rows], "closed": self.closed[rows], "mask": self.mask[rows]}
        fields |= self.graph_inputs(rows)
        if self.truth is not None:
            fields["truth"] = self.truth[rows]
        if self.edges is not None:
            fields["edges"] = self.edges[self.encoder, :, rows].movedim(2, 1)  # [K, F_e, B, n, n]
        return fields

    def batch(self, fields: Fields, graphs: int) -> PaddedBatch:
        return PaddedBatch(**fields)


class FilledStack(BatchStack):
    """Nodes and edges listed: for graphs of any sizes."""

    def __init__(self, sets: Sequence[TensorSet], encoder: Sequence[int]) -> None:
        super().__init__(sets, encoder, np.arange(len(sets[0])))
        self.x = torch.stack([F.pad(data.x, (0, 0, 0, 1)) for data in sets])  # with a row of zeros for padding
        self.edge_x = _stacked([data.edge_x for data in sets if data.edge_x is not None])
        self.nodes = Segments.of(self.data.node_ptr, self.device)
        self.edges = Segments.of(self.data.edge_ptr, self.device)

    def room(self, graphs: np.ndarray) -> Room:
        nodes, edges = (segments.counted[graphs].sum(-1).max() for segments in (self.nodes, self.edges))
        return Room(int(nodes) + 1, int(edges))

    def fields(self, rows: Int[Tensor, "K B"], room: Room) -> Fields:
        node, graph, begins = self.nodes.listed(rows, room.nodes, nothing=self.x.shape[1] - 1)
        edge, owner, _ = self.edges.listed(rows, room.edges, nothing=0)
        first = F.pad(begins, (0, 1)).gather(1, owner)
        between = owner < rows.shape[1]
        source, target = (torch.where(between, ends[edge] + first, room.nodes - 1) for ends in self.data.edges)
        loops = torch.arange(room.nodes, device=self.device).expand(len(rows), -1)
        source, target = (torch.cat([ends, loops], dim=1) for ends in (source, target))
        fields = {"x": self.x[self.encoder, node], "source": source, "target": target, "graph": graph}
        fields |= self.graph_inputs(rows)
        if self.data.truth is not None:
            fields["truth"] = F.pad(self.data.truth, (0, 1))[node]
        if self.edge_x is not None:
            chosen = self.edge_x[self.encoder, :, edge] * between.unsqueeze(-1)  # [K, E, F_e]
            fields["edges"] = F.pad(chosen.mT, (0, room.nodes))
        return fields

    def batch(self, fields: Fields, graphs: int) -> FilledBatch:
        if "graph_x" in fields:  # the last graph is padding
            fields = {**fields, "graph_x": F.pad(fields["graph_x"], (0, 0, 0, 1))}
        return FilledBatch(**fields, num_graphs=graphs + 1)


def make_stack(
    graphs: GraphSet,
    targets: Sequence[np.ndarray],
    encoders: Sequence[Encoder],
    used: np.ndarray,
    layout: Layout,
    device: torch.device,
) -> BatchStack:
    """The ``used`` graphs in that layout for members with one encoder and one array of targets each, which may be
    shared."""
    own = {id(encoder): encoder for encoder in encoders}
    sets = [held_set(graphs, encoder, device=device) for encoder in own.values()]
    sets[0].set_targets(targets[0])
    encoder = [list(own).index(id(encoder)) for encoder in encoders]
    stack = PaddedStack(sets, encoder, used) if layout == "padded" else FilledStack(sets, encoder)
    if any(other is not targets[0] for other in targets):
        stack.set_targets(targets, used if layout == "padded" else np.arange(len(graphs)))
    return stack


def _stacked(inputs: Sequence[Tensor]) -> Tensor | None:
    """One for each encoder, or nothing."""
    return torch.stack(list(inputs)) if inputs else None


def _then_blank(rows: Tensor, dim: int = 0) -> Tensor:
    """The rows and one of zeros."""
    return torch.cat([rows, torch.zeros_like(rows.narrow(dim, 0, 1))], dim)


class Segments(NamedTuple):
    """How many entries each graph has in a list of all, and where they start; the last is for -1, "no graph"."""

    counts: Tensor
    starts: Tensor
    counted: np.ndarray
    """The counts on the CPU."""

    @classmethod
    def of(cls, pointer: np.ndarray, device: torch.device) -> Segments:
        counts, starts = np.append(np.diff(pointer), 0), np.append(pointer[:-1], 0)
        return cls(torch.from_numpy(counts).to(device), torch.from_numpy(starts).to(device), counts)

    def listed(
        self, rows: Int[Tensor, "K B"], length: int, nothing: int
    ) -> tuple[Int[Tensor, "K M"], Int[Tensor, "K M"], Int[Tensor, "K B"]]:
        """The entries of the graphs ``rows``, one graph after the other in ``length`` places, ``nothing`` in those that
        remain; which graph of the batch each belongs to (B: none); and where each graph begins.

        >>> segments = Segments.of(np.array([0, 2, 5]), torch.device("cpu"))
        >>> [t.tolist() for t in segments.listed(torch.tensor([[1, -1, 0]]), 6, nothing=99)]
        [[[2, 3, 4, 0, 1, 99]], [[0, 0, 0, 2, 2, 3]], [[0, 3, 3]]]
        """
        counts = self.counts[rows]
        ends = counts.cumsum(1)
        begins = ends - counts
        place = torch.arange(length, device=rows.device).expand(len(rows), -1).contiguous()
        graph = torch.searchsorted(ends, place, right=True)
        entry = F.pad(self.starts[rows] - begins, (0, 1)).gather(1, graph) + place
        return torch.where(graph < rows.shape[1], entry, nothing), graph, begins
