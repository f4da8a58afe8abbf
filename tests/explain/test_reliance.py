"""Reliance: by hand on a model that reads one node, and a verdict that can fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import pack
from sargnn.explain.metrics import Interval
from sargnn.explain.reliance import Reliance, reliance
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.training.run import train
from tiny import FOLD, measured_shapes, shapes, tiny

NODES, GRAPHS = 10, 40


class OneNode(GraphModel):
    """Its outputs are the sum of the nodes' inputs."""

    head = nn.Identity()

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(batch.sum(batch.x), batch.x)


def found(saliency: np.ndarray) -> Reliance:
    """Of graphs of ten nodes, the first of which has the input 1 and decides alone."""
    x = np.zeros((GRAPHS, NODES, 1), np.float32)
    x[:, 0] = 1
    data = TensorSet(pack([(NODES, [])] * GRAPHS), x.reshape(-1, 1))
    one = reliance(OneNode(), data, np.arange(GRAPHS), saliency, Tensor.numpy)
    assert one is not None
    return one


def test_the_node_that_decides_suffices_and_is_needed() -> None:
    right = found(np.tile(np.arange(NODES) == 0, GRAPHS).astype(float))
    assert right.kept == Interval(0, 0, 0)
    assert right.removed == Interval(1, 1, 1)
    # Of ten nodes 5, 3 and 2 are kept or removed: the first is gone with chances .5, .7, .8, and .5, .3, .2.
    assert right.random_kept.mean == pytest.approx(2 / 3, abs=0.15)
    assert right.random_removed.mean == pytest.approx(1 / 3, abs=0.15)
    assert right.verdict == "saliency beats random nodes, in what suffices and in what is needed"


def test_saliency_that_looks_elsewhere_is_told() -> None:
    wrong = found(np.tile(np.arange(NODES) > 0, GRAPHS).astype(float))
    assert wrong.kept == Interval(1, 1, 1)
    assert wrong.removed == Interval(0, 0, 0)
    assert wrong.verdict == "saliency is not shown to beat random nodes: do not read the decision off it"


def test_too_few_graphs_say_nothing() -> None:
    data = TensorSet(pack([(1, []), (1, []), (3, [])]), np.ones((5, 1), np.float32))
    assert reliance(OneNode(), data, np.arange(3), np.ones(5), Tensor.numpy) is None


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_run_says_whether_its_saliency_is_relied_on(task: str, tmp_path: Path) -> None:
    graphs = shapes() if task == "classes" else measured_shapes()
    run = train(graphs, tiny(), tmp_path / "run", fold=FOLD)
    record: Any = json.loads((tmp_path / "run" / "training.json").read_text())["reliance"]
    assert record["verdict"] == run.reliance.verdict
    assert record["graphs"] == len(FOLD.test)
    assert run.reliance.verdict in (tmp_path / "run" / "report.html").read_text()
    plain = train(graphs, tiny("gin"), tmp_path / "plain", fold=FOLD)
    assert plain.reliance is None
    assert "what its saliency shows" not in (tmp_path / "plain" / "report.html").read_text()


def test_it_is_the_same_every_time() -> None:
    saliency = torch.rand(GRAPHS * NODES, generator=torch.Generator().manual_seed(0)).double().numpy()
    assert found(saliency) == found(saliency)
