"""Models by the C kernels: the same losses and the same gradients, step after step, as by PyTorch's operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from literal import BACKBONES, EXAMPLES, kernels, make_model, random_graph, tensor_set
from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.features.encoder import Encoder
from sargnn.nn import VARIANTS, ModelConfig
from sargnn.tasks import Classification
from sargnn.training.loop import loss_of, predict_outputs
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel
from tiny import labelled, shapes

TASK = Classification(("a", "b"))

BATCH = 7
CONFIGS: dict[str, dict[str, Any]] = {
    **{f"{b} {v}": {"backbone": b, **values} for b in BACKBONES for v, values in VARIANTS.items()},
    "several heads and reads": {"memory_heads": 2, "iterations": 2, "heads": 2, "backbone": "gat"},
    "batch norm": {"norm": "batch", "input_norm": True},
    "salient nodes": {"readout": "salient", "normalize": "none"},
    "gated nodes": {"readout": "gated", "saliency": "none"},
    "memory, sum and maximum": {"readout": "all", "bias": True},
    "large beta": {"beta": 200.0},
}
SIZES = {"layers": 2, "hidden": 70, "memory": 66, "attention": 34}
"""Wide enough to take a kernel through its blocks, single vectors and what remains."""


@pytest.fixture(autouse=True)
def _with_kernels() -> None:
    kernels(torch.float64)


def gradient(model: torch.nn.Module, loss: Tensor) -> Tensor:
    model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("name", CONFIGS)
def test_kernels_change_nothing(name: str) -> None:
    graphs = [*EXAMPLES, random_graph(20, 40)]
    model = make_model(
        ModelConfig(**{"hidden": 70, "memory": 66, "attention": 34, "layers": 2, **CONFIGS[name]})
    ).train()
    data, everything = tensor_set(graphs), np.arange(len(graphs))
    found = []
    for batch in (data.packed(everything), data.compressed(everything)):
        logits = model.head(model.encode(batch).graph)
        rates = torch.arange(logits.numel(), dtype=torch.float64).view_as(logits) / logits.numel()
        found.append((logits.detach(), gradient(model, (logits * rates).sum())))
    for expected, got in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-8 * expected.abs().max().item())


def double_set(settings: Settings) -> tuple[torch.nn.Module, TensorSet]:
    """The model of the settings and labelled graphs for it, both in float64."""
    graphs = labelled(shapes(truth=True))
    encoder = Encoder.fit(settings.data, graphs)
    model = TrainedModel.untrained(settings, encoder, Classification(graphs.classes)).model.double()
    edge_x = encoder.encode_edges(graphs).astype(float) if encoder.edge_width else None
    return model, TensorSet(graphs, encoder.encode(graphs).astype(float), edge_x=edge_x)


def epoch(settings: Settings, layout: str) -> list[tuple[Tensor, Tensor]]:
    """Loss and gradient of every step of one epoch."""
    model, data = double_set(settings)
    optimizer = torch.optim.Adam(model.train().parameters(), lr=0.01)
    steps = []
    for start in range(0, len(data), BATCH):
        batch: Batch = getattr(data, layout)(np.arange(start, min(start + BATCH, len(data))))
        loss = loss_of(model, TASK, batch, settings.training)
        steps.append((loss.detach(), gradient(model, loss)))
        optimizer.step()
    return steps


SMALL = {"model.dropout": 0.0, "model.hidden": 24, "model.layers": 3}


@pytest.mark.parametrize(
    ("model", "values"),
    [("sargnn-plus", {}), ("sar-gcn", {}), ("sar-gcn", {"training.saliency_weight": 0.5}), ("gin", {})],
)
def test_an_epoch_has_the_same_losses_and_gradients(model: str, values: dict[str, Any]) -> None:
    settings = Settings.of(model, SMALL | values)
    for (loss, slope), (expected, expected_slope) in zip(
        epoch(settings, "compressed"), epoch(settings, "packed"), strict=True
    ):
        torch.testing.assert_close(loss, expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(slope, expected_slope, rtol=1e-6, atol=1e-8)


def test_a_set_that_was_first_predicted_trains_the_same() -> None:
    """What a set keeps for its batches was then made in inference mode, whose tensors no gradient may pass."""
    settings = Settings.of("sargnn-plus", SMALL)
    found = []
    for predicts in (False, True):
        model, data = double_set(settings)
        if predicts:
            predict_outputs(model, data, np.arange(len(data)))
        loss = loss_of(model.train(), TASK, data.compressed(np.arange(BATCH)), settings.training)
        found.append(gradient(model, loss))
    assert torch.equal(*found)


def test_a_drawn_dropout_is_the_same_for_the_same_seed() -> None:
    settings = Settings.of("sargnn-plus", SMALL | {"model.dropout": 0.4})
    model, data = double_set(settings)
    batch, losses = data.compressed(np.arange(BATCH)), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        losses.append(loss_of(model.train(), TASK, batch, settings.training).item())
    assert losses[0] == losses[1] != losses[2]
