"""Models on graphs two by two: the same graph vectors and the same gradient as on each graph padded alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from literal import BACKBONES, EXAMPLES, make_model, random_graph, tensor_set
from sargnn.batching import Batch
from sargnn.batching.tensor_set import _pairs
from sargnn.nn import SARGNN, VARIANTS, ModelConfig
from sargnn.systems.as_published import AsPublishedConfig

GRAPHS = [*EXAMPLES, random_graph(20, 40)]
CONFIGS: dict[str, dict[str, Any]] = {
    **{f"{b} {v}": {"backbone": b, **values} for b in BACKBONES for v, values in VARIANTS.items()},
    "several heads and reads": {"memory_heads": 2, "iterations": 2, "heads": 2, "backbone": "gat"},
    "batch norm": {"norm": "batch", "input_norm": True},
    "layer norm": {"norm": "layer", "bias": True},
    "as published": {"memory_block": "as-published", "saliency": "learned", "memory_heads": 2, "attention": None},
    "large beta": {"beta": 200.0},
}


def gradient(model: SARGNN, batch: Batch, order: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits in the order of the set, and the gradient of an uneven sum of them."""
    model.zero_grad()
    logits = torch.empty(len(order), 3, dtype=torch.float64)
    logits = logits.index_copy(0, torch.from_numpy(order), model.head(model.encode(batch).graph))
    (logits * torch.arange(logits.numel()).view_as(logits)).sum().backward()
    return logits.detach(), torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("count", [len(GRAPHS), len(GRAPHS) - 1])
@pytest.mark.parametrize("name", CONFIGS)
def test_pairs_change_nothing(name: str, count: int) -> None:
    kind = AsPublishedConfig if name == "as published" else ModelConfig
    model = make_model(kind(**{"hidden": 8, "layers": 2, **CONFIGS[name]}))
    data, everything = tensor_set(GRAPHS[:count]), np.arange(count)
    order, _ = _pairs(everything, data.sizes)
    expected, expected_gradient = gradient(model, data.padded(everything), everything)
    got, got_gradient = gradient(model, data.paired(everything), order)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(got_gradient, expected_gradient, rtol=1e-8, atol=1e-8)
