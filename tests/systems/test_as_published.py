"""The as-published preset: what the authors' released code computes, as far as it departs from their equations."""

from __future__ import annotations

from dataclasses import replace
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from literal import EXAMPLES, INPUTS, LAYOUTS, Graph, batch_of, both_ways, encode, graph, make_model, node_rows
from sargnn.batching import PackedBatch, PaddedBatch
from sargnn.errors import InputError
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.systems.as_published import (
    AsPublished,
    AsPublishedConfig,
    PublishedFusion,
    PublishedMemory,
    RedrawnSaliency,
    SharedBlock,
    TransductiveNorm,
)

PAIR = [graph(2, both_ways((0, 1)))]
PATH = [graph(3, both_ways((0, 1), (1, 2)))]
PRESET: dict[str, Any] = {
    "memory_block": "as-published", "normalize": "as-published", "saliency": "redrawn", "memory_heads": 8,
    "norm": "batch", "input_norm": True, "bias": True, "layers": 2, "hidden": 6, "attention": 3,
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
def test_preset_is_its_formulas(fusion: str, layout: str) -> None:
    """The projections a call has drawn stay in the layers, so the literal formulas can be given the same ones."""
    model = make_model(AsPublishedConfig(fusion=fusion, gamma=3.0, **PRESET))
    batch = batch_of(EXAMPLES, layout)
    with torch.no_grad():
        out = model.encode(batch)
    literal = [encode(model, g) for g in EXAMPLES]
    np.testing.assert_allclose(out.graph.numpy(), np.stack([t.graph for t in literal]), rtol=1e-9, atol=1e-9)
    rows = node_rows(batch, out.nodes).numpy()
    np.testing.assert_allclose(rows, np.concatenate([t.nodes for t in literal]), rtol=1e-9, atol=1e-9)
    for l, s in enumerate(out.saliency):
        np.testing.assert_allclose(
            batch.per_node(s).numpy(), np.concatenate([t.saliency[l] for t in literal]), rtol=1e-9
        )


def test_no_two_passes_agree_unless_seeded_alike() -> None:
    model, batch = make_model(AsPublishedConfig(**PRESET)), batch_of(EXAMPLES, "packed")
    assert not model.training
    torch.manual_seed(1)
    first = model.encode(batch).graph
    assert not torch.allclose(first, model.encode(batch).graph)
    torch.manual_seed(1)
    assert torch.equal(first, model.encode(batch).graph)
    learned = make_model(replace(model.config, saliency="learned"))
    assert torch.equal(learned.encode(batch).graph, learned.encode(batch).graph)


def test_redrawn_projections_are_never_trained() -> None:
    model, batch = make_model(AsPublishedConfig(**PRESET)).train(), batch_of(EXAMPLES, "packed")
    model.head(model.encode(batch).graph).square().sum().backward()
    without = {name for name, p in model.named_parameters() if p.grad is None}
    assert without == {f"saliency_layers.{l}.{side}.weight" for l in range(2) for side in ("query", "key")}
    optimised = [name for name, p in model.named_parameters() if p.requires_grad]
    assert not [name for name in optimised if name.startswith("saliency_layers")]


def test_one_block_is_shared_by_all_layers_and_counted_once() -> None:
    model = make_model(AsPublishedConfig(**PRESET))
    reads = model.memory_layers
    assert len(reads) == 3
    assert len({id(read.shared) for read in reads}) == 1
    assert len({id(read.key) for read in reads}) == len({id(read.value) for read in reads}) == 3
    # d_M = 6, 8 heads of width 3: query 6·24, output 24·6 + 6, feed-forward 6·24 + 24 + 24·6 + 6
    shared = 6 * 24 + (24 * 6 + 6) + (6 * 24 + 24) + (24 * 6 + 6)
    # keys and values: d_H x 24 each, d_H = 3 inputs, then 6, 6
    own = 2 * 24 * (INPUTS + 6 + 6)
    assert sum(p.numel() for p in reads.parameters()) == shared + own
    names = [name for name, _ in model.named_parameters() if ".shared." in name]
    assert {name.split(".")[1] for name in names} == {"0"}


def test_every_head_is_as_wide_as_the_attention() -> None:
    block = SharedBlock(memory=6, attention=5, heads=8)
    memory = PublishedMemory(4, 5, 1, block)
    assert memory.key.weight.shape == memory.value.weight.shape == (40, 4)
    assert block.query.weight.shape == (40, 6)
    assert block.out.weight.shape == (6, 40)
    biases = [layer.bias is not None for layer in (memory.key, memory.value, block.query, block.out)]
    assert biases == [False, False, False, True]


def test_one_read_by_hand() -> None:
    # d_M = 2, one head of width 1, nodes h = (0, 1), M = (1, -1)
    block = SharedBlock(memory=2, attention=1, heads=1)
    memory = PublishedMemory(1, 1, 1, block).eval()
    for parameter in memory.parameters():
        parameter.data.zero_()
    memory.key.weight.data.fill_(1)
    memory.value.weight.data.fill_(1)
    block.query.weight.data = torch.tensor([[1.0, 0.0]])
    block.out.weight.data = torch.tensor([[4.0], [0.0]])
    batch = PackedBatch.from_edges(torch.tensor([[0.0], [1.0]]), torch.empty(2, 0, dtype=torch.long))
    # q = 1: softmax(0, 1) = (1, e) / (1 + e); read = e / (1 + e); out = (4 e / (1 + e), 0)
    read = 4 * exp(1) / (1 + exp(1))
    m = torch.tensor([[1.0, -1.0]])
    assert memory.attend(batch.x, m, batch).tolist()[0] == pytest.approx([read, 0])
    # M + out = (1 + read, -1): mean read / 2, deviations ±(1 + read / 2): the layer norm gives (1, -1), the zero
    # feed-forward network changes nothing and the second norm keeps (1, -1)
    assert memory(batch.x, m, batch).tolist()[0] == pytest.approx([1, -1], abs=1e-4)


@pytest.mark.parametrize("iterations", [1, 2])
def test_memory_comes_out_standardised(iterations: int) -> None:
    model = make_model(AsPublishedConfig(iterations=iterations, **PRESET))
    vectors = model.encode(batch_of(EXAMPLES, "packed")).graph.detach()
    assert vectors.mean(1).tolist() == pytest.approx([0] * len(EXAMPLES), abs=1e-9)
    assert vectors.var(1, correction=0).tolist() == pytest.approx([1] * len(EXAMPLES), abs=1e-3)


def test_feed_forward_drops_a_tenth_in_training() -> None:
    block = SharedBlock(memory=6, attention=3, heads=8)
    assert [layer.p for layer in block.feed_forward if isinstance(layer, nn.Dropout)] == [0.1]
    assert block.feed_forward[0].out_features == 4 * 6


def test_normalisation_follows_the_activation() -> None:
    """conv, ReLU, then batch norm: the features that leave a layer have mean 0 over the batch, and negative values."""
    model = AsPublished(AsPublishedConfig(**PRESET), INPUTS, 2).double()
    nodes = model.encode(batch_of(EXAMPLES, "packed")).nodes.detach()
    torch.testing.assert_close(nodes.mean(0), torch.zeros(6, dtype=torch.float64), rtol=0, atol=1e-9)
    assert (nodes < 0).any()


def test_classifier_is_twice_as_wide_as_the_memory() -> None:
    """d_M -> 2 d_M -> classes."""
    head = AsPublished(AsPublishedConfig(**PRESET), INPUTS, 2).head
    widths = [(layer.in_features, layer.out_features) for layer in head if isinstance(layer, nn.Linear)]
    assert widths == [(6, 12), (12, 2)]


def fused(graphs: list[Graph], layout: str, saliency: list[float], **values: Any) -> np.ndarray:
    """Fused weights of a batch of one graph as an N x N matrix: row the target, column the source."""
    batch = batch_of(graphs, layout)
    s = torch.tensor(saliency, dtype=torch.float64).reshape(batch.x.shape[:-1])
    weights = PublishedFusion(normalize="none", **values).weights(batch.renormalised, s, batch)
    if isinstance(batch, PaddedBatch):
        return (weights * batch.closed)[0].numpy()
    dense = torch.zeros(2 * [len(batch.x)], dtype=weights.dtype)
    return dense.index_put((batch.target, batch.source), weights).numpy()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_fusion_by_hand(layout: str) -> None:
    # a + 2βs: 0.5 + 2 · 3 · 0.8 = 5.3 and 0.5 + 2 · 3 · 0.2 = 1.7
    got = fused(PAIR, layout, [0.8, 0.2], beta=3.0)
    np.testing.assert_allclose(got, [[5.3, 1.7]] * 2)
    # (a + k) k with k = (1 + s)²: k = 3.24 gives 3.74 · 3.24 = 12.1176; k = 1.44 gives 1.94 · 1.44 = 2.7936
    got = fused(PAIR, layout, [0.8, 0.2], kind="scaling", gamma=2.0)
    np.testing.assert_allclose(got, [[12.1176, 2.7936]] * 2)


def test_scaling_is_nearly_a_sum() -> None:
    # s = 0: (a + 1) 1, one more than the normalised weight at every edge and nothing elsewhere
    got = fused(PATH, "padded", [0.0, 0.0, 0.0], kind="scaling", gamma=4.0)
    a = np.array([[1 / 2, 1 / sqrt(6), 0], [1 / sqrt(6), 1 / 3, 1 / sqrt(6)], [0, 1 / sqrt(6), 1 / 2]])
    np.testing.assert_allclose(got, np.where(a > 0, a + 1, 0))


def test_redrawn_projections_agree_with_no_other_call() -> None:
    torch.manual_seed(0)
    layer = RedrawnSaliency(3, 5, 4, learned=False).double()
    batch, m = batch_of(EXAMPLES, "packed"), torch.randn(len(EXAMPLES), 5, dtype=torch.float64)
    first, second, third = (layer(m, batch.x, batch) for _ in range(3))
    assert not torch.allclose(first, second)
    assert not torch.allclose(second, third)
    assert not any(p.requires_grad for p in layer.parameters())


def test_gradients_reach_memory_and_nodes_through_redrawn_projections() -> None:
    batch = batch_of(EXAMPLES, "packed")
    layer = RedrawnSaliency(3, 5, 4, learned=False).double()
    m = torch.randn(len(EXAMPLES), 5, dtype=torch.float64, requires_grad=True)
    h = batch.x.clone().requires_grad_()
    layer(m, h, batch).square().sum().backward()
    assert m.grad is not None and m.grad.abs().sum() > 0  # noqa: PT018
    assert h.grad is not None and h.grad.abs().sum() > 0  # noqa: PT018
    assert all(p.grad is None for p in layer.parameters())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_transductive_norm_judges_by_the_batch_at_hand(layout: str) -> None:
    norm = TransductiveNorm(INPUTS).double()
    first, second = batch_of(EXAMPLES, layout), batch_of(EXAMPLES[2:], layout)
    norm(first.x, first)
    running = norm.running_mean.clone()
    norm.eval()
    rows = node_rows(second, norm(second.x, second))
    torch.testing.assert_close(rows.mean(0), torch.zeros(INPUTS).double(), rtol=0, atol=1e-12)
    assert torch.equal(norm.running_mean, running)  # what is judged leaves no trace


def test_every_part_can_be_that_of_the_equations() -> None:
    """With all parts set back it is SARGNN, weight for weight and number for number."""
    equations = AsPublishedConfig(
        hidden=8, attention=None, saliency="learned", normalize="softmax", memory_block="equation", memory_heads=1,
        norm="none", input_norm=False, bias=False,
    )  # fmt: skip
    torch.manual_seed(0)
    one = AsPublished(equations, INPUTS, 2)
    torch.manual_seed(0)
    other = SARGNN(ModelConfig(hidden=8), INPUTS, 2)
    assert one.state_dict().keys() == other.state_dict().keys()
    batch = batch_of(EXAMPLES, "packed", np.float32)
    assert torch.equal(one.head(one.encode(batch).graph), other.head(other.encode(batch).graph))


def test_heads_of_the_equation_must_share_out_the_attention() -> None:
    with pytest.raises(InputError, match=r"^model\.memory_heads: got 8, expected a divisor of model\.attention = 9$"):
        AsPublishedConfig(memory_block="equation", attention=9)
    assert AsPublishedConfig(attention=9).memory_heads == 8
