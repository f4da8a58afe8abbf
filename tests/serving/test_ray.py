"""The server on Ray's local cluster: two replicas behind one address."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from served import graph

pytest.importorskip("ray.serve", reason="needs ray[serve]", exc_type=ImportError)
from sargnn.errors import InputError
from sargnn.serving.ray import application_of


def test_an_environment_says_what_is_served(run: Path, other_run: Path, tmp_path: Path) -> None:
    found = application_of({"SARGNN_RUNS": os.pathsep.join([str(run), str(other_run)])})
    assert list(found.state.service.runs) == ["shapes", "plain"]
    with pytest.raises(InputError, match="SARGNN_RUNS: got nothing"):
        application_of({})


CLUSTER = """
import os, sys
import ray
from ray import serve
os.environ["SARGNN_RUNS"] = sys.argv[1]
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80_000_000)

serve.start(http_options={"port": int(sys.argv[2])})
from sargnn.serving.ray import deployment
serve.run(deployment.options(num_replicas=2, ray_actor_options={"num_cpus": 0.5}).bind(), name="sargnn")
print("ready", flush=True)
sys.stdin.readline()
serve.shutdown()
ray.shutdown()
"""


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_two_replicas_answer_as_one_server(run: Path, web: httpx.Client) -> None:
    import subprocess
    import sys

    port = free_port()
    command = [sys.executable, "-W", "ignore", "-c", CLUSTER, str(run), str(port)]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert any(line.startswith("ready") for line in lines)
            body: Any = {"graphs": [graph(n) for n in range(3, 9)]}
            (expected,) = [web.post("/v1/models/shapes/predict", json=body).json()["results"]]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as one:
                assert one.get("/health/ready").status_code == 200
                assert "sargnn" in one.get("/").text
                for _ in range(10):
                    results = one.post("/v1/models/shapes/predict", json=body).json()["results"]
                    for got, wanted in zip(results, expected, strict=True):
                        assert got["confidence"] == pytest.approx(wanted["confidence"], abs=1e-6)
            process.communicate("\n", timeout=60)
        finally:
            process.kill()
