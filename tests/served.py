"""``sargnn serve`` in a process of its own, and graphs to send to it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

ANY = "http://127.0.0.1"
Client = Callable[..., TestClient]
"""Takes folders of runs and the options of ``create_app``."""


@dataclass
class Served:
    """The command while it runs."""

    process: subprocess.Popen[str]
    address: str

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C: the status and what was said."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out + err


@contextmanager
def serving(*arguments: object) -> Iterator[Served]:
    """``sargnn serve`` on a free port, ready."""
    command = [sys.executable, "-m", "sargnn", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, process.communicate()[1]
        yield Served(process, found[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def graph(nodes: int = 4, ring: bool = True, **more: Any) -> dict[str, Any]:
    """A graph that the run can read, as JSON."""
    ends = [*zip(range(nodes - 1), range(1, nodes), strict=True), *([(nodes - 1, 0)] if ring else [])]
    rows = [{"id": i, "attribute_0": 0.1 * i, "attribute_1": 1.0} for i in range(nodes)]
    return {"nodes": rows, "edges": [{"source": a, "target": b} for a, b in ends], **more}
