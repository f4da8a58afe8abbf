"""Who may ask, and what a browser may do with the answer.

A server that other machines can reach needs a token. One that only this machine can reach needs none, but answers only
those who call it by a name of this machine: a page of another site may have its own name point here.
"""

from __future__ import annotations

import hmac
import ipaddress
import time
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sargnn.errors import InputError
from sargnn.reading import read_text
from sargnn.serving.limits import Limits, busy
from sargnn.serving.metrics import Metrics

__all__ = ["COOKIE", "Guard", "check_host", "is_loopback", "read_token", "same"]

COOKIE = "sargnn"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
OPEN = ("/", "/favicon.ico", "/v1/session", "/docs")
"""What anyone may see: the empty page, and where to sign in."""
OPEN_FOLDERS = ("/static/", "/docs/", "/health/")
LEAST_TOKEN = 16
HELD = 8
"""Largest requests whose bytes are in memory at one time."""


def read_token(file: Path | None) -> str | None:
    """The token in a file, on its first line."""
    if file is None:
        return None
    try:
        token = read_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file: cannot read {file}") from error
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        expected = f"one of {LEAST_TOKEN} letters, digits and signs or more"
        raise InputError(f"--token-file: got a token of {len(token)} characters, expected {expected}, in {file}")
    return token


def is_loopback(host: str) -> bool:
    """
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_host(host: str, token: str | None) -> None:
    """Refuse to be reached from elsewhere by anyone who likes to."""
    if token is None and not is_loopback(host):
        raise InputError(f"--host: got {host!r}, which other machines can reach, expected --token-file with it")


def same(given: str, expected: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


class Guard:
    """The outermost layer: refuses strangers and more bytes than memory should hold, puts the headers on every answer,
    counts."""

    def __init__(self, app: ASGIApp, token: str | None, metrics: Metrics, limits: Limits) -> None:
        self.app = app
        self.token = token
        self.metrics = metrics
        self.most = HELD * limits.max_bytes
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, own = time.perf_counter(), 500, 0

        async def receive_on() -> Message:
            nonlocal own
            message = await receive()
            size = len(message.get("body", b""))
            if size and self.held + size > self.most:
                raise busy(f"got more than {self.most} bytes of all clients together; try again")
            own += size
            self.held += size
            return message

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            try:
                await send(message)
            except RuntimeError as error:
                if "closed" not in str(error):  # uvloop's word for a client that has left
                    raise

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(refusal, send_on)
        else:
            try:
                await self.app(scope, receive_on, send_on)
            finally:
                self.held -= own
        path = getattr(scope.get("route"), "path", "other")
        self.metrics.requests.labels(path, str(status)).inc()
        self.metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = Headers(scope=scope), scope["path"]
        if self.token is None:
            host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
            return None if is_loopback(host) else (400, "got another host's name, expected localhost or 127.0.0.1")
        if path in OPEN or path.startswith(OPEN_FOLDERS):
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            given = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return None if same(given.strip(), self.token) else (401, "got no token or a wrong one, expected the server's")


async def _refuse(refusal: tuple[int, str], send: Send) -> None:
    status, message = refusal
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f'{{"error": "{message}"}}'.encode()})
