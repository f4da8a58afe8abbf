"""``sargnn predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Part, Run, takes_roles
from sargnn.console import note
from sargnn.data.roles import Roles
from sargnn.errors import InputError


@takes_roles
def predict(
    run: Run,
    data: Data,
    roles: Roles,
    out: Annotated[
        Path, typer.Option("--out", help="The file to write, *.csv, *.parquet or *.jsonl; - is standard output.")
    ],
    part: Part = "all",
    coverage: Annotated[
        float | None,
        typer.Option("--coverage", help="Also give sets or intervals that hold the truth with this probability: 0.9."),
    ] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Probabilities at the temperature found on the validation graphs.")
    ] = False,
    normalised: Annotated[
        bool, typer.Option("--normalised", help="Intervals that are wider where the ensemble's members disagree.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Also say how near each graph is to the training graphs, and what is new.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column of the input to keep, by default all; repeat it for several; none."),
    ] = None,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Predict every graph: one row for each row of the input, in its order, with its columns."""
    from sargnn.files import check_table
    from sargnn.training.calibration import load_calibration
    from sargnn.training.open_run import open_run
    from sargnn.training.prediction_table import kept_columns, write_predictions
    from sargnn.training.trained_model import spread_of
    from sargnn.training.trust import load_trust

    to_screen = str(out) == "-"
    if to_screen and as_json:
        raise InputError("--out: got - beside --json, expected one of the two on standard output")
    if normalised and coverage is None:
        raise InputError("--normalised: got no --coverage, expected one such as 0.9")
    opened = open_run(run, data, part, roles=roles, device=device, model=model)
    if not to_screen:
        check_table(out)
    kept_columns(opened, keep)  # refuses one that is not there before the work begins
    task, found = opened.trained.task, opened.trained.predict(opened.chosen)
    held_out = load_calibration(run, task) if calibrated or coverage is not None else None
    values, result = found.values, {**opened.counts, "file": str(out)}
    more = {} if found.spread is None else dict(zip(task.spread_columns(), found.spread.T.tolist(), strict=False))
    if held_out is not None and calibrated:
        values = held_out.apply(values)
    if held_out is not None and coverage is not None:
        regions = held_out.regions(found.values, coverage, spread_of(found) if normalised else None)
        more |= held_out.columns(task.names, regions)
        result |= {f"mean_{word}": size for word, size in held_out.sizes(task.names, regions).items()}
    if trust:
        more |= load_trust(run, opened.trained).trust(opened.chosen, found).columns()
    rows = write_predictions(None if to_screen else out, opened, values, more, keep)
    result |= {"rows": rows} if rows != len(opened.index) else {}
    if to_screen:
        note(f"{rows} rows, {len(opened.index)} with a prediction")
    else:
        answer(result, as_json, f"{run} on {data}")
