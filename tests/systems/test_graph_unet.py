"""Graph U-Nets: what every level keeps and joins, and the whole net against a dense one, graph by graph."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from expressive import constant_batch, randomised, with_and_without_kernels
from literal import EXAMPLES, Graph, batch_of, graph
from sargnn.batching import ListedBatch, PackedBatch
from sargnn.errors import InputError
from sargnn.systems.graph_unet import GraphUNet, GraphUNetConfig, Level, best, coarser, unpooled

UNDIRECTED = [EXAMPLES[i] for i in (0, 1, 2, 3, 5)]


def test_five_nodes_become_four_three_and_two() -> None:
    level: ListedBatch = batch_of([graph(5, []), graph(1, [])], "packed")
    sizes = []
    for ratio in (0.9, 0.8, 0.7):
        level = coarser(level, best(level.x[:, 0], ratio, level))
        sizes.append(torch.bincount(level.graph).tolist())
    assert sizes == [[4, 1], [3, 1], [2, 1]]


def test_columns_sum_to_one() -> None:
    batch = batch_of(UNDIRECTED, "packed")
    sums = torch.zeros(len(batch.x)).double().index_add(0, batch.source, Level.of(batch).weights)
    torch.testing.assert_close(sums, torch.ones(len(batch.x)).double())


def test_two_steps_join_the_kept_nodes() -> None:
    """A path of five without its middle: 1 and 3 are two steps apart, 0 and 3 are three."""
    batch = constant_batch([(5, [(0, 1), (1, 2), (2, 3), (3, 4)])])
    assert isinstance(batch, PackedBatch)
    small = coarser(batch, torch.tensor([0, 1, 3, 4]))
    pairs = sorted((s, t) for s, t in zip(small.source.tolist(), small.target.tolist(), strict=True) if s < t)
    assert pairs == [(0, 1), (1, 2), (2, 3)]
    assert (small.source == small.target).sum() == 4


def test_unpooling_puts_rows_back() -> None:
    assert unpooled(torch.tensor([[5.0], [6.0]]), torch.tensor([1, 3]), 4).flatten().tolist() == [0, 5, 0, 6]


def dense(model: GraphUNet, g: Graph) -> Tensor:
    """The steps of the code's list with dense matrices."""

    def gcn(linear: torch.nn.Module, a: Tensor, h: Tensor) -> Tensor:
        return F.elu(linear(a / a.sum(0, keepdim=True) @ h))

    a, x = torch.from_numpy(g.closed), torch.from_numpy(g.x)
    start = h = gcn(model.start, a, x)
    held = []
    for conv, score, ratio in zip(model.down, model.scores, model.config.ratios, strict=True):
        h = gcn(conv, a, h)
        z = score(h).squeeze(-1)
        n = len(z)
        kept = z.topk(min(n, max(2, int(ratio * n + 1e-9)))).indices
        held.append((a, h, kept))
        a, h = ((a @ a > 0).double())[kept][:, kept], h[kept] * z[kept].sigmoid().unsqueeze(-1)
    h = gcn(model.bottom, a, h)
    maps = []
    for conv, (a, skipped, kept) in zip(model.up, reversed(held), strict=True):
        wide = torch.zeros_like(skipped)
        wide[kept] = h
        h = gcn(conv, a, wide) + skipped
        maps.append(h)
    maps.append(h + start)
    return torch.cat([torch.cat([m.amax(0), m.sum(0), m.mean(0)]) for m in maps])


def test_the_batch_is_the_dense_net_graph_by_graph() -> None:
    model = randomised(GraphUNet(GraphUNetConfig(hidden=8), 3, 2), 0)
    got = model.encode(batch_of(UNDIRECTED, "packed"))
    assert got.graph.shape == (len(UNDIRECTED), 3 * 8 * 4)
    for vector, g in zip(got.graph, UNDIRECTED, strict=True):
        torch.testing.assert_close(vector, dense(model, g))


def test_kernels_and_pytorch_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model = randomised(GraphUNet(GraphUNetConfig(hidden=8), 3, 2), 0)
    results = with_and_without_kernels(model, batch_of(EXAMPLES, "packed"), model.up, monkeypatch)
    torch.testing.assert_close(*results)


def test_closed_gates_leave_the_skip_connections_alone() -> None:
    """With all scores at minus infinity the bottom sees zeros, whatever lies above."""
    model = randomised(GraphUNet(GraphUNetConfig(hidden=8, ratios=(1.0,)), 3, 2), 0)
    with torch.no_grad():
        model.scores[0].weight.zero_()
        model.scores[0].bias.fill_(-1e9)
    batch = batch_of([EXAMPLES[1]], "packed")
    with torch.no_grad():
        level = Level.of(batch)
        start = model._convolve(model.start, batch.x, level)
        down = model._convolve(model.down[0], start, level)
        bottom = model._convolve(model.bottom, torch.zeros_like(down), level)
        expected = model._convolve(model.up[0], bottom, level) + down + start
        torch.testing.assert_close(model.encode(batch).nodes, expected)


def test_node_scores_are_at_the_nodes_that_were_kept() -> None:
    model = randomised(GraphUNet(GraphUNetConfig(hidden=8), 3, 2), 0)
    out = model.encode(batch_of([graph(5, [])], "packed"))
    assert [(s > 0).sum().item() for s in out.saliency] == [4, 3, 2]
    for before, after in zip(out.saliency, out.saliency[1:], strict=False):
        assert not (after[before == 0]).any()


def test_a_ratio_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"model.ratios: got 1.2, expected more than 0, at most 1"):
        GraphUNetConfig(ratios=(0.5, 1.2))
