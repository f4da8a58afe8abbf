"""How many predictions a second `sargnn serve` gives, how long they take, and what a full queue says.

    python benchmarks/serving.py RUN DATA --rows results/serving.jsonl

Everything is on this machine and over loopback: the server in one process, all clients in another, so that they share
the cores. Rates are ratios to one process that reads and predicts one graph at a time, measured in turn with them,
each with one thread. They are also given per second of CPU time, of which other work on the machine takes nothing; the
load of the machine is in every row. Counts and times are bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
import torch

import sargnn
from sargnn.data.io.convert import convert
from sargnn.serving.graph_inputs import GraphInput, read

LEAST = 50
"""Graphs of a measurement, however busy the machine is."""


def texts_of(data: str) -> list[str]:
    """Every graph of a set as node-link JSON."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "graphs.jsonl")
        convert(sargnn.load(data), path, "jsonl")
        items = [json.loads(line) for line in path.read_text().splitlines()]
    return [json.dumps({"nodes": item["nodes"], "edges": item["edges"]}) for item in items]


def one_at_a_time(run: str, texts: list[str], seconds: float) -> tuple[float, float]:
    """Graphs a second, and a second of CPU time, of one process that reads and predicts one graph after the other."""
    torch.set_num_threads(1)
    trained = sargnn.load_model(run)
    trained.predict(read([GraphInput.of(json.loads(texts[0]), {})]))  # kernels are loaded
    started, busy = time.perf_counter(), time.process_time()
    for done, text in enumerate(cycle(texts), 1):
        trained.predict(read([GraphInput.of(json.loads(text), {})]))
        if time.perf_counter() - started > seconds and done >= LEAST:
            return done / (time.perf_counter() - started), done / (time.process_time() - busy)
    raise AssertionError


def cpu_seconds(process: psutil.Process) -> float:
    """What a process has used of both cores so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def serving(run: str, *options: str) -> Iterator[tuple[str, int, psutil.Process, float]]:
    """Host, port, process, and seconds until it was ready."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "sargnn", "serve", run, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        ready = time.perf_counter() - started
        address = urlsplit(found[0])
        yield str(address.hostname), int(address.port or 0), psutil.Process(process.pid), ready
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


class Client:
    """One connection that is kept open."""

    def __init__(self, host: str, port: int) -> None:
        self.place = host, port
        self.reader: asyncio.StreamReader | None = None

    async def ask(self, request: bytes) -> int:
        """The status of the answer, which is read to its end."""
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(*self.place)
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        await self.reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in head.lower():
            self.reader = None
        return int(head[9:12])


def requests_of(name: str, texts: list[str]) -> list[bytes]:
    found = []
    for text in texts:
        body = ('{"graphs": [' + text + "]}").encode()
        head = f"POST /v1/models/{name}/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        found.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return found


async def closed_loop(
    host: str, port: int, requests: list[bytes], clients: int, enough: Callable[[int, float], bool]
) -> tuple[float, list[tuple[int, float]]]:
    """Every client asks again as soon as it is answered: requests a second, and the status and seconds of each."""
    found: list[tuple[int, float]] = []
    turn, started = iter(cycle(requests)), time.perf_counter()

    async def one() -> None:
        client = Client(host, port)
        while not enough(len(found), time.perf_counter() - started):
            asked = time.perf_counter()
            status = await client.ask(next(turn))
            found.append((status, time.perf_counter() - asked))

    await asyncio.gather(*(one() for _ in range(clients)))
    return len(found) / (time.perf_counter() - started), found


async def open_loop(host: str, port: int, requests: list[bytes], rate: float, seconds: float) -> list[float]:
    """Requests leave at a steady rate, whatever the answers do: the seconds of each, from when it should have left."""
    free = [Client(host, port) for _ in range(64)]
    times: list[float] = []
    started = time.perf_counter()

    async def one(number: int) -> None:
        client = free.pop() if free else Client(host, port)
        await client.ask(requests[number % len(requests)])
        times.append(time.perf_counter() - started - number / rate)
        free.append(client)

    tasks = []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(number)))
    await asyncio.gather(*tasks)
    return times


def until(seconds: float) -> Callable[[int, float], bool]:
    return lambda done, past: past > seconds and done >= 20 * LEAST


