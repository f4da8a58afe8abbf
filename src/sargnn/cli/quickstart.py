"""``sargnn quickstart``."""

from __future__ import annotations

from sargnn.cli.answers import answer
from sargnn.cli.options import Device, Json, NewRun, Seed, command_line, new_folder
from sargnn.console import note

SIZES = (4000, 500, 1000, 0)
SETTINGS = {"model.members": 1, "training.epochs": 20, "training.learning_rate": 2e-3}
"""One member and fewer epochs: one minute instead of five."""


def quickstart(out: NewRun = None, seed: Seed = None, device: Device = "cpu", as_json: Json = False) -> None:
    """Generate triangle graphs, train a model on them, and write a report that shows which nodes decided."""
    from sargnn.cli.train import train_shown
    from sargnn.data.synthetic import triangles
    from sargnn.training.hardware import find_device
    from sargnn.training.run import TrainingRun
    from sargnn.training.settings import DEFAULT_MODEL, Settings

    note("generating triangle graphs: the class is the number of triangles, the truth is the nodes in one")
    graphs = triangles(*SIZES, seed=seed or 0)
    settings = Settings.of(DEFAULT_MODEL, {**SETTINGS, "training.seed": seed or 0})
    folder = out or new_folder("quickstart")
    run = TrainingRun.start(graphs, settings, folder, device=find_device(device), command=command_line())
    report = train_shown(run)
    test = run.scores["test"]
    result = {"test_accuracy": test["accuracy"], "saliency_auc": test["saliency_auc"], "train_seconds": run.seconds}
    answer(result | {"run": str(folder), "report": str(report)}, as_json, "quickstart")
