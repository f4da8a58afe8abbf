"""Fitting: what learns when, at what rate, on which loss, when it stops, and what is kept."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from math import cos, exp, log, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from literal import COMMON, kernels
from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import pack
from sargnn.data.splits import Fold
from sargnn.errors import Diverged, InputError
from sargnn.nn import Encoding, GraphModel
from sargnn.nn.norm import BatchNorm
from sargnn.tasks import Classification
from sargnn.training import loop
from sargnn.training.loop import (
    TrainingConfig,
    TrainingState,
    check_supervision,
    epoch_order,
    fit,
    loss_of,
    predict_outputs,
    saliency_divergence,
    snapshot,
)
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel
from tiny import DEMANDING, FOLD, labelled, shapes, timeless, tiny

TASK = Classification(("a", "b"))

LAYOUTS = ("packed", "padded")


class Curve(GraphModel):
    """Scores of every epoch that are known beforehand: validation loss, and how many of four graphs are right.

    One weight moves by the learning rate every epoch, so that weights tell which epoch they are of.
    """

    def __init__(self, losses: list[float], right: list[int] | None = None) -> None:
        super().__init__()
        self.losses, self.right = losses, right or [4] * len(losses)
        self.weight = nn.Parameter(torch.zeros(1))
        self.head = nn.Identity()
        self.epoch = 0
        self.modes: list[bool] = []
        self.weights: list[float] = []

    def encode(self, batch: Batch) -> Encoding:
        self.modes.append(self.training)
        assert batch.y is not None
        signs = 2 * nn.functional.one_hot(batch.y, 2) - 1.0
        if self.training:
            self.epoch += 1
            return Encoding(self.weight * signs, batch.x)
        self.weights.append(self.weight.item())
        return Encoding(self.logits(signs), batch.x)

    def logits(self, signs: Tensor) -> Tensor:
        """Four graphs, some of them right by a margin of 2; the others carry the rest of the loss."""
        right = self.right[self.epoch - 1] % 4
        rest = (4 * self.losses[self.epoch - 1] - right * log(1 + exp(-4))) / (4 - right)
        # A graph that is right by the margin m has the loss log(1 + e^-2m).
        margins = torch.tensor([2.0] * right + [-log(exp(rest) - 1) / 2] * (4 - right))
        return signs * margins.unsqueeze(1)


def four_graphs() -> tuple[TensorSet, Fold]:
    graphs = pack([(1, [])] * 8, y=[0, 1] * 4, classes=["a", "b"])
    return TensorSet(graphs, np.ones((8, 1), np.float32)), Fold(np.arange(4), np.arange(4, 8), np.arange(0))


def follow(curve: Curve, **values: Any) -> TrainingState:
    """Train along the curve."""
    config = TrainingConfig(**{"epochs": len(curve.losses), **values})
    state = TrainingState.start(curve, TASK, config)
    list(fit(state, *four_graphs(), config))
    return state


def started(settings: Settings, truth: bool = True) -> tuple[TrainingState, TensorSet, TrainingConfig]:
    graphs = shapes(truth=truth)
    encoder = Encoder.fit(settings.data, graphs.subset(FOLD.train))
    trained = TrainedModel.untrained(settings, encoder, Classification(graphs.classes))
    return TrainingState.start(trained.model, TASK, settings.training), trained.tensors(graphs), settings.training


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


# What is kept, and when it stops


def test_the_stub_has_the_curve_it_was_given() -> None:
    state = follow(Curve([0.7, 0.5, 0.6], right=[2, 3, 4]))
    assert [row["validation_loss"] for row in state.history] == pytest.approx([0.7, 0.5, 0.6], rel=1e-5)
    assert [row["validation_accuracy"] for row in state.history] == [0.5, 0.75, 1.0]
    assert [row["epoch"] for row in state.history] == [1, 2, 3]


def test_the_weights_of_the_lowest_loss_are_kept_and_not_the_last() -> None:
    curve = Curve([0.7, 0.5, 0.4, 0.6, 0.5])
    state = follow(curve)
    assert state.best_epoch == 3
    assert len(state.history) == 5
    assert curve.weight.item() == curve.weights[2]
    assert curve.weights[2] not in (curve.weights[1], curve.weights[3])


def test_the_monitored_score_decides() -> None:
    losses, right = [0.9, 0.7, 0.8], [2, 2, 3]
    assert follow(Curve(losses, right), monitor="loss").best_epoch == 2
    assert follow(Curve(losses, right), monitor="accuracy").best_epoch == 3


def test_of_equal_epochs_the_earliest_is_kept() -> None:
    assert follow(Curve([0.7, 0.5, 0.5, 0.5]), monitor="loss").best_epoch == 2
    assert follow(Curve([0.9, 0.8, 0.7, 0.6], right=[2, 3, 3, 2]), monitor="accuracy").best_epoch == 2


def test_patience_counts_the_epochs_since_the_best() -> None:
    losses = [0.7, 0.5, 0.6, 0.6, 0.3, 0.6, 0.6, 0.6, 0.1]
    assert len(follow(Curve(losses), patience=2).history) == 4
    assert len(follow(Curve(losses), patience=3).history) == 8
    assert follow(Curve(losses), patience=3).best_epoch == 5


def test_patience_0_never_stops() -> None:
    state = follow(Curve([0.1] + [0.5] * 99), patience=0)
    assert len(state.history) == 100
    assert state.best_epoch == 1


def test_without_validation_graphs_the_training_graphs_are_watched() -> None:
    data, fold = four_graphs()
    config = TrainingConfig(epochs=1)
    state = TrainingState.start(Curve([0.5]), TASK, config)
    (row,) = fit(state, data, replace(fold, validation=np.arange(0)), config)
    assert row["validation_loss"] == pytest.approx(0.5, rel=1e-5)


# Learning rates


def rates(curve: Curve, **values: Any) -> list[float]:
    return [row["learning_rate"] for row in follow(curve, learning_rate=0.1, patience=0, **values).history]


def test_constant_step_and_cosine_schedules() -> None:
    flat = [0.5] * 5
    assert rates(Curve(flat)) == [0.1] * 5
    assert rates(Curve(flat), schedule="step", schedule_epochs=2) == [0.1, 0.1, 0.05, 0.05, 0.025]
    half = (1 + cos(pi / 4)) / 2
    assert rates(Curve(flat[:4]), schedule="cosine") == pytest.approx([0.1, 0.1 * half, 0.05, 0.1 * (1 - half)])


def test_plateau_halves_when_nothing_improved_for_a_while() -> None:
    losses = [1.0, 0.9, 0.95, 0.95, 0.8, 0.85, 0.85, 0.85, 0.85, 0.85]
    expected = [0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.0125]
    assert rates(Curve(losses), schedule="plateau", schedule_epochs=2) == expected


def test_plateau_watches_the_monitored_score() -> None:
    losses, right = [0.9, 0.8, 0.7, 0.6], [3, 2, 2, 4]
    values = {"schedule": "plateau", "schedule_epochs": 2, "monitor": "accuracy"}
    assert rates(Curve(losses, right), **values) == [0.1, 0.1, 0.1, 0.05]


def test_the_optimiser_steps_by_the_scheduled_rate() -> None:
    """Adam's step for a gradient that keeps its sign is about the rate; the very first is the rate exactly."""
    curve = Curve([0.5] * 3)
    follow(curve, schedule="step", schedule_epochs=1, learning_rate=0.01)
    assert curve.weights[0] == pytest.approx(0.01, rel=1e-5)
    assert np.diff(curve.weights) == pytest.approx([0.005, 0.0025], rel=0.05)


