r"""ChebyGIN with attention pooling: Chebyshev graph convolutions that drop the nodes they do not attend to.

Reference: B. Knyazev, G. W. Taylor, M. R. Amer, "Understanding Attention and Generalization in Graph Neural Networks",
NeurIPS 2019, and the code published with it.

With :math:`\hat L = -D^{-1/2} A D^{-1/2}` a layer of order K is

.. math::
    T_0 = H, \quad T_1 = \hat L H, \quad T_k = 2 \hat L T_{k-1} - T_{k-2}, \qquad
    H' = F_{MLP}([T_0 \,\|\, D T_1 \,\|\, \dots \,\|\, D T_{K-1}])

where the factor D, the degree of the node, turns averages into sums ("sum" aggregation, as in GIN). For K = 1 the one
term is :math:`\tilde D \tilde D^{-1/2} \tilde A \tilde D^{-1/2} H`. Before each layer but the first, attention pooling
keeps the nodes that matter:

.. math::
    a = \mathrm{softmax}_{nodes}(\mathrm{clamp}(f(H), \pm 60)), \qquad h_i \leftarrow a_i h_i, \qquad
    \text{drop } i \text{ where } a_i \le \text{threshold}

and the graph is restricted to them. The readout is the maximum of each feature, classified by one linear map.

*Unsupervised* attention is learnt from the classes alone. *Supervised* attention also learns from the true saliency of
the nodes: ``training.saliency_weight`` weighs KL(truth ‖ a).

Choices:

- Dropped nodes stay in place with features 0, the same arithmetic in a fixed shape: features are never negative, so a
  zero never wins the maximum.
- The published code can drop every node of a graph; here the nodes of highest attention always stay.
- The published divergence is divided by the number of nodes and weighted by 100, with the truth renormalised over the
  kept nodes. Here it is that of every other model, so weights of 1 to 10 do what 100 does there.
- The published code adds 1e-5 to degrees; here a node without neighbours has T_k = 0 for odd k, exactly.
- The published head for TRIANGLES is a regression of the count; here it is classification, as for every other model.
- The bias of the last map of f is left out: softmax does not see it.
- Adam's betas (0.5, 0.999) of the TRIANGLES runs are not offered: all systems share one optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.systems.base import NodeValues, graph_max, real_nodes

__all__ = ["ChebyGIN", "ChebyGINConfig"]


@dataclass(frozen=True)
class ChebyGINConfig(Hyperparameters):
    """Hyperparameters of ChebyGIN; the defaults are those of the TRIANGLES runs of the paper."""

    FRACTIONS = ("dropout", "threshold")
    layers: int = 3
    """Chebyshev layers."""
    hidden: int = 64
    """Features of a node after each layer, and of the hidden layer in each perceptron."""
    order: int = 7
    """K, terms of the Chebyshev basis: K - 1 is how far a layer sees."""
    aggregation: Literal["sum", "mean"] = "sum"
    """sum: terms over neighbours are multiplied by the node's degree; mean: they are not."""
    attention: Literal["gnn", "linear", "none"] = "gnn"
    """What scores the nodes before every layer but the first: a small ChebyGIN of 32, 32 and 1 features and order 2,
    one linear map, or nothing (global pooling alone)."""
    threshold: float = 1e-4
    """Nodes with no more attention than this are dropped; the paper has 1e-4 unsupervised and 1e-3 supervised."""
    readout: Literal["max", "sum"] = "max"
    """How the nodes that are left become a graph's vector."""
    dropout: float = 0.0
    """Dropout of the graph's vector."""


