"""The four backbones F_B, each giving its local weights ``a`` and its transform, so that any ``w`` can replace ``a``.

With ``w = a`` a layer is the ordinary GCN, GIN or GAT layer, or GraphSAGE as the paper writes it; the SAR model passes
fused weights instead. All are ``MessagePassing`` modules, so that PyTorch Geometric's explainers can mask their edges.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.inits import glorot

from sargnn.batching import Batch, PackedBatch
from sargnn.errors import InputError
from sargnn.nn.edges import EdgeNetwork
from sargnn.nn.fusion import Fusion
from sargnn.nn.memory import perceptron

__all__ = ["BACKBONES", "Backbone", "GATLayer", "GCNLayer", "GINLayer", "SAGELayer"]


class Kernel(NamedTuple):
    """exp(a) up to a constant factor: parameter-free ``edges`` times the first gain, plus the second at self-loops."""

    edges: Tensor
    gains: tuple[Tensor, Tensor] | None = None


class Backbone(MessagePassing):
    """One layer: ``H' = F_B(H, s)`` (eq. backbone), or the ordinary layer when no saliency is given.

    Only GAT has heads, only GraphSAGE may have a weight of its own for the node itself, and GIN's perceptron always has
    biases.

    Shapes: node features ``[*nodes, d_in]``, saliency ``[*nodes]``, edge channels ``[P, *edges]`` (see
    :class:`~sargnn.nn.edges.EdgeChannels`); gives ``[*nodes, d_out]``.
    """

    def __init__(
        self, width: int, out: int, heads: int = 1, bias: bool = False, channels: int = 0, own_weight: bool = False
    ) -> None:
        super().__init__(aggr="sum")
        self.edge_network: EdgeNetwork | None = None
        """In layers where edge channels multiply messages."""

    def forward(
        self,
        h: Float[Tensor, "*nodes d_in"],
        batch: Batch,
        saliency: Float[Tensor, "*nodes"] | None = None,
        fusion: Fusion | None = None,
        channels: Float[Tensor, "P *edges"] | None = None,
    ) -> Float[Tensor, "*nodes d_out"]:
        z = self.message_features(h)
        if saliency is not None and channels is None:
            return self.transform(self.saliency_sum(z, saliency, fusion or Fusion(), batch), h, batch)
        weights = self.local_weights(z, batch, channels)
        if saliency is not None:
            weights = (fusion or Fusion()).weights(weights, saliency, batch)
        summed = self.neighbourhood_sum(weights, z, batch)
        if channels is not None and self.edge_network is not None:
            messages = self.edge_network.messages(z)
            summed = summed + self.edge_network(self.neighbourhood_sum(weights, messages, batch, channels))
        return self.transform(summed, h, batch)

    def message_features(self, h: Tensor) -> Tensor:
        """z, what neighbours send; with heads ``[heads, *nodes, d]``."""
        return h

    @abstractmethod
    def local_weights(self, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        """a: edge tensor, possibly one per head."""

    @abstractmethod
    def transform(self, summed: Tensor, h: Tensor, batch: Batch) -> Tensor:
        """From the weighted sum of a neighbourhood, and the node's features ``h``, to its new features."""

    def kernel(self, batch: Batch, fusion: Fusion) -> Kernel | None:
        """How exp(a) factorises; None where it does not."""
        return None

    def saliency_sum(self, z: Tensor, saliency: Tensor, fusion: Fusion, batch: Batch) -> Tensor:
        """sum_j w_ij z_j with fused weights w: by the separable softmax where it holds, else edge by edge."""
        kernel = self.kernel(batch, fusion) if fusion.separable and not self.watched else None
        if kernel is None:
            weights = fusion.weights(self.local_weights(z, batch), saliency, batch)
            return self.neighbourhood_sum(weights, z, batch)
        t = fusion.term(saliency).exp()
        if kernel.gains is None:
            return batch.weighted_mean(kernel.edges, t, z)
        between, loop = kernel.gains
        carried = t.unsqueeze(-1) * z
        above = between * batch.aggregate(kernel.edges, carried) + loop * carried
        below = between * batch.neighbour_sum(kernel.edges, t) + loop * t
        return above * below.reciprocal().unsqueeze(-1)

    def neighbourhood_sum(self, weights: Tensor, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        """sum_j w_ij z_j, or sum_j w_ij c_ij^p z_j^p for every channel p, with heads or channels in front of z; through
        message passing while an explainer looks on."""
        if not self.watched:
            return batch.aggregate(weights if channels is None else weights * channels, z)
        assert isinstance(batch, PackedBatch), "explainers call the model with edge_index"

        def passed(z: Tensor, alpha: Tensor, channel: Tensor | None = None) -> Tensor:
            out: Tensor = self.propagate(batch.edge_index, x=z, alpha=alpha, channel=channel)
            return out

        if channels is not None:
            return torch.stack([passed(own, weights, channel) for own, channel in zip(z, channels, strict=True)])
        return passed(z, weights) if z.dim() == 2 else torch.stack(list(map(passed, z, weights)))

    @property
    def watched(self) -> bool:
        """Whether an explainer holds a mask over the edges or a hook on the messages."""
        return bool(self.explain or self._message_forward_hooks)

    def message(self, x_j: Tensor, alpha: Tensor, channel: Tensor | None) -> Tensor:
        """w_ij z_j, or w_ij c_ij z_j; the weights bear the name by which ``AttentionExplainer`` finds them."""
        return (alpha if channel is None else alpha * channel).unsqueeze(-1) * x_j

    def explain_message(self, inputs: Tensor, dim_size: int | None) -> Tensor:
        """Messages times the explainer's mask: its entries for edges between nodes, then 1 for each self-loop, the
        order of :class:`PackedBatch`."""
        mask = self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask
        mask = torch.cat([mask[self._loop_mask], mask.new_ones(dim_size)])
        edges = inputs.shape[-2]
        if len(mask) != edges:
            raise InputError(f"got {len(mask)} masked edges, expected {edges}: merge repeated edges (coalesce) first")
        return inputs * mask.unsqueeze(-1)


class GCNLayer(Backbone):
    r"""a = D̃^{-1/2} Ã D̃^{-1/2}, H' = σ(w H Θ) (eq. GCN)."""

    def __init__(
        self, width: int, out: int, heads: int = 1, bias: bool = False, channels: int = 0, own_weight: bool = False
    ) -> None:
        super().__init__(width, out, heads, bias)
        self.theta = nn.Linear(width, out, bias=False)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None
        self.sum_first = width < out  # (w H) Θ = w (H Θ): the neighbours are summed in the fewer dimensions
        self.edge_network = EdgeNetwork(channels, min(width, out)) if channels else None

    def message_features(self, h: Tensor) -> Tensor:
        return h if self.sum_first else self.theta(h)

    def local_weights(self, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        return batch.renormalised

    def kernel(self, batch: Batch, fusion: Fusion) -> Kernel | None:
        return Kernel(batch.renormalised_exp) if fusion.kind == "weighted" else None

    def transform(self, summed: Tensor, h: Tensor, batch: Batch) -> Tensor:
        out = self.theta(summed) if self.sum_first else summed
        return F.relu(out if self.bias is None else out + self.bias)


class SAGELayer(Backbone):
    r"""a = 1, H'_i = σ(Θ MEAN{w_i(j) H_j : j ∈ {i} ∪ N(i)}), as the paper writes it: the weights are averaged again,
    and one Θ serves the node and its neighbours. ``own_weight`` is the other reading, after Hamilton et al.: one more
    matrix for the node itself, H'_i = σ(Θ MEAN{...} + Θ_own H_i), as ``SAGEConv`` of PyTorch Geometric has it (there
    the mean is over the neighbours alone)."""

    def __init__(
        self, width: int, out: int, heads: int = 1, bias: bool = False, channels: int = 0, own_weight: bool = False
    ) -> None:
        super().__init__(width, out, heads, bias)
        self.theta = nn.Linear(width, out, bias=bias)
        self.theta_own = nn.Linear(width, out, bias=False) if own_weight else None
        self.edge_network = EdgeNetwork(channels, width) if channels else None

    def local_weights(self, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        return batch.ones

    def kernel(self, batch: Batch, fusion: Fusion) -> Kernel | None:
        return Kernel(batch.ones)

    def transform(self, summed: Tensor, h: Tensor, batch: Batch) -> Tensor:
        out = self.theta(summed * batch.degrees.reciprocal().unsqueeze(-1))
        return F.relu(out if self.theta_own is None else out + self.theta_own(h))


class GINLayer(Backbone):
    r"""a(i) = 1 + ε, a(j) = 1, H'_i = F_MLP(Σ_{j ∈ {i} ∪ N(i)} w_i(j) H_j), ε learnable."""

    def __init__(
        self, width: int, out: int, heads: int = 1, bias: bool = False, channels: int = 0, own_weight: bool = False
    ) -> None:
        super().__init__(width, out, heads, bias)
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.mlp = perceptron(width, out, out)
        self.edge_network = EdgeNetwork(channels, width) if channels else None

    def local_weights(self, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        return batch.ones + self.epsilon * batch.loops

    def kernel(self, batch: Batch, fusion: Fusion) -> Kernel | None:
        if fusion.kind != "weighted":
            return None
        # exp(1) : exp(1 + ε) as 1 : exp(ε), both divided by the larger so that neither overflows.
        largest = F.relu(self.epsilon.detach())
        return Kernel(batch.between, (torch.exp(-largest), torch.exp(self.epsilon - largest)))

    def transform(self, summed: Tensor, h: Tensor, batch: Batch) -> Tensor:
        out: Tensor = self.mlp(summed)
        return out


class GATLayer(Backbone):
    r"""a_i(j) = softmax_j(LeakyReLU(aᵀ[W h_i ‖ W h_j])), h'_i = σ(Σ_j w_i(j) W h_j); heads are concatenated.

    Edge channels enter the attention, LeakyReLU(aᵀ[W h_i ‖ W h_j] + a_eᵀ c_ij), and not the messages.
    """

    def __init__(
        self, width: int, out: int, heads: int = 1, bias: bool = False, channels: int = 0, own_weight: bool = False
    ) -> None:
        super().__init__(width, out, heads, bias)
        self.heads = heads
        self.theta = nn.Linear(width, out, bias=False)
        self.attend_target = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.attend_source = nn.Parameter(torch.empty(heads, out // heads, 1))
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None
        glorot(self.attend_target)
        glorot(self.attend_source)
        self.attend_edge = nn.Linear(channels, heads, bias=False) if channels else None

    def message_features(self, h: Tensor) -> Tensor:
        return torch.stack(self.theta(h).chunk(self.heads, dim=-1))  # [heads, *nodes, d / heads]

    def local_weights(self, z: Tensor, batch: Batch, channels: Tensor | None = None) -> Tensor:
        target, source = _per_head(z, self.attend_target), _per_head(z, self.attend_source)
        scores = batch.at_target(target) + batch.at_source(source)
        if channels is not None and self.attend_edge is not None:
            scores = scores + torch.tensordot(self.attend_edge.weight, channels, dims=1)
        return batch.softmax_neighbours(F.leaky_relu(scores, 0.2))

    def transform(self, summed: Tensor, h: Tensor, batch: Batch) -> Tensor:
        joined = torch.cat(tuple(summed), dim=-1)
        return F.relu(joined if self.bias is None else joined + self.bias)


def _per_head(z: Tensor, vector: Tensor) -> Tensor:
    """z_h . a_h for every head h: ``[heads, *nodes, d] , [heads, d, 1] -> [heads, *nodes]``."""
    spread: Any = (len(z), *([1] * (z.dim() - 3)), *vector.shape[1:])
    return (z @ vector.view(spread)).squeeze(-1)


BACKBONES: dict[str, type[Backbone]] = {"gcn": GCNLayer, "gin": GINLayer, "sage": SAGELayer, "gat": GATLayer}
