"""The gated readout: a closed gate shuts a node out to the bit; what is reported is what is read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from literal import EXAMPLES, LAYOUTS, batch_of, graph, node_values
from sargnn.batching import Batch
from sargnn.nn.gates import GatedReadout, distribution
from sargnn.nn.norm import VectorNorm


class FirstFeature(nn.Module):
    """In place of the gates' perceptron: the first input, from which a large negative one makes a gate of exactly 0."""

    def forward(self, features: Tensor) -> Tensor:
        return features[..., :1]


def readout_of(features: list[Tensor]) -> GatedReadout:
    readout = GatedReadout(features[0].shape[-1], features[-1].shape[-1], len(features) - 1).double().eval()
    readout.mlp = FirstFeature()
    readout.norm.running_mean.normal_(), readout.norm.running_variance.uniform_(0.5, 2)
    return readout


def features_of(batch: Batch, closed: float = 0.5) -> list[Tensor]:
    """Inputs of which a fraction closes the gate, and features after two layers."""
    inputs, first, last = (node_values(batch, d=d).clone() for d in (3, 4, 4))
    shut = torch.rand(inputs.shape[:-1], generator=torch.Generator().manual_seed(0)) < closed
    inputs[..., 0] = torch.where(shut, -1e4, inputs[..., 0])
    return [inputs, first, last + 1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_node_whose_gate_is_zero_can_be_anything(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    features = features_of(batch)
    readout = readout_of(features)
    gates = readout.gates(features, batch)
    assert 0 < (gates == 0).sum() < gates.numel()
    other = [*features[:-1], torch.where((gates == 0).unsqueeze(-1), 1e3 * features[-1].sin(), features[-1])]
    one, s = readout(features, batch)
    another, t = readout(other, batch)
    assert torch.equal(one, another)
    assert torch.equal(s, t)
    assert not torch.equal(one, readout([*features[:-1], features[-1].sin()], batch)[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_saliency_is_the_gates(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    features = features_of(batch, closed=0)
    readout = readout_of(features)
    _, s = readout(features, batch)
    sums = batch.sum(s.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    gates = batch.per_node(readout.gates(features, batch))
    owner = torch.repeat_interleave(torch.arange(len(EXAMPLES)), torch.tensor([g.nodes for g in EXAMPLES]))
    total = torch.zeros(len(EXAMPLES), dtype=torch.float64).index_add(0, owner, gates)
    torch.testing.assert_close(batch.per_node(s), gates / total[owner])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_all_gates_are_zero_nothing_is_read_and_nodes_are_equally_salient(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    features = features_of(batch, closed=1.1)
    readout = readout_of(features)
    vector, s = readout(features, batch)
    torch.testing.assert_close(vector, readout.norm(torch.zeros_like(vector), batch))
    torch.testing.assert_close(s, distribution(torch.ones_like(s) * (batch.uniform > 0), batch))


def test_the_sum_counts_and_the_mean_does_not() -> None:
    """Three open nodes with the feature 2, by hand: mean 2, sum 6; the closed fourth has 100."""
    batch = batch_of([graph(4, [])], "packed")
    inputs = torch.tensor([[1e4, 0], [1e4, 0], [1e4, 0], [-1e4, 0]], dtype=torch.float64)
    last = torch.tensor([[2.0], [2.0], [2.0], [100.0]], dtype=torch.float64)
    readout = GatedReadout(2, 1, 1).double().eval()
    readout.mlp = FirstFeature()
    vector, s = readout([inputs, last], batch)
    torch.testing.assert_close(vector, torch.tensor([[2.0, 6.0]], dtype=torch.float64), rtol=1e-4, atol=0)
    assert s.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_gates_learn() -> None:
    batch = batch_of(EXAMPLES, "packed")
    features: list[Any] = features_of(batch, closed=0)
    readout = GatedReadout(3, 4, 2).double()
    readout(features, batch)[0].pow(3).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in readout.parameters() if p is not readout.mlp[2].bias)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_vector_norm_is_that_of_torch(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    ours, theirs = VectorNorm(5).double(), nn.BatchNorm1d(5).double()
    for _ in range(3):
        vectors = torch.randn(len(EXAMPLES), 5, dtype=torch.float64)
        torch.testing.assert_close(ours(vectors, batch), theirs(vectors), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_variance, theirs.running_var)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(vectors, batch), theirs(vectors), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_graph_alone_in_its_batch_is_normalised_by_what_came_before(layout: str) -> None:
    ours = VectorNorm(2).double()
    ours.running_mean.fill_(3.0), ours.running_variance.fill_(4.0)
    out = ours(torch.tensor([[5.0, 3.0]], dtype=torch.float64), batch_of(EXAMPLES[1:2], layout))
    torch.testing.assert_close(out, torch.tensor([[1.0, 0.0]], dtype=torch.float64), rtol=1e-4, atol=1e-4)
    assert ours.running_mean.tolist() == [3, 3]
    torch.testing.assert_close(ours.running_variance, torch.full((2,), 4.0, dtype=torch.float64))
