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

- Blocks are as wide as the node inputs in the published code (1 or 2 features for degree or coordinates); here a linear
  map brings inputs to ``model.hidden`` first.
- The sample is drawn anew in every pass, in evaluation too, as published. ``model.neighbours`` = none takes every
  neighbour once: nothing is drawn, and the order of nodes does not matter.
- In the published code the normalisation of variant 2 sees one graph and fails on one node; here it sees the batch.
- Label smoothing of 0.1 and clipped gradients are not offered: all systems share one loss.
- One attention head, as published. No node scores: attention is between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch, ListedBatch, PackedBatch
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import PackedModel, PaddedGroup, dropout, listed_batch, padded_groups

__all__ = ["UGformer", "UGformerConfig", "neighbour_sequences"]


@dataclass(frozen=True)
class UGformerConfig(Hyperparameters):
    """Hyperparameters of UGformer."""

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


class UGformer(PackedModel):
    """Transformer blocks over neighbours or over all nodes, read out by sums at every layer."""

    def __init__(self, config: UGformerConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = c = config
        layer = AllNodes if c.variant == "all-nodes" else Neighbours
        self.inputs = nn.Linear(inputs, c.hidden)
        self.layers = nn.ModuleList(layer(c) for _ in range(c.layers))
        self.head = nn.Sequential(nn.Dropout(c.dropout), nn.Linear(c.layers * c.hidden, classes))

    @property
    def draws_in_eval(self) -> bool:
        return self.config.variant == "neighbours" and self.config.neighbours is not None

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        whole = self.config.variant == "all-nodes"
        within = padded_groups(batch) if whole else Sequences.of(batch, self.config.neighbours)
        h, every = self.inputs(batch.x), []
        for layer in self.layers:
            h = layer(h, within, batch)
            every.append(h)
        return Encoding(batch.sum(torch.cat(every, dim=-1)), h, ())


class Sequences(NamedTuple):
    """What every node attends to."""

    nodes: Int[Tensor, "N length"]
    absent: Bool[Tensor, "N length"]
    """True at places that are empty."""
    edges: ListedBatch
    """The same as edges, from the nodes of its sequence to each node."""

    @classmethod
    def of(cls, batch: PackedBatch, neighbours: int | None) -> Sequences:
        nodes, absent = neighbour_sequences(batch, neighbours)
        sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
        starts = torch.arange(len(nodes) + 1, device=nodes.device) * nodes.shape[1]
        return cls(nodes, absent, listed_batch(batch.x, F.pad(sizes.cumsum(0), (1, 0)), starts, nodes.flatten()))


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

    def at_first_place(self, h: Float[Tensor, "N d"], within: Sequences) -> Float[Tensor, "N d"]:
        """What :meth:`forward` gives at the first place; the last block does not compute the others."""
        last: Any = self[-1]
        p = last.dropout.p if self.training else 0.0
        if len(self) == 1:
            attended = _attended(last.self_attn, h, within, p)
        else:
            sequences, mask = h[within.nodes], self._mask(h, within.absent)
            for block in list(self)[:-1]:
                sequences = block(sequences, src_key_padding_mask=mask)
            h, query = sequences[:, 0], sequences[:, :1]
            attended = last.self_attn(query, sequences, sequences, key_padding_mask=mask, need_weights=False)[0][:, 0]
        first = last.norm1(h + dropout(attended, p))
        widened = dropout(F.relu(last.linear1(first)), p)
        out: Tensor = last.norm2(first + dropout(last.linear2(widened), p))
        return out

    def _mask(self, h: Tensor, absent: Tensor) -> Tensor:
        # As a number: PyTorch's fast path for masks drops the absent places, and with them the shape.
        return torch.zeros_like(absent, dtype=h.dtype).masked_fill(absent, float("-inf"))


def _attended(
    attention: nn.MultiheadAttention, h: Float[Tensor, "N d"], within: Sequences, p: float
) -> Float[Tensor, "N d"]:
    """What each node hears from its sequence: a node is mapped once, however many sequences it is in."""
    d = h.shape[-1]
    query, key, value = F.linear(h, attention.in_proj_weight, attention.in_proj_bias).split(d, dim=-1)
    scores = within.edges.compare_ends(query, key).view_as(within.absent) * d**-0.5
    weights = dropout(scores.masked_fill(within.absent, float("-inf")).softmax(-1), p)
    attended: Tensor = attention.out_proj(within.edges.aggregate(weights.flatten(), value))
    return attended


class Neighbours(nn.Module):
    """Variant 1: attention within the sequence of each node."""

    def __init__(self, config: UGformerConfig) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def forward(self, h: Float[Tensor, "N d"], within: Sequences, batch: PackedBatch) -> Float[Tensor, "N d"]:
        return self.transformer.at_first_place(h, within)


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
    source = source[target.argsort(stable=True)]
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
