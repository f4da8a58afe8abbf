r"""ECC: edge-conditioned convolutions, whose weights a small network makes from each edge's label, on coarser graphs.

Reference: M. Simonovsky, N. Komodakis, "Dynamic Edge-Conditioned Filters in Convolutional Neural Networks on Graphs",
CVPR 2017, in the form of Errica et al. (2020), the one that runs on graph classification sets.

.. math::
    h'_i = W_{root} h_i + b + \sum_{j \in N(i)} \Theta(e_{ji}) h_j, \qquad
    \Theta(e) = \mathrm{reshape}(W_2\, \mathrm{ReLU}(W_1 e + b_1) + b_2)

each followed by ReLU, batch normalisation and dropout. Three such layers, then the graph is halved, twice over; one
last layer, the mean over the nodes that are left, and a perceptron.

Halving: v is the eigenvector of the Laplacian L for its largest eigenvalue, V⁺ and V⁻ the nodes where it is positive
and negative; V⁺ stays with the Kron reduction :math:`L' = L_{++} - L_{+-} L_{--}^{-1} L_{-+}`. At first L is the
normalised Laplacian and the label of an edge is its inputs, or 1 where there are none; afterwards every entry of L'
above 1e-4, on the diagonal too, is an edge with that entry as its label.

Θ is never formed: Θ(e) h is linear in the 16 numbers ReLU(W₁ e + b₁), so 16 weighted sums over the neighbours and one
linear map do the same.

Choices:

- Without edge inputs labels are numbers, as in Errica's version; ``data.edge_encodings=auto`` gives the layers before
  the first halving the edge labels of the original.
- Errica finds v by 30 steps of power iteration from a random start, which leaves to chance which half stays. Here v is
  exact for each connected part and the larger half stays; of equal halves that with the larger sum of inputs. Nodes
  where v is 0 go with the half that stays; a node without edges stays.
- Where the largest eigenvalue is repeated (complete graphs, odd rings) v is not unique and the cut depends on the order
  of the nodes.
- Errica's sum with root weight is followed; the original averages over neighbours and itself. The original's random
  sparsification is left out, as there; entries of L' below 1e-4 are dropped.
- The halves of a graph are cached by its structure and inputs.
- No node scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch, ListedBatch, PackedBatch
from sargnn.nn.edges import edge_inputs_of
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import PackedModel, listed_batch

__all__ = ["ECC", "ECCConfig", "cut", "kron_reduction"]

FILTERS = 16
"""Hidden features of the network that makes the weights."""
ZERO = 1e-9
"""Entries of matrices below this are rounding errors."""
SMALL = 1e-4
"""Entries of a reduced Laplacian below this make no edge: long graphs would become complete for nothing."""


@dataclass(frozen=True)
class ECCConfig(Hyperparameters):
    """Hyperparameters of ECC; the defaults are those of the published comparison."""

    AT_LEAST = (("halvings", 0),)
    FRACTIONS = ("dropout", "classifier_dropout")
    layers: int = 3
    """Convolutions before each halving of the graph."""
    halvings: int = 2
    """How often the graph is halved."""
    hidden: int = 64
    """Features of a node."""
    dropout: float = 0.05
    """Dropout after each layer."""
    classifier_dropout: float = 0.1
    """Dropout inside the classifier."""


class ECC(PackedModel):
    """Edge-conditioned convolutions on a graph that is halved twice."""

    optional_inputs = ("edge_inputs",)

    def __init__(self, config: ECCConfig, inputs: int, classes: int, edge_inputs: int = 0) -> None:
        super().__init__()
        self.config = config
        self.edge_inputs = edge_inputs
        widths = [inputs] + [config.hidden] * (config.layers * config.halvings)
        self.layers = nn.ModuleList(
            EdgeConditionedLayer(width, config.hidden, edge_inputs or 1 if number < config.layers else 1)
            for number, width in enumerate(widths)
        )
        self.norms = nn.ModuleList(BatchNorm(config.hidden) for _ in widths)
        self.head = perceptron(config.hidden, config.hidden, classes, config.classifier_dropout)

    @torch.compiler.disable  # what halves graphs is not of tensors
    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        if self.edge_inputs:
            edge_inputs_of(batch, self.edge_inputs)
        levels = coarsened(batch, self.config.halvings)
        h = batch.x
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            if number and number % self.config.layers == 0:
                h = h.index_select(0, levels[number // self.config.layers].kept)
            level = levels[number // self.config.layers]
            h = norm(layer(h, level).relu(), level.batch)
            h = level.batch.dropout(h, self.config.dropout) if self.training else h
        nodes = h.new_zeros(len(batch.x), h.shape[1]).index_put((levels[-1].origin,), h)
        return Encoding(levels[-1].batch.pool(levels[-1].batch.uniform, h), nodes, ())


class Level(NamedTuple):
    """A batch after some halvings."""

    batch: ListedBatch
    """Its edges are the labelled ones."""
    label: Tensor | None
    """``[E, labels]``; none: 1 everywhere."""
    kept: Tensor
    """Rows of the level above that these nodes are."""
    origin: Tensor
    """Nodes of the whole batch that these nodes are."""


class EdgeConditionedLayer(nn.Module):
    """``W_root h_i + b + Σ_j Θ(e_ji) h_j``."""

    def __init__(self, width: int, out: int, labels: int = 1) -> None:
        super().__init__()
        self.root = nn.Linear(width, out)
        self.filter = nn.Linear(labels, FILTERS)
        self.theta = nn.Linear((FILTERS + 1) * width, out, bias=False)

    def forward(self, h: Float[Tensor, "N d_in"], level: Level) -> Float[Tensor, "N d_out"]:
        filters = self.filter(h.new_ones(1, 1) if level.label is None else level.label).relu()
        filters = F.pad(filters, (0, 1), value=1.0)  # the last one carries b_2
        if level.label is None:  # the same Θ for all edges
            theta = filters @ self.theta.weight.unflatten(1, (FILTERS + 1, -1))  # [out, 1, width]
            messages = F.linear(level.batch.aggregate(level.batch.ones, h), theta.squeeze(1))
        else:
            messages = self.theta(level.batch.aggregate_kinds(filters, h).flatten(1))
        out: Tensor = self.root(h) + messages
        return out


def coarsened(batch: PackedBatch, halvings: int) -> list[Level]:
    """The batch, and the batch after each halving."""
    order = batch.target.argsort(stable=True)
    order = order[batch.source[order] != batch.target[order]]
    source, target = batch.source[order], batch.target[order]
    nodes, edges = (
        F.pad(torch.bincount(of, minlength=count).cumsum(0), (1, 0))
        for of, count in ((batch.graph, batch.num_graphs), (target, len(batch.x)))
    )
    whole = torch.arange(len(batch.x), device=batch.x.device)
    label = None if batch.edges is None else batch.edges[:, order].T
    levels = [Level(listed_batch(batch.x, nodes, edges, source), label, whole, whole)]
    own = (torch.stack([source, target]) - nodes[batch.graph[target]]).cpu().numpy()
    totals = batch.x.detach().sum(1).double().cpu().numpy()
    parts = list(zip(*(ptr.tolist() for ptr in (nodes, edges[nodes])), strict=True))
    graphs = [
        all_halves(own[:, first_edge:last_edge].tobytes(), totals[first:last].tobytes(), halvings)
        for (first, first_edge), (last, last_edge) in pairwise(parts)
    ]
    for halves in zip(*graphs, strict=True):
        levels.append(_level(levels[-1], halves))
    return levels


class Half(NamedTuple):
    """What a halving leaves of one graph: an edge for every entry of its Laplacian, row after row."""

    before: int
    """Nodes before."""
    kept: np.ndarray
    """Which of them stay."""
    degree: np.ndarray
    source: np.ndarray
    label: np.ndarray


def _level(above: Level, halves: Sequence[Half]) -> Level:
    """The halves of all graphs as one batch."""
    before, kept, degree, source, label = zip(*halves, strict=True)
    nodes, edges = (np.array([len(part) for part in parts]) for parts in (kept, source))
    arrays = (
        np.concatenate(kept) + np.repeat(_starts(before)[:-1], nodes), _starts(nodes), _starts(np.concatenate(degree)),
        np.concatenate(source) + np.repeat(_starts(nodes)[:-1], edges), np.concatenate(label)[:, None],
    )  # fmt: skip
    x = above.batch.x
    rows, *structure, values = (torch.from_numpy(array).to(x.device) for array in arrays)
    return Level(listed_batch(x[rows], *structure), values.to(x), rows, above.origin[rows])


def _starts(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where the items of each begin, and where the last end."""
    return np.concatenate([[0], np.cumsum(counts)])


