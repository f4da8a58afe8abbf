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
- The code appends, for sets without labels, the one-hot degree *in the subgraph*; here every system has the inputs of
  ``data.encodings``, which hold the degree in the whole graph.
- GIN's ε is 0, as in the code.
- A bag has n² rows: the 620 nodes of the largest PROTEINS graph make 384,400. ``training.batch_size`` bounds memory.
- On sets of diameter 2 (IMDB) with h = 2 every subgraph is the whole graph: pure marking of nodes.
- No node scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.data.batch import Batch, PackedBatch
from sargnn.nn.memory import perceptron
from sargnn.nn.model import Encoding
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import GraphModel, padded_groups, require_at_least, require_share
from sargnn.systems.graphormer import shortest_paths

__all__ = ["DSSGNN", "Bag", "DSSGNNConfig", "ego_networks"]


@dataclass(frozen=True)
class DSSGNNConfig:
    """What a DSS-GNN is; the defaults are of the published grid."""

    layers: int = 4
    """DSS layers."""
    hidden: int = 32
    """Features of a node in each subgraph."""
    hops: int = 2
    """h, how far a subgraph's edges reach from its root."""
    dropout: float = 0.0
    """Dropout inside the classifier."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "layers", "hidden", "hops")
        require_share(self, "dropout")


class DSSGNN(GraphModel):
    """GIN on ego-networks with marked roots, and on their mean.

    >>> model = DSSGNN(DSSGNNConfig(hidden=16), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    packed_only = True

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
        nodes = over_copies(h, bag, batch)
        return Encoding(batch.pool(batch.uniform, nodes), nodes, ())


class Bag(NamedTuple):
    """The subgraphs of all graphs of a batch as one batch with a row for every node in every subgraph."""

    rows: PackedBatch
    node: Tensor
    """The node of the original batch that each row is a copy of."""


class DSSLayer(nn.Module):
    """``ReLU(BN(GIN_1(x)) + BN(GIN_2(x̄)))``."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.each = GIN(width, out)
        self.together = GIN(width, out)

    def forward(self, h: Float[Tensor, "rows d_in"], bag: Bag, batch: PackedBatch) -> Float[Tensor, "rows d_out"]:
        shared = self.together(over_copies(h, bag, batch), batch)
        return (self.each(h, bag.rows) + shared[bag.node]).relu()


class GIN(nn.Module):
    """``BN(Linear(ReLU(BN(Linear(x_i + Σ_j x_j)))))``, without the biases that BN takes away."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(d, out, bias=False) for d in (width, out))
        self.norms = nn.ModuleList(BatchNorm(out) for _ in range(2))

    def forward(self, h: Float[Tensor, "N d_in"], batch: PackedBatch) -> Float[Tensor, "N d_out"]:
        h = self.norms[0](self.maps[0](batch.aggregate(batch.ones, h)), batch).relu()
        return self.norms[1](self.maps[1](h), batch)


def over_copies(h: Float[Tensor, "rows d"], bag: Bag, batch: PackedBatch) -> Float[Tensor, "N d"]:
    """x̄: the mean over the copies of each node."""
    total = h.new_zeros(len(batch.graph), h.shape[-1]).index_add(0, bag.node, h)
    return total * batch.uniform.unsqueeze(-1)  # as many copies as the graph has nodes


@torch.no_grad()
def ego_networks(batch: PackedBatch, hops: int) -> Bag:
    """EGO+: for every node r all nodes of its graph, marked, with the edges whose ends are within ``hops`` of r.

    The rows of root r lie side by side, roots in the order of the nodes.
    """
    sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
    start = sizes.cumsum(0) - sizes
    nodes = torch.arange(len(batch.graph), device=batch.graph.device)
    copies = sizes[batch.graph]
    first = copies.cumsum(0) - copies  # the first row of each root
    root = torch.repeat_interleave(nodes, copies)
    node = torch.arange(len(root), device=root.device) - first[root] + start[batch.graph[root]]
    is_root = (node == root).unsqueeze(1)
    x = torch.cat([is_root.to(batch.x), (~is_root).to(batch.x), batch.x[node]], dim=1)

    def row(root: Tensor, node: Tensor) -> Tensor:
        return first[root] + node - start[batch.graph[root]]

    roots, edges = _edges_near(batch, hops)
    loops = torch.arange(len(root), device=root.device)
    source = torch.cat([row(roots, batch.source[edges]), loops])
    target = torch.cat([row(roots, batch.target[edges]), loops])
    return Bag(PackedBatch(x, source, target, batch.graph[root], batch.num_graphs), node)


def _edges_near(batch: PackedBatch, hops: int) -> tuple[Tensor, Tensor]:
    """Pairs of a root and an edge between different nodes, both within ``hops`` of the root."""
    roots, edges = [], []
    for group in padded_groups(batch):
        padded = group.batch
        near = shortest_paths(padded.closed, hops + 1) <= hops
        rows = torch.zeros_like(padded.mask, dtype=torch.long).masked_scatter(padded.mask, group.rows)
        place = torch.full_like(batch.graph, -1)
        place[group.rows] = padded.mask.nonzero()[:, 1]
        position = torch.full((batch.num_graphs,), -1, device=place.device)
        position[group.graphs] = torch.arange(len(group.graphs), device=place.device)
        own = ((place[batch.target] >= 0) & (batch.source != batch.target)).nonzero().squeeze(1)
        graph = position[batch.graph[batch.target[own]]]
        both = near[graph, place[batch.source[own]]] & near[graph, place[batch.target[own]]]  # [edges, roots]
        edge, root = both.nonzero().T
        roots.append(rows[graph[edge], root])
        edges.append(own[edge])
    return torch.cat(roots), torch.cat(edges)
