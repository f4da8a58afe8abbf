"""The four backbones F_B, each giving its local weights ``a`` and its transform, so that any ``w`` can replace ``a``.

With ``w = a`` a layer is exactly the ordinary GCN, GraphSAGE, GIN or GAT layer; the SAR model passes fused weights
instead. All are ``MessagePassing`` modules, so that PyTorch Geometric's explainers can mask their edges.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.inits import glorot

from sargnn.data.batch import Batch, PackedBatch
from sargnn.nn.fusion import Fusion
from sargnn.nn.memory import perceptron

__all__ = ["BACKBONES", "Backbone", "GATLayer", "GCNLayer", "GINLayer", "SAGELayer"]


class Backbone(MessagePassing):
    """One layer: ``H' = F_B(H, s)`` (eq. backbone), or the ordinary layer when no saliency is given.

    Every layer is built by ``(width, out, heads, bias)``: GAT alone has heads, and GIN's perceptron has biases of its
    own.

    Shapes: node features ``[*nodes, d_in]``, saliency ``[*nodes]``; gives ``[*nodes, d_out]``.
    """

    def __init__(self, width: int, out: int, heads: int = 1, bias: bool = False) -> None:
        super().__init__(aggr="sum")

    def forward(
        self,
        h: Float[Tensor, "*nodes d_in"],
        batch: Batch,
        saliency: Float[Tensor, "*nodes"] | None = None,
        fusion: Fusion | None = None,
    ) -> Float[Tensor, "*nodes d_out"]:
        z = self.message_features(h)
        weights = self.local_weights(z, batch)
        if saliency is not None:
            weights = (fusion or Fusion()).weights(weights, saliency, batch)
        return self.transform(self.neighbourhood_sum(weights, z, batch), batch)

    def message_features(self, h: Tensor) -> Tensor:
        """What neighbours send; with heads ``[heads, *nodes, d]``."""
        return h

    @abstractmethod
    def local_weights(self, z: Tensor, batch: Batch) -> Tensor:
        """a: edge tensor, possibly one per head."""

    @abstractmethod
    def transform(self, summed: Tensor, batch: Batch) -> Tensor:
        """From the weighted sum of a neighbourhood to the node's new features."""

    def neighbourhood_sum(self, weights: Tensor, z: Tensor, batch: Batch) -> Tensor:
        """sum_j w_ij z_j; through message passing while an explainer holds a mask over the edges."""
        if not self.explain:
            return batch.aggregate(weights, z)
        assert isinstance(batch, PackedBatch), "explainers call the model with edge_index"
        if z.dim() == 2:
            return self.propagate(batch.edge_index, x=z, weight=weights)
        return torch.stack([self.propagate(batch.edge_index, x=a, weight=w) for a, w in zip(z, weights, strict=True)])

    def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
        return weight.unsqueeze(-1) * x_j


class GCNLayer(Backbone):
    r"""a = D̃^{-1/2} Ã D̃^{-1/2}, H' = σ(w H Θ) (eq. GCN)."""

    def __init__(self, width: int, out: int, heads: int = 1, bias: bool = False) -> None:
        super().__init__(width, out, heads, bias)
        self.theta = nn.Linear(width, out, bias=False)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None

    def message_features(self, h: Tensor) -> Tensor:
        return self.theta(h)

    def local_weights(self, z: Tensor, batch: Batch) -> Tensor:
        return batch.renormalised

    def transform(self, summed: Tensor, batch: Batch) -> Tensor:
        return F.relu(summed if self.bias is None else summed + self.bias)


class SAGELayer(Backbone):
    r"""a = 1, H'_i = σ(Θ MEAN{w_i(j) H_j : j ∈ {i} ∪ N(i)}): the weights are averaged once more, as the paper writes
    it."""

    def __init__(self, width: int, out: int, heads: int = 1, bias: bool = False) -> None:
        super().__init__(width, out, heads, bias)
        self.theta = nn.Linear(width, out, bias=bias)

    def local_weights(self, z: Tensor, batch: Batch) -> Tensor:
        return batch.ones

    def transform(self, summed: Tensor, batch: Batch) -> Tensor:
        return F.relu(self.theta(summed / batch.degrees.unsqueeze(-1)))


class GINLayer(Backbone):
    r"""a(i) = 1 + ε, a(j) = 1, H'_i = F_MLP(Σ_{j ∈ {i} ∪ N(i)} w_i(j) H_j), ε learnable."""

    def __init__(self, width: int, out: int, heads: int = 1, bias: bool = False) -> None:
        super().__init__(width, out, heads, bias)
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.mlp = perceptron(width, out, out)

    def local_weights(self, z: Tensor, batch: Batch) -> Tensor:
        return batch.ones + self.epsilon * batch.loops

    def transform(self, summed: Tensor, batch: Batch) -> Tensor:
        return self.mlp(summed)


class GATLayer(Backbone):
    r"""a_i(j) = softmax_j(LeakyReLU(aᵀ[W h_i ‖ W h_j])), h'_i = σ(Σ_j w_i(j) W h_j); heads are concatenated."""

    def __init__(self, width: int, out: int, heads: int = 1, bias: bool = False) -> None:
        super().__init__(width, out, heads, bias)
        self.heads = heads
        self.theta = nn.Linear(width, out, bias=False)
        self.attend_target = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.attend_source = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None
        glorot(self.attend_target)
        glorot(self.attend_source)

    def message_features(self, h: Tensor) -> Tensor:
        return torch.stack(self.theta(h).chunk(self.heads, dim=-1))  # [heads, *nodes, d / heads]

    def local_weights(self, z: Tensor, batch: Batch) -> Tensor:
        target = batch.at_target(_per_head(z, self.attend_target))
        source = batch.at_source(_per_head(z, self.attend_source))
        return batch.softmax_neighbours(F.leaky_relu(target + source, 0.2))

    def transform(self, summed: Tensor, batch: Batch) -> Tensor:
        joined = torch.cat(tuple(summed), dim=-1)
        return F.relu(joined if self.bias is None else joined + self.bias)


def _per_head(z: Tensor, vector: Tensor) -> Tensor:
    """z_h . a_h for every head h: ``[heads, *nodes, d] , [heads, d, 1] -> [heads, *nodes]``."""
    spread: Any = (len(z), *([1] * (z.dim() - 3)), *vector.shape[1:])
    return (z @ vector.view(spread)).squeeze(-1)


BACKBONES: dict[str, type[Backbone]] = {"gcn": GCNLayer, "gin": GINLayer, "sage": SAGELayer, "gat": GATLayer}
