"""DSS-GNN: what a bag holds, a second computation with dense matrices, and what marked ego-networks tell apart."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from expressive import constant_batch, gap, randomised, with_and_without_kernels
from literal import EXAMPLES, Graph, batch_of, both_ways, graph, random_graph
from sargnn.batching import PackedBatch
from sargnn.systems.dss_gnn import DSSGNN, Bag, CountedNorm, DSSGNNConfig, ego_networks, over_copies
from sargnn.systems.graphormer import shortest_paths

UNDIRECTED = [EXAMPLES[i] for i in (0, 1, 2, 3, 5)]


def whole(values: Tensor, bag: Bag) -> Tensor:
    """Every row as often as it counts."""
    return values if bag.repeats is None else values.repeat_interleave(bag.repeats.long(), dim=0)


def test_the_bag_of_a_path_of_three() -> None:
    """Roots 0, 1, 2 have 2, 3, 2 near nodes; nodes 2 and 0 are once not near."""
    batch = constant_batch([(3, [(0, 1), (1, 2)])])
    assert isinstance(batch, PackedBatch)
    bag = ego_networks(batch, 1)
    assert bag.copies.graph.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert bag.rows.x[:, 0].tolist() == [1, 0, 0, 0, 1, 0, 0, 1, 0]
    subgraph = torch.tensor([0, 1, -1, 0, 1, 2, 1, 2, -1])
    between = bag.rows.source != bag.rows.target
    assert torch.bincount(subgraph[bag.rows.target[between]]).tolist() == [2, 4, 2]
    assert torch.equal(subgraph[bag.rows.target[between]], subgraph[bag.rows.source[between]])
    marks = over_copies(bag.rows.x[:, :2], bag)
    torch.testing.assert_close(marks, torch.tensor([[1 / 3, 2 / 3]]).double().expand(3, 2))


def test_nodes_that_are_not_near_are_one_row_that_counts_as_often_as_they_are() -> None:
    """A path of five, one hop: node 0 is near roots 0 and 1, and three times not."""
    bag = ego_networks(batch_of([graph(5, both_ways((0, 1), (1, 2), (2, 3), (3, 4)))], "packed"), 1)
    assert bag.repeats is not None
    assert bag.repeats.tolist() == [1, 1, 3, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 3]
    assert torch.bincount(whole(bag.copies.graph, bag)).tolist() == [5] * 5


def test_rows_are_normalised_as_if_each_were_there_as_often_as_it_counts() -> None:
    """Against PyTorch's batch normalisation of all rows: result, gradients and running statistics."""
    bag = ego_networks(batch_of([EXAMPLES[1], random_graph(30, 40, seed=1)], "packed"), 1)
    assert bag.repeats is not None
    assert bag.repeats.sum() == 9**2 + 30**2
    mine, theirs = CountedNorm(4).double(), torch.nn.BatchNorm1d(4).double()
    with torch.no_grad():
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            one.copy_(other.copy_(torch.randn(4)))
    h = torch.randn(len(bag.repeats), 4).double().requires_grad_()
    got, expected = whole(mine(h, bag.rows, bag.repeats), bag), theirs(whole(h, bag))
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(mine.running_mean, theirs.running_mean)
    torch.testing.assert_close(mine.running_variance, theirs.running_var)
    weights = torch.randn_like(got)
    grads = [
        torch.autograd.grad((out * weights).sum(), [h, *norm.parameters()])
        for out, norm in ((got, mine), (expected, theirs))
    ]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("graphs", [UNDIRECTED, EXAMPLES], ids=["undirected", "all"])
