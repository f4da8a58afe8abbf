"""Measured numbers: scaled on training graphs, gaps by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from sargnn.errors import InputError
from sargnn.tasks import Regression, task_from_json, task_of
from sargnn.tasks.scores import number_scores
from sargnn.training.run import train
from tiny import FOLD, measured_shapes, shapes, tiny, with_targets

NAN = float("nan")
TARGETS = np.array([[1.0, 10.0], [3.0, NAN], [5.0, 30.0]])
TASK = Regression(("a", "b")).fitted(TARGETS[:2])


def test_centre_and_scale_are_those_of_the_training_graphs() -> None:
    assert TASK.center == (2.0, 10.0)
    assert TASK.scale == (1.0, 1.0)  # a single value has no spread
    assert np.array_equal(TASK.encode(TARGETS), [[-1, 0], [1, NAN], [3, 20]], equal_nan=True)
    assert np.array_equal(TASK.decode(TASK.encode(TARGETS)), TARGETS, equal_nan=True)
    assert TASK.predict(torch.tensor([[0.5, -1.0]])).tolist() == [[2.5, 9.0]]


def test_a_run_scales_by_its_training_graphs_alone_and_scores_in_the_users_unit() -> None:
    graphs = measured_shapes()
    assert graphs.targets is not None
    run = train(graphs, tiny(training__epochs=40), fold=FOLD)
    own = graphs.targets[FOLD.train]
    assert run.trained.task.center == pytest.approx(np.nanmean(own, axis=0).tolist())
    assert run.trained.task.scale == pytest.approx(np.nanstd(own, axis=0).tolist())
    found = run.scores["test"]["targets"]["edges"]
    there = FOLD.test[~np.isnan(graphs.targets[FOLD.test, 1])]
    assert found["mae"] == pytest.approx(np.abs(run.prediction.values - graphs.targets)[there, 1].mean())
    assert run.scores["train"]["rmse"] < 0.8 * run.trained.task.baseline(own)[1]


@pytest.mark.parametrize(("loss", "expected"), [("huber", (0.125 + 1.5) / 2), ("squared", (0.25 + 4.0) / 2)])
def test_the_loss_by_hand(loss: str, expected: float) -> None:
    task = replace(TASK, loss_name=loss)
    outputs, targets = torch.tensor([[0.5, 9.0], [2.0, 9.0]]), torch.tensor([[0.0, NAN], [0.0, NAN]])
    outputs.requires_grad_()
    found = task.loss(outputs, targets)
    assert found.item() == pytest.approx(expected)
    found.backward()
    assert outputs.grad is not None
    assert outputs.grad[:, 1].tolist() == [0, 0]
    assert outputs.grad[:, 0].tolist() == pytest.approx([0.25, 0.5] if loss == "huber" else [0.5, 2.0])


def test_scores_are_those_of_each_target_and_their_mean() -> None:
    values = np.array([[1.5, 12.0], [2.0, 0.0], [5.5, 24.0]])
    found = TASK.measure(TARGETS, values)
    first, second = number_scores(TARGETS[:, 0], values[:, 0]), number_scores(TARGETS[[0, 2], 1], values[[0, 2], 1])
    assert {key: found["targets"]["a"][key] for key in first} == first
    assert {key: found["targets"]["b"][key] for key in second} == second
    assert found["rmse"] == pytest.approx((first["rmse"] + second["rmse"]) / 2)
    low, high = found["intervals"]["rmse"]
    assert (found["low"], found["high"]) == (low, high)


def test_the_baseline_is_the_mean_of_the_training_graphs() -> None:
    text, rmse = Regression(("a",)).fitted(np.array([[0.0], [2.0]])).baseline(np.array([[3.0], [5.0]]))
    assert text == "the mean of the training graphs alone has"
    assert rmse == pytest.approx(np.sqrt((4 + 16) / 2))


def test_strata_are_quantiles() -> None:
    rng = np.random.default_rng(0)
    targets = rng.lognormal(size=(100, 1))
    strata = Regression(("a",)).strata(targets)
    assert np.bincount(strata).tolist() == [10] * 10
    assert all(targets[strata == k].max() <= targets[strata == k + 1].min() for k in range(9))
    assert set(Regression(("a",)).strata(targets[:9])) == {0}


def test_words_and_files() -> None:
    assert TASK.columns() == ["predicted_a", "predicted_b"]
    assert str(TASK.verdict(np.array([1.25, 3.0]))) == "a 1.25, b 3"
    assert str(Regression(("a",)).verdict(np.array([1.23456]))) == "1.235"
    assert TASK.truth(np.array([1.0, NAN])) == "a 1"
    assert task_from_json(TASK.to_json()) == TASK


def test_which_task_the_targets_pose() -> None:
    assert task_of(measured_shapes()).kind == "regression"
    binary = with_targets(shapes(), np.arange(24)[:, None] % 2)
    assert task_of(binary).kind == "multilabel"
    assert task_of(binary, "regression").kind == "regression"
    for graphs, kind, message in (
        (shapes(), "regression", "--task: got regression for classes"),
        (binary, "classification", "--task: got classification for targets"),
        (measured_shapes(), "multilabel", "expected 0, 1 or nothing for --task multilabel"),
        (binary, "colour", "--task: got 'colour', expected one of classification, multilabel, regression"),
    ):
        with pytest.raises(InputError, match=message):
            task_of(graphs, kind)


def test_numbers_that_are_all_equal_are_told_or_refused() -> None:
    targets = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 8.0]])
    assert TASK.check_training(targets, np.array([0, 1])) == [
        "the training graphs have no two different values of 'b': it is not learned"
    ]
    with pytest.raises(InputError, match="no two different values of 'a', 'b'"):
        TASK.check_training(targets, np.array([0]))


def test_numbers_far_from_all_others_are_told() -> None:
    targets = np.append(np.arange(40.0), [NAN, 5000.0])[:, None]  # the middle half is 20 wide
    task, train = Regression(("a",)), np.arange(42)
    assert task.check_training(targets, train) == [
        "the training graphs have 1 of 41 values of 'a', such as 5000, beside which the others look alike: "
        "correct them, or predict logarithms"
    ]
    assert task.check_training(targets, train[:-1]) == []
    assert task.check_training(np.append(np.zeros(40), 9.0)[:, None], train[:-1]) == []  # most are equal: no width
