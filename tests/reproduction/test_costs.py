"""What models cost: operations counted by formula, by hand, and by PyTorch on another implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from sargnn.bench.contenders import PyGGCN, PyGSAR, Workload
from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.nn.ensemble import Ensemble
from sargnn.nn.model import SARGNN, VARIANTS, ModelConfig
from sargnn.reproduction import paper
from sargnn.reproduction.cost_figures import complexity
from sargnn.reproduction.costs import CostJob, cost_job, flops, work
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts
from sargnn.systems import find_system
from sargnn.training.settings import Settings
from tiny import shapes

NODES, EDGES, INPUTS, CLASSES = 15.614, 49.3752, 12, 10
"""Of the mean test graph of TRIANGLES, and of its one-hot degrees in training."""


def model(backbone: str, width: int, **values: Any) -> SARGNN:
    config = ModelConfig(backbone=backbone, hidden=width, norm="batch", **values)  # type: ignore[arg-type]
    return SARGNN(config, INPUTS, CLASSES)


def small(edge_inputs: int = 0, **values: Any) -> SARGNN:
    """One layer, from three inputs to four features."""
    return SARGNN(ModelConfig(layers=1, hidden=4, **values), inputs=3, classes=2, edge_inputs=edge_inputs)


@pytest.mark.parametrize(
    ("backbone", "products"),
    [
        ("gcn", 60 + 39),  # H Θ 5·3·4, sums (5 + 8)·3
        ("sage", 60 + 39),
        ("gin", 60 + 80 + 39),  # a perceptron of 3·4 and 4·4
        ("gat", 60 + 40 + 52),  # W h, attention 2·5·4, sums (5 + 8)·4
    ],
)
def test_a_layer_by_hand(backbone: str, products: int) -> None:
    # head 4·4 + 4·2 = 24; a product with its sum is two
    assert flops(small(backbone=backbone, **VARIANTS["base"]), nodes=5.0, edges=8.0) == 2 * (products + 24)


FIRST, LAST = 60 + 48, 80 + 48
"""Reads of 3 and of 4 features: K and V 2·5·3·2 or 2·5·4·2, q 6·2 = 12, scores and sum 2·5·2 = 20, perceptron 2·2 +
2·6 = 16."""
SALIENCY = 52
"""q 12, K 5·3·2 = 30, product 10."""


@pytest.mark.parametrize(
    ("readout", "products"),
    [
        ("memory", FIRST + LAST + 6 * 6 + 6 * 2),
        ("sum", FIRST + 4 * 4 + 4 * 2),
        ("all", FIRST + LAST + (6 + 4 + 4) * 4 + 4 * 2),
        ("salient", FIRST + LAST + (12 + 5 * 4 * 2 + 10) + 5 * 4 + (4 + 4) * 4 + 4 * 2),  # one more saliency, its sum
        ("gated", FIRST + 5 * (7 * 4 + 4) + 5 * 4 + (4 + 4) * 4 + 4 * 2),  # the gates of five nodes, their sum
    ],
)
def test_every_readout_by_hand(readout: str, products: int) -> None:
    assert flops(small(memory=6, attention=2, readout=readout), nodes=5.0, edges=8.0) == 2 * (99 + SALIENCY + products)


def test_every_read_of_an_iteration_counts() -> None:
    once, twice = (flops(small(memory=6, attention=2, iterations=k), nodes=5.0, edges=8.0) for k in (1, 2))
    assert twice - once == 2 * 2 * 48


def test_edge_channels_by_hand() -> None:
    plain, channels = small(), small(edge_inputs=5, edge_channels=2, relative=True)
    # W_e 8·5·2, W_x 5·3·2; A 5·3·4 (two channels of two features), sums 8·6, V 5·6·3
    more = 80 + 30 + 60 + 48 + 90
    assert flops(channels, nodes=5.0, edges=8.0) == flops(plain, nodes=5.0, edges=8.0) + 2 * more


def test_members_of_an_ensemble_each_count() -> None:
    assert flops(Ensemble([small(), small(), small()]), nodes=5.0, edges=8.0) == 3 * flops(small(), 5.0, 8.0)


def test_other_systems_are_refused_and_not_counted_too_low() -> None:
    settings = Settings.of("sagpool")
    other = find_system("sagpool").model.build(settings.model, inputs=3, classes=2)
    with pytest.raises(InputError, match="got a SAGPool with parts of other systems, expected a SAR model"):
        flops(other, nodes=5.0, edges=8.0)


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
    assert flops(SARGNN(config, 6, 2), nodes=5.0, edges=10.0) == counter.get_total_flops() + 2 * (sums + attention)


@pytest.mark.parametrize(("width", "other"), paper.EQUAL_PARAMETERS.items())
def test_declared_widths_have_equal_parameters(width: int, other: int) -> None:
    sizes = [
        sum(p.numel() for p in made.parameters())
        for made in (model("gcn", width), model("gcn", other, **VARIANTS["base"]))
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


@pytest.mark.parametrize(("backbone", "widths"), paper.EQUAL_FLOPS.items())
def test_declared_widths_have_equal_operations(backbone: str, widths: dict[int, int]) -> None:
    for width, other in widths.items():
        sar = flops(model(backbone, width), NODES, EDGES)
        base = flops(model(backbone, other, **VARIANTS["base"]), NODES, EDGES)
        assert sar == pytest.approx(base, rel=0.025)


def test_a_cost_row_says_parameters_operations_and_time(tmp_path: Path) -> None:
    graphs = shapes()
    graphs.save(tmp_path / "set")
    settings = Settings.of("sar-gcn", {"model.layers": 1, "model.hidden": 4})
    [(_, row)] = work([CostJob(str(tmp_path / "set"), graphs.fingerprint, settings)], "cpu")
    model = SARGNN(ModelConfig(layers=1, hidden=4), 2, 2)
    assert row["parameters"] == sum(p.numel() for p in model.parameters())
    assert row["flops"] == pytest.approx(flops(model, row["nodes"], row["edges"]))
    assert row["seconds_per_graph"] > 0


def test_models_that_differ_in_training_alone_have_one_cost() -> None:
    study = complexity(PRESETS["quick"], lambda data: SetFacts("fingerprint", 1))
    cell = study.cells["sar-gcn", "64 features"]
    assert len(cell.grid) == 2
    assert cost_job(cell).to_json()["settings"] == {"name": "sar-gcn", "model": {"norm": "batch"}}
