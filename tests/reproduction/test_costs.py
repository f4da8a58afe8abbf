"""What models cost: operations counted by formula, by hand, and by PyTorch on another implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from sargnn.bench.contenders import PyGGCN, PyGSAR, Workload
from sargnn.data.graphs import pack
from sargnn.nn.model import SARGNN, VARIANTS, ModelConfig
from sargnn.reproduction import paper
from sargnn.reproduction.cost_figures import complexity
from sargnn.reproduction.costs import cost_job, flops, work
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts
from sargnn.training.settings import Settings
from tiny import shapes

NODES, EDGES, INPUTS, CLASSES = 15.614, 49.3752, 12, 10
"""Of the mean test graph of TRIANGLES, and of its one-hot degrees in training."""


def model(backbone: str, width: int, **values: Any) -> ModelConfig:
    return ModelConfig(backbone=backbone, hidden=width, norm="batch", **values)  # type: ignore[arg-type]


def test_a_gat_layer_by_hand() -> None:
    # W h 5·3·4 = 60, attention 2·5·4 = 40, sums (5 + 8)·4 = 52, head 4·4 + 4·2 = 24; a product with its sum is two
    config = ModelConfig(backbone="gat", layers=1, hidden=4, **VARIANTS["base"])
    assert flops(config, inputs=3, classes=2, nodes=5.0, edges=8.0) == 2 * (60 + 40 + 52 + 24)


def test_memory_and_saliency_by_hand() -> None:
    # GCN 60 + 39; reads of 3 and of 4 features: K and V 2·5·3·2 = 60 and 80, and twice q 6·2 = 12, scores and sum
    # 2·5·2 = 20, perceptron 2·2 + 2·6 = 16; saliency: q 12, K 5·3·2 = 30, product 10; head 6·6 + 6·2 = 48
    config = ModelConfig(layers=1, hidden=4, memory=6, attention=2)
    assert flops(config, inputs=3, classes=2, nodes=5.0, edges=8.0) == 2 * (99 + 60 + 80 + 2 * 48 + 52 + 48)


@pytest.mark.parametrize("contender", [PyGGCN, PyGSAR])
def test_dense_products_are_those_that_pytorch_counts(contender: type[PyGSAR]) -> None:
    """In another implementation of the equations. PyTorch does not count sums over neighbourhoods or over nodes."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    graphs = pack([(5, [*ring, *((b, a) for a, b in ring)])], y=[0], classes=["a", "b"])
    plain = contender is PyGGCN
    config = ModelConfig(layers=3, hidden=8, **(VARIANTS["base"] if plain else {}))
    inputs = np.ones((5, 6), np.float32)
    ours = contender(Workload(graphs, inputs, torch.device("cpu")), SARGNN(config, 6, 2))
    edges = torch.tensor([*ring, *((b, a) for a, b in ring)]).T
    with FlopCounterMode(display=False) as counter:
        ours.logits(torch.from_numpy(inputs), edges, torch.zeros(5, dtype=torch.long), 1)
    sums = 15 * (6 + 8 + 8)
    attention = 0 if plain else 4 * 2 * 5 * 8 + 3 * 5 * 8
    assert flops(config, 6, 2, nodes=5.0, edges=10.0) == counter.get_total_flops() + 2 * (sums + attention)


@pytest.mark.parametrize(("width", "other"), paper.EQUAL_PARAMETERS.items())
def test_declared_widths_have_equal_parameters(width: int, other: int) -> None:
    sizes = [
        sum(p.numel() for p in SARGNN(config, INPUTS, CLASSES).parameters())
        for config in (model("gcn", width), model("gcn", other, **VARIANTS["base"]))
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


@pytest.mark.parametrize(("backbone", "widths"), paper.EQUAL_FLOPS.items())
def test_declared_widths_have_equal_operations(backbone: str, widths: dict[int, int]) -> None:
    for width, other in widths.items():
        sar = flops(model(backbone, width), INPUTS, CLASSES, NODES, EDGES)
        base = flops(model(backbone, other, **VARIANTS["base"]), INPUTS, CLASSES, NODES, EDGES)
        assert sar == pytest.approx(base, rel=0.025)


def test_a_cost_row_says_parameters_operations_and_time(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_DEVICE", "cpu")
    graphs = shapes()
    graphs.save(tmp_path / "set")
    settings = Settings.of("sar-gcn", {"model.layers": 1, "model.hidden": 4}).changes()
    job = {
        "stage": "cost", "data": str(tmp_path / "set"), "fingerprint": graphs.fingerprint, "fold": 0,
        "system": "sar-gcn", "settings": settings,
    }  # fmt: skip
    [(_, row)] = work([job])
    model = SARGNN(ModelConfig(layers=1, hidden=4), 2, 2)
    assert row["parameters"] == sum(p.numel() for p in model.parameters())
    assert row["flops"] == pytest.approx(flops(model.config, 2, 2, row["nodes"], row["edges"]))
    assert row["seconds_per_graph"] > 0


def test_models_that_differ_in_training_alone_have_one_cost() -> None:
    study = complexity(PRESETS["quick"], lambda data: SetFacts("fingerprint", 1))
    cell = study.cells["sar-gcn", "64 features"]
    assert len(cell.grid) == 2
    assert cost_job(cell)["settings"] == {"name": "sar-gcn", "model": {"norm": "batch"}}
