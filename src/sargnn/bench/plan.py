"""What to measure, in which processes, and what to do with the rows."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from sargnn.bench.contenders import CONTENDERS
from sargnn.bench.measure import Cell, Row, measure
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.training.hardware import find_device, hardware, versions

__all__ = ["Plan", "run", "save", "table"]

MAIN = ("gcn", "sar-gcn", "sar-gcn-compiled", "pyg-gcn", "pyg-sar-gcn", "mask-sar-gcn")
TRAINED = ("gcn", "sar-gcn", "sar-gcn-compiled", "pyg-gcn", "pyg-sar-gcn")
ASSEMBLED = ("gcn", "pyg-gcn")
"""All of this project's models share one way to make batches, and so do all of PyTorch Geometric's."""
ON_GPU = ("sar-gcn", "sar-gcn-compiled", "pyg-gcn")
"""The main rows there."""
GROWING = ("gcn", "sar-gcn", "pyg-gcn", "pyg-sar-gcn")


@dataclass(frozen=True)
class Plan:
    """What to measure; empty: what the table of the main rows needs (``quick``), or everything."""

    quick: bool = False
    contenders: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    device: str = "cpu"
    busy_limit: float = 0.1
    """Cores that others may use before a measurement is refused."""
    growth: bool = False
    """Unless quick, measure how cost grows with nodes, edges and models, too."""

    def __post_init__(self) -> None:
        for name in self.contenders:
            if name not in CONTENDERS:
                raise InputError(f"--contender: got {name!r}, expected one of {', '.join(CONTENDERS)}")
        for option, values in (("--batch", self.batches), ("--hidden", self.hidden), ("--threads", self.threads)):
            if min(values, default=1) < 1:
                raise InputError(f"{option}: got {min(values)}, expected at least 1")
        cores = os.cpu_count() or 1
        if max(self.threads, default=1) > cores:
            raise InputError(f"--threads: got {max(self.threads)}, expected at most {cores}, the cores of this machine")
        if not self.busy_limit >= 0:
            raise InputError(f"--busy-limit: got {self.busy_limit}, expected 0 or more cores")
        find_device(self.device)

    @property
    def on_gpu(self) -> bool:
        return find_device(self.device).type != "cpu"

    def cells(self, threads: int) -> list[Cell]:
        """Everything to measure in the process of that many threads."""
        return self._gpu_cells(threads) if self.on_gpu else self._cpu_cells(threads)

    def _gpu_cells(self, threads: int) -> list[Cell]:
        """There assembly and step are one CUDA graph, which is measured as a whole."""
        trained = self._trained(ON_GPU if self.quick else TRAINED)
        sizes = product(self.hidden or (64,), self.batches or ((128,) if self.quick else (32, 128, 512)))
        found = [self._cell("epoch", trained, batch, hidden, threads) for hidden, batch in sizes]
        if not self.contenders:
            found.append(self._cell("study", ("sar-gcn",), 32, 64, threads))
        if not (self.contenders or self.quick):
            found.append(self._cell("folds", ("sar-gcn", "pyg-sar-gcn"), 32, 64, threads))
        if self.growth and not self.quick:
            found.append(self._cell("growth by models", ("sar-gcn",), 128, 64, threads))
        return found

    def _cpu_cells(self, threads: int) -> list[Cell]:
        found = []
        batches = self.batches or ((128, 512) if self.quick else (32, 128, 512))
        for hidden in self.hidden or ((64,) if self.quick else (64, 128)):
            for batch in batches:
                step = self.contenders or (MAIN if self.quick else tuple(CONTENDERS))
                found.append(self._cell("step", step, batch, hidden, threads))
                if not self.contenders:
                    found.append(self._cell("assembly", ASSEMBLED, batch, hidden, threads))
                if not (self.quick and batch > 128):
                    found.append(self._cell("epoch", self._trained(TRAINED), batch, hidden, threads))
            grown = ("sar-gcn",) if self.quick else GROWING
            found.append(self._cell("growth by batch", self.contenders or grown, max(batches), hidden, threads))
        if not self.contenders:
            found.append(self._cell("folds", ("sar-gcn", "pyg-sar-gcn"), 32, 64, threads))
        if self.growth and not self.quick and threads == self.thread_counts[0]:
            found.append(self._cell("growth by shape", GROWING, 128, 64, threads))
            found.append(self._cell("growth by models", ("sar-gcn",), 128, 64, threads))
        return found

    @property
    def thread_counts(self) -> tuple[int, ...]:
        every = tuple(range(1, min(2, os.cpu_count() or 1) + 1))
        return self.threads or ((1,) if self.quick or self.on_gpu else every)

    def _trained(self, default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in self.contenders or default if name != "mask-sar-gcn")

    def _cell(self, kind: str, contenders: tuple[str, ...], batch: int, hidden: int, threads: int) -> Cell:
        if kind in ("step", "epoch") and "pyg-gcn" not in contenders:
            contenders = (*contenders, "pyg-gcn")  # what everything is compared with
        rounds, most_seconds = (9, 15.0 if self.on_gpu else 5.0) if self.quick else (15, 20.0)
        device = str(find_device(self.device))
        return Cell(kind, contenders, batch, hidden, threads, device, rounds, most_seconds, self.busy_limit)


def run(plan: Plan) -> list[Row]:
    """All rows, each number of threads in a process of its own."""
    rows: list[Row] = []
    for threads in plan.thread_counts:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            rows += process.submit(measure, plan.cells(threads)).result()
    return rows


def table(rows: list[Row]) -> str:
    """The rows, but for those of growth, for people."""
    head = f"{'kind':9}{'contender':18}{'reference':15}{'batch':>6}{'hidden':>8}{'threads':>9}{'ratio':>8}{'spread':>8}"
    lines = [head]
    for row in (row for row in rows if row["kind"] != "growth"):
        line = f"{row['kind']:9}{row['contender']:18}"
        if row["kind"] == "study":
            line += f"{row['models']} models, {row['epochs']} epochs on {row['data']}: {row['seconds']:.2f} s"
        else:
            against = f"batch {row['reference_batch']}" if "reference_batch" in row else row["reference"]
            line += f"{against:15}{row['batch']:6}{row['hidden']:8}{row['threads']:9}"
            line += f"{row['ratio']:8.3g}{row['spread']:8.2g}"
        lines.append(line + (f"  refused: others used {row['others']:.1f} cores" if row["refused"] else ""))
    return "\n".join(lines)


def save(rows: list[Row], out: Path, command: str, plan: Plan) -> list[Path]:
    """Write the rows, one JSON object per line after one that says what made them, and a drawing of the growth."""
    made = {"kind": "run", "command": command, "versions": versions(), "hardware": hardware(find_device(plan.device))}
    write_file(out, "".join(json.dumps(row, allow_nan=False) + "\n" for row in (made, *rows)))
    growth = [row for row in rows if row["kind"] == "growth"]
    if not growth:
        return [out]
    from sargnn.bench.figures import draw_growth
    from sargnn.viz import save as save_figure

    drawing = out.with_suffix(".png")
    save_figure(draw_growth(growth), drawing)
    return [out, drawing]
