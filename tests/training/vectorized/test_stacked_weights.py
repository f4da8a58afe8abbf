"""K models as stacked tensors: what they give together is what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sargnn.batching.stacks import make_stack
from sargnn.data.features.encoder import Encoder
from sargnn.tasks import task_of
from sargnn.training.trained_model import TrainedModel
from sargnn.training.vectorized.stacked_weights import StackedWeights, of_each
from tiny import shapes, tiny

GRAPHS = shapes()


def models(name: str, count: int, members: int = 1) -> list[TrainedModel]:
    settings = [tiny(name, training__seed=seed, model__members=members) for seed in range(count)]
    encoder = Encoder.fit(settings[0].data, GRAPHS, np.arange(16))
    return [TrainedModel.untrained(own, encoder, task_of(GRAPHS)) for own in settings]


@pytest.mark.parametrize(("count", "members"), [(1, 1), (3, 1), (2, 2)])
def test_logits_and_saliency_are_those_of_each_model(count: int, members: int) -> None:
    trained = models("sar-gcn", count, members)
    weights = StackedWeights([each.model for each in trained], "joint")
    assert weights.shape == (count, members)
    index = np.arange(5)
    targets, encoders = trained[0].task.targets(GRAPHS), [each.encoder for each in trained]
    stack = make_stack(GRAPHS, [targets] * len(encoders), encoders, index, "padded", torch.device("cpu"))
    fields = stack.fields(stack.rows(np.tile(index, (count, 1))), stack.room(index))
    with torch.no_grad():
        logits, saliency, losses = weights.forward(stack, fields, 5, train=False)
        assert losses == ()
        for k, each in enumerate(trained):
            batch = each.tensors(GRAPHS).batch(index, ("padded",))
            encoding = each.model.eval().encode(batch)
            torch.testing.assert_close(logits[k], each.model.head(encoding.graph))
            for stacked, own in zip(saliency, encoding.saliency, strict=True):
                torch.testing.assert_close(stacked[k][: own.shape[0], : own.shape[1]], own)


def test_only_the_models_that_improved_keep_their_weights() -> None:
    trained = models("sar-gin", 2)
    weights = StackedWeights([each.model for each in trained], "alternating")
    assert len(weights.turns) == 2
    assert sum(part.stop - part.start for part in weights.columns) == weights.flat.shape[1]
    before = [each.model.state_dict() for each in models("sar-gin", 2)]
    with torch.no_grad():
        weights.flat += 1
    weights.keep_best(np.array([True, False]))
    for k, each in enumerate(trained):
        weights.load_best(k, each.model)
    for name, value in trained[1].model.state_dict().items():
        torch.testing.assert_close(value, before[1][name], rtol=0, atol=0)
    moved = [name for turn in weights.turns for name in turn]
    state = trained[0].model.state_dict()
    for name in moved:
        torch.testing.assert_close(state[name], before[0][name] + 1)


def test_one_without_vmap_is_as_one_of_many() -> None:
    x = torch.arange(6.0).view(1, 2, 3)

    def twice(own: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return own * 2, own.sum()

    for mine, theirs in zip(of_each(twice, 1)(x), of_each(twice, 2)(torch.cat([x, x])), strict=True):
        torch.testing.assert_close(mine, theirs[:1])
