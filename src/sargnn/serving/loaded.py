"""Trained runs that are held in memory, and read again when their folders change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sargnn.console import note
from sargnn.data.features.given_encodings import Attributes, Labels
from sargnn.errors import InputError
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of
from sargnn.tasks import Task
from sargnn.tasks.calibration import Calibration
from sargnn.training.calibration import load_calibration
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.trained_model import TrainedModel
from sargnn.training.trust import FILE as TRUST
from sargnn.training.trust import TrustReference, load_trust

__all__ = ["LoadedRun", "Runs"]

WATCHED = ("config.json", "weights.safetensors", "training.json", "calibration.json", TRUST)
ALCOHOL = "CCO"
LOOK_AGAIN = 1.0
"""Seconds between two looks at a folder."""

Stamp = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run in memory."""

    name: str
    folder: Path
    trained: TrainedModel
    calibration: Calibration | None
    trust: TrustReference | None
    record: Mapping[str, Any]
    """``training.json``."""
    stamp: Stamp

    @cached_property
    def says_saliency(self) -> bool:
        """Whether the model says which nodes decided."""
        said = self._said_of(self.example)
        return isinstance(said, Outcome) and said.map is not None

    @classmethod
    def load(cls, name: str, folder: Path, model: str | None = None) -> LoadedRun:
        stamp = _stamp(folder)
        trained = load_model(folder, model=model)
        if trained.model.draws_in_eval:
            got = f"got a model '{trained.settings.name}' that draws random numbers when it predicts"
            raise InputError(f"{folder}: {got}, expected one whose answer does not depend on what else is asked")
        calibration = load_calibration(folder, trained.task) if (folder / "calibration.json").exists() else None
        trust = load_trust(folder, trained) if (folder / TRUST).exists() else None
        return cls(name, folder, trained, calibration, trust, read_training(folder), stamp)

    @property
    def task(self) -> Task:
        return self.trained.task

    def inputs(self) -> dict[str, Any]:
        """What the model reads of a graph, in words that a program can use."""
        encoder = self.trained.encoder
        found: dict[str, Any] = {"columns": list(encoder.feature_names)}
        kinds = {"node": encoder.encodings, "edge": encoder.edge_encodings, "graph": encoder.graph_encodings}
        for each, encodings in kinds.items():
            for encoding in encodings:
                if isinstance(encoding, Labels):
                    found[f"{each}_labels"] = list(encoding.names)
                elif isinstance(encoding, Attributes):
                    found[f"{each}_attributes"] = len(encoding.mean)
        return found

    @cached_property
    def example(self) -> str | dict[str, Any]:
        """A small graph that the model can read: alcohol in SMILES if it knows the atoms by their names, else a path of
        three nodes."""
        known = {"C", "O"} <= set(self.inputs().get("node_labels", "CO"))
        return ALCOHOL if known and isinstance(self._said_of(ALCOHOL), Outcome) else self._path()

    def _said_of(self, item: Any) -> Outcome | InputError:
        (said,) = outcomes_of(self.trained, None, Wanted(), [GraphInput.of(item, {})])
        return said

    def _path(self) -> dict[str, Any]:
        inputs = self.inputs()
        nodes = [{"id": i, **_attributes(inputs, "node", i)} for i in range(3)]
        ends = [{"source": i, "target": i + 1, **_attributes(inputs, "edge", i)} for i in range(2)]
        graph = _attributes(inputs, "graph", 0)
        return {"nodes": nodes, "edges": ends} | ({"graph": graph} if graph else {})


class Runs:
    """The runs of one server by name."""

    def __init__(self, folders: Sequence[Path], model: str | None = None) -> None:
        self.model = model
        names = _distinct([folder.resolve().name for folder in folders])
        self._runs = {name: LoadedRun.load(name, folder, model) for name, folder in zip(names, folders, strict=True)}
        self._looked = dict.fromkeys(names, time.monotonic())

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __contains__(self, name: str) -> bool:
        return name in self._runs

    def __getitem__(self, name: str) -> LoadedRun:
        return self._runs[name]

    def outdated(self, name: str) -> bool:
        """Whether the folder has changed since it was read; it is looked at once a second at most."""
        now = time.monotonic()
        if now - self._looked[name] < LOOK_AGAIN:
            return False
        self._looked[name] = now
        return _stamp(self._runs[name].folder) != self._runs[name].stamp

    def reload(self, name: str) -> None:
        """Read the folder again. One that cannot be read, since it is gone or half written, changes nothing: the run in
        memory is served on."""
        run = self._runs[name]
        try:
            self._runs[name] = LoadedRun.load(name, run.folder, self.model)
        except InputError as error:
            note(f"{name}: the folder has changed and cannot be read ({error}); serving what was read before")
        else:
            note(f"{name}: the folder has changed and was read again")


def _attributes(inputs: Mapping[str, Any], each: str, position: int) -> dict[str, Any]:
    labels = inputs.get(f"{each}_labels")
    row: dict[str, Any] = {"label": labels[position % len(labels)]} if labels else {}
    return row | {f"attribute_{i}": 0.0 for i in range(inputs.get(f"{each}_attributes", 0))}


def _stamp(folder: Path) -> Stamp:
    def of(path: Path) -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    return tuple(of(folder / name) for name in WATCHED)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that fit into an address, each once.

    >>> _distinct(["my run", "b", "b"])
    ['my-run', 'b', 'b-2']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
        numbered = (plain if n == 1 else f"{plain}-{n}" for n in range(1, len(names) + 1))
        found.append(next(candidate for candidate in numbered if candidate not in found))
    return found
