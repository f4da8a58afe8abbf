"""The server as a Ray Serve application, for more than one process or machine (extras: ``serve``, ``ray``).

    SARGNN_RUNS=/models/mutag serve run sargnn.serving.ray:app

The runs and limits come from the environment of the cluster, because the application is built where Ray places it:
``SARGNN_RUNS`` (folders, with the separator of ``PATH`` between them), ``SARGNN_DATA_SET`` (a set to browse) and
``SARGNN_TOKEN_FILE``. Replicas, autoscaling and resources are Ray's, in its own config file. Every replica has the runs
in memory and a queue of its own; a file that was dropped is known to the replica that read it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from ray import serve

from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.serving.app import create_app
from sargnn.serving.guard import read_token

__all__ = ["app", "application_of", "deployment"]


def application_of(environment: dict[str, str]) -> FastAPI:
    """The application that the variables of an environment ask for."""
    runs = [Path(run) for run in environment.get("SARGNN_RUNS", "").split(os.pathsep) if run]
    if not runs:
        raise InputError("SARGNN_RUNS: got nothing, expected the folders of trained runs")
    data, token = environment.get("SARGNN_DATA_SET"), environment.get("SARGNN_TOKEN_FILE")
    graphs = None if data is None else load(data, labelled=None)
    return create_app(runs, graphs, token=read_token(None if token is None else Path(token)))


def _built() -> Any:
    return application_of(dict(os.environ))


deployment: Any = serve.deployment(serve.ingress(_built)(), name="sargnn", max_ongoing_requests=256)
"""One copy of the server; ``deployment.options(num_replicas=4).bind()`` makes four."""
app = deployment.bind()
