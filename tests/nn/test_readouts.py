"""Readouts: each as wide as it says, made of what it says it reads, and saved under the names of old folders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from literal import CLASSES, EXAMPLES, INPUTS, batch_of
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.nn.readouts import READOUTS

every_readout = pytest.mark.parametrize("readout", READOUTS)
SIZES = {"hidden": 6, "memory": 5, "layers": 2}


def model_of(readout: str, saliency: str = "learned") -> SARGNN:
    torch.manual_seed(0)
    return SARGNN(ModelConfig(readout=readout, saliency=saliency, **SIZES), INPUTS, CLASSES)


@every_readout
def test_a_readout_is_as_wide_as_it_says(readout: str) -> None:
    model = model_of(readout)
    vectors = model.encode(batch_of(EXAMPLES, "packed", np.float32)).graph
    assert vectors.shape == (len(EXAMPLES), READOUTS[readout].width(6, 5))
    assert [READOUTS[readout].width(6, 5), READOUTS[readout].classifier_width(6, 5)] == {
        "memory": [5, 5], "sum": [6, 6], "all": [17, 6], "salient": [12, 6], "gated": [12, 6],
    }[readout]  # fmt: skip


@pytest.mark.parametrize(
    ("readout", "saliency", "reads"),
    [
        ("memory", "learned", 3), ("memory", "none", 3), ("memory", "uniform", 3), ("sum", "learned", 2),
        ("sum", "random", 2), ("sum", "none", 0), ("sum", "uniform", 0), ("all", "none", 3),
        ("salient", "learned", 3), ("salient", "uniform", 0), ("gated", "learned", 2), ("gated", "none", 0),
    ],
)  # fmt: skip
def test_the_memory_is_read_as_often_as_something_needs_it(readout: str, saliency: str, reads: int) -> None:
    model = model_of(readout, saliency)
    assert len(model.memory_layers) == reads
    assert (model.initial_memory is None) == (reads == 0)
    assert len(model.encode(batch_of(EXAMPLES, "packed", np.float32)).saliency) == (
        1 if readout in ("salient", "gated") else 0 if saliency == "none" else 2
    )


@every_readout
def test_weights_keep_the_names_under_which_folders_hold_them(readout: str) -> None:
    names = {name.split(".")[0] for name, _ in model_of(readout).named_parameters()}
    own = {"salient": {"readout_saliency"}, "gated": {"gates"}}.get(readout, set())
    assert names == {"backbone", "saliency_layers", "initial_memory", "memory_layers", "head"} | own
