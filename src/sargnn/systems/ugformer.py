r"""UGformer: Transformer blocks over each node's neighbours (variant 1) or over all nodes of the graph (variant 2).

Reference: D. Q. Nguyen, T. D. Nguyen, D. Phung, "Universal Graph Transformer Self-Attention Networks", WWW 2022
companion, and its code ("Graph-Transformer"). The compared numbers do not say which variant they are of.

*neighbours* (variant 1, the paper's main results): for every node i the sequence [i, s_1, ..., s_k] of itself and k
neighbours drawn with replacement, a node without neighbours repeated; post-norm Transformer blocks over the sequence,
without positions; what comes out at the first place is the node's new vector:

.. math:: h_i' = \mathrm{Transformer}([h_i, h_{s_1}, ..., h_{s_k}])_0

*all-nodes* (variant 2): blocks over all nodes of the graph, then one sum over neighbours,

.. math:: H' = \mathrm{ReLU}(\mathrm{BN}((A + I)\,\mathrm{Transformer}(H)\,W))

In both, the sums over the nodes of every layer are classified by one linear map each, added up.

Choices:

- Blocks are as wide as the node inputs in the published code, which leaves 1 or 2 features for degree or coordinates;
  here a linear map brings inputs to ``model.hidden`` first.
- The sample is drawn anew in every pass, in evaluation too, as published; there the draws of a seed are always the
  same. ``model.neighbours`` = none takes every neighbour once: nothing is drawn, and the order of nodes does not
  matter.
- Variant 2 takes one graph a step in the published code, so that its batch normalisation sees one graph and fails on a
  graph of one node; here it sees the batch.
- Label smoothing of 0.1 and clipped gradients are not offered: all systems share one loss.
- One attention head, as published. No node scores: attention is between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.data.batch import Batch, PackedBatch
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import PaddedGroup, padded_groups, require_at_least, require_share

__all__ = ["UGformer", "UGformerConfig", "neighbour_sequences"]


@dataclass(frozen=True)
class UGformerConfig:
    """What a UGformer is."""

    variant: Literal["neighbours", "all-nodes"] = "neighbours"
    """What a node attends to: neighbours (variant 1), or all nodes before a sum over neighbours (variant 2)."""
    layers: int = 2
    """Layers, each read out."""
    hidden: int = 64
    """Features of a node."""
    blocks: int = 1
    """T, Transformer blocks in a layer."""
    neighbours: int | None = 8
    """k, neighbours drawn for each node in variant 1; none: all of them, each once."""
    feed_forward: int = 256
    """Width of the feed-forward nets; published: 256 to 1024."""
    dropout: float = 0.5
    """Dropout in the blocks and of the graph's vector."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "layers", "hidden", "blocks", "feed_forward")
        if self.neighbours is not None:
            require_at_least(self, 1, "neighbours")
        require_share(self, "dropout")


