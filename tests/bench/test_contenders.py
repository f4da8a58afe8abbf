"""Contenders of a family compute the same thing, and train."""

from __future__ import annotations

import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
import torch

from sargnn.bench import measure
from sargnn.bench.contenders import CONTENDERS, FAMILIES, Workload, collating
from sargnn.bench.measure import Cell, check_equal, random_graphs
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.splits import Fold
from sargnn.nn.model import ModelConfig
from sargnn.training.loop import TrainingConfig

CELL = Cell("step", ("sar-gcn", "pyg-gcn", "pyg-sar-gcn"), 5, 8, 1, "cpu", rounds=3, most_seconds=0.0, busy_limit=1e9)


EAGER = [name for name in CONTENDERS if not name.endswith("-compiled")]


@pytest.fixture
def work() -> Workload:
    graphs = random_graphs(12, nodes=7, edges=9)
    return Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device("cpu"))


def built(work: Workload, *names: str) -> dict[str, Any]:
    return measure._built(replace(CELL, contenders=names), work)


def test_contenders_of_a_family_are_equal(work: Workload) -> None:
    check_equal(built(work, *EAGER), [np.arange(12), np.array([3, 1, 8])])


def test_every_family_has_a_contender_of_this_project() -> None:
    assert {family for family, _ in CONTENDERS.values()} == set(FAMILIES)


@pytest.mark.parametrize(("wrong", "reference"), [("pyg-sar-gcn", "sar-gcn"), ("pyg-gcn", "gcn")])
def test_a_contender_that_computes_something_else_is_found_out(work: Workload, wrong: str, reference: str) -> None:
    contenders = built(work, reference, wrong)
    with torch.no_grad():
        contenders[wrong].model.head[0].weight[0, 0] += 0.5
    with pytest.raises(AssertionError, match=f"{wrong} and {reference} differ by"):
        check_equal(contenders, [np.arange(12)])


@pytest.mark.parametrize("name", ["gcn", "sar-gcn", "pyg-gcn", "pyg-sar-gcn"])
def test_an_epoch_trains(work: Workload, name: str) -> None:
    contender = built(work, name)[name]
    before = [p.detach().clone() for p in contender.model.parameters()]
    epochs = contender.epochs(batch_size=4)
    next(epochs)
    next(epochs)
    assert any(not torch.equal(b, p) for b, p in zip(before, contender.model.parameters(), strict=True))


def test_on_a_gpu_every_family_would_train_as_an_ensemble(work: Workload) -> None:
    """Of its own architecture; an ensemble of one trains on a CPU too."""
    fold = Fold(np.arange(12), np.arange(1), np.arange(0))
    for name, family in FAMILIES.items():
        contender = built(work, name)[name]
        ensemble = contender.stack(fold, TrainingConfig(epochs=1, batch_size=4))
        [rows] = list(ensemble)
        assert np.isfinite(rows[0]["train_loss"])
        assert ensemble.models[0].model.config == ModelConfig(hidden=8, **family)


def test_the_loader_beside_a_gpu_needs_few_files_whatever_the_number_of_graphs() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:  # as others' contenders are
        assert elsewhere.submit(_graphs_loaded, 400, 300).result() == 400


def _graphs_loaded(count: int, open_files: int) -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    graphs = random_graphs(count, nodes=3, edges=2)
    objects = Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device("cpu")).objects
    return sum(batch.num_graphs for batch in collating(objects, 50, workers=2))
