"""SAGPool: what it keeps, how it gates, and the same numbers as PyTorch Geometric's own pooling."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import GCNConv, SAGPooling

from expressive import randomised
from literal import COMMON, EXAMPLES, batch_of, both_ways, edge_arguments, graph, node_rows
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.systems.base import real_nodes
from sargnn.systems.sagpool import SAGPool, SAGPoolConfig, best, convolve

every_layout = pytest.mark.parametrize("layout", COMMON)
UNDIRECTED = [EXAMPLES[i] for i in (0, 1, 2, 3, 5)]


@every_layout
def test_half_of_five_is_three_then_two_then_one(layout: str) -> None:
    batch = batch_of([graph(5, []), graph(1, [])], layout)
    kept, counts = real_nodes(batch), []
    for _ in range(3):
        kept = best(batch.x[..., 0], kept, 0.5, batch)
        counts.append(batch.sum(kept.unsqueeze(-1)).flatten().tolist())
    assert counts == [[3, 1], [2, 1], [1, 1]]


def test_a_ratio_that_binary_fractions_blur_is_not_rounded_up() -> None:
    batch = batch_of([graph(30, [])], "packed")
    assert best(batch.x[:, 0], real_nodes(batch), 0.1, batch).sum() == 3


def test_one_block_is_that_of_pytorch_geometric() -> None:
    torch.manual_seed(0)
    x, edge_index, index = edge_arguments(UNDIRECTED)
    theirs = SAGPooling(3, 0.5, GNN=GCNConv).double()
    with torch.no_grad():
        theirs.select.weight.fill_(1)
    kept_x, _, _, _, chosen, gate = theirs(x, edge_index, batch=index)
    batch = PackedBatch.from_edges(x, edge_index, index)
    score = torch.nn.Linear(3, 1).double()
    score.weight, score.bias = theirs.gnn.lin.weight, theirs.gnn.bias
    z = convolve(x, real_nodes(batch), score, batch).squeeze(-1)
    kept = best(z, real_nodes(batch), 0.5, batch)
    assert sorted(chosen.tolist()) == kept.nonzero().flatten().tolist()
    torch.testing.assert_close(z.tanh()[chosen], gate)
    torch.testing.assert_close((z.tanh().unsqueeze(-1) * x)[chosen], kept_x)


@pytest.mark.parametrize("ratio", [0.5, 0.8])
def test_the_whole_net_is_the_one_built_of_its_parts(ratio: float) -> None:
    """Nodes really cut out, graph by graph, with PyTorch Geometric's layers."""
    model = randomised(SAGPool(SAGPoolConfig(hidden=8, ratio=ratio), 3, 2), 0)
    got = model.encode(batch_of(UNDIRECTED, "padded")).graph
    for number, g in enumerate(UNDIRECTED):
        h, edge_index, index = edge_arguments([g])
        expected = torch.zeros(16).double()
        for layer, score in zip(model.layers, model.scores, strict=True):
            conv, pool = GCNConv(layer.in_features, 8).double(), SAGPooling(8, ratio, GNN=GCNConv).double()
            conv.lin.weight, conv.bias, pool.gnn.lin.weight, pool.gnn.bias = (
                layer.weight, layer.bias, score.weight, score.bias,
            )  # fmt: skip
            torch.nn.init.ones_(pool.select.weight)
            h, edge_index, _, index, _, _ = pool(conv(h, edge_index).relu(), edge_index, batch=index)
            expected = expected + torch.cat([h.amax(0), h.mean(0)])
        torch.testing.assert_close(got[number], expected)


def test_scores_are_a_distribution_over_what_is_kept() -> None:
    model = randomised(SAGPool(SAGPoolConfig(hidden=8), 3, 2), 0)
    for layout in COMMON:
        batch = batch_of(EXAMPLES, layout)
        out = model.encode(batch)
        held = [(node_rows(batch, s.unsqueeze(-1)) > 0).sum().item() for s in out.saliency]
        assert held == [2 + 5 + 1 + 3 + 2 + 1, 1 + 3 + 1 + 2 + 1 + 1, 1 + 2 + 1 + 1 + 1 + 1]
        for s in out.saliency:
            torch.testing.assert_close(batch.sum(s.unsqueeze(-1)), torch.ones(len(EXAMPLES), 1).double())
        assert out.graph.shape == (len(EXAMPLES), 16)


def test_the_order_of_nodes_decides_ties_and_nothing_else_does() -> None:
    """A path with constant inputs: its ends tie, and the first is kept."""
    batch = PackedBatch.from_edges(torch.ones(2, 1), torch.tensor(both_ways((0, 1))).T)
    assert best(torch.zeros(2), torch.ones(2), 0.5, batch).tolist() == [1, 0]


@pytest.mark.parametrize("ratio", [0.0, 1.5])
def test_a_ratio_out_of_range_is_refused(ratio: float) -> None:
    with pytest.raises(InputError, match=r"model.ratio: got .*, expected more than 0, at most 1"):
        SAGPoolConfig(ratio=ratio)
