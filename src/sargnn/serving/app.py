"""The server as an ASGI application: ``create_app(runs)`` for uvicorn, Ray Serve, or a test."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from sargnn import __version__
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.serving.guard import COOKIE, Guard, same
from sargnn.serving.limits import Limits, Refused, read_body
from sargnn.serving.loaded import Runs
from sargnn.serving.routes import JSON, as_json, model_routes
from sargnn.serving.schemas import SessionRequest, parse
from sargnn.serving.service import Service
from sargnn.serving.set_routes import set_routes

__all__ = ["STATIC", "create_app"]

STATIC = Path(str(files("sargnn.serving"))) / "static"
SWAGGER = Path(fastapi_offline.__file__).parent / "static"


def create_app(
    folders: Sequence[Path | str],
    data: GraphSet | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    model: str | None = None,
) -> FastAPI:
    """The application that serves the runs in ``folders``, and the page to look at them.

    ``data`` is a set to browse; with a ``token``, only those who have it are served; ``model`` allows the code of a
    model of your own.

    >>> app = create_app(["runs/mutag"], sargnn.load("MUTAG"))  # doctest: +SKIP
    >>> uvicorn.run(app)  # doctest: +SKIP
    """
    service = Service(Runs(list(map(Path, folders)), model), limits or Limits())
    if data is not None:
        service.sets.add(data, name="data")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.close()

    app = FastAPI(
        title="sargnn", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        summary="Predictions for graphs, and which nodes decided.",
    )  # fmt: skip
    app.state.service = service
    app.include_router(model_routes(service))
    app.include_router(set_routes(service))
    _add_health(app, service)
    _add_session(app, service.limits, token)
    _add_pages(app)
    _add_errors(app)
    app.openapi = partial(_described, app, service)  # type: ignore[method-assign]
    app.add_middleware(Guard, token=token, metrics=service.metrics, limits=service.limits)
    return app


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/health/live", tags=["health"], summary="Whether the server is up")
    async def live() -> dict[str, str]:
        return {"status": "up"}

    @app.get("/health/ready", tags=["health"], summary="Whether it answers now")
    async def ready() -> Response:
        if service.ready and service.batcher.waiting < service.limits.max_queue:
            return as_json({"status": "ready"})
        return as_json({"error": "not ready"}, 503)

    @app.get("/metrics", tags=["health"], summary="Numbers for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> str:
        return service.metrics.text()


def _add_session(app: FastAPI, limits: Limits, token: str | None) -> None:
    @app.post("/v1/session", include_in_schema=False)
    async def session(request: Request) -> Response:
        asked = parse(SessionRequest, await read_body(request, JSON, limits))
        if token is not None and not same(asked.token, token):
            raise Refused(401, "got a wrong token, expected the server's")
        answer = as_json({"status": "signed in"})
        if token is not None:
            answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return answer


def _add_pages(app: FastAPI) -> None:
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.mount("/docs/files", StaticFiles(directory=SWAGGER), name="swagger")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(STATIC / "docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(STATIC / "icon.svg")


def _add_errors(app: FastAPI) -> None:
    """Every error is one line of JSON; what went wrong inside is told to the log and to nobody else."""

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> Response:
        answer = as_json({"error": str(error)}, error.status)
        answer.headers.update(error.headers)
        return answer

    @app.exception_handler(InputError)
    async def wrong(_: Request, error: InputError) -> Response:
        return as_json({"error": " ".join(str(error).splitlines())}, 422)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:80]
        return as_json({"error": f"got a wrong request ({first['msg']}), in {where}"}, 422)

    @app.exception_handler(HTTPException)
    async def failed(_: Request, error: HTTPException) -> Response:
        return as_json({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        logging.getLogger("sargnn").error("a request failed", exc_info=error)
        return as_json({"error": "the server failed; its log says why"}, 500)


def _described(app: FastAPI, service: Service) -> dict[str, Any]:
    """The OpenAPI description, with a graph that each model can read as an example."""
    if app.openapi_schema is None:
        found = FastAPI.openapi(app)
        runs = [service.runs[name] for name in service.runs]
        examples = {run.name: {"value": {"graphs": [run.example]}} for run in runs}
        for verb in ("predict", "explain"):
            operation = found["paths"][f"/v1/models/{{name}}/{verb}"]["post"]
            operation["requestBody"]["content"][JSON]["examples"] = examples
            operation["parameters"][0]["schema"]["examples"] = list(examples)
        app.openapi_schema = found
    return app.openapi_schema
