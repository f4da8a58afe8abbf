r"""DGM: Mapper pooling with a PageRank lens (MPR), the graph classifier of Deep Graph Mapper.

Reference: C. Bodnar, C. Cangea, P. Liò, "Deep Graph Mapper: Seeing Graphs through the Neural Lens", Frontiers in Big
Data 2021, and its code. The name also covers a way to draw graphs; this is the pooling of ``mpr/``.

The lens f is the PageRank (damping 0.85) of the nodes, shifted and scaled to [0, 1]. K intervals cover [0, 1], each
stretched by o = overlap / (K + 1) at both ends, and pooling is

.. math::
    S_{ti} = \mathrm{softmax}_t(1[f_i \in \text{interval } t]), \qquad X' = S X, \qquad A' = S A S^T

Net: two GCN layers, pooling to K₁ clusters, two GCN layers, pooling to K₂, two GCN layers, dropout, the mean over the
clusters, a linear map.

Choices:

- ``model.weighted`` = true keeps A' as weights, as the paper means. The code (``false``) re-reads A', which has no
  zeros, as a list of edges: its graph is complete, the second PageRank uniform, all clusters but the first copies.
- A cluster without a self-loop gets one of weight 1, as in GCN layers.
- PageRank is solved for exactly, in double precision; a node without edges spreads evenly. On a regular graph it is
  constant and every node lies in the first interval. A value within 1e-6 of a border lies inside.
- No connected-component step (in spite of Mapper's name) and no gradient through S, as in the code.
- No node scores: the lens is not learnt.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import PaddedBatch
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.systems.base import DenseModel, PackedModel

__all__ = ["DGM", "DGMConfig", "mapper", "pagerank"]


@dataclass(frozen=True)
class DGMConfig(Hyperparameters):
    """Hyperparameters of DGM; the defaults are published, but PROTEINS has clusters 8, 2 and overlap 0.25."""

    AT_LEAST = (("overlap", 0),)
    hidden: int = 128
    """Features of a node."""
    clusters: tuple[int, ...] = (20, 5)
    """K of each pooling, one after the other."""
    overlap: float = 0.1
    """How far the intervals of the lens reach into each other."""
    weighted: bool = True
    """Whether pooled graphs keep their weights (the paper) or become complete (its code)."""
    dropout: float = 0.5
    """Dropout before the last map."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for k in self.clusters:
            if k < 1:
                raise InputError(f"model.clusters: got {k}, expected at least 1")


class DGM(PackedModel, DenseModel):
    """GCN layers with Mapper poolings between them."""

    def __init__(self, config: DGMConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        widths = [inputs] + [config.hidden] * (2 * len(config.clusters) + 1)
        self.layers = nn.ModuleList(nn.Linear(width, config.hidden) for width in widths)
        self.head = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(config.hidden, classes))

    def encode_padded(self, batch: PaddedBatch) -> Encoding:
        adjacency, real = batch.between, batch.mask.to(batch.x.dtype)
        h = nodes = self._twice(0, batch.x, adjacency)
        for number, k in enumerate(self.config.clusters, 1):
            pool = mapper(pagerank(adjacency, real), real, k, self.config.overlap)
            h, adjacency, real = pool @ h, pool @ adjacency @ pool.mT, torch.ones_like(pool[..., 0])
            if not self.config.weighted:
                adjacency = (adjacency > 0).to(h.dtype)
            h = self._twice(number, h, adjacency)
        mean = (h * real.unsqueeze(-1)).sum(-2) / real.sum(-1, keepdim=True).clamp(min=1)
        return Encoding(mean, nodes, ())

    def _twice(self, number: int, h: Float[Tensor, "B n d"], adjacency: Float[Tensor, "B n n"]) -> Tensor:
        """Two GCN layers on a graph with weights."""
        loops = torch.eye(adjacency.shape[-1]).to(adjacency)
        closed = adjacency + (adjacency.diagonal(dim1=-2, dim2=-1) == 0).unsqueeze(-1) * loops
        scale = closed.sum(-1, keepdim=True).rsqrt()
        normalised = scale * closed * scale.mT
        for layer in list(self.layers)[2 * number : 2 * number + 2]:
            h = F.relu(layer(normalised @ h))
        return h


@torch.no_grad()
def pagerank(adjacency: Float[Tensor, "B n n"], real: Float[Tensor, "B n"], damping: float = 0.85) -> Tensor:
    """float64 [B, n]: where a walk is found that follows an edge with probability ``damping`` and else starts anew.

    >>> star = torch.tensor([[[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]])
    >>> pagerank(star, torch.ones(1, 4)).round(decimals=5).tolist()
    [[0.47973, 0.17342, 0.17342, 0.17342]]
    """
    adjacency, real = adjacency.double(), real.double()
    start = (real / real.sum(-1, keepdim=True).clamp(min=1)).unsqueeze(-1)
    leaving = adjacency.sum(-2, keepdim=True)
    walk = torch.where(leaving > 0, adjacency / leaving.clamp(min=1e-300), start)
    identity = torch.eye(adjacency.shape[-1]).to(adjacency)
    found: Tensor = torch.linalg.solve(identity - damping * walk, (1 - damping) * start)
    return found.squeeze(-1)


@torch.no_grad()
def mapper(lens: Float[Tensor, "B n"], real: Float[Tensor, "B n"], k: int, overlap: float) -> Float[Tensor, "B k n"]:
    """S: each node's weight in each of k clusters, by the intervals that its lens lies in; 0 at padding."""
    lens = lens - lens.masked_fill(real == 0, float("inf")).amin(-1, keepdim=True)
    lens = lens / (lens * real).amax(-1, keepdim=True).clamp(min=1e-9)
    grid = torch.linspace(0, 1, k + 1).to(lens).unsqueeze(-1)
    stretch = overlap / (k + 1) + 1e-6
    inside = (lens.unsqueeze(-2) >= grid[:-1] - stretch) & (lens.unsqueeze(-2) <= grid[1:] + stretch)
    return inside.to(real.dtype).softmax(-2) * real.unsqueeze(-2)
