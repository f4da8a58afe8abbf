"""``sargnn bench``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.options import Device, Json, command_line


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="The main rows alone, in about a minute.")] = False,
    contender: Annotated[
        list[str] | None, typer.Option("--contender", help="Only this one, against pyg-gcn; repeat it for more.")
    ] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", help="Graphs per batch; repeat it for more.")] = None,
    hidden: Annotated[list[int] | None, typer.Option("--hidden", help="Features per node; repeat it for more.")] = None,
    threads: Annotated[list[int] | None, typer.Option("--threads", help="Threads; repeat it for more.")] = None,
    busy_limit: Annotated[
        float, typer.Option("--busy-limit", help="Cores that others may use before a row is refused.")
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file for the rows, one JSON object per line; a drawing beside it.")
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Measure speed beside PyTorch Geometric and other formulations: ratios, each with its spread."""
    from sargnn.bench import Plan, run, save, table
    from sargnn.files import check_writable
    from sargnn.training.hardware import find_device, hardware, versions

    sizes = (tuple(batch or ()), tuple(hidden or ()), tuple(threads or ()))
    plan = Plan(quick, tuple(contender or ()), *sizes, device, busy_limit, growth=out is not None)
    if out is not None:
        check_writable(out)
    rows = run(plan)
    files = [] if out is None else save(rows, out, command_line(), plan)
    result = {
        "rows": [row for row in rows if row["kind"] != "growth"], "versions": versions(),
        "hardware": hardware(find_device(device)), "files": [str(file) for file in files],
    }  # fmt: skip
    print(json.dumps(result, allow_nan=False) if as_json else table(rows))
