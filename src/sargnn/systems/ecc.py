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

- Without edge inputs labels are numbers, as in Errica's version. ``data.edge_encodings=auto`` gives the layers before
  the first halving the edge labels that the original uses; a self-connection needs none, having its root weight.
- Errica finds v by 30 steps of power iteration from a random start, so its sign, and which half stays, is left to
  chance. Here it is computed exactly, each connected part by itself, and the larger half stays; of equal halves the one
  whose node inputs have the larger sum. Nodes where v is 0 go with the half that stays; a node without edges stays.
- Where the largest eigenvalue is repeated (complete graphs, odd rings) v is not unique and the cut depends on the order
  of the nodes.
- The original averages over neighbours and itself, without a root weight; Errica's sum with root weight is followed.
  The original's random sparsification, which enlarges the training set, is left out, as there; entries of L' below 1e-4
  are dropped.
- The halves of a graph are remembered by its structure: computed once in a process.
- No node scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.data.batch import Batch, PackedBatch
from sargnn.nn.edges import edge_inputs_of
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import require_at_least, require_share

__all__ = ["ECC", "ECCConfig", "cut", "kron_reduction"]

FILTERS = 16
"""Hidden features of the network that makes the weights."""
ZERO = 1e-9
"""Entries of matrices below this are rounding errors."""
SMALL = 1e-4
"""Entries of a reduced Laplacian below this make no edge: long graphs would become complete for nothing."""


@dataclass(frozen=True)
class ECCConfig:
    """What an ECC is; the defaults are those of the published comparison."""

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

    def __post_init__(self) -> None:
        require_at_least(self, 1, "layers", "hidden")
        require_at_least(self, 0, "halvings")
        require_share(self, "dropout", "classifier_dropout")


class ECC(GraphModel):
    """Edge-conditioned convolutions on a graph that is halved twice.

    >>> model = ECC(ECCConfig(hidden=16), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    packed_only = True

    def __init__(self, config: ECCConfig, inputs: int, classes: int, edge_inputs: int = 0) -> None:
        super().__init__()
        self.config = config
        self.edge_inputs = edge_inputs
        layers = config.layers * config.halvings + 1
        widths = [inputs] + [config.hidden] * (layers - 1)
        labels = [edge_inputs or 1 if number < config.layers else 1 for number in range(layers)]
        self.layers = nn.ModuleList(
            EdgeConditionedLayer(width, config.hidden, label) for width, label in zip(widths, labels, strict=True)
        )
        self.norms = nn.ModuleList(BatchNorm(config.hidden) for _ in widths)
        self.head = perceptron(config.hidden, config.hidden, classes, config.classifier_dropout)

    def encode(self, batch: Batch) -> Encoding:
        assert isinstance(batch, PackedBatch)
        if self.edge_inputs:
            edge_inputs_of(batch, self.edge_inputs)
        levels = coarsened(batch, self.config.halvings)
        h = batch.x
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            if number and number % self.config.layers == 0:
                h = h[levels[number // self.config.layers].kept]
            level = levels[number // self.config.layers]
            h = norm(layer(h, level).relu(), level.batch)
            h = F.dropout(h, self.config.dropout, self.training)
        nodes = h.new_zeros(len(batch.x), h.shape[1]).index_put((levels[-1].origin,), h)
        return Encoding(levels[-1].batch.pool(levels[-1].batch.uniform, h), nodes, ())


class Level(NamedTuple):
    """A batch after so many halvings."""

    batch: PackedBatch
    """Its edges are the labelled ones."""
    label: Tensor
    """``[E, labels]``."""
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
        filters = self.filter(level.label).relu().T
        filters = torch.cat([filters, torch.ones_like(filters[:1])])  # the last one carries b_2
        sent, heard = h[level.batch.source], torch.zeros_like(h)
        # One filter after the other: all at once would hold 17 x E x d numbers.
        sums = [heard.index_add(0, level.batch.target, weight.unsqueeze(-1) * sent) for weight in filters]
        return self.root(h) + self.theta(torch.cat(sums, dim=-1))


def coarsened(batch: PackedBatch, halvings: int) -> list[Level]:
    """The batch, and the batch after each halving."""
    between = batch.source != batch.target
    edges = PackedBatch(batch.x, batch.source[between], batch.target[between], batch.graph, batch.num_graphs)
    nodes = torch.arange(len(batch.x), device=batch.x.device)
    label = batch.x.new_ones(len(edges.source), 1) if batch.edges is None else batch.edges[:, between].T
    levels = [Level(edges, label, nodes, nodes)]
    graphs = list(_structures(edges))
    for _ in range(halvings):
        halves = [halved(graph.laplacian, graph.totals) for graph in graphs]
        kept = [start + half for start, (_, half) in zip(_starts(graphs), halves, strict=False)]
        graphs = [
            Structure(laplacian, graph.totals[half], graph.origin[half])
            for graph, (laplacian, half) in zip(graphs, halves, strict=True)
        ]
        levels.append(_level(batch, np.concatenate(kept), graphs))
    return levels


class Structure(NamedTuple):
    """One graph on the way down: its Laplacian, the sum of each node's inputs, and which nodes of the batch it has."""

    laplacian: np.ndarray
    totals: np.ndarray
    origin: np.ndarray


