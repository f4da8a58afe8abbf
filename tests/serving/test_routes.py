"""Predictions by REST: what comes back, in which order, with which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sargnn.serving.limits import Limits
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
from served import Client, graph
from tiny import shapes, tiny

PREDICT, EXPLAIN = "/v1/models/shapes/predict", "/v1/models/shapes/explain"


def test_results_come_in_the_order_of_the_graphs_and_a_bad_one_costs_no_other(client: Client) -> None:
    one = client()
    asked = [graph(3), {"nodes": []}, graph(7, ring=False), 3, graph(5)]
    answer = one.post(PREDICT, json={"graphs": asked})
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [result["graph"] for result in results] == [0, 1, 2, 3, 4]
    assert [result["status"] for result in results] == [200, 422, 200, 422, 200]
    for position in (0, 2, 4):
        (alone,) = one.post(PREDICT, json={"graphs": [asked[position]]}).json()["results"]
        assert alone["confidence"] == pytest.approx(results[position]["confidence"], abs=1e-6)
    assert all(len(results[position]["error"].splitlines()) == 1 for position in (1, 3))


def test_a_request_of_bad_graphs_alone_fails_as_they_do(client: Client) -> None:
    one = client(limits=Limits(max_nodes=5, max_graphs=2))
    assert one.post(PREDICT, json={"graphs": [{"nodes": []}]}).status_code == 422
    large = one.post(PREDICT, json={"graphs": [graph(6)]})
    assert large.status_code == 413
    assert large.json()["results"][0]["error"] == "got 6 nodes, expected at most 5"
    mixed = one.post(PREDICT, json={"graphs": [graph(6), graph(5)]})
    assert [result["status"] for result in mixed.json()["results"]] == [413, 200]
    many = one.post(PREDICT, json={"graphs": [graph(3)] * 3})
    assert many.status_code == 413
    assert many.json() == {"error": "got 3 graphs, expected at most 2 in a request"}
    long = one.post(PREDICT, json={"graphs": ["C" * 21]})
    assert long.json()["results"][0]["error"] == "got 21 characters of SMILES, expected at most 20"


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_for_its_graph(client: Client, number: str) -> None:
    body = json.dumps({"graphs": [graph(3), graph(3)]}).replace("0.1", number, 1)
    answer = client().post(PREDICT, content=body, headers={"content-type": "application/json"})
    first, second = answer.json()["results"]
    assert first["status"] == 422
    assert "attribute_0" in first["error"]
    assert second["status"] == 200


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"", 400), (b'{"graphs": ' + b"[" * 50_000, 400), (b"[]", 422), (b'{"graphs": []}', 422)],
    ids=["half", "nothing", "deep", "a list", "no graphs"],
)
def test_a_body_that_is_no_request(client: Client, content: bytes, status: int) -> None:
    answer = client().post(PREDICT, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("name", ["nothing", "..%2fshapes", "%2e%2e", "shapes%00", "SHAPES"])
def test_a_model_that_is_not_here(client: Client, name: str) -> None:
    for answer in (
        client().get(f"/v1/models/{name}"),
        client().post(f"/v1/models/{name}/predict", json={"graphs": []}),
    ):
        assert answer.status_code in (404, 405)
        assert set(answer.json()) == {"error"}


def test_a_card_says_what_the_model_is_and_reads(client: Client, run: Path) -> None:
    one = client()
    (line,) = one.get("/v1/models").json()["models"]
    card = one.get("/v1/models/shapes").json()
    assert card | line == card
    assert (card["task"], card["outputs"], card["saliency"], card["report"]) == (
        "classification",
        ["ring", "path"],
        True,
        True,
    )
    assert card["inputs"]["node_attributes"] == 2
    assert card["scores"]["test"]["graphs"] == 6
    assert one.post(PREDICT, json={"graphs": [card["example"]]}).status_code == 200
    assert one.get("/v1/models/shapes/report").content == (run / "report.html").read_bytes()


def test_an_explanation_has_maps_effects_and_a_drawing(client: Client, run: Path) -> None:
    answer = client().post(EXPLAIN, json={"graphs": [graph(4)], "drawing": True, "effects": True, "rule": "last"})
    (said,) = answer.json()["results"]
    assert said["saliency"] == said["layers"][-1]
    assert set(said["effects"]) == {"ring", "path"}
    assert len(said["effects"]["ring"]) == len(said["drawing"]["x"]) == 4
    assert len(said["drawing"]["bonds"]) == 4


def test_the_effect_of_each_node_is_found_in_small_graphs_alone(client: Client) -> None:
    """One pass for each node: ten thousand of them would keep everybody waiting."""
    asked = {"graphs": [graph(501), graph(3), "C" * 2001], "effects": True}
    results = client().post(EXPLAIN, json=asked).json()["results"]
    assert [result["status"] for result in results] == [413, 200, 413]
    assert results[0]["error"] == "got 501 nodes, expected at most 500 to find the effect of each"
    assert client().post(EXPLAIN, json=asked | {"effects": False}).json()["results"][0]["status"] == 200


def test_what_if_is_the_prediction_of_the_graph_that_is_left(client: Client) -> None:
    one, whole = client(), graph(5, ring=False)
    left = {"nodes": whole["nodes"][1:], "edges": whole["edges"][1:]}
    (what_if,) = one.post(EXPLAIN, json={"graphs": [whole | {"without": {"nodes": [0]}}]}).json()["results"]
    (expected,) = one.post(EXPLAIN, json={"graphs": [left]}).json()["results"]
    assert what_if["confidence"] == pytest.approx(expected["confidence"], abs=1e-6)
    assert what_if["saliency"] == pytest.approx(expected["saliency"], abs=1e-6)


def test_trust_and_coverage(client: Client) -> None:
    asked = {"graphs": [graph(4)], "trust": True, "coverage": 0.9, "calibrated": True, "explain": True}
    (said,) = client().post(PREDICT, json=asked).json()["results"]
    assert set(said["region"]) == {"in_set_ring", "in_set_path"}
    assert {"nearest_1", "distance_percentile"} <= set(said["trust"])
    assert sum(said["saliency"]) == pytest.approx(1)


def test_a_run_without_calibration_cannot_be_asked_for_it(client: Client, run: Path, tmp_path: Path) -> None:
    train(shapes(), tiny(), tmp_path / "bare")
    (tmp_path / "bare" / "calibration.json").unlink()
    answer = client(tmp_path / "bare").post("/v1/models/bare/predict", json={"graphs": [graph()], "calibrated": True})
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("expected: sargnn calibrate bare DATA")


def test_equal_to_the_library(client: Client, run: Path) -> None:
    graphs = shapes(count=40)
    expected = load_model(run).predict(graphs)
    asked = [{"set": "data", "graph": g} for g in range(40)]
    results = client(data=graphs).post(PREDICT, json={"graphs": asked, "explain": True}).json()["results"]
    for g, result in enumerate(results):
        assert [*result["values"].values()][1:] == pytest.approx(expected.values[g], abs=1e-6)
        assert result["saliency"] == pytest.approx(expected.mean_saliency[graphs.nodes_of(g)], abs=1e-6)
