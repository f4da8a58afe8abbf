"""A committee: the members' mean, and each member as if it were alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sargnn import load_model
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.nn.ensemble import Ensemble, vote
from sargnn.nn.graph_model import Link
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.run import TrainingRun, train
from tiny import shapes, tiny

TASK = Classification(("a", "b"))

CONFIG = ModelConfig(backbone="gin", layers=2, hidden=8, readout="all", normalize="none")


@pytest.fixture
def batch() -> PackedBatch:
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    made = PackedBatch.from_edges(torch.randn(5, 4, dtype=torch.float64), edges, torch.tensor([0, 0, 0, 1, 1]))
    return replace(made, y=torch.tensor([2, 0]))


@pytest.fixture
def members() -> list[SARGNN]:
    return [SARGNN(CONFIG, inputs=4, classes=3).double() for _ in range(3)]


def test_probabilities_and_saliency_are_the_means_of_the_members(batch: PackedBatch, members: list[SARGNN]) -> None:
    committee = Ensemble(members).eval()
    encoding = committee.encode(batch)
    own = [member.encode(batch) for member in members]
    expected = sum(member.head(e.graph).softmax(-1) for member, e in zip(members, own, strict=True)) / 3
    torch.testing.assert_close(committee.head(encoding.graph).exp(), expected)
    for layer, saliency in enumerate(encoding.saliency):
        torch.testing.assert_close(saliency, sum(e.saliency[layer] for e in own) / 3)


def test_every_member_learns_by_its_own_loss_alone(batch: PackedBatch, members: list[SARGNN]) -> None:
    """The gradient is that of the member alone, divided by their number, which Adam does not see."""
    loss_of(Ensemble(members).train(), TASK, batch, TrainingConfig()).backward()
    together = [[p.grad.clone() for p in member.parameters() if p.grad is not None] for member in members]
    for member, got in zip(members, together, strict=True):
        member.zero_grad()
        loss_of(member, TASK, batch, TrainingConfig()).backward()
        expected = [p.grad for p in member.parameters() if p.grad is not None]
        for mine, alone in zip(got, expected, strict=True):
            torch.testing.assert_close(3 * mine, alone)


def test_a_committee_is_saved_and_read_back(tmp_path: Path) -> None:
    graphs = shapes()
    run = TrainingRun.start(graphs, tiny("sar-gcn", model__members=2, training__epochs=2), tmp_path / "run")
    for _ in run:
        pass
    run.finish()
    read = load_model(tmp_path / "run")
    assert isinstance(read.model, Ensemble)
    np.testing.assert_array_equal(read.predict(graphs).probabilities, run.trained.predict(graphs).probabilities)


def test_a_committee_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match=r"model\.members: got 0, expected at least 1"):
        ModelConfig(members=0)


@pytest.mark.parametrize("link", ["softmax", "sigmoid", "identity"])
def test_members_are_averaged_by_what_their_outputs_mean(link: Link) -> None:
    outputs = 3 * torch.randn(4, 5, 3, dtype=torch.float64)
    means: dict[Link, Callable[[Tensor], Tensor]] = {
        "softmax": lambda z: z.softmax(-1), "sigmoid": torch.sigmoid, "identity": lambda z: z,
    }  # fmt: skip
    mean = means[link]
    torch.testing.assert_close(mean(vote(outputs, link)), sum(map(mean, outputs)) / 4)
    assert vote(outputs[:1], link) is not outputs
    assert torch.equal(vote(outputs[:1], link), outputs[0])


def test_outputs_far_from_zero_stay_finite() -> None:
    sure = torch.tensor([[[800.0, -800.0]], [[900.0, -700.0]]])
    assert vote(sure, "sigmoid").isfinite().all()
    assert vote(sure, "sigmoid").sign().tolist() == [[1.0, -1.0]]


def test_the_spread_of_a_prediction_is_that_of_its_members() -> None:
    run = train(shapes(), tiny(model__members=3))
    found, members = run.trained.predict(shapes()), run.trained.model.ensemble_members()
    alone = [replace(run.trained, model=member).predict(shapes()).values for member in members]
    assert found.spread is not None
    np.testing.assert_allclose(found.spread, np.std(alone, axis=0), atol=1e-6)
    np.testing.assert_allclose(found.values, np.mean(alone, axis=0), atol=1e-6)
    assert found.spread.max() > 0
    assert replace(run.trained, model=members[0]).predict(shapes()).spread is None