class UGformer(GraphModel):
    """Transformer blocks over neighbours or over all nodes, read out by sums at every layer.

    >>> model = UGformer(UGformerConfig(hidden=16), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    packed_only = True

    def __init__(self, config: UGformerConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        c = config
        layer = AllNodes if c.variant == "all-nodes" else Neighbours
        self.inputs = nn.Linear(inputs, c.hidden)
        self.layers = nn.ModuleList(layer(c) for _ in range(c.layers))
        self.head = nn.Sequential(nn.Dropout(c.dropout), nn.Linear(c.layers * c.hidden, classes))

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        whole = self.config.variant == "all-nodes"
        within = padded_groups(batch) if whole else neighbour_sequences(batch, self.config.neighbours)
        h, every = self.inputs(batch.x), []
        for layer in self.layers:
            h = layer(h, within, batch)
            every.append(h)
        return Encoding(batch.sum(torch.cat(every, dim=-1)), h, ())


class Transformer(nn.ModuleList):
    """T post-norm blocks over sequences ``[S, length, d]``, those places left out where ``absent`` is true."""

    def __init__(self, config: UGformerConfig) -> None:
        super().__init__(
            nn.TransformerEncoderLayer(config.hidden, 1, config.feed_forward, config.dropout, batch_first=True)
            for _ in range(config.blocks)
        )

    def forward(self, h: Float[Tensor, "S length d"], absent: Bool[Tensor, "S length"]) -> Float[Tensor, "S length d"]:
        mask = self._mask(h, absent)
        for block in self:
            h = block(h, src_key_padding_mask=mask)
        return h

    def at_first_place(self, h: Float[Tensor, "S length d"], absent: Bool[Tensor, "S length"]) -> Float[Tensor, "S d"]:
        """What :meth:`forward` gives at the first place; the last block does not compute the others."""
        mask = self._mask(h, absent)
        last: Any = self[-1]
        for block in list(self)[:-1]:
            h = block(h, src_key_padding_mask=mask)
        attended, _ = last.self_attn(h[:, :1], h, h, key_padding_mask=mask, need_weights=False)
        first = last.norm1(h[:, 0] + last.dropout1(attended[:, 0]))
        widened = last.dropout(last.activation(last.linear1(first)))
        return last.norm2(first + last.dropout2(last.linear2(widened)))

    def _mask(self, h: Tensor, absent: Tensor) -> Tensor:
        # As a number: PyTorch's fast path for masks drops the absent places, and with them the shape.
        return torch.zeros_like(absent, dtype=h.dtype).masked_fill(absent, float("-inf"))


class Neighbours(nn.Module):
    """Variant 1: attention within the sequence of each node."""

    def __init__(self, config: UGformerConfig) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def forward(
        self, h: Float[Tensor, "N d"], sequences: tuple[Tensor, Tensor], batch: PackedBatch
    ) -> Float[Tensor, "N d"]:
        nodes, absent = sequences
        return self.transformer.at_first_place(h[nodes], absent)


class AllNodes(nn.Module):
    """Variant 2: attention within each graph, then a sum over neighbours."""

    def __init__(self, config: UGformerConfig) -> None:
        super().__init__()
        self.transformer = Transformer(config)
        self.linear = nn.Linear(config.hidden, config.hidden, bias=False)
        self.norm = BatchNorm(config.hidden)

    def forward(self, h: Float[Tensor, "N d"], groups: list[PaddedGroup], batch: PackedBatch) -> Float[Tensor, "N d"]:
        attended = torch.zeros_like(h)
        for group in groups:
            mask = group.batch.mask
            dense = h.new_zeros(*mask.shape, h.shape[-1]).masked_scatter(mask.unsqueeze(-1), h[group.rows])
            attended = attended.index_put((group.rows,), self.transformer(dense, ~mask)[mask])
        return F.relu(self.norm(batch.aggregate(batch.ones, self.linear(attended)), batch))


def neighbour_sequences(batch: PackedBatch, k: int | None) -> tuple[Int[Tensor, "N length"], Bool[Tensor, "N length"]]:
    """For every node itself and k neighbours drawn with replacement, or all of them; and which places are empty."""
    nodes = torch.arange(len(batch.graph), device=batch.graph.device)
    between = batch.source != batch.target
    source, target = batch.source[between], batch.target[between]
    source, target = source[target.argsort(stable=True)], target.sort(stable=True).values
    degree = torch.bincount(target, minlength=len(nodes))
    first = degree.cumsum(0) - degree
    if k is None:
        place = torch.arange(int(degree.max()) if len(nodes) else 0, device=nodes.device).expand(len(nodes), -1)
        absent = place >= degree.unsqueeze(1)
    else:
        place = (torch.rand(len(nodes), k, device=nodes.device) * degree.unsqueeze(1)).long()
        absent = torch.zeros_like(place, dtype=torch.bool)
    lone = absent | (degree.unsqueeze(1) == 0)  # these places hold the node itself
    own = nodes.unsqueeze(1)
    listed = torch.cat([source, nodes[:1]])  # one entry more, so that an edgeless batch can be indexed
    drawn = torch.where(lone, own, listed[(first.unsqueeze(1) + place).masked_fill(lone, 0)])
    return torch.cat([own, drawn], dim=1), F.pad(absent, (1, 0))
