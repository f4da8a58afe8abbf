"""The command in a process of its own, and clients that do not behave."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
import uvicorn

from sargnn.serving import server
from served import Served, graph, serving
from tiny import shapes


@pytest.fixture(scope="module")
def patient(run: Path) -> Iterator[Served]:
    """A server with a small queue and little patience."""
    with serving(run, "--timeout", 2, "--max-queue", 20, "--max-graphs", 20, "--max-bytes", 20_000) as one:
        yield one


def connect(one: Served) -> socket.socket:
    address = urlsplit(one.address)
    return socket.create_connection((address.hostname, address.port), timeout=30)


def ask(one: Served, timeout: float = 30) -> httpx.Response:
    return httpx.post(f"{one.address}/v1/models/shapes/predict", json={"graphs": [graph()]}, timeout=timeout)


def post(length: int, body: bytes = b"") -> bytes:
    lines = ["POST /v1/models/shapes/predict HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode() + body


def test_ctrl_c_ends_it_cleanly_and_what_is_under_way_is_finished(run: Path) -> None:
    body = json.dumps({"graphs": [graph(8)] * 1000}).encode()
    with serving(run) as one, connect(one) as asking:
        asking.sendall(post(len(body), body))
        httpx.get(f"{one.address}/health/live")  # it has heard both by now
        status, said = one.stop()
        answer = asking.recv(100)
    assert status == 0, said
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert "stopped" in said
    assert "Traceback" not in said


def test_the_address_is_told_once_it_is_ready(patient: Served) -> None:
    assert httpx.get(f"{patient.address}/health/ready").status_code == 200


def test_too_many_bytes_are_refused_before_they_are_sent(patient: Served) -> None:
    with connect(patient) as one:
        one.sendall(post(10**9))
        answer = one.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413")
    assert ask(patient).status_code == 200


def test_a_body_that_comes_drop_by_drop_is_given_up(patient: Served) -> None:
    with connect(patient) as one:
        one.sendall(post(100, b"{"))
        answer = one.recv(4096)
    assert answer.startswith(b"HTTP/1.1 408")


def test_headers_that_never_end_are_given_up(patient: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(patient) as slow, connect(patient) as silent:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: lo")
        started = time.monotonic()
        assert silent.recv(10) == b""
        assert slow.recv(10) == b""
    assert time.monotonic() - started < server.HEADERS + 5


@contextmanager
def answering(body: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A client whose system takes a few kilobytes, of a server in a thread that has little patience."""
    monkeypatch.setattr(server, "HEADERS", 0.2)
    monkeypatch.setattr(server, "TAKING", 0.5)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        length = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})

    with socket.socket() as listening, socket.socket() as one:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, http=server.PatientProtocol, lifespan="off", log_level="error")
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        while not running.started:
            time.sleep(0.01)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(30)
        one.connect(listening.getsockname())
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield one
        running.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def test_a_client_that_does_not_take_the_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the answer would be held for ever."""
    with answering(bytes(5_000_000), monkeypatch) as one:
        time.sleep(1.5)
        assert received(one) < 5_000_000


def test_a_client_that_takes_the_answer_slowly_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(bytes(2_000_000), monkeypatch) as one:
        assert received(one, pause=0.002) > 2_000_000


def received(one: socket.socket, pause: float = 0.0) -> int:
    """Bytes that come until nothing more does."""
    found = 0
    while some := one.recv(1 << 17):
        found += len(some)
        time.sleep(pause)
    return found


def test_headers_without_an_end_are_refused_before_they_fill_the_memory(patient: Served) -> None:
    with connect(patient) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        with suppress(ConnectionError):
            for _ in range(100):
                one.sendall(b"a" * 2**16)
        with suppress(ConnectionError):
            assert received(one) < 1000
    assert ask(patient).status_code == 200
    body = json.dumps({"graphs": [graph(3)]}).encode()
    with connect(patient) as one:  # a long body is none
        one.sendall(post(len(body) + 2**14, body + b" " * 2**14) * 3)
        assert b"HTTP/1.1 200 OK" in one.recv(2**16)


def test_a_thousand_idle_connections_disturb_nobody(patient: Served) -> None:
    idle = [connect(patient) for _ in range(1000)]
    try:
        started = time.perf_counter()
        assert ask(patient).status_code == 200
        assert time.perf_counter() - started < 5
    finally:
        for one in idle:
            one.close()
    assert ask(patient).status_code == 200


def test_clients_that_leave_cost_nothing_more(patient: Served) -> None:
    body = json.dumps({"graphs": [graph(8)] * 20}).encode()
    for _ in range(50):
        with connect(patient) as one:
            one.sendall(post(len(body), body))
    for _ in range(100):
        answer = ask(patient)
        if answer.status_code == 200:
            break
        time.sleep(0.05)
    assert answer.status_code == 200
    assert "Traceback" not in patient.said()


def test_what_is_no_http_is_refused(patient: Served) -> None:
    for words in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100):
        with connect(patient) as one:
            one.sendall(words)
            one.shutdown(socket.SHUT_WR)
            assert one.recv(4096)[:12] in (b"", b"HTTP/1.1 400")
    assert ask(patient).status_code == 200


def test_a_full_queue_says_come_again_within_50_ms(patient: Served) -> None:
    """Of many at once, those that find no room are told at once."""
    answers: list[httpx.Response] = []
    body = {"graphs": [graph(8)] * 20}

    def flood() -> None:
        with httpx.Client(timeout=60) as client:
            for _ in range(6):
                answers.append(client.post(f"{patient.address}/v1/models/shapes/predict", json=body))

    threads = [threading.Thread(target=flood) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 503}
    refused = [answer for answer in answers if answer.status_code == 503]
    assert all(answer.headers["retry-after"] == "1" for answer in refused)
    assert all("Traceback" not in answer.text for answer in refused)


def test_a_port_that_is_taken_is_one_line(run: Path, patient: Served) -> None:
    import subprocess
    import sys

    port = str(urlsplit(patient.address).port)
    command = [sys.executable, "-m", "sargnn", "serve", str(run), "--port", port]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"error: --port: got {port}, which cannot be opened on 127.0.0.1")
    assert "Traceback" not in done.stderr


def test_from_the_command_to_ready_it_loads_no_more_than_predictions_need(run: Path, tmp_path: Path) -> None:
    """Time depends on the machine; what is loaded does not."""
    import subprocess
    import sys

    shapes().save(tmp_path / "data")
    program = (
        "import sys\n"
        "from sargnn.startup import load_compiler_late\n"
        "load_compiler_late()\n"
        "from sargnn.serving.app import create_app\n"
        f"create_app([{str(run)!r}])\n"
        "print(*[name for name in ('matplotlib', 'scipy.stats', 'sklearn', 'networkx', 'rdkit', 'ray', "
        "'torch._dynamo.symbolic_convert') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ})
    assert done.stdout.split() == [], done.stderr
