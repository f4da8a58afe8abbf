"""Padded batches: padding takes part in nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from literal import COMMON, EXAMPLES, Graph, batch_of, every_batch_of, graph, node_values
from sargnn.batching import PaddedBatch, padded


def test_padding_has_no_share() -> None:
    """Whatever a padding row holds (here a thousand), no softmax gives it weight, so nothing of it is pooled; a graph
    without nodes pools to zero."""
    graphs = [*EXAMPLES, Graph(0, (), np.empty((0, 3)))]
    packed, padded = (batch_of(graphs, layout) for layout in COMMON)
    pooled, expected = (
        batch.pool(batch.softmax_nodes(node_values(batch)), node_values(batch, d=2)) for batch in (padded, packed)
    )
    torch.testing.assert_close(pooled, expected)
    assert pooled[-1].tolist() == [0, 0]
    assert not padded.softmax_nodes(node_values(padded))[~padded.mask].any()


def test_attention_by_sums_is_attention_by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a compiler for a GPU gets it; a graph without nodes is among them."""
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    batch = PaddedBatch(torch.randn(3, 3, 4), torch.eye(3).expand(3, 3, 3), mask)
    g = torch.randn(3, 4)
    results = []
    for fuses in (False, True):
        monkeypatch.setattr(padded, "_fuses", lambda h, fuses=fuses: fuses)
        s = batch.resemblance(g, batch.x)
        results.append((s, batch.read(g, batch.x), batch.pool(s, batch.x)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_a_graph_without_nodes_shares_nothing_out() -> None:
    graphs = [graph(2, []), Graph(0, (), np.empty((0, 3)))]
    assert batch_of(graphs, "padded").uniform.tolist() == [[0.5, 0.5], [0, 0]]
    for batch in every_batch_of(graphs):
        assert batch.per_node(batch.uniform).tolist() == [0.5, 0.5]
        assert batch.sum(node_values(batch, d=2))[1].tolist() == [0, 0]


def test_per_node_lists_graph_after_graph() -> None:
    first, *others = (batch.per_node(node_values(batch)) for batch in every_batch_of(EXAMPLES))
    assert all(torch.equal(other, first) for other in others)
