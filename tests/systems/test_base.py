"""What the compared systems share: groups of similar graphs, ranks of nodes, dense models on packed batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from literal import EXAMPLES, batch_of, kernels, random_graph
from sargnn.batching import CompressedBatch, PackedBatch, PaddedBatch
from sargnn.nn.graph_model import Encoding
from sargnn.systems.base import DenseModel, dropout, graph_max, listed_batch, node_ranks, padded_groups, real_nodes


class Sums(DenseModel):
    """The sum of the inputs of each closed neighbourhood; its saliency is uniform."""

    def encode_padded(self, batch: PaddedBatch) -> Encoding:
        h = batch.closed @ batch.x
        return Encoding(batch.sum(h), h, (batch.uniform,))


def test_a_dense_model_gives_packed_batches_what_it_gives_padded_ones() -> None:
    graphs = [*EXAMPLES, random_graph(40, 90), random_graph(3, 2)]
    packed, padded = batch_of(graphs, "packed"), batch_of(graphs, "padded")
    got, expected = Sums().encode(packed), Sums().encode(padded)
    torch.testing.assert_close(got.graph, expected.graph)
    torch.testing.assert_close(got.nodes, expected.nodes[padded.mask])
    torch.testing.assert_close(got.saliency[0], padded.per_node(expected.saliency[0]))


def test_every_graph_is_in_one_group_of_similar_sizes_with_its_own_nodes() -> None:
    batch = batch_of([random_graph(n, 2 * n, seed=n) for n in (30, 4, 9, 60, 5, 31)], "packed")
    groups = padded_groups(batch, cells=2000)
    assert sorted(torch.cat([group.graphs for group in groups]).tolist()) == list(range(6))
    for group in groups:
        sizes = group.batch.mask.sum(1)
        assert sizes.max() <= 2 * sizes.min() + 8
        assert group.batch.closed.numel() <= 2000 or len(group.graphs) == 1
        torch.testing.assert_close(group.batch.x[group.batch.mask], batch.x[group.rows])
        torch.testing.assert_close(group.batch.degrees[group.batch.mask], batch.degrees[group.rows])


@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_ranks_are_those_of_a_sort_of_each_graph(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    scores = (batch.x[..., 0] * 3).round() * real_nodes(batch)  # rounded, so that some are equal
    got, start = batch.per_node(node_ranks(scores, batch)).numpy(), 0
    for g in EXAMPLES:
        own = batch.per_node(scores).numpy()[start : start + g.nodes]
        order = np.argsort(-own, kind="stable")
        np.testing.assert_array_equal(got[start : start + g.nodes][order], np.arange(g.nodes))
        start += g.nodes


@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_the_maximum_is_over_kept_nodes_and_0_where_none_is_kept(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    nothing = torch.zeros_like(real_nodes(batch))
    assert not graph_max(batch.x, batch, nothing).any()
    torch.testing.assert_close(graph_max(batch.x, batch, real_nodes(batch)), batch.max(batch.x))


def test_listed_batches_are_the_same_with_and_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels(torch.float64)
    x = torch.randn(3, 2).double()
    structure = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 2])
    fast = listed_batch(x, *structure)
    monkeypatch.setattr("sargnn.systems.base.kernels_for", lambda _: None)
    slow = listed_batch(x, *structure)
    assert (type(fast), type(slow)) == (CompressedBatch, PackedBatch)
    torch.testing.assert_close(fast.aggregate(fast.ones, x), slow.aggregate(slow.ones, x))
    torch.testing.assert_close(fast.sum(x), slow.sum(x))


def test_dropout_keeps_the_mean_and_p_0_keeps_everything() -> None:
    h = torch.ones(100_000)
    assert torch.equal(dropout(h, 0.0), F.dropout(h, 0.0))
    dropped = dropout(h, 0.25)
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)