@lru_cache(maxsize=50_000)
def all_halves(edges: bytes, totals: bytes, halvings: int) -> tuple[Half, ...]:
    """Each halving of the graph with these edges (int64 [2, E]) and this sum of the inputs of each node (float64)."""
    values = np.frombuffer(totals)
    laplacian = normalised_laplacian(len(values), np.frombuffer(edges, np.int64).reshape(2, -1))
    halves = []
    for _ in range(halvings):
        reduced, kept = halved(laplacian, values)
        target, source = np.nonzero(np.abs(reduced) > SMALL)
        degree = np.bincount(target, minlength=len(kept))
        halves.append(Half(len(values), kept, degree, source, reduced[target, source]))
        laplacian, values = reduced, values[kept]
    return tuple(halves)


def normalised_laplacian(nodes: int, edges: np.ndarray) -> np.ndarray:
    """float64 [n, n]: I - D^-1/2 A D^-1/2, with rows of zeros for nodes without edges."""
    a = np.zeros((nodes, nodes))
    a[edges[1], edges[0]] = a[edges[0], edges[1]] = 1
    degree = a.sum(1)
    scale = np.where(degree > 0, np.maximum(degree, 1) ** -0.5, 0)
    return np.diag((degree > 0) * 1.0) - scale[:, None] * a * scale


