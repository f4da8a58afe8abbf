"""Classification by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import torch

from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.tasks import Classification, task_from_json, task_of

TASK = Classification(("a", "b"))
OUTPUTS = torch.tensor([[log(3), 0.0], [0.0, 0.0], [0.0, log(3)]])
TARGETS = torch.tensor([0, 1, 0])
LOSSES = [-log(3 / 4), log(2), -log(1 / 4)]


def test_losses_weights_and_their_mean_by_hand() -> None:
    assert TASK.losses(OUTPUTS, TARGETS).tolist() == pytest.approx(LOSSES)
    assert TASK.loss(OUTPUTS, TARGETS).item() == pytest.approx(sum(LOSSES) / 3)
    balance = TASK.balance(TARGETS)
    assert balance.tolist() == pytest.approx([3 / 4, 3 / 2])
    weights = [0.75, 1.5, 0.75]
    weighted = sum(w * l for w, l in zip(weights, LOSSES, strict=True)) / 3
    assert TASK.loss(OUTPUTS, TARGETS, balance).item() == pytest.approx(weighted)


def test_members_of_an_ensemble_each_have_their_loss() -> None:
    members = torch.stack([OUTPUTS, torch.zeros_like(OUTPUTS)])
    assert TASK.losses(members, TARGETS)[0].tolist() == pytest.approx(LOSSES)
    assert TASK.loss(members, TARGETS).item() == pytest.approx((sum(LOSSES) / 3 + log(2)) / 2)


def test_scores_and_values() -> None:
    values = TASK.predict(OUTPUTS)
    assert values[0].tolist() == pytest.approx([0.75, 0.25])
    assert TASK.graph_scores(OUTPUTS, TARGETS).tolist() == [1, 0, 0]  # a tie goes to the first class
    found = TASK.measure(TARGETS.numpy(), values)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["low"] < found["accuracy"] < found["high"]
    assert TASK.details(TARGETS.numpy(), values) == {"confusion": [[1, 1], [1, 0]]}
    assert TASK.baseline(TARGETS.numpy()) == ("the largest class alone is", pytest.approx(2 / 3))
    assert TASK.baseline(TARGETS.numpy()[:0]) is None
    assert TASK.right(TARGETS.numpy(), values).tolist() == [True, False, False]


def test_words() -> None:
    assert TASK.columns() == ["class", "probability_a", "probability_b"]
    assert TASK.cells(np.array([0.25, 0.75])) == ["b", 0.25, 0.75]
    assert str(TASK.verdict(np.array([0.25, 0.75]))) == "b (75%)"
    assert TASK.truth(1) == "b"
    assert TASK.sentence({"accuracy": 0.75, "graphs": 4}) == "right on 3 of 4"


def test_targets_are_matched_by_name() -> None:
    turned = pack([(1, []), (1, [])], y=[0, 1], classes=["b", "a"])
    assert TASK.targets(turned).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"got class 'c' in graph 1 of g, expected one of those trained on: a, b"):
        TASK.targets(pack([(1, []), (1, [])], y=[0, 1], classes=["a", "c"], name="g"))
    with pytest.raises(InputError, match="no class labels"):
        TASK.targets(pack([(1, [])]))


def test_what_teaches_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="got class 'a' only, expected two or more classes"):
        task_of(pack([(1, []), (2, [])], y=[0, 0], classes=["a", "b"]))
    with pytest.raises(InputError, match="got no classes"):
        task_of(pack([(1, [])]))
    targets = np.array([0, 0, 1])
    with pytest.raises(InputError, match="got training graphs of 'a' only"):
        TASK.check_training(targets, np.array([0, 1]))
    three = Classification(("a", "b", "c"))
    [note] = three.check_training(np.array([0, 1, 2]), np.array([0, 1]))
    assert note == "no training graph has the class 'c', so it is not learned"


def test_json_is_what_folders_have_always_said() -> None:
    assert TASK.to_json() == {"classes": ["a", "b"]}
    assert task_from_json({"classes": ["a", "b"], "settings": {}}) == TASK
