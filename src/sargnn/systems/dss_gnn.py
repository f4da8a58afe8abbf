r"""DSS-GNN (EGO+): message passing on a bag of subgraphs, one for every node, that exchange what they know.

Reference: B. Bevilacqua et al., "Equivariant Subgraph Aggregation Networks" (ESAN), ICLR 2022, and its code, with the
bag of ego-networks EGO+.

The bag of a graph of n nodes has n subgraphs. That of root r has *all* n nodes, the edges between nodes within h hops
of r, and a mark for its root: (1, 0) at r, (0, 1) elsewhere, before the node's inputs. With x^r_i the features of node
i in the subgraph of r, a layer is

.. math::
    x^r_i \leftarrow \mathrm{ReLU}\big(\mathrm{BN}(\mathrm{GIN}_1(x^r; E_r))_i +
    \mathrm{BN}(\mathrm{GIN}_2(\bar x; E))_i\big), \qquad \bar x_i = \frac{1}{n} \sum_r x^r_i

with GIN(x)_i = MLP(x_i + Σ_j x_j), MLP = Linear, BN, ReLU, Linear. The mean over all nodes of all subgraphs after the
last layer is classified by a perceptron.

Choices:

- The paper writes sums, the code has means for x̄ and for both readouts: means.
- For sets without labels the code has the one-hot degree *in the subgraph*; here it is that in the whole graph.
- GIN's ε is 0, as in the code.
- A bag has n² rows, but a node that is not near the root has no edges and no mark: it is the same in all such
  subgraphs. It is computed once and counted with its multiplicity in means and BN (PROTEINS: 479 thousand rows, not 4.0
  million).
- On sets of diameter 2 (IMDB) with h = 2 every subgraph is the whole graph: pure marking of nodes.
- No node scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import Function, once_differentiable
from torch.nn import functional as F

from sargnn.batching import Batch, ListedBatch, PackedBatch
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import PackedModel, listed_batch

__all__ = ["DSSGNN", "Bag", "DSSGNNConfig", "ego_networks"]


@dataclass(frozen=True)
class DSSGNNConfig(Hyperparameters):
    """Hyperparameters of DSS-GNN; the defaults are of the published grid."""

    layers: int = 4
    """DSS layers."""
    hidden: int = 32
    """Features of a node in each subgraph."""
    hops: int = 2
    """h, how far a subgraph's edges reach from its root."""
    dropout: float = 0.0
    """Dropout inside the classifier."""


