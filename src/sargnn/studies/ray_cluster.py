"""Bundles on a Ray cluster (extra: ray)."""

from __future__ import annotations

import inspect
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from sargnn.errors import InputError
from sargnn.studies.bundles import Ended, Executor, Message, compute, cores, first_line
from sargnn.studies.store import Job

__all__ = ["RayCluster"]

CONNECT_SECONDS = 60.0
"""How long a cluster may take to answer."""


class RayCluster(Executor):
    """Tasks of a Ray cluster, one per bundle; one whose worker or node is lost is started elsewhere."""

    def __init__(self, work: str, device: str, workers: int | None, address: str | None, gpus: float) -> None:
        super().__init__(work, device)
        self._ray = _import_ray()
        self._workers = workers
        self._streams: dict[int, Any] = {}
        self._connected_here = not self._ray.is_initialized()
        if self._connected_here:
            _connect(self._ray, address, workers)
        self._need = {"CPU": 1.0, "GPU": gpus} if gpus else {"CPU": 1.0}
        if gpus > self._ray.cluster_resources().get("GPU", 0):
            self.close()
            raise InputError(f"got a Ray cluster with fewer GPUs than the {gpus:g} that a bundle takes")
        # Ray would compute a lost bundle anew from its start; the run does so for the rows that have not come.
        options = {"num_cpus": 1, "num_gpus": gpus, "max_retries": 0, "num_returns": "streaming"}
        # Ray looks for a generator function, which the type checks of tests would hide.
        self._task = self._ray.remote(**options)(inspect.unwrap(compute))

    def room(self) -> int:
        if self._workers is not None:
            return self._workers
        there = self._ray.cluster_resources()
        # Twice what can run, so that a node that ends a bundle has the next at hand.
        return 2 * max(1, int(min(there.get(name, 0) / need for name, need in self._need.items())))

    def start(self, ticket: int, jobs: list[Job]) -> None:
        self._streams[ticket] = self._task.remote(self._work, jobs, self._device)

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        streams = list(self._streams.items())
        ready, _ = self._ray.wait([stream for _, stream in streams], timeout=seconds)
        for ticket, stream in streams:
            if stream in ready:
                message = self._receive(stream)
                if isinstance(message, Ended):
                    del self._streams[ticket]
                yield ticket, message

    def close(self) -> None:
        for stream in self._streams.values():
            self._ray.cancel(stream, force=True)
        if self._connected_here:
            self._ray.shutdown()

    def _receive(self, stream: Any) -> Message:
        try:
            message: Message = self._ray.get(next(stream))
            return message
        except self._ray.exceptions.RayTaskError as error:
            return Ended("error", first_line(f"{type(error.cause).__name__}: {error.cause}"), str(error))
        except (self._ray.exceptions.RayError, StopIteration) as error:
            return Ended("lost", f"its worker was lost ({type(error).__name__})")


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray warns until this is chosen
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine: got ray, which is not installed: pip install 'sargnn[ray]'") from error
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "error"}
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        rows_are_small = 100 * 2**20
        processes = workers or cores()
        ray.init("local", num_cpus=processes, include_dashboard=False, object_store_memory=rows_are_small, **quiet)
    else:
        _check_cluster(address)
        ray.init(address, **quiet)


def _check_cluster(address: str) -> None:
    """Ray tries for minutes to reach a cluster that is not there: ask first, in a process that can be stopped."""
    probe = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False)"
    try:
        if address != "auto":
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        command = [sys.executable, "-c", probe, address]
        subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        reason = f"no answer in {CONNECT_SECONDS:.0f} s"
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().rpartition("\n")[2]
    except (OSError, ValueError, OverflowError) as error:
        reason = str(error)
    else:
        return
    raise InputError(f"--address: got {address}, expected host:port of a running Ray cluster or auto ({reason})")
