"""Over HTTP as by the command: for every system that can be served, and for every task."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from command import answer_of, rows_of
from sargnn.data.graphs import GraphSet
from sargnn.data.io.convert import convert
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.serving.loaded import LoadedRun
from sargnn.training.run import train
from sargnn.training.settings import Settings
from served import Client
from test_every_system import settings_of, systems
from tiny import FOLD, shapes, tiny


def check(graphs: GraphSet, settings: Settings, tmp_path: Path, client: Client) -> None:
    """What ``sargnn predict`` writes is what the server answers, to 1e-6, graph by graph, mixed into one request."""
    train(graphs, settings, tmp_path / "run", fold=FOLD)
    convert(graphs, tmp_path / "graphs.jsonl", "jsonl")
    items = [json.loads(line) for line in (tmp_path / "graphs.jsonl").read_text().splitlines()]
    one = check_predictions(tmp_path / "graphs.jsonl", items, tmp_path, client)
    browsed = one.post("/v1/models/run/explain", json={"graphs": items[:2], "drawing": True, "effects": True})
    assert [result["status"] for result in browsed.json()["results"]] == [200, 200]


def check_predictions(file: Path, items: list[dict[str, Any]], tmp_path: Path, client: Client) -> TestClient:
    """``items`` are the graphs of the file as they are sent."""
    answer_of("predict", tmp_path / "run", file, "--out", tmp_path / "predictions.csv")
    expected = rows_of(tmp_path / "predictions.csv")
    one = client(tmp_path / "run")
    results = one.post("/v1/models/run/predict", json={"graphs": items}).json()["results"]
    assert len(results) == len(expected)
    for result, row in zip(results, expected, strict=True):
        assert result["status"] == 200, result
        for column, value in result["values"].items():
            wanted = row[column] if isinstance(value, str) else pytest.approx(float(row[column]), abs=1e-6)
            assert value == wanted
    return one


@systems
def test_every_system(name: str, tmp_path: Path, client: Client) -> None:
    check(shapes(), settings_of(name), tmp_path, client)


def test_a_system_of_molecules_takes_smiles(molecules: Path, tmp_path: Path, client: Client) -> None:
    table = molecules.with_suffix(".csv")
    train(load(table), Settings.of("fingerprint-forest", {"model.trees": 10}), tmp_path / "run")
    check_predictions(table, [{"smiles": row["smiles"]} for row in rows_of(table)], tmp_path, client)


def test_a_system_that_draws_is_refused(tmp_path: Path) -> None:
    train(shapes(), tiny("ugformer", model__feed_forward=8), tmp_path / "run", fold=FOLD)
    with pytest.raises(InputError, match="draws random numbers"):
        LoadedRun.load("run", tmp_path / "run")


def with_targets(kind: str) -> GraphSet:
    graphs, rng = shapes(), np.random.default_rng(0)
    assert graphs.y is not None
    first = graphs.y.astype(float)
    targets = np.stack([first, 1 - first] if kind == "multilabel" else [graphs.sizes / 3, first + 0.5], axis=1)
    targets[rng.random(targets.shape) < 0.2] = np.nan
    return replace(graphs, y=None, classes=(), targets=targets.astype(float), target_names=("one", "two"))


@pytest.mark.parametrize("kind", ["multilabel", "regression"])
@pytest.mark.parametrize("name", ["topological-forest", "gsat"])
def test_other_systems_of_every_task(name: str, kind: str, tmp_path: Path, client: Client) -> None:
    check(with_targets(kind), settings_of(name), tmp_path, client)


@pytest.mark.parametrize("kind", ["multilabel", "regression"])
def test_every_task(kind: str, tmp_path: Path, client: Client) -> None:
    graphs = with_targets(kind)
    check(graphs, tiny("sargnn-plus", model__members=2), tmp_path, client)
    one = client(tmp_path / "run", data=graphs)
    assert one.get("/v1/models/run").json()["task"] == kind
    asked = {"graphs": [{"set": "data", "graph": 3}], "coverage": 0.8, "trust": True}
    (said,) = one.post("/v1/models/run/predict", json=asked).json()["results"]
    assert said["status"] == 200
    assert len(said["region"]) == (2 if kind == "multilabel" else 4)
    assert one.get("/v1/sets/data/graphs", params={"model": "run"}).status_code == 200
