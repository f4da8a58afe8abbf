"""``sargnn evaluate``."""

from __future__ import annotations

from typing import Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Part, Run, takes_roles
from sargnn.console import note
from sargnn.data.roles import Roles


@takes_roles
def evaluate(
    run: Run,
    data: Data,
    roles: Roles,
    part: Part = "all",
    coverage: Annotated[
        float | None, typer.Option("--coverage", help="Also count how often sets or intervals hold the truth: 0.9.")
    ] = None,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Score a trained model on labelled graphs."""
    import numpy as np

    from sargnn.training.calibration import load_calibration
    from sargnn.training.open_run import open_run
    from sargnn.training.run import score

    opened = open_run(run, data, part, roles=roles, device=device, model=model, labelled=True)
    trained, graphs = opened.trained, opened.chosen
    prediction = trained.predict(graphs)
    scores = score(trained, graphs, prediction, np.arange(len(graphs)))
    result: Answer = {"model": trained.settings.name, **scores, **opened.counts}
    if coverage is not None:
        held_out, task = load_calibration(run, trained.task), trained.task
        result |= held_out.assess(task.names, task.targets(graphs), prediction.values, coverage, prediction.spread)
    if part == "all" and opened.parts and not opened.left_out:
        main = trained.task.metrics[0].key
        parts = {name: index for name, index in opened.parts.items() if len(index)}
        result["parts"] = {name: score(trained, graphs, prediction, index)[main] for name, index in parts.items()}
        note("these graphs were trained on, except the test part: use its score")
    answer(result, as_json, f"{run} on {data}")
