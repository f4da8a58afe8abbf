"""Models: what they are, what they predict, what decided."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from sargnn.errors import InputError
from sargnn.reading import read_bytes
from sargnn.serving.answers import answer_of, drawing_of, needed, refusal, saliency_of
from sargnn.serving.cards import card_of, line_of
from sargnn.serving.limits import Refused, read_body
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome, Wanted
from sargnn.serving.schemas import (
    Error,
    Explained,
    ExplainRequest,
    ModelCard,
    ModelList,
    Predicted,
    PredictRequest,
    parse,
)
from sargnn.serving.service import Service

__all__ = ["ERRORS", "as_json", "model_routes", "takes"]

JSON = "application/json"
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
"""A report is a page of its own: it may look as it likes, and run nothing."""
MEANINGS = {
    400: "Not JSON, or half a request.", 401: "No token, or a wrong one.", 404: "No such model, set or graph.",
    408: "The request took too long to arrive.", 413: "Too large.", 415: "Another content type.",
    422: "The request or all of its graphs cannot be read.", 503: "The server is busy; see Retry-After.",
}  # fmt: skip
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": meaning} for status, meaning in MEANINGS.items()
}


def takes(kind: type[BaseModel]) -> dict[str, Any]:
    """What the description says of a body that a route reads by itself."""
    schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def as_json(content: Any, status: int = 200) -> Response:
    """An answer; numbers that JSON does not have are none."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=JSON)


def model_routes(service: Service) -> APIRouter:
    """``/v1/models`` of a service."""
    routes = APIRouter(prefix="/v1/models", tags=["models"], responses={k: ERRORS[k] for k in (401, 404, 503)})

    @routes.get("", response_model=ModelList, summary="The models")
    async def models() -> Response:
        return as_json({"models": [line_of(await service.run(name)) for name in service.runs]})

    @routes.get("/{name}", response_model=ModelCard, summary="What is known of a model")
    async def model(name: str) -> Response:
        return as_json(card_of(await service.run(name)))

    @routes.get("/{name}/report", response_class=HTMLResponse, summary="The report of its training")
    async def report(name: str) -> Response:
        path = (await service.run(name)).folder / "report.html"
        try:
            content = await asyncio.to_thread(read_bytes, path)
        except OSError as error:
            raise Refused(404, f"got no report of {name}, expected one written by sargnn train") from error
        return HTMLResponse(content, headers={"content-security-policy": REPORT_POLICY})

    @routes.post(
        "/{name}/predict", response_model=Predicted, responses=ERRORS, openapi_extra=takes(PredictRequest),
        summary="Predict graphs",
    )  # fmt: skip
    async def predict(name: str, request: Request) -> Response:
        run = await service.run(name)
        asked = parse(PredictRequest, await read_body(request, JSON, service.limits))
        results = []
        for said, outcome in await _said(service, run, asked, Wanted(trust=asked.trust), request):
            if asked.explain and outcome is not None and outcome.map is not None:
                said["saliency"] = outcome.map.tolist()
            results.append(said)
        return _results(service, run, results)

    @routes.post(
        "/{name}/explain", response_model=Explained, responses=ERRORS, openapi_extra=takes(ExplainRequest),
        summary="Say which nodes decided",
    )  # fmt: skip
    async def explain(name: str, request: Request) -> Response:
        run = await service.run(name)
        asked = parse(ExplainRequest, await read_body(request, JSON, service.limits))
        wanted = Wanted(asked.rule, asked.effects, asked.trust)
        results = []
        for said, outcome in await _said(service, run, asked, wanted, request):
            if outcome is not None:
                said |= saliency_of(run, outcome) | {"rule": asked.rule}
                said |= {"drawing": await _drawn(service, outcome)} if asked.drawing else {}
            results.append(said)
        return _results(service, run, results)

    return routes


async def _said(
    service: Service, run: LoadedRun, asked: PredictRequest | ExplainRequest, wanted: Wanted, request: Request
) -> list[tuple[dict[str, Any], Outcome | None]]:
    """What is said of each graph, and the outcome behind it if there is one."""
    options: dict[str, Any] = {key: getattr(asked, key) for key in ("calibrated", "coverage", "normalised")}
    if asked.calibrated or asked.coverage is not None:
        needed(run)
    found: list[tuple[dict[str, Any], Outcome | None]] = []
    for position, outcome in enumerate(await service.predict(run, asked.graphs, wanted, request.is_disconnected)):
        if isinstance(outcome, Outcome):
            found.append(({"graph": position, "status": 200, **answer_of(run, outcome, **options)}, outcome))
        else:
            found.append((_refused(position, outcome), None))
    return found


async def _drawn(service: Service, outcome: Outcome) -> dict[str, Any]:
    try:
        return await service.aside(drawing_of, outcome.graph)
    except InputError as error:
        return {"error": str(error)}


def _results(service: Service, run: LoadedRun, results: list[dict[str, Any]]) -> Response:
    """The answer has the status of its graphs where they all failed alike, and else is a success."""
    for result in results:
        service.metrics.graphs.labels(run.name, str(result["status"])).inc()
    failed = {result["status"] for result in results}
    status = 200 if 200 in failed else max(failed)
    return as_json({"model": run.name, "results": results}, status)


def _refused(position: int, error: Refused | InputError) -> dict[str, Any]:
    return refusal(position, error, error.status if isinstance(error, Refused) else 422)
