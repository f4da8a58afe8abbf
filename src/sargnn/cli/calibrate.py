"""``sargnn calibrate``."""

from __future__ import annotations

from typing import Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Run, takes_roles
from sargnn.data.roles import Roles
from sargnn.errors import InputError


@takes_roles
def calibrate(
    run: Run,
    data: Data,
    roles: Roles,
    part: Annotated[
        str, typer.Option("--part", help="Labelled graphs that the model was not trained on: validation, test, or all.")
    ] = "validation",
    coverage: Annotated[
        float, typer.Option("--coverage", help="Of the sets or intervals that are tried on the test part.")
    ] = 0.9,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Find what held-out graphs say about a model, temperature and conformal scores, and save it with the model. On the
    set that it was trained on, also save what `predict --trust` compares new graphs with."""
    from sargnn.processes import alone
    from sargnn.training import calibration
    from sargnn.training.open_run import open_run
    from sargnn.training.trust import TrustReference, save_trust

    opened = open_run(run, data, part, roles=roles, device=device, model=model, labelled=True)
    if opened.parts and part in ("all", "train"):
        raise InputError(f"--part: got {part}, expected graphs that the model was not trained on, such as validation")
    held_out = calibration.calibrate(opened.trained, opened.graphs, opened.index)
    with alone(run):
        calibration.save_calibration(run, held_out)
        if opened.parts:
            save_trust(run, TrustReference.of(opened.trained, opened.graphs, opened.parts["train"]))
    file = str(run / calibration.FILE)
    task = opened.trained.task
    result: Answer = {**opened.counts, **held_out.summary(task.names), "file": file}
    if part != "test" and len(test := opened.parts.get("test", ())):
        others = opened.graphs.subset(test)
        found = opened.trained.predict(others)
        assessed = held_out.assess(task.names, task.targets(others), found.values, coverage, found.spread)
        result |= {f"test_{name}": value for name, value in assessed.items()}
    answer(result, as_json, f"{run} on {data}")
