"""Sets to browse, and files that become one."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from sargnn.serving.limits import read_body
from sargnn.serving.routes import ERRORS, as_json
from sargnn.serving.schemas import FileAnswer, RowsAnswer, SetList, VectorMap
from sargnn.serving.service import Service
from sargnn.serving.uploads import read_file

__all__ = ["set_routes"]

BINARY = "application/octet-stream"
MOST_ROWS = 10_000


def set_routes(service: Service) -> APIRouter:
    """``/v1/sets`` and ``/v1/files`` of a service."""
    routes = APIRouter(prefix="/v1", tags=["sets"], responses={k: ERRORS[k] for k in (401, 404, 503)})

    @routes.get("/sets", response_model=SetList, summary="The sets")
    async def sets() -> Response:
        return as_json({"sets": [one.card() for one in service.sets.public()]})

    @routes.get("/sets/{name}", response_model=FileAnswer, summary="What is known of a set")
    async def one_set(name: str) -> Response:
        found = service.sets.find(name)
        return as_json(found.card() | {"left_out": list(found.left_out)})

    @routes.get("/sets/{name}/graphs", response_model=RowsAnswer, summary="The graphs of a set and their predictions")
    async def rows(
        name: str,
        model: str,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
    ) -> Response:
        found, run = service.sets.find(name), await service.run(model)
        service.browse(found, run)
        done = len(found.said.get(run.name, {}))
        about = {"model": run.name, "set": name, "graphs": len(found.graphs), "predicted": done}
        return as_json(about | {"rows": found.rows(run, offset, offset + limit)})

    @routes.get("/sets/{name}/map", response_model=VectorMap, summary="A map of the vectors that a model predicts from")
    async def vector_map(name: str, model: str, method: Literal["pca", "tsne"] = "pca") -> Response:
        found, run = service.sets.find(name), await service.run(model)
        service.browse(found, run)
        index, places = await service.vector_map(found, run, method)
        x, y = places.T.round(4).tolist() if len(places) else ([], [])
        about = {"model": run.name, "set": name, "method": method}
        return as_json(about | {"graph": index.tolist(), "x": x, "y": y})

    @routes.post(
        "/files", response_model=FileAnswer, responses=ERRORS, summary="Read a file of graphs",
        openapi_extra={"requestBody": {
            "required": True, "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}},
        }},
    )  # fmt: skip
    async def files(request: Request, name: Annotated[str, Query(max_length=200)]) -> Response:
        content = await read_body(request, BINARY, service.limits)
        graphs, left_out = await service.aside(read_file, name, content, service.limits)
        found = service.sets.add(graphs, left_out=left_out)
        return as_json(found.card() | {"left_out": list(left_out)})

    return routes