# What learns when


def test_joint_training_moves_both_blocks_every_epoch() -> None:
    state, data, config = started(tiny())
    blocks = state.model.parameter_blocks()
    before = [[p.detach().clone() for p in block] for block in blocks]
    for _ in fit(state, data, FOLD, config):
        now = [[p.detach().clone() for p in block] for block in blocks]
        for old, new in zip(before, now, strict=True):
            assert any(not torch.equal(a, b) for a, b in zip(old, new, strict=True))
        before = now


@pytest.mark.parametrize("model", ["sar-gcn", "sar-gat", "gin"])
def test_alternating_training_leaves_the_other_block_alone_bit_for_bit(model: str) -> None:
    values = {"training__policy": "alternating", "training__alternate_epochs": 2, "training__weight_decay": 0.1}
    state, data, config = started(tiny(model, training__epochs=8, model__norm="layer", **values))
    blocks = state.model.parameter_blocks()
    before = [[p.detach().clone() for p in block] for block in blocks]
    moved = []
    for _ in fit(state, data, FOLD, config):
        now = [[p.detach().clone() for p in block] for block in blocks]
        moved.append([any(map(_differ, old, new)) for old, new in zip(before, now, strict=True)])
        before = now
    backbone, rest = [True, False], [False, True]
    assert moved == [backbone, backbone, rest, rest, backbone, backbone, rest, rest]


