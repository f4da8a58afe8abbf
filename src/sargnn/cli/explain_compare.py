"""``sargnn explain-compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Config, Data, Device, Json, Model, Seed, Set, command_line, load_noted, takes_roles
from sargnn.console import note
from sargnn.data.roles import Roles


@takes_roles
def explain_compare(
    data: Data,
    roles: Roles,
    out: Annotated[Path | None, typer.Option("--out", help="A file for the rows, one JSON object per line.")] = None,
    model: Model = None,
    assignments: Set = None,
    config: Config = None,
    seed: Seed = None,
    graphs: Annotated[int, typer.Option("--graphs", min=1, help="The most graphs to explain.")] = 100,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Trainings to compare, to measure stability.")] = 2,
    explainers: Annotated[
        list[str] | None, typer.Option("--explainer", help="Only this one and random; repeat it for more.")
    ] = None,
    part: Annotated[
        str, typer.Option("--part", help="Explain test graphs, or validation graphs to choose by.")
    ] = "test",
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Train a model and compare its saliency with other explainers: time, fidelity, truth, stability."""
    from sargnn.files import check_writable, write_file
    from sargnn.studies.explainer_comparison import as_table, compare_explainers
    from sargnn.training.hardware import find_device
    from sargnn.training.settings import read_settings

    settings, where = read_settings(model, assignments or [], config, seed), find_device(device)
    given = load_noted(data, roles)
    if out is not None:
        check_writable(out)
    rows = []
    for row in compare_explainers(
        given, settings, count=graphs, seeds=seeds, explainers=explainers or [], part=part, device=where
    ):
        note(f"{row['data']}: {row['explainer']} of {row['model']}, {row['seconds_per_graph']:.3g} s per graph")
        rows.append({**row, "command": command_line()})
        if out is not None:  # the whole file each time: what was found stays, whatever dies
            write_file(out, "".join(json.dumps(each, allow_nan=False) + "\n" for each in rows))
    if as_json:
        answer({"rows": rows, "file": None if out is None else str(out)}, as_json, data)
    else:
        print(as_table(rows))
