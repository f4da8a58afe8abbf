"""ECC: Kron reductions by hand, the layer against PyTorch Geometric's, and cuts that are the graph's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import NNConv

from expressive import constant_batch, randomised, with_and_without_kernels
from literal import EXAMPLES, Graph, batch_of, both_ways, edge_arguments
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.systems.ecc import (
    ECC,
    ECCConfig,
    EdgeConditionedLayer,
    Level,
    coarsened,
    kron_reduction,
    normalised_laplacian,
)

UNDIRECTED = [EXAMPLES[i] for i in (0, 1, 2, 3, 5)]


def laplacian(nodes: int, *edges: tuple[int, int]) -> np.ndarray:
    return normalised_laplacian(nodes, np.array(edges).T)


@pytest.mark.parametrize(
    ("matrix", "stays", "expected"),
    [
        (laplacian(3, (0, 1), (1, 2)), [1, 0, 1], [[0.5, -0.5], [-0.5, 0.5]]),
        (laplacian(4, (0, 1), (1, 2), (2, 3), (3, 0)), [1, 0, 1, 0], [[0.5, -0.5], [-0.5, 0.5]]),
        (laplacian(4, (0, 1), (1, 2), (2, 3)), [0, 1, 0, 1], [[0.25, -0.35355], [-0.35355, 0.5]]),
    ],
    ids=["path of 3", "ring of 4", "path of 4"],
)
def test_kron_reductions_by_hand(matrix: np.ndarray, stays: list[int], expected: list[list[float]]) -> None:
    assert kron_reduction(matrix, np.array(stays, bool)) == pytest.approx(np.array(expected), abs=1e-5)


def level_of(x: torch.Tensor, edges: torch.Tensor, label: torch.Tensor | None) -> Level:
    nodes = torch.arange(len(x))
    return Level(PackedBatch(x, edges[0], edges[1], torch.zeros_like(nodes), 1), label, nodes, nodes)


@pytest.mark.parametrize("labels", [1, 4])
def test_the_layer_is_that_of_pytorch_geometric(labels: int) -> None:
    torch.manual_seed(0)
    x, edges, _ = edge_arguments([EXAMPLES[1]])
    label = torch.randn(edges.shape[1], labels).double()
    mine = EdgeConditionedLayer(3, 5, labels).double()
    net = nn.Sequential(nn.Linear(labels, 16), nn.ReLU(), nn.Linear(16, 15)).double()
    theirs = NNConv(3, 5, net).double()
    with torch.no_grad():
        net[0].weight.copy_(mine.filter.weight)
        net[0].bias.copy_(mine.filter.bias)
        theta = mine.theta.weight.view(5, 17, 3).permute(1, 2, 0).reshape(17, 15)
        net[2].weight.copy_(theta[:16].T)
        net[2].bias.copy_(theta[16])
        theirs.lin.weight.copy_(mine.root.weight)
        theirs.bias.copy_(mine.root.bias)
    torch.testing.assert_close(mine(x, level_of(x, edges, label)), theirs(x, edges, label))


def test_a_constant_filter_sums_the_neighbours() -> None:
    x, edges, _ = edge_arguments([EXAMPLES[1]])
    layer = EdgeConditionedLayer(3, 3).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.theta.weight[:, -3:] = torch.eye(3)
    expected = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
    label = torch.randn(edges.shape[1], 1).double()
    torch.testing.assert_close(layer(x, level_of(x, edges, label)), expected)


def test_labels_that_are_all_one_need_one_sum() -> None:
    """No label and a label of 1 everywhere: the same result and gradients by another way."""
    torch.manual_seed(0)
    x, edges, _ = edge_arguments([EXAMPLES[1]])
    x.requires_grad_()
    layer = EdgeConditionedLayer(3, 5).double()
    results = []
    for label in (torch.ones(edges.shape[1], 1).double(), None):
        out = layer(x, level_of(x, edges, label))
        results.append((out, *torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("labels", [0, 2])
def test_kernels_and_pytorch_agree(labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [labelled_ring([0, 1, 0, 1, 1])] if labels else UNDIRECTED
    model = randomised(ECC(ECCConfig(hidden=8), 3, 2, edge_inputs=labels), 0)
    results = with_and_without_kernels(model, batch_of(graphs, "packed"), model.layers, monkeypatch)
    torch.testing.assert_close(*results)


def test_a_star_keeps_its_leaves_and_joins_them() -> None:
    """Two sides of a bipartite graph; the larger stays; then a complete graph with loops."""
    batch = constant_batch([(4, [(0, 1), (0, 2), (0, 3)])])
    assert isinstance(batch, PackedBatch)
    _, level, _ = coarsened(batch, 2)
    assert level.origin.tolist() == [1, 2, 3]
    assert level.label is not None
    assert len(level.label) == 9
    matrix = torch.zeros(3, 3).double()
    matrix[level.batch.target, level.batch.source] = level.label.squeeze(1)
    torch.testing.assert_close(matrix, torch.eye(3).double() - 1 / 3)


@pytest.mark.parametrize("x", [[5.0, 0, 0, 0], [0, 5.0, 0, 0]])
def test_inputs_decide_between_equal_halves_so_the_numbering_does_not(x: list[float]) -> None:
    """The halves of a path of four mirror each other."""
    values = torch.tensor(x).unsqueeze(1).double()
    edges = torch.tensor(both_ways((0, 1), (1, 2), (2, 3))).T
    levels = coarsened(PackedBatch.from_edges(values, edges), 1)
    assert levels[1].origin.tolist() == ([0, 2] if x[0] else [1, 3])
    turned = coarsened(PackedBatch.from_edges(values.flip(0), edges), 1)
    assert sorted(3 - i for i in turned[1].origin.tolist()) == levels[1].origin.tolist()


def test_graphs_without_edges_and_of_one_node_stay_whole() -> None:
    levels = coarsened(batch_of(UNDIRECTED, "packed"), 2)
    sizes = [torch.bincount(level.batch.graph, minlength=5).tolist() for level in levels]
    assert [row[0] for row in sizes] == [3, 3, 3]
    assert [row[2] for row in sizes] == [1, 1, 1]
    assert [row[4] for row in sizes] == [2, 1, 1]
    assert all(min(row) >= 1 for row in sizes)


def test_the_vector_is_a_mean_over_what_is_left() -> None:
    model = randomised(ECC(ECCConfig(hidden=8), 3, 2), 0)
    batch = batch_of(UNDIRECTED, "packed")
    out = model.encode(batch)
    last = coarsened(batch, 2)[-1]
    for number in range(len(UNDIRECTED)):
        own = last.origin[last.batch.graph == number]
        torch.testing.assert_close(out.graph[number], out.nodes[own].mean(0))


def labelled_ring(labels: list[int]) -> Graph:
    """A ring of nodes all alike whose edges have these labels, one-hot."""
    n, ring = len(labels), [(i, (i + 1) % len(labels)) for i in range(len(labels))]
    e = np.zeros((n, n, 2))
    for (u, v), label in zip(ring, labels, strict=True):
        e[u, v, label] = e[v, u, label] = 1
    return Graph(n, tuple(both_ways(*ring)), np.ones((n, 3)), e)


def test_edge_inputs_are_the_labels_before_the_first_halving() -> None:
    graphs = [labelled_ring([0, 1, 0, 1, 0, 1]), labelled_ring([0, 0, 0, 1, 1, 1]), labelled_ring([1, 0, 1, 0, 1, 0])]
    model = randomised(ECC(ECCConfig(hidden=8), 3, 2, edge_inputs=2), 0)
    assert [layer.filter.in_features for layer in model.layers] == [2, 2, 2, 1, 1, 1, 1]
    together = model.encode(batch_of(graphs, "packed")).graph
    alone = torch.cat([model.encode(batch_of([g], "packed")).graph for g in graphs])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(together[0], together[2])
    assert (together[0] - together[1]).abs().max() > 1e-3


def test_edge_inputs_must_be_there() -> None:
    with pytest.raises(InputError, match="got 0 edge inputs, expected 2 numbers per edge"):
        ECC(ECCConfig(hidden=8), 3, 2, edge_inputs=2).double().encode(batch_of(UNDIRECTED, "packed"))
