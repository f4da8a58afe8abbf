"""Norms: batch normalisation is PyTorch's own over the concatenated nodes, whatever the layout."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from literal import EXAMPLES, INPUTS, LAYOUTS, batch_of, graph, node_rows
from sargnn.batching import Batch
from sargnn.nn.norm import BatchNorm, LayerNorm, NoNorm, make_norm


def random_pair(momentum: float = 0.1) -> tuple[BatchNorm, nn.BatchNorm1d]:
    """Ours and PyTorch's with the same random scale and shift."""
    ours, theirs = BatchNorm(INPUTS, momentum).double(), nn.BatchNorm1d(INPUTS, momentum=momentum).double()
    theirs.weight.data = ours.weight.data.normal_().clone()
    theirs.bias.data = ours.bias.data.normal_().clone()
    return ours, theirs


def compare(ours: BatchNorm, theirs: nn.BatchNorm1d, batch: Batch) -> None:
    rows = node_rows(batch, batch.x)
    torch.testing.assert_close(node_rows(batch, ours(batch.x, batch)), theirs(rows), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours.running_variance, theirs.running_var, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("momentum", [0.1, 0.7])
def test_batch_norm_is_that_of_torch(layout: str, momentum: float) -> None:
    ours, theirs = random_pair(momentum)
    for step in range(4):
        sizes = [3 + step, 1, 6]
        compare(ours, theirs, batch_of([graph(n, [], seed=step) for n in sizes], layout))
    ours.eval(), theirs.eval()
    compare(ours, theirs, batch_of(EXAMPLES, layout))
    compare(ours, theirs, batch_of(EXAMPLES[2:3], layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batch_norm_has_the_gradients_of_torch(layout: str) -> None:
    ours, theirs = random_pair()
    batch = batch_of(EXAMPLES, layout)
    gradients: list[tuple[Tensor, ...]] = []
    for norm in (ours, theirs):
        x = batch.x.clone().requires_grad_()
        out = ours(x, batch) if norm is ours else theirs(node_rows(batch, x))
        loss = (node_rows(batch, out) if norm is ours else out).pow(3).sum()
        gradients.append(torch.autograd.grad(loss, (x, norm.weight, norm.bias)))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_by_hand(layout: str) -> None:
    # values 1, 3, 8: mean 4, biased variance (9 + 1 + 16) / 3 = 26/3, unbiased 13
    batch = batch_of([graph(1, []), graph(2, [])], layout)
    values = torch.tensor([1.0, 3.0, 8.0], dtype=torch.float64)
    x = torch.zeros(*batch.x.shape[:-1], 1, dtype=torch.float64)
    x[batch.mask if layout == "padded" else slice(None)] = values.unsqueeze(1)
    norm = BatchNorm(1).double()
    got = node_rows(batch, norm(x, replace(batch, x=x))).squeeze(1)
    torch.testing.assert_close(got, (values - 4) / (26 / 3 + 1e-5) ** 0.5)
    # running statistics move a tenth of the way from 0 and 1
    assert norm.running_mean.item() == pytest.approx(0.4)
    assert norm.running_variance.item() == pytest.approx(0.9 + 1.3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_node_in_training_is_its_bias(layout: str) -> None:
    """Where PyTorch refuses a batch of one node, the last batch of an epoch must still pass."""
    ours, _ = random_pair()
    batch = batch_of([graph(1, [])], layout)
    torch.testing.assert_close(ours(batch.x, batch).reshape(-1), ours.bias)
    assert ours.running_variance.tolist() == pytest.approx([0.9] * INPUTS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_does_not_enter_the_statistics(layout: str) -> None:
    ours, theirs = random_pair()
    batch = batch_of(EXAMPLES, layout)
    if layout == "padded":
        batch = replace(batch, x=batch.x.masked_fill(~batch.mask.unsqueeze(-1), 1e6))
    compare(ours, theirs, batch)


def test_batch_norm_starts_like_that_of_torch() -> None:
    ours, theirs = BatchNorm(4), nn.BatchNorm1d(4)
    for name, value in (("weight", ours.weight), ("bias", ours.bias), ("running_mean", ours.running_mean)):
        assert torch.equal(value, getattr(theirs, name))
    assert torch.equal(ours.running_variance, theirs.running_var)
    assert (ours.epsilon, ours.momentum) == (theirs.eps, theirs.momentum)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layer_norm_is_that_of_torch(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    ours, theirs = LayerNorm(INPUTS).double(), nn.LayerNorm(INPUTS).double()
    assert torch.equal(ours(batch.x, batch), theirs(batch.x))


def test_norms_by_name() -> None:
    assert [type(make_norm(kind, 3)) for kind in ("none", "batch", "layer")] == [NoNorm, BatchNorm, LayerNorm]
    batch = batch_of(EXAMPLES, "packed")
    assert make_norm("none", 3)(batch.x, batch) is batch.x
