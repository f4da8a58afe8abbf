"""Batches of K models at once: each member's part of the fields is the batch that it would be given alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from sargnn.batching import Batch
from sargnn.batching.stacks import BatchStack, Fields, Room, make_stack
from sargnn.batching.tensor_set import held_set
from sargnn.data.features.encoder import DataConfig, Encoder
from tiny import shapes

CPU = torch.device("cpu")
GRAPHS = np.array([[3, 0, 7], [5, 6, -1]])
"""Of two members; the second has one graph less."""
every_layout = pytest.mark.parametrize("layout", ["padded", "packed"])


def encoders() -> list[Encoder]:
    return [Encoder.fit(DataConfig(encodings=(name,)), shapes()) for name in ("degree", "degree")]


def stack_of(layout: str, targets: Sequence[np.ndarray] | None = None) -> BatchStack:
    targets = targets or [shapes().y] * 2
    return make_stack(shapes(), targets, encoders(), np.arange(len(shapes())), layout, CPU)


def member(stack: BatchStack, which: int) -> Batch:
    rows = stack.rows(GRAPHS)
    fields: Fields = stack.fields(rows, stack.room(GRAPHS))
    return stack.batch({name: values[which] for name, values in fields.items()}, GRAPHS.shape[1])


@every_layout
def test_a_member_has_its_own_graphs(layout: str) -> None:
    stack = stack_of(layout)
    for which, graphs in enumerate(GRAPHS):
        batch, chosen = member(stack, which), graphs[graphs >= 0]
        alone = held_set(shapes(), encoders()[which]).packed(chosen)
        count = len(chosen)
        torch.testing.assert_close(batch.sum(batch.x)[:count], alone.sum(alone.x))
        torch.testing.assert_close(
            batch.sum(batch.aggregate(batch.ones, batch.x))[:count], alone.sum(alone.aggregate(alone.ones, alone.x))
        )
        assert not batch.sum(batch.x)[count : len(graphs)].any()


@every_layout
def test_padding_has_no_part_in_the_moments(layout: str) -> None:
    batch = member(stack_of(layout), 1)
    alone = held_set(shapes(), encoders()[1]).packed(np.array([5, 6]))
    for got, expected in zip(batch.moments(batch.x), alone.moments(alone.x), strict=True):
        torch.testing.assert_close(got, expected)


@every_layout
def test_targets_say_which_entries_are_graphs(layout: str) -> None:
    y, real = stack_of(layout).targets(stack_of(layout).rows(GRAPHS))
    assert real.tolist() == [[True] * 3, [True, True, False]]
    np.testing.assert_array_equal(y[real].numpy(), shapes().y[GRAPHS[GRAPHS >= 0]])


@every_layout
def test_a_member_may_have_targets_of_its_own(layout: str) -> None:
    stack = stack_of(layout, [np.arange(24.0), np.arange(24.0) + 100])
    y, _ = stack.targets(stack.rows(GRAPHS))
    assert y.tolist() == [[3, 0, 7], [105, 106, 0]]


def test_room_grows_by_a_tenth_more_than_is_needed() -> None:
    assert Room(100, 50).grown(Room(200, 10)) == Room(220, 50)
    assert Room(100, 50).holds(Room(100, 50))
    assert not Room(100, 50).holds(Room(10, 51))
