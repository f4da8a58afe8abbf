r"""Graph U-Nets: pool the graph down by top-k scores, unpool it up again, with skip connections between equal levels.

Reference: H. Gao, S. Ji, "Graph U-Nets", ICML 2019, and its code for graph classification.

With :math:`g` = (A + I) whose *columns* are divided by their sums, GCN(H) = ELU((g H) W + b), dropout before.

1. H⁰ = GCN(X).
2. Down, for each ratio r: H = GCN(H), remembered; gPool: scores :math:`z = w^T h + b`, keep the min(n, max(2, ⌊r n⌋))
   nodes of highest z, :math:`h_i \leftarrow \sigma(z_i) h_i`; two kept nodes are joined where two steps of g lead from
   one to the other.
3. GCN at the bottom.
4. Up, in reverse: every row back to the node it came from, zeros elsewhere; GCN on that level's graph; plus what was
   remembered there: one feature map. After the last, H⁰ is added: one more map.
5. Maximum, sum and mean of every map, side by side, dropout, and a perceptron of 512.

Choices:

- The paper projects on p/‖p‖; the code, followed here, has a linear map with a bias. The paper (node classification)
  has A + 2I, the code A + I.
- The code takes one graph at a time with dense matrices; here a batch is one sparse matrix.
- The code fails on graphs of one node and removes isolated nodes; here they stay and min(n, ·) does the rest.
- Ties are broken by the order of the nodes, as in the code: see :mod:`sargnn.systems.sagpool`. Steps of two soon make a
  small graph complete: then all its nodes tie.
- The published accuracy is the highest test accuracy over all epochs.
- Node scores: the softmax of z over the nodes that a level keeps; 0 for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch, ListedBatch, PackedBatch
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.systems.base import TIE, PackedModel, dropout, listed_batch, node_ranks

__all__ = ["GraphUNet", "GraphUNetConfig"]


@dataclass(frozen=True)
class GraphUNetConfig(Hyperparameters):
    """Hyperparameters of Graph U-Net; the defaults are those of the published code for PROTEINS."""

    hidden: int = 64
    """Features of a node."""
    ratios: tuple[float, ...] = (0.9, 0.8, 0.7)
    """Fraction of the nodes that each level keeps, rounded down; as many levels as ratios."""
    classifier: int = 512
    """Features of the classifier's hidden layer."""
    dropout: float = 0.3
    """Dropout before every map."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for ratio in self.ratios:
            if not 0 < ratio <= 1:
                raise InputError(f"model.ratios: got {ratio}, expected more than 0, at most 1")


class GraphUNet(PackedModel):
    """Down and up through smaller and smaller graphs; its node scores are those of every pooling."""

    def __init__(self, config: GraphUNetConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = c = config
        depth = len(c.ratios)
        self.start = nn.Linear(inputs, c.hidden)
        self.down = nn.ModuleList(nn.Linear(c.hidden, c.hidden) for _ in range(depth))
        self.scores = nn.ModuleList(nn.Linear(c.hidden, 1) for _ in range(depth))
        self.bottom = nn.Linear(c.hidden, c.hidden)
        self.up = nn.ModuleList(nn.Linear(c.hidden, c.hidden) for _ in range(depth))
        self.head = nn.Sequential(
            nn.Dropout(c.dropout), nn.Linear(3 * c.hidden * (depth + 1), c.classifier), nn.ELU(), nn.Dropout(c.dropout),
            nn.Linear(c.classifier, classes),
        )  # fmt: skip

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        level = Level.of(coarser(batch))
        start = h = self._convolve(self.start, batch.x, level)
        levels, origin = [], torch.arange(len(batch.x), device=batch.x.device)
        node_scores: list[Tensor] = []
        for conv, score, ratio in zip(self.down, self.scores, self.config.ratios, strict=True):
            h = self._convolve(conv, h, level)
            z = score(h).squeeze(-1)
            kept = best(z, ratio, level.batch)
            levels.append((level, h, kept))
            level, z = Level.of(coarser(level.batch, kept)), z.index_select(0, kept)
            h = z.sigmoid().unsqueeze(-1) * h.index_select(0, kept)
            origin = origin[kept]
            node_scores.append(torch.zeros_like(batch.uniform).index_put((origin,), level.batch.softmax_nodes(z)))
        h = self._convolve(self.bottom, h, level)
        maps = []
        for conv, (level, skipped, kept) in zip(self.up, reversed(levels), strict=True):
            h = self._convolve(conv, unpooled(h, kept, len(skipped)), level) + skipped
            maps.append(readout(h, level.batch))
        h = h + start
        maps.append(readout(h, level.batch))
        return Encoding(torch.cat(maps, dim=1), h, tuple(node_scores))

    def _convolve(self, linear: nn.Module, h: Float[Tensor, "N d"], level: Level) -> Float[Tensor, "N e"]:
        h = dropout(h, self.config.dropout if self.training else 0.0)
        return F.elu(linear(level.batch.aggregate(level.weights, h)))


class Level(NamedTuple):
    """A graph on the way down."""

    batch: ListedBatch
    weights: Float[Tensor, " E"]
    """g: each edge over the number of edges that leave its source."""

    @classmethod
    def of(cls, batch: ListedBatch) -> Level:
        leaving = torch.bincount(batch.source, minlength=len(batch.graph)).to(batch.x.dtype)
        return cls(batch, batch.at_source(leaving.reciprocal()))


def best(z: Float[Tensor, " N"], ratio: float, batch: ListedBatch) -> Int[Tensor, " kept"]:
    """The min(n, max(2, ⌊ratio n⌋)) nodes of highest ``z`` of each graph, in the order of the nodes."""
    sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
    # A little more before rounding down: 0.7 times 10 is 7, whatever binary fractions make of it.
    left = torch.minimum(sizes, (ratio * sizes + 1e-4).long().clamp(min=2))
    return (node_ranks(z.detach().round(decimals=TIE), batch) < left[batch.graph]).nonzero().squeeze(1)


def coarser(batch: ListedBatch, kept: Int[Tensor, " kept"] | None = None) -> ListedBatch:
    """The kept nodes, joined where at most two steps led from one to the other; without ``kept``, the batch itself."""
    x, graph = (batch.x, batch.graph) if kept is None else (batch.x[kept], batch.graph[kept])
    nodes = F.pad(torch.bincount(graph, minlength=batch.num_graphs).cumsum(0), (1, 0))
    return listed_batch(x, nodes, *_entries(batch.source, batch.target, len(batch.graph), kept))


@torch.compiler.disable
def _entries(
    source: Int[Tensor, " E"], target: Int[Tensor, " E"], nodes: int, kept: Int[Tensor, " kept"] | None = None
) -> tuple[Int[Tensor, " starts"], Int[Tensor, " entries"]]:
    """The entries of A + I or, if only some nodes are kept, of its square among those: where the row of each target
    begins, and the sources. SciPy takes a fraction of the time in which PyTorch lists and sorts the walks."""
    from scipy.sparse import csr_array

    ends = target.cpu().numpy(), source.cpu().numpy()
    matrix = csr_array((np.ones(len(source), bool), ends), shape=(nodes, nodes))
    if kept is not None:
        matrix = matrix[kept.cpu().numpy()] @ matrix[:, kept.cpu().numpy()]
    rows, columns = (torch.from_numpy(part).to(source.device, torch.long) for part in (matrix.indptr, matrix.indices))
    return rows, columns


def unpooled(h: Float[Tensor, "kept d"], kept: Int[Tensor, " kept"], nodes: int) -> Float[Tensor, "N d"]:
    """Every row back at its node, zeros elsewhere."""
    return h.new_zeros(nodes, h.shape[1]).index_copy(0, kept, h)


def readout(h: Float[Tensor, "N d"], batch: ListedBatch) -> Float[Tensor, "B 3*d"]:
    """Maximum, sum and mean over the nodes."""
    return torch.cat([batch.max(h), batch.sum(h), batch.pool(batch.uniform, h)], dim=1)
