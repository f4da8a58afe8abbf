"""``sargnn cv``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Data, Device, Json, Metric, Missing, Seed, Set, Split, load_noted, takes_roles
from sargnn.console import note
from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError


@takes_roles
def cv(
    data: Data,
    roles: Roles,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A model, by default sargnn-plus; give two to compare.")
    ] = None,
    assignments: Set = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", metavar="KEY=A,B", help="Values to select from on the inner hold-out.")
    ] = None,
    metric: Metric = None,
    missing: Missing = None,
    folds: Annotated[
        int | None, typer.Option("--folds", help="Outer folds; default: 10, of --split scaffold one.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Trainings of the selected setting in each fold.")] = 3,
    split: Split = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A folder for the rows and a report. Rerun with this folder to continue."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that train side by side; on a CPU by default its cores.")
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Estimate accuracy honestly: nested cross-validation with selection on inner hold-outs."""
    from sargnn.data.features.encoder import gaps_in_words
    from sargnn.studies.bundles import cores
    from sargnn.studies.cross_validation import CrossValidation, cross_validate, expand, in_words
    from sargnn.training.hardware import find_device
    from sargnn.training.settings import DEFAULT_MODEL

    chosen = [*(assignments or []), *([f"training.monitor={metric}"] if metric else [])]
    chosen += [f"data.missing={missing}"] if missing else []
    plan = CrossValidation(
        model or [DEFAULT_MODEL], chosen, grid or [], folds, repeats, split, seed or 0, roles.task
    )  # fmt: skip
    if workers is not None and workers < 1:
        raise InputError(f"--workers: got {workers}, expected at least 1")
    where, graphs = find_device(device), load_noted(data, roles)
    configs = [expand(name, plan.assignments, plan.grid)[0].data for name in plan.models]
    for text in dict.fromkeys(text for config in configs for text in gaps_in_words(config, graphs)):
        note(text)
    # A GPU trains all folds at once in one process; the cores of a CPU take one fold each.
    named = None if roles != USUAL else data  # columns are read here, not by each worker
    found = cross_validate(graphs, named, plan, out, workers or (cores() if where.type == "cpu" else 1), where)
    answer(found if as_json else in_words(found), as_json, f"cross-validation on {data}")
