"""``sargnn serve``: the application under uvicorn, in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from sargnn.console import note
from sargnn.errors import InputError
from sargnn.serving.limits import Limits

__all__ = ["PatientProtocol", "run_server"]

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # a platform without it
    Protocol = H11Protocol  # type: ignore[assignment,misc]

IDLE = 5.0
"""Seconds that a connection may rest between requests."""
HEADERS = 5.0
"""Seconds in which the headers of a request must arrive."""
MOST_HEADERS = 2**16
"""Bytes of the headers of a request."""
TAKING = 10.0
"""Seconds in which a client must take some of an answer that does not fit into the system's buffer."""
BUFFER = 2**17
"""Bytes of that buffer; of a larger one, the system would tell too late that some has been taken."""


class PatientProtocol(Protocol):
    """Ends connections that send no request, one without an end, or one drop by drop, and those that take no answer."""

    _deadline: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _headers = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        if not self.transport.is_closing():
            self._taken()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
            self._headers = 0
            return
        self._headers += len(data)
        if self._headers > MOST_HEADERS and not self.transport.is_closing():
            self.send_400_response(f"got headers of more than {MOST_HEADERS} bytes")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._headers = 0
        self._wait()

    def _wait(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(HEADERS, self._end)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()  # once the answer has been taken
            if self._taking is None:
                self._watch()

    def _watch(self, before: int | None = None) -> None:
        left = self.transport.get_write_buffer_size()
        if left and left == before:
            self.transport.abort()
        else:
            self._taking = self.loop.call_later(TAKING, self._watch, left)

    def _taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None


def run_server(app: FastAPI, host: str, port: int, limits: Limits, names: str) -> None:
    """Serve until Ctrl-C; what is under way then is finished."""
    _allow_connections()
    config = uvicorn.Config(
        app, host=host, port=port, http=PatientProtocol, ws="none", log_level="warning", access_log=False,
        timeout_keep_alive=int(IDLE), timeout_graceful_shutdown=int(limits.timeout), server_header=False,
        date_header=False,
    )  # fmt: skip
    server = _Server(config, names)
    with suppress(KeyboardInterrupt):  # uvicorn has finished by then, and tells the signal on
        server.run()
    if not server.started:
        raise InputError(f"--port: got {port}, which cannot be opened on {host}, expected a free one")
    note("stopped")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, names: str) -> None:
        super().__init__(config)
        self.names = names

    async def startup(self, sockets: list[Any] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # uvicorn's way to say that the port is taken
            self.should_exit = True
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"{self.names} at http://{shown}:{port}  (Ctrl-C ends it)", flush=True)


def _allow_connections() -> None:
    """As many open connections as the system lets this process have."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536), most))
