"""Who is served, and what a browser is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sargnn.errors import InputError
from sargnn.serving.guard import Guard, check_host, is_loopback, read_token, same
from sargnn.serving.limits import Limits
from sargnn.serving.metrics import Metrics
from served import Client, graph

TOKEN = "correct-horse-battery-staple"
CLOSED = ["/v1/models", "/v1/sets", "/metrics", "/openapi.json", "/v1/models/shapes/report", "/anything"]


def test_without_a_token_only_this_machine_by_its_own_name(client: Client) -> None:
    one = client()
    for host in ("127.0.0.1", "localhost:8000", "[::1]:8000"):
        assert one.get("/v1/models", headers={"host": host}).status_code == 200
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", ""):
        assert one.get("/v1/models", headers={"host": host}).status_code == 400  # a name that points here


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"]
)
def test_a_wrong_token_is_refused_wherever_it_knocks(client: Client, path: str, header: str) -> None:
    answer = client(token=TOKEN).get(path, headers={"authorization": header, "host": "any.example"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert set(answer.json()) == {"error"}


def test_the_right_token_opens_from_any_host_by_header_or_session(client: Client) -> None:
    one = client(token=TOKEN)
    assert one.get("/v1/models", headers={"authorization": f"bearer {TOKEN}", "host": "any"}).status_code == 200
    assert one.post("/v1/session", json={"token": "wrong"}).status_code == 401
    assert one.get("/v1/models").status_code == 401
    answer = one.post("/v1/session", json={"token": TOKEN})
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert one.get("/v1/models").status_code == 200
    assert one.post("/v1/models/shapes/predict", json={"graphs": [graph()]}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/health/live", "/docs", "/favicon.ico"])
def test_the_empty_page_and_health_are_open(client: Client, path: str) -> None:
    assert client(token=TOKEN).get(path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/models", "/static/main.js", "/nothing", "/openapi.json"])
def test_every_answer_forbids_what_is_inline_or_from_elsewhere(client: Client, path: str) -> None:
    headers = client().get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_report_may_look_as_it_likes_and_run_nothing(client: Client) -> None:
    policy = client().get("/v1/models/shapes/report").headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


def test_other_sites_cannot_ask(client: Client) -> None:
    """No answer allows another origin, and a form of another site cannot send the content types that are taken."""
    one: TestClient = client()
    answer = one.options(
        "/v1/models/shapes/predict", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert "access-control-allow-origin" not in answer.headers
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        for path in ("/v1/models/shapes/predict", "/v1/files?name=a.csv", "/v1/session"):
            assert one.post(path, content=b"{}", headers={"content-type": kind}).status_code == 415


def test_more_bytes_than_memory_should_hold_are_refused_for_a_while(client: Client) -> None:
    """Of all clients together; when one has its answer, its bytes are free again."""
    one = client(limits=Limits(max_bytes=1000))
    guard = Guard(one.app, None, Metrics(), Limits(max_bytes=1000))

    async def ask(more: asyncio.Event | None = None) -> int:
        parts = [{"type": "http.request", "body": b"x" * 900, "more_body": more is not None}]
        statuses: list[int] = []

        async def receive() -> Any:
            if more is not None and not parts:
                await more.wait()
            return parts.pop() if parts else {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        path = "/v1/models/shapes/predict"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": headers,
            "query_string": b"",
            "app": one.app,
        }
        await guard(scope, receive, send)
        return statuses[0]

    async def body() -> None:
        free = asyncio.Event()
        waiting = [asyncio.create_task(ask(free)) for _ in range(8)]
        await asyncio.sleep(0.05)
        assert guard.held == 7200
        assert await ask() == 503
        free.set()
        assert await asyncio.gather(*waiting) == [400] * 8
        assert guard.held == 0
        assert await ask() == 400

    asyncio.run(body())


def test_tokens_are_compared_whole() -> None:
    assert same(TOKEN, TOKEN)
    assert not same("é\udcff", TOKEN)


@pytest.mark.parametrize("content", ["", "short", "with a space in the middle", "ünglaublich-lang-aber-nicht-ascii"])
def test_a_poor_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(InputError, match="--token-file: got a token of"):
        read_token(tmp_path / "token")


def test_a_token_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(tmp_path / "token") == TOKEN
    assert read_token(None) is None
    with pytest.raises(InputError, match="--token-file: cannot read"):
        read_token(tmp_path / "nothing")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", ""])
def test_other_machines_need_a_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(InputError, match="expected --token-file"):
        check_host(host, None)
    check_host(host, TOKEN)
