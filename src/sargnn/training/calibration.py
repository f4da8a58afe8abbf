"""The calibration of a saved model: fitted on held-out graphs, kept beside the weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.reading import parse_json, read_text
from sargnn.tasks import Task
from sargnn.tasks.calibration import Calibration
from sargnn.training.model_folder import WEIGHTS
from sargnn.training.trained_model import TrainedModel

__all__ = ["calibrate", "kind_of", "load_calibration", "save_calibration"]

FORMAT = "sargnn.calibration/1"
FILE = "calibration.json"


def calibrate(trained: TrainedModel, graphs: GraphSet, index: np.ndarray) -> Calibration:
    """The calibration of a model on the graphs at ``index``, which it must not have been fitted to.

    >>> held_out = calibrate(run.trained, run.graphs, run.fold.validation)  # doctest: +SKIP
    >>> held_out.temperature  # doctest: +SKIP
    1.31
    """
    chosen = graphs.subset(index)
    found = trained.predict(chosen)
    return kind_of(trained.task).fit(trained.task.targets(chosen), found.values, found.spread)


def kind_of(task: Task) -> type[Calibration]:
    """The kind of calibration that a task has."""
    if task.calibration is None:
        raise InputError(f"task: got {task.kind}, expected one that can be calibrated")
    return task.calibration


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Write ``calibration.json`` with a checksum of the weights beside it."""
    content = {"format": FORMAT, "weights": _weights_in(folder), **calibration.to_json()}
    write_file(folder / FILE, json.dumps(content) + "\n")


def load_calibration(folder: Path, task: Task) -> Calibration:
    """Read what :func:`save_calibration` wrote; refused if the weights have changed since.

    >>> load_calibration(Path("runs/mutag"), trained.task).regions(probabilities, coverage=0.9)  # doctest: +SKIP
    array([[ True, False], ...
    """
    path = folder / FILE
    try:
        content: dict[str, Any] = parse_json(read_text(path))
        if content["format"] != FORMAT:
            raise InputError(f"{path}: got another file, expected format {FORMAT!r}")
        calibration = kind_of(task).from_json(content)
        if calibration.outputs not in (None, len(task.names)):
            raise ValueError(f"got {calibration.outputs} targets, expected {len(task.names)}")
        weights = content["weights"]
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, expected it to be made by: sargnn calibrate {folder} DATA") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: not a readable calibration ({error})") from error
    if weights != _weights_in(folder):
        raise InputError(f"{path}: got the calibration of other weights, expected: sargnn calibrate {folder} DATA")
    return calibration


def _weights_in(folder: Path) -> str:
    return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
