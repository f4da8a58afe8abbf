"""The application as a whole: health, description, errors, and thousands of requests made up from its description."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from sargnn.serving.app import create_app
from sargnn.serving.limits import Limits
from served import ANY, Client, graph
from tiny import shapes

CASES = int(os.environ.get("SARGNN_SERVING_CASES", "150"))
"""2,000 were run when the server was written; a few in every run of the suite."""


def test_health(client: Client) -> None:
    one = client()
    assert one.get("/health/live").json() == {"status": "up"}
    assert one.get("/health/ready").json() == {"status": "ready"}


def test_it_is_not_ready_before_it_starts_nor_after_it_ends(run: Path) -> None:
    app = create_app([run])
    before = TestClient(app, base_url=ANY)
    assert before.get("/health/ready").status_code == 503
    with before:
        assert before.get("/health/ready").status_code == 200
    assert before.get("/health/ready").status_code == 503


def test_the_description_has_examples_that_work(client: Client, run: Path, other_run: Path) -> None:
    one = client(run, other_run)
    described = one.get("/openapi.json").json()
    content = described["paths"]["/v1/models/{name}/predict"]["post"]["requestBody"]["content"]["application/json"]
    assert set(content["examples"]) == {"shapes", "plain"}
    for name, example in content["examples"].items():
        assert one.post(f"/v1/models/{name}/predict", json=example["value"]).status_code == 200
    for path, verbs in described["paths"].items():
        for operation in verbs.values():
            assert operation["summary"], path


def test_the_documentation_needs_nothing_from_elsewhere(client: Client) -> None:
    one = client()
    page = one.get("/docs").text
    for address in ("docs/files/swagger-ui-bundle.js", "docs/files/swagger-ui.css", "static/docs.js"):
        assert address in page
        assert one.get(f"/{address}").status_code == 200
    assert "http:" not in page
    assert "https:" not in page


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/docs/files/../core.py"]
)
def test_no_path_leads_out_of_the_folder_of_the_page(client: Client, path: str) -> None:
    answer = client().get(f"/{path}")
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_a_fault_inside_is_one_line_without_a_trace(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    one = client()
    monkeypatch.setattr("sargnn.serving.routes.card_of", lambda run: 1 / 0)
    answer = one.get("/v1/models/shapes")
    assert (answer.status_code, answer.json()) == (500, {"error": "the server failed; its log says why"})
    assert one.get("/v1/models").status_code == 200


def test_a_fault_of_the_model_is_one_line_without_a_trace(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    one = client()
    with monkeypatch.context() as broken:
        broken.setattr("sargnn.training.trained_model.TrainedModel.predict_tensors", lambda *_: 1 / 0)
        answer = one.post("/v1/models/shapes/predict", json={"graphs": [graph()]})
    assert (answer.status_code, answer.json()) == (500, {"error": "the server failed; its log says why"})
    assert one.post("/v1/models/shapes/predict", json={"graphs": [graph()]}).status_code == 200


# --- requests made up from the description

NUMBERS = st.integers(-3, 3) | st.floats() | st.integers(-(10**30), 10**30)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["id", "label", "attribute_0", "attribute_1", "source", "target", "node_name", "true_saliency", "x"]
KEYS = st.sampled_from(NAMES)
ROWS = st.lists(st.dictionaries(KEYS, LEAVES | st.lists(NUMBERS, max_size=2), max_size=4), max_size=4)
PAIRS = st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=2)
TAKEN = {"nodes": st.lists(st.integers(-1, 4), max_size=3) | ANYTHING, "edges": PAIRS}
WITHOUT = {"without": st.fixed_dictionaries({}, optional=TAKEN)}
OF_GRAPHS = st.dictionaries(st.sampled_from(["label", "part", "name", "y", "mass"]), LEAVES, max_size=2)


def near_graph(draw: Any) -> Any:
    """A good graph with a few things changed."""
    made = json.loads(json.dumps(graph(draw(st.integers(1, 5)))))
    for _ in range(draw(st.integers(0, 2))):
        rows = draw(st.sampled_from([made["nodes"], made["edges"] or made["nodes"]]))
        row = draw(st.sampled_from(rows))
        row[draw(KEYS)] = draw(LEAVES)
    if draw(st.booleans()):
        made["without"] = draw(WITHOUT["without"])
    if draw(st.booleans()):
        made["graph"] = draw(
            st.dictionaries(st.sampled_from(["label", "part", "name", "y", "mass"]), LEAVES, max_size=2) | ANYTHING
        )
    return made


WRITTEN = st.text("CNOcn1()=#[]+-@/\\.", max_size=12)
IN_SET = {"set": st.sampled_from(["data", "x"]), "graph": st.integers(-2, 30) | ANYTHING}
GRAPHS = (
    st.composite(near_graph)()
    | st.fixed_dictionaries({"nodes": ROWS, "edges": ROWS}, optional={"directed": LEAVES, "links": ROWS})
    | st.text(max_size=12)
    | st.sampled_from(["CCO", "c1ccccc1", "C[N+](=O)[O-]", "*", "[U]"])
    | st.fixed_dictionaries({"smiles": WRITTEN | ANYTHING}, optional=WITHOUT)
    | st.fixed_dictionaries(IN_SET, optional=WITHOUT)
    | ANYTHING
)
OPTIONS = {
    "explain": st.booleans(), "calibrated": st.booleans(), "coverage": st.none() | st.floats(0.01, 0.99) | ANYTHING,
    "trust": st.booleans(), "drawing": st.booleans(), "effects": st.booleans(), "normalised": st.booleans(),
    "rule": st.sampled_from(["first", "last", "mean", "rollout", "none"]),
}  # fmt: skip
BODIES = st.fixed_dictionaries({"graphs": st.lists(GRAPHS, max_size=4) | ANYTHING}, optional=OPTIONS) | ANYTHING
MEANT = {200, 400, 401, 404, 405, 408, 413, 415, 422, 503}


@pytest.fixture(scope="module")
def fuzzed(run: Path, other_run: Path) -> Iterator[TestClient]:
    app = create_app([run, other_run], shapes(), limits=Limits(max_nodes=200))
    with TestClient(app, base_url=ANY, raise_server_exceptions=False) as one:
        yield one


made_up = settings(max_examples=CASES, suppress_health_check=list(HealthCheck))


@made_up
@given(body=BODIES, verb=st.sampled_from(["predict", "explain"]), name=st.sampled_from(["shapes", "plain"]))
def test_no_request_that_can_be_made_up_breaks_the_server(fuzzed: TestClient, body: Any, verb: str, name: str) -> None:
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    answer = fuzzed.post(f"/v1/models/{name}/{verb}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in MEANT, (answer.status_code, body)
    told = answer.json(parse_constant=pytest.fail)  # NaN is no JSON
    if "results" not in told:
        assert set(told) == {"error"}
        assert len(told["error"].splitlines()) == 1
    else:
        for result in told["results"]:
            assert (result["status"] == 200) is ("error" not in result)


FILES = st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))


@made_up
@given(
    content=FILES | BODIES.map(lambda body: json.dumps(body).encode("utf-8", "surrogatepass")),
    name=st.text(max_size=8) | st.sampled_from(["a.json", "a.jsonl", "a.csv", "a.graphml", "a.gexf", "a.zip", "a.tsv"]),
)
def test_no_file_that_can_be_made_up_breaks_the_server(fuzzed: TestClient, content: bytes, name: str) -> None:
    headers = {"content-type": "application/octet-stream"}
    name = name.encode("utf-8", "replace").decode()
    answer = fuzzed.post("/v1/files", params={"name": name}, content=content, headers=headers)
    assert answer.status_code in MEANT, (answer.status_code, name, content)
    assert "tmp" not in answer.text.replace(name, "") or answer.status_code == 200


@made_up
@given(
    path=st.sampled_from(
        ["/v1/models/{}", "/v1/sets/{}", "/v1/sets/{}/graphs", "/v1/sets/data/map", "/static/{}", "/{}"]
    ),
    name=st.text(max_size=12) | st.sampled_from(["..", "../..", "shapes", "data", "%00", "con", "a" * 5000]),
    query=st.dictionaries(
        st.sampled_from(["model", "offset", "limit", "method"]), st.text(max_size=8) | st.just("shapes")
    ),
)
def test_no_address_that_can_be_made_up_breaks_the_server(
    fuzzed: TestClient, path: str, name: str, query: dict[str, str]
) -> None:
    from urllib.parse import quote

    address = path.format(quote(name.encode("utf-8", "replace"), safe=""))
    answer = fuzzed.get(address, params={k: v.encode("utf-8", "replace").decode() for k, v in query.items()})
    assert answer.status_code in MEANT, (answer.status_code, address, query)
