"""Several binary targets: gaps by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch

from sargnn.errors import InputError
from sargnn.tasks import Multilabel, task_from_json, task_of
from sargnn.tasks.scores import class_scores
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.run import TrainingRun
from tiny import FOLD, binary_shapes, shapes, tiny, with_targets

NAN = float("nan")
TASK = Multilabel(("a", "b"))
OUTPUTS = torch.tensor([[log(3), 0.0], [0.0, log(3)], [-log(3), 0.0]])
TARGETS = torch.tensor([[1.0, NAN], [NAN, 0.0], [1.0, 1.0]])
PRESENT = [log(4 / 3), log(4), log(4), log(2)]
"""The losses of the targets that are there, row by row."""


def test_the_loss_is_the_mean_over_the_targets_that_are_there() -> None:
    assert TASK.loss(OUTPUTS, TARGETS).item() == pytest.approx(sum(PRESENT) / 4)
    there = ~TARGETS.isnan()
    alone = torch.nn.functional.binary_cross_entropy_with_logits(OUTPUTS[there], TARGETS[there])
    assert TASK.loss(OUTPUTS, TARGETS).item() == pytest.approx(alone.item())


def test_a_missing_target_has_no_gradient_and_the_others_have_theirs() -> None:
    outputs = OUTPUTS.clone().requires_grad_()
    TASK.loss(outputs, TARGETS).backward()
    there = ~TARGETS.isnan()
    expected = torch.zeros_like(OUTPUTS)
    expected[there] = (OUTPUTS.sigmoid() - TARGETS)[there] / 4
    assert outputs.grad is not None
    torch.testing.assert_close(outputs.grad, expected)


def test_a_batch_without_any_target_costs_nothing() -> None:
    outputs = OUTPUTS.clone().requires_grad_()
    loss = TASK.loss(outputs, torch.full_like(TARGETS, NAN))
    loss.backward()
    assert loss.item() == 0
    assert outputs.grad is not None
    assert not outputs.grad.any()


def test_positives_weigh_as_much_as_negatives_and_graphs_as_they_are_told() -> None:
    targets = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, NAN], [0.0, 0.0]])
    assert TASK.balance(targets).tolist() == [3.0, 1.0]  # three negatives to a positive; a target of one class: 1
    weights = TASK.weights(TARGETS, torch.tensor([3.0, 2.0]))
    assert weights.tolist() == [[3, 0], [0, 1], [3, 2]]
    graphs = torch.tensor([1.0, 0.0, 0.5])
    balanced = TASK.loss(OUTPUTS, TARGETS, torch.tensor([3.0, 2.0]), 0.0, graphs)
    assert balanced.item() == pytest.approx((3 * PRESENT[0] + 1.5 * PRESENT[2] + PRESENT[3]) / 5.5)


def test_smoothing_moves_the_targets_to_a_half() -> None:
    found = TASK.losses(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, NAN]]), smoothing=0.1)
    p = torch.tensor(2.0).sigmoid()
    assert found[0, 0].item() == pytest.approx((-(0.95 * p.log() + 0.05 * (1 - p).log())).item())


def test_members_of_an_ensemble_each_have_their_loss() -> None:
    members = torch.stack([OUTPUTS, torch.zeros_like(OUTPUTS)])
    assert TASK.loss(members, TARGETS).item() == pytest.approx((sum(PRESENT) / 4 + log(2)) / 2)


def test_scores_are_those_of_each_target_and_their_mean() -> None:
    values = np.array([[0.9, 0.2], [0.3, 0.6], [0.6, 0.4], [0.2, 0.7]])
    targets = np.array([[1, 0], [0, NAN], [0, 1], [0, 1]])
    found = TASK.measure(targets, values)
    first = class_scores(np.array([1, 0, 0, 0]), np.array([1, 0, 1, 0]), np.stack([1 - values[:, 0], values[:, 0]], 1))
    kept = [0, 2, 3]
    rest = np.stack([1 - values[kept, 1], values[kept, 1]], 1)
    second = class_scores(np.array([0, 1, 1]), np.array([0, 0, 1]), rest)
    assert {key: found["targets"]["a"][key] for key in first} == first
    assert {key: found["targets"]["b"][key] for key in second} == second
    assert found["auroc"] == (first["auroc"] + second["auroc"]) / 2
    assert (found["targets"]["b"]["graphs"], found["targets"]["b"]["positive"]) == (3, 2)
    assert TASK.scores(targets, values)["mcc"] == pytest.approx((first["mcc"] + second["mcc"]) / 2)


def test_a_target_of_one_class_in_training_is_told_and_left_out_of_the_mean() -> None:
    targets = np.array([[1, 0], [0, 0], [0, 1], [1, 0]], dtype=float)
    train = np.array([0, 1, 3])
    assert TASK.check_training(targets, train) == [
        "the training graphs have only one class of 'b': it is not learned, and left out of the mean"
    ]
    fitted = TASK.fitted(targets[train])
    assert fitted.left_out == ("b",)
    values = np.array([[0.9, 0.9], [0.1, 0.1], [0.2, 0.1], [0.8, 0.3]])
    assert fitted.measure(targets, values)["auroc"] == 1.0
    assert task_from_json(fitted.to_json()) == fitted
    with pytest.raises(InputError, match="training graphs of one class in every target"):
        TASK.check_training(targets, np.array([1]))


def test_strata_are_the_rarest_positive() -> None:
    targets = np.array([[1, 0], [1, 1], [0, NAN], [1, NAN]])
    assert TASK.strata(targets).tolist() == [1, 2, 0, 1]


def test_words() -> None:
    assert TASK.columns() == ["probability_a", "probability_b"]
    assert str(TASK.verdict(np.array([0.6, 0.9]))) == "b 90%, a 60%"
    assert str(TASK.verdict(np.array([0.1, 0.2]))) == "none of 2"
    assert TASK.truth(np.array([NAN, 1.0])) == "b"
    assert TASK.right(np.array([[1, NAN], [0, 0]]), np.array([[0.9, 0.9], [0.9, 0.1]])).tolist() == [True, False]


def test_targets_are_matched_by_name() -> None:
    graphs = binary_shapes()
    turned = replace(graphs, targets=graphs.targets[:, ::-1], target_names=graphs.target_names[::-1])
    task = task_of(graphs)
    assert np.array_equal(task.targets(turned), task.targets(graphs), equal_nan=True)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (with_targets(shapes(), np.full((24, 1), 2.0)), r"got 2 in graph 0, target 't0', expected 0, 1 or nothing"),
        (with_targets(shapes(), np.full((24, 1), NAN)), "got no value of target 't0' in any of 24 graphs"),
        (with_targets(shapes(), np.full((24, 1), np.inf)), "got inf in graph 0, target 't0', expected a number"),
        (with_targets(shapes(count=2), np.ones((2, 3))), "got 3 targets of 2 graphs"),
    ],
)
def test_what_is_refused(graphs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Multilabel.of(graphs)  # type: ignore[arg-type]


def test_a_set_of_another_task_is_refused() -> None:
    with pytest.raises(InputError, match="got one class for each graph, expected the targets of this multilabel model"):
        TASK.targets(shapes())
    with pytest.raises(InputError, match="got no target 'a', expected the targets of this multilabel model: a, b"):
        TASK.targets(binary_shapes())


def test_deleted_labels_teach_a_model_nothing_and_the_rest_what_they_taught_before() -> None:
    """The gradient of every weight is that of the loss written out over the labels that are left."""
    graphs = binary_shapes(gaps=False)
    assert graphs.targets is not None
    gone = np.random.default_rng(0).random(graphs.targets.shape) < 0.2
    deleted = replace(graphs, targets=np.where(gone, NAN, graphs.targets))
    run = TrainingRun.start(deleted, tiny(), fold=FOLD)
    model, batch = run.trained.model.train(), run.data.packed(np.arange(24))
    loss_of(model, run.trained.task, batch, TrainingConfig()).backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    there, truth = torch.from_numpy(~gone), torch.from_numpy(graphs.targets)
    p = model.head(model.encode(batch).graph).double().sigmoid()[there]
    y = truth[there]
    (-(y * p.log() + (1 - y) * (1 - p).log())).mean().backward()
    assert found
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-7)
