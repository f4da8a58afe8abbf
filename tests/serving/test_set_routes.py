"""Browsing by REST."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from sargnn.serving.limits import Limits
from sargnn.training.model_folder import load_model
from served import Client, graph
from tiny import shapes

BINARY = {"content-type": "application/octet-stream"}


def browsed(one: TestClient, name: str = "data", model: str = "shapes") -> dict[str, list[object]]:
    """The rows of a set once all are predicted."""
    for _ in range(200):
        answer = one.get(f"/v1/sets/{name}/graphs", params={"model": model}).json()
        if answer["predicted"] == answer["graphs"]:
            return answer["rows"]
        time.sleep(0.05)
    pytest.fail("not predicted in ten seconds")


def test_rows_have_what_the_model_says_and_what_is_true(client: Client, run: Path) -> None:
    graphs = shapes(count=60)
    rows = browsed(client(data=graphs))
    found = load_model(run).predict(graphs)
    assert rows["graph"] == list(range(60))
    assert rows["nodes"] == graphs.sizes.tolist()
    assert rows["confidence"] == pytest.approx(found.values.max(axis=1), abs=1e-6)
    assert rows["truth"] == [graphs.classes[y] for y in graphs.y]
    assert rows["right"] == (found.predicted == graphs.y).tolist()
    assert rows["prediction"] == [graphs.classes[y] for y in found.predicted]


def test_rows_come_a_page_at_a_time(client: Client) -> None:
    one = client(data=shapes())
    answer = one.get("/v1/sets/data/graphs", params={"model": "shapes", "offset": 20, "limit": 3}).json()
    assert answer["rows"]["graph"] == [20, 21, 22]
    assert one.get("/v1/sets/data/graphs", params={"model": "shapes", "offset": 99}).json()["rows"]["graph"] == []


@pytest.mark.parametrize("query", ["", "model=shapes&limit=0", "model=shapes&offset=-1", "model=shapes&limit=x"])
def test_a_wrong_query_is_refused_in_one_line(client: Client, query: str) -> None:
    answer = client(data=shapes()).get(f"/v1/sets/data/graphs?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("got a wrong request")


def test_a_map_has_a_place_for_every_graph(client: Client) -> None:
    one = client(data=shapes())
    browsed(one)
    for method in ("pca", "tsne"):
        answer = one.get("/v1/sets/data/map", params={"model": "shapes", "method": method}).json()
        assert answer["graph"] == list(range(24))
        assert np.isfinite([answer["x"], answer["y"]]).all()
    assert one.get("/v1/sets/data/map", params={"model": "shapes", "method": "x"}).status_code == 422


def test_a_file_becomes_a_set_that_can_be_browsed_and_explained(client: Client) -> None:
    one = client()
    content = (
        b'{"nodes": [{"id": 0, "attribute_0": 1, "attribute_1": 2}], "edges": []}\n{"nodes": [{"id": 0}], "edges": []}'
    )
    lines = content.splitlines()[0] + b"\n"
    answer = one.post("/v1/files", params={"name": "some.jsonl"}, content=lines * 3, headers=BINARY)
    assert answer.status_code == 200
    card = answer.json()
    assert (card["graphs"], card["title"]) == (3, "some")
    assert one.get(f"/v1/sets/{card['name']}").json() == card
    assert one.get("/v1/sets").json()["sets"] == []
    assert len(browsed(one, card["name"])["prediction"]) == 3
    graph = {"set": card["name"], "graph": 1}
    said = one.post("/v1/models/shapes/explain", json={"graphs": [graph], "drawing": True}).json()["results"][0]
    assert said["status"] == 200
    assert len(said["drawing"]["x"]) == 1


def test_a_graph_of_a_file_that_the_model_cannot_read_says_so_in_its_row(client: Client) -> None:
    one = client()
    content = b'{"nodes": [{"id": 0, "other": 1}], "edges": []}'
    card = one.post("/v1/files", params={"name": "a.json"}, content=content, headers=BINARY).json()
    rows = browsed(one, card["name"])
    assert "expected" in str(rows["error"][0])
    assert rows["prediction"] == [None]


def test_a_graph_of_a_file_that_is_too_large_costs_nothing_and_says_so(client: Client) -> None:
    one = client(limits=Limits(max_nodes=5))
    lines = "\n".join(json.dumps(graph(n)) for n in (3, 6, 4)).encode()
    card = one.post("/v1/files", params={"name": "a.jsonl"}, content=lines, headers=BINARY).json()
    rows = browsed(one, card["name"])
    assert rows["error"] == [None, "got 6 nodes, expected at most 5", None]
    assert one.get(f"/v1/sets/{card['name']}/map", params={"model": "shapes"}).json()["graph"] == [0, 2]


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fetc", "%00", "data/../../x", "<script>"])
def test_a_set_that_is_not_here(client: Client, name: str) -> None:
    answer = client(data=shapes()).get(f"/v1/sets/{name}/graphs?model=shapes")
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_a_file_of_the_wrong_kind_or_size(client: Client) -> None:
    one = client(limits=Limits(max_bytes=100))
    assert one.post("/v1/files", params={"name": "a.csv"}, content=b"x" * 101, headers=BINARY).status_code == 413
    assert one.post("/v1/files", params={"name": "a.csv"}, json={}).status_code == 415
    assert one.post("/v1/files", params={"name": "a.exe"}, content=b"x", headers=BINARY).status_code == 422
    assert one.post("/v1/files", content=b"x", headers=BINARY).status_code == 422
    assert one.post("/v1/files", params={"name": "a" * 300}, content=b"x", headers=BINARY).status_code == 422
