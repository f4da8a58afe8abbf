"""Node saliency by numbers worked by hand, and its ablations."""

from __future__ import annotations

from math import log

import pytest
import torch
from torch import Tensor

from literal import EXAMPLES, LAYOUTS, batch_of
from sargnn.batching import PackedBatch
from sargnn.nn import NodeSaliency
from sargnn.nn.saliency import UniformSaliency

NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def dot_product(attention: int) -> NodeSaliency:
    """d_M = d_H = 1: every feature of the common space is M on one side and h on the other."""
    layer = NodeSaliency(1, 1, attention)
    layer.query.weight.data.fill_(1)
    layer.key.weight.data.fill_(1)
    return layer


def test_three_nodes() -> None:
    # q_s = M = 1, K_s = (0, ln 2, ln 5), √d_s = 1: s = (1, 2, 5) / 8
    batch = PackedBatch.from_edges(torch.tensor([[0.0], [log(2)], [log(5)]]), torch.tensor([[0, 1], [1, 0]]))
    got = dot_product(1)(torch.ones(1, 1), batch.x, batch)
    torch.testing.assert_close(got, torch.tensor([0.125, 0.25, 0.625]))


def test_scores_are_divided_by_the_root_of_d() -> None:
    # d_s = 9: q_s K_sᵀ = 9 M h, over √9 is 3 M h: with M = 2 and h = (0, ln 2 / 6), scores (0, ln 2), s = (1, 2) / 3
    batch = PackedBatch.from_edges(torch.tensor([[0.0], [log(2) / 6]]), NO_EDGES)
    got = dot_product(9)(torch.full((1, 1), 2.0), batch.x, batch)
    torch.testing.assert_close(got, torch.tensor([1 / 3, 2 / 3]))


def test_each_graph_has_its_own_distribution_and_its_own_memory() -> None:
    # graph 0: M = 1, h = (0, ln 3): (1, 3) / 4; graph 1: one node: 1; graph 2: M = -1, h = (0, ln 4): (4, 1) / 5
    x = torch.tensor([[0.0], [log(3)], [77.0], [0.0], [log(4)]])
    batch = PackedBatch.from_edges(x, NO_EDGES, torch.tensor([0, 0, 1, 2, 2]))
    got = dot_product(1)(torch.tensor([[1.0], [5.0], [-1.0]]), x, batch)
    torch.testing.assert_close(got, torch.tensor([0.25, 0.75, 1.0, 0.8, 0.2]))


def test_structure_does_not_enter() -> None:
    x = torch.randn(4, 1)
    one, other = PackedBatch.from_edges(x, NO_EDGES), PackedBatch.from_edges(x, torch.tensor([[0, 1, 2], [1, 2, 3]]))
    assert torch.equal(dot_product(3)(torch.ones(1, 1), x, one), dot_product(3)(torch.ones(1, 1), x, other))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_has_none(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    layer = NodeSaliency(3, 5, 4).double()
    s = layer(torch.randn(len(EXAMPLES), 5, dtype=torch.float64), batch.x, batch)
    assert s.sum().item() == pytest.approx(len(EXAMPLES), abs=1e-12)
    assert batch.per_node(s).sum().item() == pytest.approx(len(EXAMPLES), abs=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_uniform_is_one_over_the_nodes(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    s = UniformSaliency()(torch.zeros(len(EXAMPLES), 1, dtype=torch.float64), batch.x, batch)
    expected = [1 / g.nodes for g in EXAMPLES for _ in range(g.nodes)]
    assert batch.per_node(s).tolist() == pytest.approx(expected)


def three_calls(projections: str) -> tuple[NodeSaliency, list[Tensor]]:
    torch.manual_seed(0)
    layer = NodeSaliency(3, 5, 4, learned=projections == "learned").double()
    batch, m = batch_of(EXAMPLES, "packed"), torch.randn(len(EXAMPLES), 5, dtype=torch.float64)
    return layer, [layer(m, batch.x, batch) for _ in range(3)]


@pytest.mark.parametrize("projections", ["learned", "random"])
def test_two_calls_agree_to_the_bit(projections: str) -> None:
    layer, calls = three_calls(projections)
    assert torch.equal(calls[0], calls[1])
    assert all(p.requires_grad == (projections == "learned") for p in layer.parameters())


@pytest.mark.parametrize("projections", ["learned", "random"])
def test_gradients_reach_memory_and_nodes(projections: str) -> None:
    batch = batch_of(EXAMPLES, "packed")
    layer = NodeSaliency(3, 5, 4, learned=projections == "learned").double()
    m = torch.randn(len(EXAMPLES), 5, dtype=torch.float64, requires_grad=True)
    h = batch.x.clone().requires_grad_()
    layer(m, h, batch).square().sum().backward()
    assert m.grad is not None and m.grad.abs().sum() > 0  # noqa: PT018
    assert h.grad is not None and h.grad.abs().sum() > 0  # noqa: PT018
    learned = [p.grad is not None for p in layer.parameters()]
    assert learned == [projections == "learned"] * 2