class ChebyGIN(GraphModel):
    """Chebyshev layers with attention pooling between them; its node scores are the attention of every pooling.

    >>> model = ChebyGIN(ChebyGINConfig(hidden=16, order=3), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    def __init__(self, config: ChebyGINConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = c = config
        self.layers = nn.ModuleList(
            ChebyshevLayer(width, c.hidden, c.order, c.aggregation, hidden=c.hidden)
            for width in [inputs] + [c.hidden] * (c.layers - 1)
        )
        scored = 0 if c.attention == "none" else c.layers - 1
        self.attention = nn.ModuleList(NodeScores(c.hidden, c.attention, c.aggregation) for _ in range(scored))
        self.head = nn.Linear(c.hidden, classes)

    def encode(self, batch: Batch) -> Encoding:
        kept = real_nodes(batch)
        h = self.layers[0](batch.x, kept, batch)
        attention: list[Tensor] = []
        for number, layer in enumerate(list(self.layers)[1:]):
            if self.attention:
                a = attend(self.attention[number](h, kept, batch), kept, batch)
                kept = above(a, self.config.threshold, kept, batch)
                h = (a * kept).unsqueeze(-1) * h
                attention.append(a)
            h = layer(h, kept, batch)
        vector = graph_max(h, batch, kept) if self.config.readout == "max" else batch.sum(h)
        return Encoding(F.dropout(vector, self.config.dropout, self.training), h, tuple(attention))


class ChebyshevLayer(nn.Module):
    """``H' = σ(F_MLP([T_0 ‖ D T_1 ‖ ... ‖ D T_{K-1}]))`` on the nodes where ``kept`` is 1; 0 elsewhere.

    Without ``hidden`` the perceptron is one linear map; ``last`` leaves σ and the bias out.
    """

    def __init__(
        self, width: int, out: int, order: int, aggregation: str, hidden: int | None = None, last: bool = False
    ) -> None:
        super().__init__()
        self.order = order
        self.aggregation = aggregation
        self.last = last
        maps: list[nn.Module] = [] if hidden is None else [nn.Linear(order * width, hidden), nn.ReLU()]
        self.mlp = nn.Sequential(*maps, nn.Linear(hidden or order * width, out, bias=not last))

    def forward(self, h: Float[Tensor, "*nodes d_in"], kept: NodeValues, batch: Batch) -> Float[Tensor, "*nodes d_out"]:
        out: Tensor = self.mlp(chebyshev_terms(h, kept, self.order, self.aggregation, batch))
        return (out if self.last else out.relu()) * kept.unsqueeze(-1)


class NodeScores(nn.Module):
    """f: one number per node, by a small ChebyGIN or by one linear map."""

    def __init__(self, width: int, kind: str, aggregation: str, hidden: int = 32) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        if kind == "gnn":
            self.layers.extend(ChebyshevLayer(d, hidden, 2, aggregation) for d in (width, hidden))
            self.layers.append(ChebyshevLayer(hidden, 1, 2, aggregation, last=True))
        else:
            self.linear = nn.Linear(width, 1, bias=False)

    def forward(self, h: Float[Tensor, "*nodes d"], kept: NodeValues, batch: Batch) -> NodeValues:
        for layer in self.layers:
            h = layer(h, kept, batch)
        return (h if self.layers else self.linear(h)).squeeze(-1)


def chebyshev_terms(
    h: Float[Tensor, "*nodes d"], kept: NodeValues, order: int, aggregation: str, batch: Batch
) -> Float[Tensor, "*nodes Kd"]:
    """[T_0 ‖ D T_1 ‖ ... ‖ D T_{K-1}] of the graph restricted to the kept nodes; for K = 1, GCN's term alone."""
    edges = (batch.ones if order == 1 else batch.between) * batch.at_target(kept) * batch.at_source(kept)
    degree = batch.neighbour_sum(edges, kept)
    scale = degree.clamp(min=1).rsqrt()
    normalised = edges * batch.at_target(scale) * batch.at_source(scale)
    gain = degree.unsqueeze(-1) if aggregation == "sum" else 1.0
    if order == 1:
        return gain * batch.aggregate(normalised, h)
    terms = [h, batch.aggregate(-normalised, h)]
    while len(terms) < order:
        terms.append(2 * batch.aggregate(-normalised, terms[-1]) - terms[-2])
    return torch.cat([h, *(gain * term for term in terms[1:])], dim=-1)


def attend(scores: NodeValues, kept: NodeValues, batch: Batch) -> NodeValues:
    """Softmax over the kept nodes of each graph; 0 elsewhere."""
    return batch.softmax_nodes(scores.clamp(-60, 60).masked_fill(kept == 0, -1e30))


def above(a: NodeValues, threshold: float, kept: NodeValues, batch: Batch) -> NodeValues:
    """1 at the kept nodes with more attention than the threshold, and always at those that have the most."""
    highest = batch.spread(batch.max(a.detach().unsqueeze(-1))).squeeze(-1)
    # Nodes that are alike to the model may differ by rounding: they stay or go together.
    return kept * ((a > threshold) | (a >= highest * (1 - 1e-5)))
