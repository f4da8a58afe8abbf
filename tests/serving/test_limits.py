"""What is asked for in excess is refused before it costs anything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from sargnn.errors import InputError
from sargnn.serving.limits import Limits, Refused, read_body


def body_of(*parts: bytes, limits: Limits | None = None, wait: float = 0, **headers: str) -> tuple[Any, int]:
    """What is read of a request, or its refusal; how many parts were taken."""
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        await asyncio.sleep(wait)
        if taken == len(parts):
            return {"type": "http.disconnect"}
        taken += 1
        return {"type": "http.request", "body": parts[taken - 1], "more_body": taken < len(parts)}

    names = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in names.items()]
    request = Request({"type": "http", "method": "POST", "headers": raw}, receive)
    try:
        return asyncio.run(read_body(request, "application/json", limits or Limits(max_bytes=100))), taken
    except Refused as error:
        return error, taken


def test_a_body_in_parts_is_read_whole() -> None:
    assert body_of(b"[1,", b"2]") == (b"[1,2]", 2)
    assert body_of(b"{}", content_type="Application/JSON; charset=utf-8")[0] == b"{}"


@pytest.mark.parametrize("length", ["101", "9" * 400, "-1", "ten"])
def test_too_many_bytes_are_refused_before_they_are_read(length: str) -> None:
    error, taken = body_of(b"x" * 101, content_length=length)
    assert (error.status, taken) == (413, 0)
    assert error.headers["Connection"] == "close"


def test_too_many_bytes_that_were_not_announced_are_refused_once_they_are_there() -> None:
    error, taken = body_of(*[b"x" * 60] * 5)
    assert (error.status, taken) == (413, 2)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_another_content_type_is_refused_unread(kind: str) -> None:
    error, taken = body_of(b"{}", content_type=kind)
    assert (error.status, taken) == (415, 0)


def test_a_slow_client_and_one_that_leaves_are_refused() -> None:
    slow = Limits(timeout=1.0)
    object.__setattr__(slow, "timeout", 0.05)
    assert body_of(b"{", b"}", limits=slow, wait=0.04)[0].status == 408
    cut: list[bytes] = []
    error, _ = body_of(*cut)
    assert (error.status, str(error)) == (400, "got half a request")


@pytest.mark.parametrize("name", ["max_graphs", "max_nodes", "max_bytes", "max_queue", "timeout"])
@pytest.mark.parametrize("value", [0, -5])
def test_limits_are_checked(name: str, value: int) -> None:
    value = float(value) if name == "timeout" else value
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')}: got"):
        Limits(**{name: value})


def test_the_queue_has_room_for_the_largest_request() -> None:
    with pytest.raises(InputError, match="--max-queue: got 5, less than --max-graphs 6"):
        Limits(max_graphs=6, max_queue=5)
