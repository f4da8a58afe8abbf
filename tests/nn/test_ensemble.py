"""A committee: the members' mean, and each member as if it were alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sargnn import load_model
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.nn.ensemble import Ensemble
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.run import TrainingRun
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
