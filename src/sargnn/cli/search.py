"""``sargnn search``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import (
    Config,
    Data,
    Device,
    Json,
    Metric,
    Missing,
    Model,
    Seed,
    Set,
    load_noted,
    new_folder,
    takes_roles,
)
from sargnn.console import note, show_steps
from sargnn.data.roles import Roles


@takes_roles
def search(
    data: Data,
    roles: Roles,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder of the study. Rerun with this folder to continue.")
    ] = None,
    model: Model = None,
    assignments: Set = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space", metavar="KEY=A,B", help="What to search: key=a,b,c, key=low..high or key=low..high:log."
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials in all, earlier ones included.")] = 30,
    config: Config = None,
    metric: Metric = None,
    missing: Missing = None,
    seed: Seed = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Search for good hyperparameters on the validation graphs. The study is saved; rerun to continue it."""
    from sargnn.data.features.encoder import gaps_in_words
    from sargnn.studies.search import Search, read_space
    from sargnn.training.hardware import find_device
    from sargnn.training.progress import monitored
    from sargnn.training.settings import read_settings

    settings, where = read_settings(model, assignments or [], config, seed, metric, missing), find_device(device)
    graphs = load_noted(data, roles)
    for text in gaps_in_words(settings.data, graphs):
        note(text)
    folder = out or new_folder(f"{graphs.name}-search")
    chosen = read_space(space) if space else None
    study = Search.start(graphs, settings, folder, space=chosen, trials=trials, device=where, task=roles.task)
    for _ in show_steps(study, trials - study.done, "trial"):
        pass
    result = {
        "trials": study.done, "pruned": study.pruned, monitored(settings.training): study.best_value,
        "best": study.study.best_params, "config": str(study.save_best(folder)), "folder": str(folder),
    }  # fmt: skip
    answer(result, as_json, f"search on {data}")
