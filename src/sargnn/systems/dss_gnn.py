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
- A bag has n² rows, but a node that is not near the root has no edges and no root's mark: it is the same in every such
  subgraph, after every layer. It is computed once and counts as often as it occurs, in the means and in BN: the same
  numbers from fewer rows (PROTEINS: 479 thousand for 4.0 million).
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
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import require_at_least, require_share

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


@dataclass(frozen=True, eq=False)
class CountedBatch(PackedBatch):
    """A batch in which a row stands for ``count`` equal ones."""

    count: Float[Tensor, " N"] | None = None

    def moments(self, h: Float[Tensor, "N d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"], Float[Tensor, ""]]:
        assert self.count is not None
        total = self.count.sum()
        mean = self.count @ h / total
        return mean, self.count @ (h - mean).square() / total, total


class Bag(NamedTuple):
    """The subgraphs of all graphs of a batch as one batch, with a row for every node near a root and one for all others
    of its kind."""

    rows: CountedBatch
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
    assert bag.rows.count is not None
    counted = h * bag.rows.count.unsqueeze(-1)
    total = h.new_zeros(len(batch.graph), h.shape[-1]).index_add(0, bag.node, counted)
    return total * batch.uniform.unsqueeze(-1)  # as many copies as the graph has nodes


def ego_networks(batch: PackedBatch, hops: int) -> Bag:
    """EGO+: for every node r all nodes of its graph, marked, with the edges whose ends are within ``hops`` of r.

    First the nodes near each root, roots in the order of the nodes; then, for every node, its copies that are not near.
    """
    sizes = torch.bincount(batch.graph, minlength=batch.num_graphs)
    root, number = _each(sizes[batch.graph])
    node = (sizes.cumsum(0) - sizes)[batch.graph[root]] + number
    near, start, end = _near(batch, node, node == root, hops)
    place = near.cumsum(0) - 1  # of the near rows among themselves
    apart = sizes[batch.graph] - torch.bincount(node[near], minlength=len(batch.graph))
    copied = torch.cat([node[near], apart.nonzero().squeeze(1)])
    count = torch.cat([torch.ones_like(node[near]), apart[apart > 0]]).to(batch.x)
    marked = torch.cat([(node == root)[near], torch.zeros_like(apart[apart > 0], dtype=torch.bool)])
    x = torch.cat([torch.stack([marked, ~marked], dim=1).to(batch.x), batch.x[copied]], dim=1)
    loops = torch.arange(len(copied), device=copied.device)
    source, target = torch.cat([place[start], loops]), torch.cat([place[end], loops])
    return Bag(CountedBatch(x, source, target, batch.graph[copied], batch.num_graphs, count=count), copied)


def _near(batch: PackedBatch, node: Tensor, is_root: Tensor, hops: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of a row for each ``node`` in each subgraph: which are within ``hops`` of the root, and the edges among those, as
    rows where they start and end."""
    between = batch.source != batch.target
    by_source = batch.source[between].argsort(stable=True)
    source, target = batch.source[between][by_source], batch.target[between][by_source]
    degree = torch.bincount(source, minlength=len(batch.graph))
    first = degree.cumsum(0) - degree

    def steps_from(near: Tensor) -> tuple[Tensor, Tensor]:
        """The rows that are near, each with every row that an edge leads to: in all subgraphs, nodes stand alike."""
        rows = near.nonzero().squeeze(1)
        which, number = _each(degree[node[rows]])
        edge = first[node[rows]][which] + number
        return rows[which], rows[which] + target[edge] - source[edge]

    near = is_root
    for _ in range(hops):
        near = near.index_fill(0, steps_from(near)[1], True)
    start, end = steps_from(near)
    return near, start[near[end]], end[near[end]]


def _each(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Every index as often as it counts, and 0, 1, 2, ... within each.

    >>> [part.tolist() for part in _each(torch.tensor([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    index = torch.repeat_interleave(counts)
    return index, torch.arange(len(index), device=index.device) - (counts.cumsum(0) - counts)[index]