def _structures(batch: PackedBatch) -> Iterator[Structure]:
    edges = batch.edge_index[:, batch.graph[batch.target].argsort(stable=True)].cpu().numpy()
    sizes, counts = (
        np.concatenate([[0], torch.bincount(graph, minlength=batch.num_graphs).cumsum(0).cpu().numpy()])
        for graph in (batch.graph, batch.graph[batch.target])
    )
    totals = batch.x.detach().sum(1).double().cpu().numpy()
    for graph in range(batch.num_graphs):
        nodes = np.arange(sizes[graph], sizes[graph + 1])
        own = edges[:, counts[graph] : counts[graph + 1]] - sizes[graph]
        yield Structure(normalised_laplacian(len(nodes), own), totals[nodes], nodes)


def _starts(graphs: list[Structure]) -> np.ndarray:
    """The row of each graph's first node, when all are listed one after the other."""
    return np.cumsum([0, *(len(graph.laplacian) for graph in graphs)])


def _level(batch: PackedBatch, kept: np.ndarray, graphs: list[Structure]) -> Level:
    """The reduced graphs as one batch, with an edge for every entry of their Laplacians."""
    entries = [np.nonzero(np.abs(graph.laplacian) > SMALL) for graph in graphs]
    starts = _starts(graphs)
    target, source = (
        np.concatenate([found[axis] + start for found, start in zip(entries, starts, strict=False)]) for axis in (0, 1)
    )
    label = np.concatenate([graph.laplacian[found] for graph, found in zip(graphs, entries, strict=True)])
    origin = np.concatenate([graph.origin for graph in graphs])
    rows = [torch.from_numpy(index).to(batch.x.device) for index in (source, target, kept, origin)]
    small = PackedBatch(batch.x[rows[3]], rows[0], rows[1], batch.graph[rows[3]], batch.num_graphs)
    return Level(small, torch.from_numpy(label).to(batch.x).unsqueeze(1), rows[2], rows[3])


def normalised_laplacian(nodes: int, edges: np.ndarray) -> np.ndarray:
    """float64 [n, n]: I - D^-1/2 A D^-1/2, with rows of zeros for nodes without edges."""
    a = np.zeros((nodes, nodes))
    a[edges[1], edges[0]] = a[edges[0], edges[1]] = 1
    degree = a.sum(1)
    scale = np.where(degree > 0, np.maximum(degree, 1) ** -0.5, 0)
    return np.diag((degree > 0) * 1.0) - scale[:, None] * a * scale


def halved(laplacian: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Kron reduction to the halves that stay, and which nodes they are; ``totals`` decides between equal halves."""
    side = np.frombuffer(cut(laplacian.tobytes(), len(laplacian)), np.int64).reshape(2, -1)
    stays = np.ones(len(laplacian), bool)
    for part in np.unique(side[0]):
        nodes = np.flatnonzero(side[0] == part)
        sign = side[1, nodes]
        sums = [(np.count_nonzero(sign == s), round(float(totals[nodes[sign == s]].sum()), 9)) for s in (1, -1)]
        goes = -1 if sums[0] >= sums[1] else 1
        stays[nodes[sign == goes]] = False
    kept = np.flatnonzero(stays)
    reduced = np.frombuffer(_kron(laplacian.tobytes(), len(laplacian), stays.tobytes()))
    return reduced.reshape(len(kept), len(kept)), kept


@lru_cache(maxsize=20_000)
def cut(laplacian: bytes, nodes: int) -> bytes:
    """int64 [2, n]: the connected part of each node, and on which side of the cut of that part it lies: 1, -1 or 0."""
    from scipy.sparse.csgraph import connected_components

    matrix = np.frombuffer(laplacian).reshape(nodes, nodes)
    parts, part = connected_components(np.abs(matrix) > ZERO, directed=False)
    side = np.zeros(nodes, np.int64)
    for number in range(parts):
        own = np.flatnonzero(part == number)
        if len(own) > 1:
            vector = np.linalg.eigh(matrix[np.ix_(own, own)])[1][:, -1]
            side[own] = np.sign(np.where(np.abs(vector) > 1e-7, vector, 0))
    return np.stack([part.astype(np.int64), side]).tobytes()


@lru_cache(maxsize=20_000)
def _kron(laplacian: bytes, nodes: int, stays: bytes) -> bytes:
    return kron_reduction(np.frombuffer(laplacian).reshape(nodes, nodes), np.frombuffer(stays, bool)).tobytes()


def kron_reduction(laplacian: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """L' = L++ - L+- (L--)^-1 L-+.

    >>> path = normalised_laplacian(3, np.array([[0, 1], [1, 2]]))
    >>> kron_reduction(path, np.array([True, False, True])).round(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    rows, gone = laplacian[stays], laplacian[~stays]
    reduced = rows[:, stays] - rows[:, ~stays] @ np.linalg.solve(gone[:, ~stays], gone[:, stays])
    return np.where(np.abs(reduced) > ZERO, reduced, 0)
