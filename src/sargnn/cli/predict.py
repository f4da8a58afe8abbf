"""``sargnn predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Part, Run


def predict(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write: graph, class, probability of each class.")],
    part: Part = "all",
    coverage: Annotated[
        float | None,
        typer.Option("--coverage", help="Also give sets of classes that hold the true one with this probability: 0.9."),
    ] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Probabilities at the temperature found on the validation graphs.")
    ] = False,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Predict the class of every graph."""
    from sargnn.files import check_writable
    from sargnn.training.calibration import load_calibration
    from sargnn.training.open_run import open_run, write_predictions

    opened = open_run(run, data, part, device=device, model=model)
    check_writable(out)
    task, values = opened.trained.task, opened.trained.predict(opened.chosen).values
    sets = None if coverage is None else load_calibration(run, task).sets(values, coverage)
    if calibrated:
        values = load_calibration(run, task).apply(values)
    write_predictions(out, task, values, opened.graphs, opened.index, sets)
    result: Answer = {**opened.counts, "file": str(out)}
    result |= {} if sets is None else {"mean_set_size": float(sets.sum(axis=1).mean())}
    answer(result, as_json, f"{run} on {data}")
