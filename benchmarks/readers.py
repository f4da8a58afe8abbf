"""How fast NetworkX graphs are read, and how much memory tables need: one row each, for ``results/readers.jsonl``.

    python benchmarks/readers.py networkx --out results/readers.jsonl
    python benchmarks/readers.py tables --megabytes 1000 --out results/readers.jsonl

NetworkX graphs are read in one thread, beside ``torch_geometric.utils.from_networkx`` on a part of the same graphs.
Tables are written to a temporary folder (``TMPDIR``) and read in a process of their own, whose peak of resident memory
is asked of the system; a second process reads hardly anything, so that what Python and its libraries take is known.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx

import sargnn
from sargnn.bench.rows import conditions

COMPARED = 0.02
"""Share of the graphs that PyTorch Geometric reads too: it is slow."""

READ = """
import json, sys, time
from pathlib import Path
import numpy as np
from sargnn.data.sources import load
start = time.process_time()
graphs = load(sys.argv[1])
seconds = time.process_time() - start
arrays = sum(value.nbytes for value in vars(graphs).values() if isinstance(value, np.ndarray))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024  # ru_maxrss would count what the parent had at the fork
print(json.dumps({"graphs": len(graphs), "seconds": seconds, "arrays": arrays, "peak": peak}))
"""


def molecules(count: int) -> Iterator[nx.Graph]:
    """Chains of 10 to 20 nodes, each with a number and a category, in two classes."""
    for g in range(count):
        graph = nx.path_graph(10 + g % 11)
        graph.graph["label"] = g % 2
        for node, row in graph.nodes(data=True):
            row.update(charge=node / 7, symbol="CNOS"[(node + g) % 4])
        yield graph


def measure_networkx(count: int) -> dict[str, Any]:
    graphs = list(molecules(count))
    start = time.process_time()
    sargnn.load(graphs)
    rate = count / (time.process_time() - start)
    return {"kind": "networkx", "graphs": count, "graphs_per_second": rate, "ratio": rate / _rate_of_pyg(graphs)}


def _rate_of_pyg(graphs: list[nx.Graph]) -> float:
    """Graphs a second; the category as a number and without the class, because tensors hold no texts."""
    from torch_geometric.utils import from_networkx

    some = [graph.copy() for graph in graphs[: max(1, int(COMPARED * len(graphs)))]]
    for graph in some:
        for _, row in graph.nodes(data=True):
            row["symbol"] = "CNOS".index(row["symbol"])
    start = time.process_time()
    for graph in some:
        from_networkx(graph)
    return len(some) / (time.process_time() - start)


def measure_tables(megabytes: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        write_tables(small, 1 << 16)
        size = write_tables(large, megabytes * 1_000_000)
        baseline, found = _read_apart(small), _read_apart(large)
    return {
        "kind": "tables", "bytes": size, "graphs": found["graphs"], "seconds": found["seconds"],
        "peak_bytes": found["peak"], "baseline_bytes": baseline["peak"], "array_bytes": found["arrays"],
        "ratio": (found["peak"] - baseline["peak"]) / found["arrays"],
    }  # fmt: skip


def write_tables(folder: Path, size: int) -> int:
    """Chains as three CSV files of about ``size`` bytes together; the bytes there are."""
    folder.mkdir()
    nodes = [f"{v},{'CNOS'[v % 4]},{v / 7:.4f}\n" for v in range(20)]
    edges = [f"{v},{v + 1},{('single', 'double')[v % 2]}\n" for v in range(19)]
    written, g = 0, 0
    with (folder / "graphs.csv").open("w") as a, (folder / "nodes.csv").open("w") as b, \
            (folder / "edges.csv").open("w") as c:  # fmt: skip
        a.write("graph,label\n")
        b.write("graph,node,symbol,charge\n")
        c.write("graph,source,target,bond\n")
        while written < size:
            count = 10 + g % 11
            written += a.write(f"{g},{g % 2}\n")
            written += b.write("".join([f"{g},{row}" for row in nodes[:count]]))
            written += c.write("".join([f"{g},{row}" for row in edges[: count - 1]]))
            g += 1
    return written


def _read_apart(folder: Path) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READ, str(folder)]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=("networkx", "tables"))
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="a file that the row is added to")
    options = parser.parse_args()
    row = measure_networkx(options.graphs) if options.kind == "networkx" else measure_tables(options.megabytes)
    row |= conditions()
    print(json.dumps(row))
    if options.out is not None:
        with options.out.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
