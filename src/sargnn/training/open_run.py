"""A saved model opened on graphs, on all of a set or on one part of the split that it was trained with, and what it
says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sargnn.console import note
from sargnn.data.graphs import GraphSet
from sargnn.data.origin import SourceRows
from sargnn.data.problems import Problems, shown_some
from sargnn.data.roles import USUAL, Roles
from sargnn.data.sources import read
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.training.hardware import find_device
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import parts_of
from sargnn.training.trained_model import TrainedModel

__all__ = ["OpenRun", "open_run"]


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A trained model and the graphs to use it on."""

    folder: Path
    trained: TrainedModel
    graphs: GraphSet
    """The whole set."""
    index: np.ndarray
    """int64 [K]: the graphs that were asked for, without those that the model cannot read."""
    reasons: Mapping[int, str]
    """Of the graphs that were asked for and have labels unknown to the model, which; they are left out, unless the
    model has learned what to make of unknown labels."""
    all_graphs: bool
    """Whether all graphs were asked for."""

    @property
    def left_out(self) -> int:
        """How many graphs were asked for that the model cannot read."""
        return 0 if self.trained.encoder.has_unknown else len(self.reasons)

    @property
    def rows(self) -> SourceRows | None:
        """The rows of the input, if it has some."""
        return self.graphs.origin.rows if self.graphs.origin else None

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """The run's own split by part; empty where the model was trained on other graphs."""
        return _parts_of(self.folder, self.graphs)

    @cached_property
    def chosen(self) -> GraphSet:
        """The graphs at ``index``."""
        return self.graphs.subset(self.index)

    @property
    def counts(self) -> dict[str, int]:
        """How many graphs there are, and how many were left out, if any."""
        what = "unknown_labels" if self.trained.encoder.has_unknown else "left_out"
        return {"graphs": len(self.index)} | ({what: len(self.reasons)} if self.reasons else {})


def open_run(
    run: Path,
    data: str | GraphSet,
    part: str = "all",
    *,
    roles: Roles = USUAL,
    device: str = "cpu",
    model: str | None = None,
    labelled: bool = False,
    only: Sequence[int] | None = None,
) -> OpenRun:
    """Load the model of ``run`` and the graphs of ``data``: all, those of a ``part``, or ``only`` some of these.

    Graphs with labels that the model was not trained on are left out and counted. Graphs that must be ``labelled`` must
    have the classes of the model; for others a note says which classes it does not know. ``roles`` say what the columns
    of ``data`` are for. ``model`` names the class of a model of one's own, package.module:Class.

    >>> opened = open_run(Path("runs/mutag"), "MUTAG", "test")  # doctest: +SKIP
    >>> opened.trained.predict(opened.chosen).probabilities.shape  # doctest: +SKIP
    (19, 2)
    """
    trained = load_model(run, find_device(device), model=model)
    known = roles.or_else(trained.known_roles)
    # Parts are of the set as it was trained on, without the molecules that have no class.
    graphs = read(data, Problems(), known, labelled=labelled or (None if part != "all" else False))
    told = read_training(run).get("notes", []) if graphs.notes else ()
    for text in graphs.notes:
        if text in told:  # at the training
            continue
        note(f"{graphs.name}: {text}")
    if labelled:
        trained.task.targets(graphs)  # refuses other classes before the work begins
    index = _index_of(part, run, trained, graphs)
    if only is not None:
        index = _only(only, graphs, index)
    reasons = _reasons(trained, graphs, index)
    if not trained.encoder.has_unknown:
        index = np.array([g for g in index.tolist() if g not in reasons], np.int64)
    return OpenRun(run, trained, graphs, index, reasons, part == "all" and only is None)


def _parts_of(run: Path, graphs: GraphSet) -> dict[str, np.ndarray]:
    record = read_training(run)
    if record["data"]["fingerprint"] != graphs.fingerprint:
        return {}
    split = {name: np.array(record["split"][name], dtype=np.int64) for name in ("train", "validation", "test")}
    return parts_of(graphs, Fold(**split))


def _index_of(part: str, run: Path, trained: TrainedModel, graphs: GraphSet) -> np.ndarray:
    if part == "all":
        if unknown := [name for name in graphs.classes if name not in trained.classes]:
            note(f"{graphs.name} has classes that the model was not trained on: {', '.join(unknown)}")
        return np.arange(len(graphs))
    parts = _parts_of(run, graphs)
    if not parts:
        raise InputError(f"--part: got {part!r}, expected all: {graphs.name} is not the set that {run} was trained on")
    known = [name for name, index in parts.items() if len(index)]
    if part not in known:
        raise InputError(f"--part: got {part!r}, expected one of all, {', '.join(known)}")
    return parts[part]


def _only(wanted: Sequence[int], graphs: GraphSet, index: np.ndarray) -> np.ndarray:
    """The wanted graphs in their order, each once."""
    for g in wanted:
        if g >= len(graphs):
            raise InputError(f"--graphs: got {g}, expected 0..{len(graphs) - 1}, in {graphs.name}")
        if g not in index:
            raise InputError(f"--graphs: got {g}, which is not in --part, in {graphs.name}")
    return np.array(list(dict.fromkeys(wanted)))


def _reasons(trained: TrainedModel, graphs: GraphSet, index: np.ndarray) -> dict[int, str]:
    """What the model does not know of some of the graphs at ``index``: labels, by graph. One such graph must not cost
    all others."""
    strange, labels = trained.encoder.strange(graphs)
    left_out = index[strange[index]]
    if not len(left_out):
        return {}
    why = f"labels that the model was not trained on ({shown_some(labels)})"
    first = f"{why}, first in {graphs.called(int(left_out[0]))}"
    if trained.encoder.has_unknown:
        note(f"{len(left_out)} of {len(index)} graphs have {first}: they count as unknown")
        return dict.fromkeys(left_out.tolist(), why)
    if len(left_out) == len(index):
        raise InputError(f"{graphs.name}: got no graph without {first}, expected some")
    note(f"left out {len(left_out)} of {len(index)} graphs: {first}")
    return dict.fromkeys(left_out.tolist(), f"got {why}")
