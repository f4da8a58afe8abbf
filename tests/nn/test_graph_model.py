"""The contract of a model: its defaults, and that every system keeps to it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import sargnn
from literal import EXAMPLES, INPUTS, batch_of, tensor_set
from sargnn.errors import InputError
from sargnn.nn import Encoding, GraphModel
from sargnn.systems import SYSTEMS

SOURCE = Path(sargnn.__file__).parent


class Counts(GraphModel):
    """As little as a model can be."""

    def __init__(self, config: None, inputs: int, classes: int) -> None:
        super().__init__()
        self.head = torch.nn.Linear(inputs, classes)

    def encode(self, batch: sargnn.nn.graph_model.Batch) -> Encoding:
        return Encoding(batch.sum(batch.x), batch.x)


def test_a_model_needs_encode_and_head_alone() -> None:
    model = Counts.build(None, INPUTS, 2, edge_inputs=0, graph_inputs=0)
    batch = batch_of(EXAMPLES, "packed", np.float32)
    encoding = model.encode(batch)
    assert (encoding.saliency, encoding.loss) == ((), None)
    assert model.head(encoding.graph).shape == (len(EXAMPLES), 2)
    assert (model.fits_directly, model.draws_in_eval, model.ensemble_members()) == (False, False, [model])
    assert [len(block) for block in model.parameter_blocks()] == [2]
    model.resize_to({})
    with pytest.raises(NotImplementedError):
        model.fit_directly(tensor_set(EXAMPLES), np.arange(1), 0, balanced=False)


@pytest.mark.parametrize("of", ["edge", "graph"])
def test_inputs_that_nothing_would_read_are_refused(of: str) -> None:
    line = rf"^data\.{of}_encodings: got 3 {of} inputs, expected none: Counts reads none$"
    with pytest.raises(InputError, match=line):
        Counts.build(None, INPUTS, 2, **{f"{of}_inputs": 3})


@pytest.mark.parametrize("name", SYSTEMS)
def test_blocks_hold_every_parameter_once(name: str) -> None:
    system = SYSTEMS[name]
    fingerprints = {"graph_inputs": 4} if name == "fingerprint-forest" else {}
    model = system.model.build(system.config(**system.values), INPUTS, 2, **fingerprints)
    blocks = [id(p) for block in model.parameter_blocks() for p in block]
    assert sorted(blocks) == sorted(id(p) for p in model.parameters())


def test_no_model_is_probed() -> None:
    """A model is asked, never searched for an attribute that it may have."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("hasattr", "getattr")
            ):
                probed = ast.unparse(node.args[0])
                if re.search(r"(^|\.)(model|member|network)$", probed) or probed == "settings.model":
                    found.append(f"{path.name}: {ast.unparse(node)}")
    assert not found
