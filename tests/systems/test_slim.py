"""SLIM: assignments, targets and interactions by hand, and a clustering loss that reaches the landmarks."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from expressive import PAIRS, constant_batch, gap, randomised
from literal import COMMON, EXAMPLES, batch_of
from sargnn.errors import InputError
from sargnn.nn.ensemble import Ensemble
from sargnn.systems.slim import SLIM, SLIMConfig, assignment, clustering_loss, interactions
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.run import train
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import Member, ModelStack
from tiny import FOLD, shapes

every_layout = pytest.mark.parametrize("layout", COMMON)
Q = assignment(torch.tensor([[0.0], [1.0], [3.0]]).double(), torch.tensor([[0.0], [3.0]]).double())
TASK = Classification(("a", "b"))
SMALL = SLIMConfig(landmarks=4, hidden=6, classifier=8)


def test_assignment_by_hand() -> None:
    expected = torch.tensor([[0.90909, 0.09091], [0.71429, 0.28571], [0.09091, 0.90909]]).double()
    torch.testing.assert_close(Q, expected, atol=1e-5, rtol=0)


def test_clustering_loss_by_hand() -> None:
    target = torch.tensor([[0.98684, 0.01316], [0.82418, 0.17582], [0.00744, 0.99256]]).double()
    expected = (target * (target / Q).log()).sum() / 6
    assert clustering_loss(Q).item() == pytest.approx(expected.item(), abs=1e-5)
    padded = torch.cat([Q, torch.zeros(2, 2).double()])
    assert clustering_loss(padded).item() == pytest.approx(clustering_loss(Q).item())


def test_clustering_loss_is_zero_for_hard_assignments_and_positive_otherwise() -> None:
    assert clustering_loss(torch.eye(3)[[0, 1, 1, 2]]).item() == pytest.approx(0, abs=1e-6)
    torch.manual_seed(0)
    assert clustering_loss(torch.rand(20, 5).softmax(1)) > 0


@every_layout
def test_interactions_of_a_path_of_three(layout: str) -> None:
    batch = constant_batch([(3, [(0, 1), (1, 2)])], layout)
    mass, density = interactions(Q.view(*batch.x.shape[:-1], 2), batch)
    torch.testing.assert_close(mass[0], Q.sum(0))
    expected = torch.tensor([[0.48611, 0.4537], [0.4537, 0.34568]]).double()
    torch.testing.assert_close(density[0], expected, atol=1e-5, rtol=0)


def test_one_landmark_gives_the_density_of_edges() -> None:
    batch = constant_batch([(4, [(0, 1), (1, 2), (2, 0)])])
    _, density = interactions(torch.ones(4, 1).double(), batch)
    assert density.item() == pytest.approx(2 * 3 / 4**2)


def test_hard_assignments_give_densities_between_groups() -> None:
    batch = constant_batch([(4, [(0, 2), (0, 3), (1, 2), (0, 1)])])
    _, density = interactions(torch.eye(2)[[0, 0, 1, 1]].double(), batch)
    torch.testing.assert_close(density[0], torch.tensor([[2 / 4, 3 / 4], [3 / 4, 0]]).double())


@every_layout
def test_interactions_are_symmetric(layout: str) -> None:
    model = randomised(SLIM(SMALL, 3, 2), 0)
    batch = batch_of([EXAMPLES[i] for i in (0, 1, 2, 3, 5)], layout)
    q = assignment(model.encode(batch).nodes, model.landmarks)
    _, density = interactions(q, batch)
    torch.testing.assert_close(density, density.mT)


def test_the_loss_of_clustering_joins_the_gradient_in_training_alone() -> None:
    batch, y = batch_of(EXAMPLES, "packed"), torch.arange(len(EXAMPLES)) % 2
    with_loss, without = (SLIM(SLIMConfig(landmarks=4, hidden=6, clustering=c), 3, 2).double() for c in (0.5, 0.0))
    without.load_state_dict(with_loss.state_dict())
    for model in (with_loss, without):
        loss_of(model, TASK, replace(batch, y=y), TrainingConfig()).backward()
    plain, got = without.landmarks.grad, with_loss.landmarks.grad
    without.zero_grad()
    (0.5 * clustering_loss(assignment(without.encode(batch).nodes, without.landmarks))).backward()
    torch.testing.assert_close(got, plain + without.landmarks.grad)
    torch.testing.assert_close(with_loss.encode(batch).graph, without.encode(batch).graph)
    assert with_loss.encode(batch).loss is not None
    assert with_loss.eval().encode(batch).loss is without.encode(batch).loss is None


def test_of_an_ensemble_the_loss_is_the_mean_over_its_members() -> None:
    """So each member learns as if it were alone, by the gradient divided by their number."""
    batch = replace(batch_of(EXAMPLES, "packed"), y=torch.arange(len(EXAMPLES)) % 2)
    members = [SLIM(SLIMConfig(landmarks=4, hidden=6, clustering=0.5), 3, 2).double() for _ in range(3)]
    loss_of(Ensemble(members).train(), TASK, batch, TrainingConfig()).backward()
    together = [member.landmarks.grad.clone() for member in members]
    for member, got in zip(members, together, strict=True):
        member.zero_grad()
        loss_of(member, TASK, batch, TrainingConfig()).backward()
        torch.testing.assert_close(3 * got, member.landmarks.grad)


def test_several_at_once_train_by_the_same_loss_as_each_alone() -> None:
    settings = Settings.of("slim", {"model.clustering": 30, "training.epochs": 3, "training.batch_size": 8})
    stack = ModelStack(shapes(), settings, [Member(FOLD, settings.training)] * 2)
    alone = train(shapes(), settings, fold=FOLD)
    for epoch, rows in enumerate(stack):
        for row in rows:
            assert row["train_loss"] == pytest.approx(alone.state.history[epoch]["train_loss"], rel=1e-4)
    for fitted in stack.results():
        got, expected = fitted.trained.model.state_dict(), alone.trained.model.state_dict()
        torch.testing.assert_close(got["landmarks"], expected["landmarks"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("pair", PAIRS)
@every_layout
def test_no_pair_is_told_apart(pair: str, layout: str) -> None:
    assert gap(SLIM(SMALL, 1, 2), pair, layout) < 1e-6


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match=r"model.landmarks: got 0, expected at least 1"):
        SLIMConfig(landmarks=0)
