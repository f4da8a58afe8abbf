"""``sargnn reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Device, Json, check_choice
from sargnn.errors import InputError


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table1, table2, table3, ablations, beyond, figure-optimization, figure-tsne, figure-model-size, "
            "figure-complexity, figure-saliency-triangles, figure-saliency-mutag, figure-dss, all, or page.",
        ),
    ],
    preset: Annotated[str, typer.Option("--preset", help="smoke (minutes), lean, quick, wide, or paper.")] = "quick",
    out: Annotated[
        Path, typer.Option("--out", help="The folder of the store and the pages. Rerun with this folder to continue.")
    ] = Path("reproduction"),
    data: Annotated[str | None, typer.Option("--data", help="Only the cells of these sets, comma-separated.")] = None,
    systems: Annotated[
        str | None, typer.Option("--systems", help="Only the cells of these models, comma-separated.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="local, processes, ray, or none to only write the pages again.")
    ] = "local",
    workers: Annotated[int | None, typer.Option("--workers", help="Worker processes.")] = None,
    address: Annotated[str | None, typer.Option("--address", help="Of a Ray cluster.")] = None,
    rows: Annotated[
        list[Path] | None,
        typer.Option("--rows", help="Start a new store from these rows (.jsonl or .jsonl.gz); repeat it for more."),
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Compute a table or a figure of the paper under the strict protocol, beside what was published.

    The name all computes everything in turn. The name page writes the documentation's page of all tables and
    figures from the rows of --rows to the file --out, and its pictures to the folder images beside it.
    """
    from sargnn.reproduction.page import write_page
    from sargnn.reproduction.paper import PRESETS
    from sargnn.reproduction.run import NAMES, SALIENCY_FIGURES, Reproduction
    from sargnn.studies.store import Store
    from sargnn.training.hardware import find_device

    check_choice("NAME", name, (*NAMES, "all", "page"))
    check_choice("--preset", preset, PRESETS)
    if name == "page":
        if not rows:
            raise InputError("--rows: got none, expected the files of rows that the page is made of")
        answer({"written": [str(file) for file in write_page(rows, out)]}, as_json, name)
        return
    for option, value in (("--data", data), ("--systems", systems)):
        if value is not None and name in ("all", *SALIENCY_FIGURES):
            raise InputError(f"{option}: got {value} with {name}, expected a table or a figure of several sets")
    reproduction = Reproduction(preset, out, data, engine, workers, address, str(find_device(device)), systems)
    with Store(out / f"{preset}.sqlite") as store:
        if not store.rows():
            for file in rows or ():
                store.import_rows(file)
        answer(reproduction.run_all(store) if name == "all" else reproduction.run(name, store), as_json, name)
