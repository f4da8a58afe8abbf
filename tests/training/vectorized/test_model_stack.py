"""K models at once: each member comes out as if it had been trained alone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.errors import Diverged
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import Fitted, Member, ModelStack, fit_together
from tiny import FOLD, labelled, shapes, tiny

GRAPHS = shapes(truth=True)
OTHER = Fold(np.arange(8, 24), np.arange(0, 4), np.arange(4, 8))
SMALL = Fold(np.arange(0, 7), np.arange(16, 21), np.arange(21, 24))
"""One batch per epoch, where the others have two."""

TURNS: dict[str, Any] = {"training__policy": "alternating", "training__epochs": 4}
# Not GIN with batch normalisation: the gradient of its biases, which the norm cancels, is rounding alone; Adam makes
# full steps of it.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform saliency that is read": ("sar-gin", {"model__saliency": "uniform", "model__readout": "salient"}),
    **{f"{name}, weighted": (name, {}) for name in ("sar-gcn", "sar-gin", "sar-sage", "sar-gat")},
    **{
        f"{name}, scaling": (name, {"model__fusion": "scaling", "model__gamma": 3.0}) for name in ("sar-gcn", "sar-gin")
    },
    "gat, four heads": ("gat", {"model__heads": 4}),
    "sage, batch norm": ("sage", {"model__norm": "batch"}),
    "batch norm": ("sar-gcn", {"model__norm": "batch", "model__input_norm": True}),
    "layer norm": ("sar-sage", {"model__norm": "layer"}),
    "no softmax": ("sar-gat", {"model__normalize": "none"}),
    "alternating": ("sar-gcn", TURNS),
    "alternating, two epochs per turn": ("sar-gin", {**TURNS, "training__alternate_epochs": 2}),
    "class weights": ("sar-gcn", {"training__class_weights": "balanced"}),
    "smooth labels": ("sar-gcn", {"training__class_weights": "balanced", "training__label_smoothing": 0.2}),
    "balanced draws": ("sar-gcn", {"training__sampling": "balanced"}),
    "supervised saliency": ("sar-gcn", {"training__saliency_weight": 1.0}),
    "supervised saliency of one layer": (
        "sar-sage",
        {"training__saliency_weight": 0.5, "training__saliency_layers": "1"},
    ),
    "cosine": ("sar-gcn", {"training__schedule": "cosine"}),
    "step": ("sar-gcn", {"training__schedule": "step", "training__schedule_epochs": 1}),
    "plateau": ("sar-gcn", {"training__schedule": "plateau", "training__schedule_epochs": 1, "training__epochs": 5}),
    "the last epoch": ("sar-gcn", {"training__monitor": "last", "training__learning_rate": 0.3}),
    "frozen random saliency": ("sar-gcn", {"model__saliency": "random"}),
    "uniform saliency": ("sar-gcn", {"model__saliency": "uniform"}),
    "weight decay": ("sar-gcn", {"training__weight_decay": 0.1}),
    "clipped gradients": ("sar-gcn", {"training__clip": 0.1, "training__weight_decay": 0.1}),
    "a slower memory": ("sar-gcn", {"training__memory_rate": 1e-3, "training__learning_rate": 0.02}),
    "a slower memory in turns": ("sar-gat", {**TURNS, "training__memory_rate": 1e-3, "training__clip": 0.5}),
    "an ensemble with a slower memory": ("sar-gcn", {"model__members": 2, "training__memory_rate": 2e-3}),
    "an ensemble": ("sar-gcn", {"model__members": 2, "training__class_weights": "balanced"}),
    "an alternating ensemble": ("sar-gin", {"model__members": 3, "training__policy": "alternating"}),
    "a supervised ensemble": ("sar-sage", {"model__members": 2, "training__saliency_weight": 0.5}),
    "memory, sum and maximum": ("sar-sage", {"model__readout": "all"}),
    "salient nodes": ("sar-gcn", {"model__readout": "salient", "training__saliency_weight": 1.0}),
    "gated nodes": ("sar-sage", {"model__readout": "gated", "model__saliency": "none"}),
    "an ensemble of gated nodes": ("gcn", {"model__readout": "gated", "model__members": 2}),
    "an activation after the norm": ("sar-sage", {"model__norm": "layer", "model__activate": True}),
    "differences of inputs on edges": ("sar-gin", {"model__edge_channels": 3, "model__relative": True}),
}


def members(settings: Settings) -> list[Member]:
    """Three that differ in everything a member may differ in."""
    own = [(FOLD, 0, 0.01, 0.0), (OTHER, 1, 0.003, 0.01), (SMALL, 2, 0.02, 0.0)]
    usual = settings.training
    return [
        Member(fold, replace(usual, seed=seed, learning_rate=rate, weight_decay=decay or usual.weight_decay))
        for fold, seed, rate, decay in own
    ]


def together(graphs: GraphSet, settings: Settings, members: list[Member], device: str = "cpu") -> list[Fitted]:
    stack = ModelStack(graphs, settings, members, device)
    fit_together([stack])
    return stack.results()


def alone(graphs: GraphSet, settings: Settings, member: Member) -> TrainingRun:
    run = TrainingRun.start(graphs, replace(settings, training=member.training), fold=member.fold)
    for _ in run:
        pass
    return run


def assert_same(fitted: Fitted, run: TrainingRun, tolerance: float = 2e-4) -> None:
    """Equal history, best epoch and best weights, up to rounding."""
    assert fitted.progress.best_epoch == run.state.best_epoch
    assert len(fitted.progress.history) == len(run.state.history)
    for mine, theirs in zip(fitted.progress.history, run.state.history, strict=True):
        for key in ("epoch", "train_loss", "validation_loss", "validation_accuracy", "learning_rate"):
            assert mine[key] == pytest.approx(theirs[key], rel=tolerance, abs=1e-6), key
    state = run.trained.model.state_dict()
    for name, value in fitted.trained.model.state_dict().items():
        torch.testing.assert_close(value.cpu(), state[name], rtol=tolerance, atol=tolerance, msg=name)


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("case", CASES)
def test_each_member_equals_training_alone(case: str, layout: str) -> None:
    model, values = CASES[case]
    settings = tiny(model, training__layout=layout, **values)
    own = members(settings)
    for member, fitted in zip(own, together(GRAPHS, settings, own), strict=True):
        assert_same(fitted, alone(GRAPHS, settings, member))


@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_inputs_of_edges_and_of_graphs_reach_every_member(layout: str) -> None:
    graphs = labelled(GRAPHS)
    inputs: dict[str, Any] = {"data__edge_encodings": ("auto",), "data__graph_encodings": ("attributes",)}
    settings = tiny("sar-sage", training__layout=layout, model__edge_channels=2, **inputs)
    own = members(settings)
    for member, fitted in zip(own, together(graphs, settings, own), strict=True):
        assert_same(fitted, alone(graphs, settings, member))


def test_rows_do_not_depend_on_who_trains_beside() -> None:
    settings = tiny("sar-gcn", model__norm="batch")
    own = members(settings)
    three = together(GRAPHS, settings, own)
    for member, fitted in zip(own[::-1], three[::-1], strict=True):
        (single,) = together(GRAPHS, settings, [member])
        for mine, theirs in zip(single.progress.history, fitted.progress.history, strict=True):
            for key in ("train_loss", "validation_loss"):
                assert mine[key] == pytest.approx(theirs[key], rel=1e-5), key  # a single one goes without vmap
    for mine, theirs in zip(together(GRAPHS, settings, own[:2]), three, strict=False):
        assert [row["train_loss"] for row in mine.progress.history] == [
            row["train_loss"] for row in theirs.progress.history
        ]


def test_results_are_in_the_order_of_the_members() -> None:
    settings = tiny("sar-gcn")
    own = members(settings)
    forth, back = together(GRAPHS, settings, own), together(GRAPHS, settings, own[::-1])
    losses = [fitted.progress.history[-1]["train_loss"] for fitted in forth]
    assert len(set(losses)) == 3
    assert [fitted.progress.history[-1]["train_loss"] for fitted in back] == losses[::-1]
    assert [fitted.trained.settings.training.seed for fitted in back] == [2, 1, 0]


def test_each_member_stops_by_its_own_patience_and_keeps_its_own_best_epoch() -> None:
    settings = tiny("sar-gcn", training__epochs=25, training__patience=3)
    own = [Member(FOLD, replace(settings.training, learning_rate=rate)) for rate in (1e-5, 0.03, 0.3)]
    fitted = together(GRAPHS, settings, own)
    assert len({len(each.progress.history) for each in fitted}) > 1
    for member, each in zip(own, fitted, strict=True):
        run = alone(GRAPHS, settings, member)
        assert each.progress.best_epoch == run.state.best_epoch
        assert len(each.progress.history) == len(run.state.history)
        (_, loss) = (each.progress.best_epoch, each.progress.history[each.progress.best_epoch - 1]["validation_loss"])
        assert loss == min(row["validation_loss"] for row in each.progress.history)


def test_a_member_that_diverges_does_not_disturb_the_others() -> None:
    settings = tiny("gin", training__epochs=4)
    calm = members(settings)[:2]
    wild = Member(FOLD, replace(settings.training, learning_rate=1e30))
    first, broken, second = together(GRAPHS, settings, [calm[0], wild, calm[1]])
    for member, fitted in zip(calm, (first, second), strict=True):
        assert fitted.diverged is None
        assert_same(fitted, alone(GRAPHS, settings, member))
    assert broken.diverged is not None
    with pytest.raises(Diverged):
        alone(GRAPHS, settings, wild)
    assert all(value.isfinite().all() for value in broken.trained.model.state_dict().values())


def test_a_fold_without_validation_graphs_is_watched_on_its_training_graphs() -> None:
    settings = tiny("sar-gcn")
    bare = Member(Fold(np.arange(16), np.arange(0), np.arange(16, 24)), settings.training)
    (fitted,) = together(GRAPHS, settings, [bare])
    assert_same(fitted, alone(GRAPHS, settings, bare))


def test_the_scalar_epsilon_of_gin_learns_in_every_member() -> None:
    settings = tiny("gin")
    fitted = together(GRAPHS, settings, members(settings))
    scalars = [
        [value.item() for value in each.trained.model.parameters() if value.ndim == 0 or value.numel() == 1]
        for each in fitted
    ]
    assert scalars[0]
    assert len({tuple(values) for values in scalars}) == 3


def test_frozen_random_weights_stay_as_they_were_drawn() -> None:
    settings = tiny("sar-gcn", model__saliency="random")
    stack = ModelStack(GRAPHS, settings, members(settings))
    frozen = [
        {name: value.clone() for name, value in each.model.named_parameters() if not value.requires_grad}
        for each in stack.models
    ]
    fit_together([stack])
    assert frozen[0]
    for before, fitted in zip(frozen, stack.results(), strict=True):
        after = dict(fitted.trained.model.named_parameters())
        assert all(torch.equal(after[name], value) for name, value in before.items())


def test_stacks_side_by_side_are_as_one_after_the_other() -> None:
    both = [tiny("sar-gcn"), tiny("gin", training__epochs=2)]
    side_by_side = [ModelStack(GRAPHS, settings, members(settings)) for settings in both]
    epochs: list[int] = []
    fit_together(side_by_side, epochs.append)
    assert epochs == [1, 2, 3]
    for settings, ensemble in zip(both, side_by_side, strict=True):
        expected = together(GRAPHS, settings, members(settings))
        for mine, theirs in zip(ensemble.results(), expected, strict=True):
            assert mine.progress.history[-1]["train_loss"] == theirs.progress.history[-1]["train_loss"]


def test_members_may_differ_in_their_own_fields_alone() -> None:
    settings = tiny("sar-gcn")
    other = Member(FOLD, replace(settings.training, epochs=9))
    with pytest.raises(ValueError, match="may differ in seed, learning_rate, weight_decay alone"):
        ModelStack(GRAPHS, settings, [Member(FOLD, settings.training), other])


COMPILED = """
from functools import partial
import torch
torch.compile = partial(torch.compile, backend="eager", fullgraph=True)
from test_model_stack import GRAPHS, members, tiny, together
for layout, count, size in (("padded", 1, 1), ("packed", 3, 1), ("packed", 2, 2)):
    values = {"training__layout": layout, "model__members": size}
    eager, compiled = (tiny("sar-gcn", training__compile=own, **values) for own in (False, True))
    both = (together(GRAPHS, settings, members(settings)[:count]) for settings in (eager, compiled))
    for mine, theirs in zip(*both, strict=True):
        for one, other in zip(mine.progress.history, theirs.progress.history, strict=True):
            assert all(abs(one[key] - other[key]) < 1e-6 for key in ("train_loss", "validation_loss")), (one, other)
"""


def test_a_compiled_step_is_the_same_step() -> None:
    """PyTorch's compiler sees through the step from the numbers of the graphs to Adam. Apart, because it does not see
    through the checks of shapes that tests run with."""
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: there a step is one CUDA graph")
@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize(
    "case", ["sar-gcn, weighted", "batch norm", "alternating", "supervised saliency", "plateau", "an ensemble"]
)
def test_on_a_gpu_each_member_equals_training_alone(case: str, layout: str) -> None:
    model, values = CASES[case]
    settings = tiny(model, training__layout=layout, **values)
    own = members(settings)
    for member, fitted in zip(own, together(GRAPHS, settings, own, "cuda"), strict=True):
        assert_same(fitted, alone(GRAPHS, settings, member), tolerance=2e-3)
