"""The models that come with the package: small, whole, and as good as their records say."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sargnn
from sargnn.errors import InputError
from sargnn.training.hub import FILES
from sargnn.training.model_address import DEMO, demo_models, local_folder
from sargnn.training.run import score


@pytest.fixture(params=demo_models())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_they_are_small_and_hold_only_models() -> None:
    files = [path for name in demo_models() for path in local_folder(DEMO + name).rglob("*") if path.is_file()]
    assert {path.name for path in files} == set(FILES)
    assert sum(path.stat().st_size for path in files) < 500_000


def test_each_says_how_it_scored(name: str) -> None:
    record = json.loads((local_folder(DEMO + name) / "training.json").read_text())
    assert record["status"] == "finished"
    assert record["scores"]["test"]["accuracy"] > record["scores"]["test"]["baselines"]["largest class"]["accuracy"]


def test_the_triangles_score_as_recorded() -> None:
    record = json.loads((local_folder("demo:triangles") / "training.json").read_text())
    graphs = sargnn.triangles(train=800, validation=200, test=500, test_large=0, seed=0)
    assert graphs.fingerprint == record["data"]["fingerprint"]
    test = np.array(record["split"]["test"])
    chosen, model = graphs.subset(test), sargnn.load_model("demo:triangles")
    found = score(model, chosen, model.predict(chosen), np.arange(len(test)))
    assert found["accuracy"] == pytest.approx(record["scores"]["test"]["accuracy"], abs=2.5 / len(test))
    assert found["saliency_auc"] == pytest.approx(record["scores"]["test"]["saliency_auc"], abs=0.01)


def test_the_molecules_can_be_of_ones_own() -> None:
    ring = nx.cycle_graph(6)
    nx.set_node_attributes(ring, "0", "label")
    nx.set_edge_attributes(ring, "0", "label")
    found = sargnn.load_model("demo:mutag").predict([ring])
    assert found.classes == ("-1", "1")
    assert found.mean_saliency is not None
    assert found.mean_saliency.sum() == pytest.approx(1)


@pytest.mark.parametrize("address", ["demo:", "demo:nothing", "demo:../hub.py", "demo:mutag/.."])
def test_what_is_no_demo_is_said(address: str) -> None:
    with pytest.raises(InputError, match="expected demo: and one of mutag, triangles"):
        local_folder(address)


def test_other_addresses_are_paths() -> None:
    assert local_folder("runs/demo:x") == Path("runs/demo:x")
    assert local_folder(Path("a")) == Path("a")