def halved(laplacian: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Kron reduction to the halves that stay, and which nodes they are; ``totals`` decides between equal halves."""
    part, side = cut(laplacian)
    stays = np.ones(len(laplacian), bool)
    for number in np.unique(part):
        nodes = np.flatnonzero(part == number)
        sign = side[nodes]
        sums = [(np.count_nonzero(sign == s), round(float(totals[nodes[sign == s]].sum()), 9)) for s in (1, -1)]
        goes = -1 if sums[0] >= sums[1] else 1
        stays[nodes[sign == goes]] = False
    return kron_reduction(laplacian, stays), np.flatnonzero(stays)


def cut(laplacian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The connected part of each node, and on which side of the cut of that part it lies: 1, -1 or 0."""
    from scipy.sparse.csgraph import connected_components

    parts, part = connected_components(np.abs(laplacian) > ZERO, directed=False)
    side = np.zeros(len(laplacian), np.int64)
    for number in range(parts):
        own = np.flatnonzero(part == number)
        if len(own) > 1:
            vector = np.linalg.eigh(laplacian[np.ix_(own, own)])[1][:, -1]
            side[own] = np.sign(np.where(np.abs(vector) > 1e-7, vector, 0))
    return part, side


def kron_reduction(laplacian: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """L' = L++ - L+- (L--)^-1 L-+.

    >>> path = normalised_laplacian(3, np.array([[0, 1], [1, 2]]))
    >>> kron_reduction(path, np.array([True, False, True])).round(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    rows, gone = laplacian[stays], laplacian[~stays]
    reduced = rows[:, stays] - rows[:, ~stays] @ np.linalg.solve(gone[:, ~stays], gone[:, stays])
    return np.where(np.abs(reduced) > ZERO, reduced, 0)
