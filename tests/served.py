"""``sargnn serve`` in a process of its own, and graphs to send to it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

from starlette.testclient import TestClient

ANY = "http://127.0.0.1"
Client = Callable[..., TestClient]
"""Takes folders of runs and the options of ``create_app``."""


@dataclass
class Served:
    """The command while it runs."""

    process: subprocess.Popen[str]
    address: str
    log: IO[str]

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C: the status and what was said."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out + self.said()

    def said(self) -> str:
        """What it has written to standard error."""
        self.log.seek(0)
        return self.log.read()


@contextmanager
def serving(*arguments: object) -> Iterator[Served]:
    """``sargnn serve`` on a free port, ready."""
    command = [sys.executable, "-m", "sargnn", "serve", *map(str, arguments), "--port", "0"]
    with (
        TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            one = Served(process, found[0] if found else "", log)
            assert found, one.said()
            yield one
        finally:
            process.kill()


def graph(nodes: int = 4, ring: bool = True, **more: Any) -> dict[str, Any]:
    """A graph that the run can read, as JSON."""
    ends = [*zip(range(nodes - 1), range(1, nodes), strict=True), *([(nodes - 1, 0)] if ring else [])]
    rows = [{"id": i, "attribute_0": 0.1 * i, "attribute_1": 1.0} for i in range(nodes)]
    return {"nodes": rows, "edges": [{"source": a, "target": b} for a, b in ends], **more}
