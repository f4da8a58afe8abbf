"""UGformer: what a node's sequence holds, and that neither variant sees more than simple message passing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from expressive import PAIRS, constant_batch, gap, randomised
from literal import EXAMPLES, batch_of, graph
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.systems import base
from sargnn.systems.ugformer import Sequences, Transformer, UGformer, UGformerConfig, neighbour_sequences

STAR = (5, [(0, 1), (0, 2), (0, 3)])  # and a lone node
every_variant = pytest.mark.parametrize("variant", ["neighbours", "all-nodes"])


def small(variant: Any, inputs: int = 3, **values: Any) -> UGformer:
    config = UGformerConfig(variant=variant, hidden=8, feed_forward=8, **{"neighbours": None, "blocks": 2} | values)
    return UGformer(config, inputs, 2)


def test_sequences_start_with_the_node_and_hold_its_neighbours() -> None:
    batch = constant_batch([STAR])
    assert isinstance(batch, PackedBatch)
    torch.manual_seed(0)
    nodes, absent = neighbour_sequences(batch, 6)
    assert nodes.shape == (5, 7)
    assert not absent.any()
    assert nodes[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert set(nodes[0, 1:].tolist()) <= {1, 2, 3}
    assert nodes[1:4, 1:].eq(0).all()  # a leaf always draws the hub
    assert nodes[4].eq(4).all()  # a lone node is repeated
    seen = {int(node) for _ in range(20) for node in neighbour_sequences(batch, 6)[0][0, 1:]}
    assert seen == {1, 2, 3}


def test_all_neighbours_come_once() -> None:
    batch = constant_batch([STAR])
    assert isinstance(batch, PackedBatch)
    nodes, absent = neighbour_sequences(batch, None)
    present = [sorted(row[~gone].tolist()) for row, gone in zip(nodes, absent, strict=True)]
    assert present == [[0, 1, 2, 3], [0, 1], [0, 2], [0, 3], [4]]


def test_sequences_of_a_batch_without_edges() -> None:
    batch = batch_of([graph(3, [])], "packed")
    for k, length in ((None, 1), (4, 5)):
        nodes, _ = neighbour_sequences(batch, k)
        assert nodes.tolist() == [[i] * length for i in range(3)]


@every_variant
def test_padding_does_not_leak(variant: str) -> None:
    """In eval mode, where PyTorch has a fast path of its own, and with gradients, where it has not."""
    model = randomised(small(variant), 0)
    together = model.encode(batch_of(EXAMPLES, "packed")).graph
    with torch.no_grad():
        fast = model.encode(batch_of(EXAMPLES, "packed")).graph
    torch.testing.assert_close(together, fast)
    for number, g in enumerate(EXAMPLES):
        torch.testing.assert_close(model.encode(batch_of([g], "packed")).graph[0], together[number])


def test_drawing_all_neighbours_often_enough_comes_close_to_the_whole_neighbourhood() -> None:
    """A path's end has one neighbour: any draw is that one; with k = 1 it is the whole neighbourhood."""
    model = randomised(small("neighbours", layers=1), 0)
    drawn = randomised(small("neighbours", layers=1, neighbours=1), 0)
    batch = batch_of([EXAMPLES[5]], "packed")
    torch.testing.assert_close(model.encode(batch).graph, drawn.encode(batch).graph)


@every_variant
@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_is_told_apart(pair: str, variant: str) -> None:
    assert gap(small(variant, inputs=1), pair) < 1e-6


def test_every_layer_is_read_out() -> None:
    out = small("all-nodes", layers=3).double().eval().encode(batch_of(EXAMPLES, "packed"))
    assert out.graph.shape == (len(EXAMPLES), 3 * 8)


def test_no_neighbours_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match=r"model.neighbours: got 0, expected at least 1"):
        UGformerConfig(neighbours=0)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("blocks", [1, 2])
def test_the_first_place_alone_is_the_first_place_of_all(
    blocks: int, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Result and gradients, with sequences of different lengths."""
    if not kernels:
        monkeypatch.setattr(base, "library", lambda _: None)
    transformer = randomised(Transformer(UGformerConfig(hidden=8, feed_forward=16, blocks=blocks)), 0)
    batch = batch_of(EXAMPLES, "packed")
    within = Sequences.of(batch, None)
    h = torch.randn(len(batch.x), 8).double().requires_grad_()
    results = []
    for out in (transformer.at_first_place(h, within), transformer(h[within.nodes], within.absent)[:, 0]):
        results.append((out, *torch.autograd.grad(out.square().sum(), [h, *transformer.parameters()])))
    torch.testing.assert_close(*results)
