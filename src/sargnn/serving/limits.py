"""What one client may ask for, and the answer to more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from sargnn.errors import InputError

__all__ = ["Limits", "Refused", "busy", "read_body"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one server.

    >>> Limits(max_graphs=0)
    Traceback (most recent call last):
    ...
    sargnn.errors.InputError: --max-graphs: got 0, expected at least 1
    """

    max_graphs: int = 1_000
    """Graphs of one request."""
    max_nodes: int = 10_000
    """Nodes of one graph."""
    max_bytes: int = 8 * 2**20
    """Bytes of one request, and of what a file unpacks to ten times as many."""
    max_queue: int = 2_000
    """Graphs that may wait for the model."""
    timeout: float = 30.0
    """Seconds that a request may take, and that a client may take to send it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 1:
                raise InputError(f"--{name.replace('_', '-')}: got {value}, expected at least 1")
        if self.max_queue < self.max_graphs:
            got = f"got {self.max_queue}, less than --max-graphs {self.max_graphs}"
            raise InputError(f"--max-queue: {got}, expected room for the largest request")


class Refused(Exception):
    """An answer other than 200: one line, and a status that says whose turn it is."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def busy(message: str, seconds: int = 1) -> Refused:
    """503: the request is fine, and may succeed later."""
    return Refused(503, message, Retry_After=str(seconds))


async def read_body(request: Request, kind: str, limits: Limits) -> bytes:
    """The body of a request of the content type ``kind``. More than ``max_bytes`` is refused before it is read if the
    client says so, and else as soon as it has been; a client that takes too long is sent away."""
    got = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if got != kind:
        raise Refused(415, f"got content type {got or 'none'!r}, expected {kind!r}", Connection="close")
    too_much = Refused(413, f"got more than {limits.max_bytes} bytes, expected at most as many", Connection="close")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:18]) > limits.max_bytes:
        raise too_much
    body = bytearray()
    try:
        async with asyncio.timeout(limits.timeout):
            async for some in request.stream():
                body += some
                if len(body) > limits.max_bytes:
                    raise too_much
    except TimeoutError as error:
        raise Refused(408, f"got no whole request in {limits.timeout:g} s", Connection="close") from error
    except ClientDisconnect as error:
        raise Refused(400, "got half a request", Connection="close") from error
    return bytes(body)
