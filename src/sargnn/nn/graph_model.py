"""What every model here is to the rest: ``encode`` gives a vector for every graph, ``head`` makes logits of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.layouts import Layout

__all__ = ["Encoding", "GraphModel"]


class Encoding(NamedTuple):
    """What a model makes of a batch."""

    graph: Float[Tensor, "B d"]
    """The vector that is classified."""
    nodes: Float[Tensor, "*nodes d"]
    """Node features of the last layer."""
    saliency: tuple[Tensor, ...]
    """s⁰ ... s^{L-1}: one node tensor per layer, each a distribution over the nodes of each graph, or the one that the
    readout is made by; empty without saliency."""


class GraphModel(nn.Module):
    """A model of graphs.

    ``forward(x, edge_index, batch)`` has PyTorch Geometric's signature and returns logits alone; inputs of edges and of
    whole graphs may follow.
    """

    layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts that :meth:`encode` takes: all of them where the model knows a batch by its primitives alone."""
    stacked_layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts in which K models of this kind train at once; none: they train one after the other."""
    head: Callable[[Tensor], Tensor]

    def encode(self, batch: Batch) -> Encoding:
        """Graph vectors, node features and, where the model has them, node scores."""
        raise NotImplementedError

    def forward(
        self,
        x: Float[Tensor, "N F"],
        edge_index: Int[Tensor, "2 E"],
        batch: Int[Tensor, " N"] | None = None,
        edge_attr: Float[Tensor, "E F_e"] | None = None,
        graph_attr: Float[Tensor, "B F_g"] | None = None,
    ) -> Float[Tensor, "*members B classes"]:
        return self.head(self.encode(PackedBatch.from_edges(x, edge_index, batch, edge_attr, graph_attr)).graph)
