"""Balanced sampling: every class equally often, every graph of a class equally often, and the seed decides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.splits import Fold
from sargnn.training import loop
from sargnn.training.loop import epoch_order
from sargnn.training.run import TrainingRun
from tiny import FOLD, shapes, tiny

labels = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(labels, st.integers(0, 5), st.integers(1, 5))
def test_classes_and_the_graphs_of_a_class_are_drawn_evenly(y: list[int], seed: int, epoch: int) -> None:
    train = np.arange(100, 100 + len(y))
    drawn = epoch_order(train, seed, epoch, np.array(y))
    assert len(drawn) == len(train)
    counts = Counter(drawn.tolist())
    classes = Counter(y[graph - 100] for graph in drawn.tolist())
    per_class = [classes[c] for c in set(y)]
    assert max(per_class) - min(per_class) <= 1
    for c in set(y):
        per_graph = [counts[int(graph)] for graph, label in zip(train, y, strict=True) if label == c]
        assert max(per_graph) - min(per_graph) <= 1
    assert np.array_equal(drawn, epoch_order(train, seed, epoch, np.array(y)))


def test_seeds_and_epochs_differ() -> None:
    train, y = np.arange(30), np.repeat([0, 1], [25, 5])
    orders = [tuple(epoch_order(train, seed, epoch, y)) for seed in (0, 1) for epoch in (1, 2)]
    assert len(set(orders)) == 4


def test_a_rare_class_is_drawn_as_often_as_the_other_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = shapes(count=24)
    assert graphs.y is not None
    many, rare = FOLD.train[graphs.y[FOLD.train] == 0], FOLD.train[graphs.y[FOLD.train] == 1][:2]
    fold = Fold(np.concatenate([many, rare]), FOLD.validation, FOLD.test)
    orders: list[np.ndarray] = []

    def recorded(*arguments: Any) -> np.ndarray:
        orders.append(epoch_order(*arguments))
        return orders[-1]

    monkeypatch.setattr(loop, "epoch_order", recorded)
    for sampling in ("shuffled", "balanced"):
        list(TrainingRun.start(graphs, tiny("gcn", training__sampling=sampling, training__epochs=1), fold=fold))
    assert [np.isin(order, rare).sum() for order in orders] == [2, 5]