def _differ(a: Tensor, b: Tensor) -> bool:
    return not torch.equal(a, b)


def test_the_two_blocks_are_all_there_is_to_learn() -> None:
    model = started(tiny(model__norm="batch", model__input_norm=True))[0].model
    backbone, rest = ({id(p) for p in block} for block in model.parameter_blocks())
    assert not backbone & rest
    assert backbone | rest == {id(p) for p in model.parameters()}
    assert {id(p) for p in model.head.parameters()} <= rest
    assert {id(p) for p in model.memory_layers.parameters()} <= rest
    assert {id(p) for p in model.saliency_layers.parameters()} <= rest


def test_a_model_of_one_block_cannot_alternate() -> None:
    line = r"^training\.policy: got alternating for a model of a single block, expected joint$"
    state, data, config = started(Settings.of("deepsets", {"training.policy": "alternating"}), truth=False)
    with pytest.raises(InputError, match=line):
        next(iter(fit(state, data, FOLD, config)))


@pytest.mark.parametrize("leave_after", [1, 2, 3])
def test_nothing_stays_frozen_however_fitting_ends(leave_after: int) -> None:
    state, data, config = started(tiny(training__policy="alternating"))
    for row in fit(state, data, FOLD, config):
        if row["epoch"] == leave_after:
            break
    assert all(p.requires_grad for p in state.model.parameters())


def test_a_random_saliency_is_not_made_learnable() -> None:
    state, data, config = started(tiny(model__saliency="random", training__policy="alternating"))
    before = copy.deepcopy(state.model.saliency_layers.state_dict())
    list(fit(state, data, FOLD, config))
    assert equal(before, state.model.saliency_layers.state_dict())
    assert not any(p.requires_grad for p in state.model.saliency_layers.parameters())


# Determinism


def run_once(model: str = "sar-gcn", **values: Any) -> TrainingState:
    state, data, config = started(tiny(model, **{**DEMANDING, **values}))
    list(fit(state, data, FOLD, config))
    return state


def test_same_seed_same_bits_other_seed_other_bits() -> None:
    one, again, other = run_once(), run_once(), run_once(training__seed=1)
    assert equal(snapshot(one.model), snapshot(again.model))
    assert timeless(one.history) == timeless(again.history)
    assert not equal(snapshot(one.model), snapshot(other.model))
    assert timeless(one.history) != timeless(other.history)


@pytest.mark.parametrize("model", ["sar-gcn", "as-published"])
def test_the_state_of_global_generators_neither_matters_nor_changes(model: str) -> None:
    weights = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)
        torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
        weights.append(snapshot(run_once(model).model))
        assert torch.equal(torch.get_rng_state(), torch_before)
        assert np.array_equal(np.random.get_state()[1], numpy_before)
    assert equal(*weights)


def test_every_epoch_has_its_own_order_of_all_training_graphs() -> None:
    train = np.array([3, 5, 8, 13, 21, 34])
    orders = [epoch_order(train, seed, epoch).tolist() for seed in (0, 1) for epoch in (1, 2)]
    assert all(sorted(order) == train.tolist() for order in orders)
    assert len(set(map(tuple, orders))) == 4
    assert epoch_order(train, 0, 2).tolist() == orders[1]


def test_going_on_in_the_same_process_is_like_never_having_stopped() -> None:
    whole = run_once(training__epochs=5)
    state, data, config = started(tiny(**DEMANDING, training__epochs=5))
    while len(state.history) < 5:
        next(fit(state, data, FOLD, config))  # one epoch, then the iterator is thrown away
    list(fit(state, data, FOLD, config))
    assert equal(snapshot(state.model), snapshot(whole.model))
    assert timeless(state.history) == timeless(whole.history)


# The loss


class Fixed(GraphModel):
    """Logits (ln 3, 0) for every graph: probabilities 3/4 and 1/4; saliency as given."""

    def __init__(self, *saliency: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([log(3), 0.0]))
        self.saliency = saliency
        self.head = nn.Identity()

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(self.logits.expand(batch.num_graphs, 2), batch.x, self.saliency)