class DSSGNN(PackedModel):
    """GIN on ego-networks with marked roots, and on their mean."""

    reads_inputs_first = False  # behind the two marks

    def __init__(self, config: DSSGNNConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        widths = [inputs + 2] + [config.hidden] * (config.layers - 1)
        self.layers = nn.ModuleList(DSSLayer(width, config.hidden) for width in widths)
        self.head = perceptron(config.hidden, 2 * config.hidden, classes, config.dropout)

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        bag = ego_networks(batch, self.config.hops)
        h = bag.rows.x
        for layer in self.layers:
            h = layer(h, bag, batch)
        nodes = over_copies(h, bag)
        return Encoding(batch.pool(batch.uniform, nodes), nodes, ())


class Bag(NamedTuple):
    """The subgraphs of all graphs as one batch: per node a row for each root near it and one for all other roots."""

    rows: ListedBatch
    copies: ListedBatch
    """The same rows without edges, the copies of each node as one graph."""
    repeats: Float[Tensor, " rows"] | None
    """How many equal rows each stands for; None: one each."""
    fraction: Float[Tensor, " rows"]
    """Of the n copies of its node: count / n."""


class DSSLayer(nn.Module):
    """``ReLU(BN(GIN_1(x)) + BN(GIN_2(x̄)))``."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.each = GIN(width, out)
        self.together = GIN(width, out)

    def forward(self, h: Float[Tensor, "rows d_in"], bag: Bag, batch: PackedBatch) -> Float[Tensor, "rows d_out"]:
        shared = self.together(over_copies(h, bag), batch)
        return F.relu(self.each(h, bag.rows, bag.repeats) + bag.copies.spread(shared))


class GIN(nn.Module):
    """``BN(Linear(ReLU(BN(Linear(x_i + Σ_j x_j)))))``, without the biases that BN takes away."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(d, out, bias=False) for d in (width, out))
        self.norms = nn.ModuleList(CountedNorm(out) for _ in range(2))
        self.narrows = width > out

    def forward(
        self, h: Float[Tensor, "N d_in"], batch: ListedBatch, count: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N d_out"]:
        if self.narrows:  # the sum of what is mapped is what the sum is mapped to
            h = batch.aggregate(batch.ones, self.maps[0](h))
        else:
            h = self.maps[0](batch.aggregate(batch.ones, h))
        out: Tensor = self.norms[1](self.maps[1](self.norms[0](h, batch, count).relu()), batch, count)
        return out


class CountedNorm(BatchNorm):
    """Batch normalisation in which each row stands for ``count`` equal ones."""

    def forward(
        self, h: Float[Tensor, "N d"], batch: Batch, count: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N d"]:
        if count is None or not self.training:
            return super().forward(h, batch)
        total = count.sum()
        out: Tensor
        out, mean, variance = _Normalise.apply(h, count / total, self.weight, self.bias, self.epsilon)
        unbiased = variance * (total / (total - 1).clamp(min=1))
        for running, new in ((self.running_mean, mean), (self.running_variance, unbiased)):
            running.mul_(1 - self.momentum).add_(new * self.momentum)
        return out


class _Normalise(Function):
    """y_i = (h_i - mean) / sqrt(variance + ε), scaled and shifted, where row i has weight s_i in mean and variance.

    Given the gradient g of y, that of h_i is (g_i - s_i (Σ_j g_j + y_i Σ_j g_j y_j)) / sqrt(variance + ε): half the
    passes over the rows that PyTorch would derive.
    """

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, fraction: Tensor, weight: Tensor, bias: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = fraction @ h
        y = h - mean
        variance = fraction @ (y * y)
        scale = (variance + epsilon).rsqrt()
        y *= scale
        ctx.save_for_backward(y, fraction, weight, scale)
        ctx.mark_non_differentiable(mean, variance)
        return (y * weight).add_(bias), mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, None, Tensor, Tensor, None]:
        y, fraction, weight, scale = ctx.saved_tensors
        grad_bias, grad_weight = grad.sum(0), (grad * y).sum(0)
        common = (y * grad_weight).add_(grad_bias).mul_(fraction.unsqueeze(-1))
        return torch.sub(grad, common, out=common).mul_(scale * weight), None, grad_weight, grad_bias, None


def over_copies(h: Float[Tensor, "rows d"], bag: Bag) -> Float[Tensor, "N d"]:
    """x̄: the mean over the copies of each node."""
    return bag.copies.pool(bag.fraction, h)


def ego_networks(batch: PackedBatch, hops: int) -> Bag:
    """EGO+: for every node r all nodes of its graph, marked, with the edges whose ends are within ``hops`` of r.

    Node after node: its copies near each root, roots in the order of the nodes, then one for those that are not near.
    """
    sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
    roots = sizes.index_select(0, batch.graph)
    node, root = _each(roots + 1)  # a node has a place for each root, and one for none
    first = _starts(roots + 1)[:-1]
    marked = root == _each(sizes)[1].index_select(0, node)
    step = first[batch.target] - first[batch.source]  # the same for all roots
    near, forward, back = marked, _Edges.at(batch.source, step), _Edges.at(batch.target, -step)
    for _ in range(hops):
        near = near.index_fill(0, forward.along(near.nonzero().squeeze(1), node)[1], True)
    apart = roots - torch.bincount(node[near], minlength=len(roots))
    listed = near.index_put((first + roots,), apart > 0)
    rows = listed.nonzero().squeeze(1)
    target, start = back.along(rows, node)
    joined = near.index_select(0, start) | (start == rows.index_select(0, target))
    edges = _starts(torch.bincount(target[joined], minlength=len(rows)))
    source = (listed.cumsum(0) - 1).index_select(0, start[joined])
    node, marked = node.index_select(0, rows), marked.index_select(0, rows)
    count = torch.where(near.index_select(0, rows), 1, apart.index_select(0, node)).to(batch.x)
    copies = _starts(torch.bincount(node, minlength=len(roots)))
    x = torch.cat([torch.stack([marked, ~marked], dim=1).to(batch.x), batch.x.index_select(0, node)], dim=1)
    return Bag(
        listed_batch(x, copies[_starts(sizes)], edges, source),
        listed_batch(x, copies, torch.zeros_like(edges), source[:0]),
        count if apart.any() else None,
        count * batch.uniform.index_select(0, node),
    )


class _Edges(NamedTuple):
    """The edges at each node, each a step from one of its places to one of its neighbour's."""

    degree: Tensor
    first: Tensor
    step: Tensor

    @classmethod
    def at(cls, node: Tensor, step: Tensor) -> _Edges:
        degree = torch.bincount(node)
        return cls(degree, _starts(degree), step.index_select(0, node.argsort(stable=True)))

    def along(self, places: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        """Every step from these places, each of its ``node``: from which of them, and where to."""
        own = node.index_select(0, places)
        which, number = _each(self.degree.index_select(0, own), self.first.index_select(0, own))
        return which, places.index_select(0, which) + self.step.index_select(0, number)


def _each(counts: Tensor, first: Tensor | int = 0) -> tuple[Tensor, Tensor]:
    """Every index repeated ``counts`` times, and first, first + 1, ... within each.

    >>> [part.tolist() for part in _each(torch.tensor([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    index = torch.repeat_interleave(counts)
    offset = first - _starts(counts)[:-1]
    return index, offset.index_select(0, index) + torch.arange(len(index), device=index.device)


def _starts(counts: Tensor) -> Tensor:
    """Where the items of each begin, and where they end.

    >>> _starts(torch.tensor([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return F.pad(counts.cumsum(0), (1, 0))
