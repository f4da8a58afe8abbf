"""Rows of the promised form. Never a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sargnn.bench import measure
from sargnn.bench.measure import Cell, random_graphs

CELL = Cell("step", ("sar-gcn", "pyg-gcn", "pyg-sar-gcn"), 5, 8, 1, "cpu", rounds=3, most_seconds=0.0, busy_limit=1e9)


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """Sizes at which a cell takes milliseconds."""
    monkeypatch.setattr(measure, "EPOCH_BATCHES", 4)
    monkeypatch.setattr(measure, "GROWTH_BATCHES", (2, 5, 20))
    monkeypatch.setattr(measure, "SHAPES", [("nodes", 4, 4, 6), ("edges", 9, 6, 9)])
    monkeypatch.setattr(measure, "GROWTH_MODELS", (1, 2))


@pytest.mark.usefixtures("small")
def test_rows_have_the_promised_fields() -> None:
    kinds = ("step", "epoch", "assembly", "folds")
    rows = measure.measure([replace(CELL, kind=kind) for kind in kinds])
    for kind in kinds:
        pairs = {(row["contender"], row["reference"]) for row in rows if row["kind"] == kind}
        assert pairs == {("sar-gcn", "pyg-gcn"), ("sar-gcn", "pyg-sar-gcn"), ("pyg-sar-gcn", "pyg-gcn")}
    for row in rows:
        assert list(row)[:8] == ["kind", "contender", "reference", "batch", "hidden", "threads", "ratio", "spread"]
        assert (row["batch"], row["hidden"], row["threads"]) == (5, 8, 1)
        assert row["ratio"] > 0
        assert row["spread"] >= 0


@pytest.mark.usefixtures("small")
def test_folds_are_shared_out_among_processes() -> None:
    cell = replace(CELL, kind="folds", contenders=("sar-gcn", "pyg-sar-gcn"), threads=2)
    [row] = measure.measure([cell])
    assert (row["kind"], row["contender"], row["reference"], row["threads"]) == ("folds", "sar-gcn", "pyg-sar-gcn", 2)
    assert row["ratio"] > 0


@pytest.mark.usefixtures("small")
def test_a_study_is_thirty_models(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "STUDY_EPOCHS", 1)
    [row] = measure.measure([replace(CELL, kind="study", contenders=("sar-gcn",), batch=32)])
    assert (row["kind"], row["contender"], row["data"]) == ("study", "sar-gcn", "MUTAG")
    assert (row["models"], row["epochs"], row["batch"], row["device"]) == (30, 1, 32, "cpu")
    assert row["seconds"] > 0


@pytest.mark.usefixtures("small")
def test_growth_by_batch_compares_with_a_quarter() -> None:
    rows = measure.measure([replace(CELL, kind="growth by batch", contenders=("gcn",), batch=20)])
    assert [row["size"] for row in rows if row["kind"] == "growth"] == [2, 5, 20]
    [compared] = [row for row in rows if row["kind"] == "step"]
    names = (compared["contender"], compared["reference"], compared["batch"], compared["reference_batch"])
    assert names == ("gcn", "gcn", 20, 5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("kind", "by"), [("growth by shape", {"nodes", "edges"}), ("growth by models", {"models"})])
def test_growth_by_shape_and_models(kind: str, by: set[str]) -> None:
    rows = measure.measure([replace(CELL, kind=kind, contenders=("sar-gcn",), batch=20)])
    assert {row["by"] for row in rows} == by
    assert all(row["seconds"] > 0 for row in rows)


def test_random_graphs_have_as_many_nodes_and_edges_as_asked() -> None:
    graphs = random_graphs(3, nodes=5, edges=7)
    assert np.diff(graphs.edge_ptr).tolist() == [14] * 3
    assert np.diff(random_graphs(1, nodes=3, edges=9).edge_ptr).tolist() == [6]