def test_cross_entropy_by_hand() -> None:
    graphs = pack([(1, [])] * 4, y=[0, 0, 0, 1], classes=["a", "b"])
    batch = TensorSet(graphs, np.ones((4, 1), np.float32)).batch(np.arange(4), COMMON)
    plain = loss_of(Fixed(), TASK, batch, TrainingConfig())
    assert plain.item() == pytest.approx((3 * -log(3 / 4) - log(1 / 4)) / 4)


def test_balanced_class_weights_by_hand() -> None:
    """Three training graphs of one class, one of the other: weights 4 / (3 * 2) and 4 / (1 * 2)."""
    graphs = pack([(1, [])] * 6, y=[0, 0, 0, 1, 1, 1], classes=["a", "b"])
    data = TensorSet(graphs, np.ones((6, 1), np.float32))
    fold = Fold(np.arange(4), np.array([4]), np.array([5]))
    config = TrainingConfig(epochs=1, class_weights="balanced", learning_rate=1e-9)
    (row,) = fit(TrainingState.start(Fixed(), TASK, config), data, fold, config)
    total = 3 * (4 / 6) * -log(3 / 4) + 1 * (4 / 2) * -log(1 / 4)
    assert row["train_loss"] == pytest.approx(total / (3 * (4 / 6) + 4 / 2))
    assert row["validation_loss"] == pytest.approx(-log(1 / 4))  # scores are not weighted


def test_the_mean_training_loss_counts_graphs_and_not_batches() -> None:
    graphs = pack([(1, [])] * 5, y=[0, 0, 0, 1, 1], classes=["a", "b"])
    data = TensorSet(graphs, np.ones((5, 1), np.float32))
    config = TrainingConfig(epochs=1, batch_size=2, learning_rate=1e-9)
    (row,) = fit(TrainingState.start(Fixed(), TASK, config), data, Fold(*[np.arange(5)] * 3), config)
    assert row["train_loss"] == pytest.approx((3 * -log(3 / 4) + 2 * -log(1 / 4)) / 5)


@pytest.fixture(params=LAYOUTS)
def two_graphs(request: pytest.FixtureRequest) -> Batch:
    """Three nodes with truth 3, 1, 0, and two nodes of which nothing is known."""
    graphs = pack([(3, []), (2, [])], y=[0, 1], classes=["a", "b"], true_saliency=[3.0, 1, 0, 0, 0])
    return TensorSet(graphs, np.ones((5, 1), np.float32), layout=request.param).batch(np.arange(2), COMMON)


def saliency_of(batch: Batch, *values: float) -> Tensor:
    """Node values in the layout of the batch."""
    assert batch.truth is not None
    if batch.truth.dim() == 1:
        return torch.tensor(values)
    return torch.tensor([values[:3], [*values[3:], 0.0]])


def test_saliency_divergence_by_hand(two_graphs: Batch) -> None:
    one = saliency_of(two_graphs, 0.5, 0.25, 0.25, 0.9, 0.1)
    other = saliency_of(two_graphs, 0.75, 0.25, 0.0, 0.5, 0.5)
    by_hand = 0.75 * log(0.75 / 0.5) + 0.25 * log(0.25 / 0.25)
    assert saliency_divergence(two_graphs, (one,), ()).item() == pytest.approx(by_hand)
    assert saliency_divergence(two_graphs, (other,), ()).item() == pytest.approx(0, abs=1e-7)
    assert saliency_divergence(two_graphs, (one, other), ()).item() == pytest.approx(by_hand / 2)
    assert saliency_divergence(two_graphs, (one, other), (0,)).item() == pytest.approx(by_hand)
    assert saliency_divergence(two_graphs, (one, other), (1,)).item() == pytest.approx(0, abs=1e-7)


def test_the_divergence_enters_the_loss_with_its_weight(two_graphs: Batch) -> None:
    model = Fixed(saliency_of(two_graphs, 0.5, 0.25, 0.25, 0.9, 0.1))
    plain = loss_of(model, TASK, two_graphs, TrainingConfig()).item()
    with_weight = loss_of(model, TASK, two_graphs, TrainingConfig(saliency_weight=2.0)).item()
    assert with_weight - plain == pytest.approx(2 * 0.75 * log(1.5))


def test_a_saliency_of_zero_where_the_truth_is_not_gives_a_finite_loss(two_graphs: Batch) -> None:
    saliency = saliency_of(two_graphs, 0.0, 1.0, 0.0, 0.5, 0.5).requires_grad_()
    loss = saliency_divergence(two_graphs, (saliency,), ())
    loss.backward()
    assert torch.isfinite(loss)
    assert saliency.grad is not None
    assert torch.isfinite(saliency.grad).all()