def test_kernels_and_pytorch_agree(graphs: list[Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    model = randomised(DSSGNN(DSSGNNConfig(layers=2, hidden=4, hops=1), 3, 2), 0).train()
    results = with_and_without_kernels(model, batch_of(graphs, "packed"), model.layers, monkeypatch)
    torch.testing.assert_close(*results)


def test_a_bag_of_many_graphs_is_their_bags() -> None:
    graphs = [EXAMPLES[1], EXAMPLES[2], random_graph(30, 40, seed=1), EXAMPLES[5]]
    bag = ego_networks(batch_of(graphs, "packed"), 2)
    assert torch.bincount(whole(bag.rows.graph, bag)).tolist() == [g.nodes**2 for g in graphs]
    edges = torch.bincount(bag.rows.graph[bag.rows.target]).tolist()
    for number, g in enumerate(graphs):
        alone = ego_networks(batch_of([g], "packed"), 2)
        assert len(alone.rows.source) == edges[number]
        torch.testing.assert_close(alone.rows.x, bag.rows.x[bag.rows.graph == number])


def dense(model: DSSGNN, g: Graph) -> Tensor:
    """x^r_i as a tensor [r, i, d], each subgraph with its own matrix."""
    closed, n = torch.from_numpy(g.closed), g.nodes
    near = shortest_paths(closed.unsqueeze(0), model.config.hops + 1)[0] <= model.config.hops
    own = torch.stack([closed * near[:, r].outer(near[:, r]) for r in range(n)])
    own = torch.maximum(own, torch.eye(n).double())
    root = torch.eye(n).double().unsqueeze(-1)
    h = torch.cat([root, 1 - root, torch.from_numpy(g.x).expand(n, n, -1)], dim=-1)

    def gin(part: torch.nn.Module, summed: Tensor) -> Tensor:
        for linear, norm, last in zip(part.maps, part.norms, (False, True), strict=True):
            summed = linear(summed)
            summed = (summed - norm.running_mean) / (norm.running_variance + 1e-5).sqrt() * norm.weight + norm.bias
            summed = summed if last else summed.relu()
        return summed

    for layer in model.layers:
        h = (gin(layer.each, own @ h) + gin(layer.together, closed @ h.mean(0))).relu()
    return h.mean((0, 1))


@pytest.mark.parametrize(("hops", "hidden"), [(1, 5), (2, 5), (2, 4)])
def test_the_net_is_the_dense_one(hops: int, hidden: int) -> None:
    """With as many features as there are inputs and marks, and with fewer, which are mapped before they are summed."""
    model = randomised(DSSGNN(DSSGNNConfig(layers=2, hidden=hidden, hops=hops), 3, 2), 0)
    got = model.encode(batch_of(UNDIRECTED, "packed")).graph
    for vector, g in zip(got, UNDIRECTED, strict=True):
        torch.testing.assert_close(vector, dense(model, g))


@pytest.mark.parametrize(
    ("pair", "hops", "apart"),
    [
        ("triangles", 1, True), ("triangles", 2, True), ("molecules", 1, False), ("molecules", 2, True),
        ("regular", 1, False), ("regular", 2, False),
    ],
)  # fmt: skip
def test_what_ego_networks_tell_apart(pair: str, hops: int, apart: bool) -> None:
    difference = gap(DSSGNN(DSSGNNConfig(layers=5, hidden=8, hops=hops), 1, 2), pair)
    assert difference > 1e-3 if apart else difference < 1e-6


def test_without_marks_and_with_whole_graphs_nothing_is_told_apart() -> None:
    """Ten hops reach everything in these connected graphs; the first weights ignore the marks."""
    model = randomised(DSSGNN(DSSGNNConfig(layers=4, hidden=8, hops=10), 1, 2), 0)
    with torch.no_grad():
        for part in (model.layers[0].each, model.layers[0].together):
            part.maps[0].weight[:, :2] = 0
    from expressive import PAIRS

    one, other = model.encode(constant_batch(list(PAIRS["molecules"]))).graph.detach()
    torch.testing.assert_close(one, other)


def test_without_the_shared_part_subgraphs_do_not_see_each_other() -> None:
    """A mark at one root then changes the rows of that subgraph alone."""
    model = randomised(DSSGNN(DSSGNNConfig(layers=2, hidden=4), 3, 2), 0)
    with torch.no_grad():
        for layer in model.layers:
            layer.together.norms[1].weight.zero_()
            layer.together.norms[1].bias.zero_()
    batch = batch_of([EXAMPLES[1]], "packed")
    bag = ego_networks(batch, 10)
    of_first_root = torch.arange(81) % 9 == 0  # all are near all roots: the copies of each node are in their order

    def rows(x: Tensor) -> Tensor:
        for layer in model.layers:
            x = layer(x, bag, batch)
        return x

    changed = bag.rows.x.clone()
    changed[0] += 1  # node 0 in the subgraph of root 0
    moved = (rows(changed) - rows(bag.rows.x)).abs().sum(1) > 1e-12
    assert moved[of_first_root].any()
    assert not moved[~of_first_root].any()