def _row(what: str, values: list[float]) -> dict[str, Any]:
    return {"what": what, "value": float(np.median(values)), "all": [round(value, 3) for value in values]}


def measure(run: str, data: str, seconds: float, many: int) -> Iterator[dict[str, Any]]:
    texts = texts_of(data)
    requests = requests_of(Path(run).name, texts)
    for options in ((), ("--data", data)):
        with serving(run, *options) as (_, _, process, ready):
            words = " ".join(("seconds from the command to ready", *options))
            yield {"what": words, "value": ready, "cpu": cpu_seconds(process)}
    with serving(run) as (host, port, process, _):
        asyncio.run(closed_loop(host, port, requests, 64, lambda done, _: done >= 500))
        rates, alone = [], []
        for _ in range(3):
            alone.append(one_at_a_time(run, texts, seconds / 2))
            before = cpu_seconds(process)
            rate, found = asyncio.run(closed_loop(host, port, requests, 64, until(seconds)))
            rates.append((rate, len(found) / (cpu_seconds(process) - before)))
            assert {status for status, _ in found} == {200}
        for kind, second in enumerate(("second", "second of CPU time")):
            yield _row(f"graphs a {second}, one process, one at a time", [both[kind] for both in alone])
            yield _row(f"requests a {second}, 64 clients, a graph each", [both[kind] for both in rates])
            ratios = [rate[kind] / before[kind] for rate, before in zip(rates, alone, strict=True)]
            yield _row(f"ratio, by the {second}", ratios)
        times = asyncio.run(open_loop(host, port, requests, max(rates)[0] / 2, 2 * seconds))
        quantiles = {f"p{q:g}": float(np.quantile(times, q / 100)) for q in (50, 95, 99)}
        yield {"what": "seconds to the answer at half of the highest rate", "requests": len(times), **quantiles}
        sizes = [process.memory_info().rss]
        for _ in range(10):
            asyncio.run(closed_loop(host, port, requests, 64, lambda done, _: done >= many // 10))
            sizes.append(process.memory_info().rss)
        yield {"what": f"MiB of memory over {many} requests", "all": [round(size / 2**20, 1) for size in sizes]}
    with serving(run, "--max-queue", "200", "--max-graphs", "200") as (host, port, _, _):
        refused = asyncio.run(while_full(host, port, Path(run).name, texts, seconds))
        quantiles = {f"p{q:g}": float(np.quantile(refused, q / 100)) for q in (50, 95, 99)}
        yield {"what": "seconds to a 503 while the queue is full", "requests": len(refused), **quantiles}


async def while_full(host: str, port: int, name: str, texts: list[str], seconds: float) -> list[float]:
    """Clients keep the queue full with requests of ten graphs; another asks the same, and is told that it is: the
    seconds of that."""
    large = requests_of(name, [", ".join((texts * 10)[:10])])[0]
    refused, started = [], time.perf_counter()

    def going_on() -> bool:
        past = time.perf_counter() - started
        return past < seconds or (len(refused) < LEAST and past < 10 * seconds)

    async def fill() -> None:
        client = Client(host, port)
        while going_on():
            if await client.ask(large) == 503:
                await asyncio.sleep(0.02)

    async def probe() -> None:
        client = Client(host, port)
        while going_on():
            asked = time.perf_counter()
            if await client.ask(large) == 503:
                refused.append(time.perf_counter() - asked)
            await asyncio.sleep(0.01)

    await asyncio.gather(*(fill() for _ in range(40)), probe())
    return refused


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--many", type=int, default=50_000)
    parser.add_argument("--rows", type=Path)
    asked = parser.parse_args()
    about = {
        "command": f"python benchmarks/serving.py RUN {asked.data} --seconds {asked.seconds:g} --many {asked.many}",
        "version": sargnn.__version__, "data": asked.data, "system": sargnn.load_model(asked.run).settings.name,
        "hardware": f"{platform.machine()} CPU, {os.cpu_count()} cores",
    }  # fmt: skip
    for row in measure(asked.run, asked.data, asked.seconds, asked.many):
        line = json.dumps({**row, **about, "load": round(os.getloadavg()[0], 1)})
        print(line, flush=True)
        if asked.rows:
            with asked.rows.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