def divergence(state: TrainingState, data: TensorSet) -> float:
    with torch.no_grad():
        batch = data.batch(FOLD.train, state.model.layouts)
        return saliency_divergence(batch, state.model.eval().encode(batch).saliency, ()).item()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_supervised_saliency_moves_towards_the_truth(layout: str) -> None:
    found = {}
    for weight in (0.0, 10.0):
        values = {"training__saliency_weight": weight, "training__layout": layout, "data__encodings": "degree"}
        state, data, config = started(tiny(training__epochs=60, training__learning_rate=0.03, **values))
        before = divergence(state, data)
        list(fit(state, data, FOLD, config))
        found[weight] = divergence(state, data)
    assert found[10.0] < 0.2 * before
    assert found[10.0] < 0.2 * found[0.0]


@pytest.mark.parametrize(
    ("settings", "truth", "message"),
    [
        (tiny(training__saliency_weight=1), False, "training.saliency_weight: got data without true saliency"),
        (tiny("gcn", training__saliency_weight=1), True, "training.saliency_weight: got a model without saliency"),
        (
            tiny(training__saliency_weight=1, training__saliency_layers="0,2"),
            True,
            "training.saliency_layers: got 2, expected 0..1",
        ),
        (tiny(training__saliency_layers="1,99"), False, "training.saliency_layers: got 99, expected 0..1"),
        (tiny("gcn", training__saliency_layers="1"), False, "training.saliency_layers: got a model without saliency"),
    ],
)
def test_supervision_that_cannot_be_is_refused_at_once(settings: Settings, truth: bool, message: str) -> None:
    state, data, config = started(settings, truth)
    with pytest.raises(InputError, match=message):
        check_supervision(state.model, data, config)
    with pytest.raises(InputError, match=message):
        TrainingRun.start(shapes(truth=truth), settings, fold=FOLD)


# Evaluation


def test_training_is_in_training_mode_and_evaluation_in_eval_mode() -> None:
    curve = Curve([0.5] * 3)
    follow(curve)
    assert curve.modes == [True, False] * 3


def test_evaluation_is_without_dropout_and_with_the_running_statistics() -> None:
    state, data, config = started(tiny(model__dropout=0.5, model__norm="batch"))
    for _ in fit(state, data, FOLD, config):
        norm = state.model.norms[0]
        assert isinstance(norm, BatchNorm)
        statistics = norm.running_mean.clone()
        state.model.train()
        together, saliency, _ = predict_outputs(state.model, data, FOLD.test)
        alone = [predict_outputs(state.model, data, FOLD.test[i : i + 1])[0] for i in range(4)]
        assert not state.model.training
        assert torch.equal(norm.running_mean, statistics)
        torch.testing.assert_close(torch.cat(alone), together, rtol=1e-4, atol=1e-5)
        assert torch.equal(predict_outputs(state.model, data, FOLD.test)[0], together)
        assert len(saliency) == 2


