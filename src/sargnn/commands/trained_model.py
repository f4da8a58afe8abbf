"""Use a trained model: score it, predict with it, calibrate it, export it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sargnn.commands.inputs import Answer, load_noted
from sargnn.console import note
from sargnn.data.graphs import GraphSet
from sargnn.data.problems import shown
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.files import check_writable, write_csv
from sargnn.tasks.calibration import assess
from sargnn.training.calibration import calibrate as fit_calibration
from sargnn.training.calibration import load_calibration, save_calibration
from sargnn.training.hardware import find_device
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import parts_of, score
from sargnn.training.trained_model import TrainedModel

__all__ = ["calibrate", "evaluate", "export", "open_run", "predict", "readable"]

SHOWN_LABELS = 5
"""So many strange labels are named."""


def evaluate(run: Path, data: str, part: str, device: str) -> Answer:
    trained, graphs, index = open_run(run, data, part, device, labelled=True)
    index, left_out = readable(trained, graphs, index)
    chosen = graphs.subset(index)
    prediction = trained.predict(chosen)
    scores = score(trained, chosen, prediction, np.arange(len(index)))
    answer: Answer = {"model": trained.settings.name, **scores, **left_out}
    headline = trained.task.metrics[0].key
    if part == "all" and (parts := _parts_of(run, chosen)):
        answer["parts"] = {p: score(trained, chosen, prediction, i)[headline] for p, i in parts.items() if len(i)}
        note("these graphs were trained on, but for the test part: its accuracy is the honest one")
    return answer


def predict(
    run: Path, data: str, out: Path, part: str, device: str, coverage: float | None = None, calibrated: bool = False
) -> Answer:
    trained, graphs, index = open_run(run, data, part, device)
    check_writable(out)
    index, left_out = readable(trained, graphs, index)
    prediction = trained.predict(graphs.subset(index))
    task, values, sets = trained.task, prediction.values, np.empty((len(index), 0), bool)
    header = ["graph", *task.columns()]
    answer: Answer = {"graphs": len(index), "file": str(out), **left_out}
    if coverage is not None:
        sets = load_calibration(run, task).sets(values, coverage)
        header += task.set_columns()
        answer["mean_set_size"] = float(sets.sum(axis=1).mean())
    if calibrated:
        values = load_calibration(run, task).apply(values)
    names = graphs.graph_names  # of every graph or of none
    header += ["graph_name"] if names else []
    rows = (
        [g, *task.cells(values[row]), *sets[row].astype(int), *names[g : g + 1]] for row, g in enumerate(index.tolist())
    )
    write_csv(out, header, rows)
    return answer


def readable(trained: TrainedModel, graphs: GraphSet, index: np.ndarray) -> tuple[np.ndarray, Answer]:
    """Which of the graphs at ``index`` the model can read, and what the answer says of the others, if there are any: a
    label that it has not seen must not cost what is said of all others."""
    strange, labels = trained.encoder.strange(graphs)
    left_out = index[strange[index]]
    if not len(left_out):
        return index, {}
    some = ", ".join(map(shown, labels[:SHOWN_LABELS])) + (", ..." if len(labels) > SHOWN_LABELS else "")
    why = f"labels that the model was not trained on ({some}), first in {graphs.called(int(left_out[0]))}"
    if len(left_out) == len(index):
        raise InputError(f"{graphs.name}: got no graph without {why}, expected some")
    note(f"left out {len(left_out)} of {len(index)} graphs: {why}")
    return index[~strange[index]], {"left_out": len(left_out)}


def calibrate(run: Path, data: str, part: str, coverage: float, device: str) -> Answer:
    trained, graphs, index = open_run(run, data, part, device, labelled=True)
    parts = _parts_of(run, graphs) or {}
    if parts and part in ("all", "train"):
        raise InputError(f"--part: got {part}, expected graphs that the model was not trained on, such as validation")
    index, left_out = readable(trained, graphs, index)
    held_out = fit_calibration(trained, graphs, index)
    save_calibration(run, held_out)
    file = str(run / "calibration.json")
    answer: Answer = {"graphs": len(index), "temperature": held_out.temperature, "file": file, **left_out}
    if part != "test" and len(test := parts.get("test", ())):
        others = graphs.subset(test)
        true, probabilities = trained.task.targets(others), trained.predict(others).probabilities
        answer |= {f"test_{name}": value for name, value in assess(held_out, true, probabilities, coverage).items()}
    return answer


def export(run: Path, to: str, out: Path) -> Answer:
    from sargnn.export import export_model

    return export_model(load_model(run), to, out)


def open_run(
    run: Path, data: str, part: str, device: str, labelled: bool = False
) -> tuple[TrainedModel, GraphSet, np.ndarray]:
    """The model of ``run``, the graphs of ``data``, and which of them ``part`` names.

    Only graphs to compare with, those that must be ``labelled``, must have the classes of the model; of others it is
    told that theirs are not.
    """
    trained = load_model(run, find_device(device))
    # Parts are of the set as it was trained on, without the molecules that have no class.
    graphs = load_noted(data, labelled=labelled or (None if part != "all" else False))
    if labelled:
        trained.task.targets(graphs)  # refuses other classes before the work begins
    if part == "all":
        if unknown := [name for name in graphs.classes if name not in trained.classes]:
            note(f"{graphs.name} has classes that the model was not trained on: {', '.join(unknown)}")
        return trained, graphs, np.arange(len(graphs))
    parts = _parts_of(run, graphs)
    if parts is None:
        raise InputError(f"--part: got {part!r}, expected all: {graphs.name} is not the set that {run} was trained on")
    known = [name for name, index in parts.items() if len(index)]
    if part not in known:
        raise InputError(f"--part: got {part!r}, expected one of all, {', '.join(known)}")
    return trained, graphs, parts[part]


def _parts_of(run: Path, graphs: GraphSet) -> dict[str, np.ndarray] | None:
    """The parts of the run's own split, if ``graphs`` are the ones it was trained on."""
    record = read_training(run)
    if record["data"]["fingerprint"] != graphs.fingerprint:
        return None
    split = {name: np.array(record["split"][name], dtype=np.int64) for name in ("train", "validation", "test")}
    return parts_of(graphs, Fold(**split))
