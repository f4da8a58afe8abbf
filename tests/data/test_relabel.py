"""Targets given by hand in place of those that were read, or chosen from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.relabel import chosen_again
from sargnn.data.roles import Roles
from sargnn.data.sources import load
from sargnn.errors import InputError

nan = float("nan")


@pytest.fixture
def dots() -> GraphSet:
    return pack([(1, [])] * 4, name="dots")


@pytest.mark.parametrize(
    ("values", "task", "classes", "targets"),
    [
        (["b", "a", "b", "b"], None, ("a", "b"), None),
        ([1, 0, 1, 1], None, ("0", "1"), None),
        (np.array([True, False, True, True]), None, ("False", "True"), None),
        ([0.5, 1, nan, 2], None, (), [[0.5], [1], [nan], [2]]),
        ([1, 0, 1, 1], "regression", (), [[1], [0], [1], [1]]),
        ([1, 0, None, 1], "multilabel", (), [[1], [0], [nan], [1]]),
        (np.array([[0, 1], [1, nan], [0, 0], [nan, 1]]), None, (), [[0, 1], [1, nan], [0, 0], [nan, 1]]),
        ([[0.5], [1], [2], [3]], None, (), [[0.5], [1], [2], [3]]),
    ],
)
def test_values_by_hand(dots: GraphSet, values: Any, task: str | None, classes: tuple[str, ...], targets: Any) -> None:
    graphs = load(dots, labels=values, task=task)
    assert graphs.classes == classes
    if targets is None:
        assert graphs.targets is None
    else:
        assert graphs.y is None
        np.testing.assert_array_equal(graphs.targets, targets)


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([1, 0], None, "labels: got 2 classes, expected 4, in dots"),
        ([1, 0, None, 1], None, "labels: got no class, expected one for every graph, in graph 2"),
        ([0.5, 1, float("inf"), 2], None, "labels: got inf, expected a finite number, in graph 2"),
        ([0.5, 1.5, "x", 2], None, "labels: got 'x', expected a number, in graph 2"),
        ([0, 1, 2, 1], "multilabel", "labels: got 2, expected 0, 1 or nothing, in graph 2"),
        ([[nan, 1]] * 4, None, "labels: got no value in 'target_0' for any graph, expected some"),
        ([[0, 1, 0, 1, 0]] * 4, None, "labels: got 5 targets for 4 graphs, expected fewer"),
    ],
)
def test_wrong_values(dots: GraphSet, values: Any, task: str | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        load(dots, labels=values, task=task)
    assert str(error.value) == message


def test_some_targets_of_a_set(dots: GraphSet) -> None:
    many = load(dots, labels=np.array([[0, 1, 5], [1, nan, 2], [0, 0, 3], [1, 0, 4]]))
    assert many.target_names == ("target_0", "target_1", "target_2")
    assert chosen_again(many, Roles()) is many
    two = load(many, labels=["target_0", "target_1"])
    assert two.target_names == ("target_0", "target_1")
    np.testing.assert_array_equal(two.targets, many.targets[:, :2])
    one = load(many, labels="target_0")
    assert (one.classes, one.y.tolist()) == (("0", "1"), [0, 1, 0, 1])
    assert load(one, task="regression").targets.tolist() == [[0], [1], [0], [1]]
    with pytest.raises(InputError, match=r"dots: got no column 'targt_1', expected one of 'target_1', 'target_"):
        load(many, labels="targt_1")


def test_a_set_without_labels_has_none_to_choose(dots: GraphSet) -> None:
    with pytest.raises(InputError, match="dots: got no labels, expected some for task regression"):
        load(dots, task="regression")