def test_logits_do_not_depend_on_the_batch_size() -> None:
    state, data, _ = started(tiny())
    whole, saliency, _ = predict_outputs(state.model, data, np.arange(24))
    parts, piecewise, _ = predict_outputs(state.model, data, np.arange(24), batch_size=5)
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-5)
    assert len(saliency) == len(piecewise) == 2
    for one, other in zip(saliency, piecewise, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_saliency_that_is_drawn_at_every_call_is_drawn_alike_in_evaluation() -> None:
    state, data, _ = started(tiny("as-published"))
    one, again = (predict_outputs(state.model, data, np.arange(24)) for _ in range(2))
    assert torch.equal(one[0], again[0])
    assert all(map(torch.equal, one[1], again[1]))


# A loss that is no number


def test_divergence_names_epoch_and_batch_and_keeps_the_best_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    state, data, config = started(tiny())
    calls = iter(range(100))
    real = loop.loss_of

    def breaks_in_the_fourth_batch(*args: Any) -> Tensor:
        loss = real(*args)
        return loss * float("nan") if next(calls) == 3 else loss

    monkeypatch.setattr(loop, "loss_of", breaks_in_the_fourth_batch)
    rows = fit(state, data, FOLD, config)
    next(rows)
    good = snapshot(state.model)
    message = r"^loss is nan in epoch 2, batch 2; lower training.learning_rate.*; the weights of epoch 1 are kept$"
    with pytest.raises(Diverged, match=message):
        next(rows)
    assert equal(snapshot(state.model), good)
    assert len(state.history) == 1


def test_divergence_of_the_validation_loss_is_seen_too() -> None:
    state, data, config = started(tiny())
    data.x[data.node_ptr[16] : data.node_ptr[20]] = float("inf")  # the validation graphs
    start = snapshot(state.model)
    with pytest.raises(Diverged, match=r"^validation loss is nan after epoch 1; .*; no epoch was completed"):
        list(fit(state, data, FOLD, config))
    assert equal(snapshot(state.model), start)


def test_a_rate_beyond_reason_diverges_and_leaves_finite_weights() -> None:
    state, data, config = started(tiny(training__learning_rate=1e30, training__epochs=20))
    with pytest.raises(Diverged):
        list(fit(state, data, FOLD, config))
    assert all(torch.isfinite(value).all() for value in snapshot(state.model).values())
    assert all(p.requires_grad for p in state.model.parameters())


# Settings that make no sense


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epochs", 0), ("batch_size", 0), ("schedule_epochs", 0), ("alternate_epochs", 0),
        ("weight_decay", -0.1), ("weight_decay", float("nan")), ("weight_decay", float("inf")),
        ("saliency_weight", -1.0), ("saliency_weight", float("inf")), ("patience", -1), ("seed", -1), ("seed", 2**63),
        ("learning_rate", 0.0), ("learning_rate", float("nan")), ("learning_rate", float("inf")),
        ("saliency_layers", (0, -1)),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^training.{field}: got "):
        TrainingConfig(**{field: value})


@given(seed=st.integers(0, 2**63 - 1), epoch=st.integers(1, 10_000))
def test_any_seed_gives_a_seed_for_every_epoch(seed: int, epoch: int) -> None:
    mixed = loop._mix(seed, epoch)
    assert 0 <= mixed < 2**63
    assert mixed != loop._mix(seed, epoch + 1)
    TrainingConfig(seed=seed)


# ---------------------------------------------------------------------------------------------- layouts and compiling


def fitted(layout: str = "auto", **values: Any) -> list[dict[str, Any]]:
    """The history of a model on graphs of 3 to 8 nodes, in float64."""
    state, data, config = started(tiny(training__layout=layout, **values))
    state = TrainingState.start(state.model.double(), TASK, config)
    data = TensorSet(shapes(truth=True), data.x.double().numpy(), layout=data.layout)
    return timeless(list(fit(state, data, FOLD, config)))


@pytest.mark.parametrize("model", ["sar-gcn", "sar-gin", "sar-gat", "gcn"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_training_by_the_kernels_is_training_by_pytorch(model: str, layout: str) -> None:
    kernels(torch.float64)
    values = {"model": model, "model__norm": "batch"}
    for mine, theirs in zip(fitted(**values), fitted(layout, **values), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("model", ["sargnn-plus", "sar-gcn"])
def test_kernels_predict_what_pytorch_predicts(model: str) -> None:
    """After training, in the order that was asked for, several batches of it."""
    kernels(torch.float32)
    run = train(labelled(shapes()), tiny(model, training__epochs=5), fold=FOLD)
    index = np.array([23, 4, 4, 11, 0, 17, 2])
    logits, saliency, _ = predict_outputs(run.state.model, run.data, index, batch_size=3)
    for layout in LAYOUTS:
        run.data.layout = layout  # type: ignore[assignment]
        theirs, their_saliency, _ = predict_outputs(run.state.model, run.data, index, batch_size=3)
        torch.testing.assert_close(logits, theirs, rtol=1e-5, atol=1e-6)
        for one, other in zip(saliency, their_saliency, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


COMPILED = """
from functools import partial
import torch
torch.compile = partial(torch.compile, backend="eager", fullgraph=True)
from test_loop import fitted
compiled, plain = fitted(training__compile=True), fitted()
assert [row.keys() for row in compiled] == [row.keys() for row in plain]
for mine, theirs in zip(compiled, plain):
    assert all(abs(mine[key] - theirs[key]) < 1e-9 for key in mine), (mine, theirs)
"""


def test_a_compiled_step_is_the_same_step() -> None:
    """PyTorch's compiler sees through model and batch; what it makes of them is its own affair. Apart, because it does
    not see through the checks of shapes that tests run with."""
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(tests / "training"), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# Balanced sampling

LABELS = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(LABELS, st.integers(0, 5), st.integers(1, 5))
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


def test_balanced_draws_differ_by_seed_and_epoch() -> None:
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
