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

SHOWN = 5
"""Attributes that a message names."""


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
    """Of the graphs that were asked for, those that have labels unknown to the model, or gaps in attributes that had
    none in training. They are left out, unless the model has learned what to make of unknown labels, and does not
    refuse gaps."""
    counts: Mapping[str, int]
    """How many graphs there are, and how many were left out, have unknown labels or new gaps, if any."""
    all_graphs: bool
    """Whether all graphs were asked for."""

    @property
    def left_out(self) -> int:
        """How many graphs were asked for that the model cannot read."""
        return self.counts.get("left_out", 0)

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

    Graphs with labels that the model was not trained on are left out and counted, and so are those with gaps in their
    attributes where the model refuses them. Graphs that must be ``labelled`` must
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
    left_out, told = _odd(trained, graphs, index)
    index = index[~np.isin(index, [*left_out])]
    counts = {"graphs": len(index), "left_out": len(left_out)} | {what: len(of) for what, of in told.items()}
    odd = (*told.values(), left_out)
    reasons = {g: "; ".join(of[g] for of in odd if g in of) for g in dict.fromkeys(g for of in odd for g in of)}
    counts = {what: count for what, count in counts.items() if count or what == "graphs"}
    return OpenRun(run, trained, graphs, index, reasons, counts, part == "all" and only is None)


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


Reasons = dict[int, str]
"""What the model does not know of some graphs, by their numbers."""


def _odd(trained: TrainedModel, graphs: GraphSet, index: np.ndarray) -> tuple[Reasons, dict[str, Reasons]]:
    """Of the graphs at ``index`` those that are left out, and those that are read all the same, by what they have. One
    odd graph must not cost all others."""
    encoder, out, read = trained.encoder, Reasons(), dict[str, Reasons]()
    strange, labels = encoder.strange(graphs)
    lacking, attributes = encoder.new_gaps(graphs)
    named = ", ".join(attributes[:SHOWN]) + (", ..." if len(attributes) > SHOWN else "")
    unknown = f"labels that the model was not trained on ({shown_some(labels)})"
    gaps = f"gaps in attributes that had none in training ({named})"
    if encoder.refuses_gaps:
        gaps = f"gaps in attributes, which the model refuses ({named})"
    for which, why, accepted, field, become in (
        (strange, unknown, encoder.has_unknown, "unknown_labels", "they count as unknown"),
        (lacking, gaps, not encoder.refuses_gaps, "new_gaps", "they are read as the mean"),
    ):
        found = index[which[index] & ~np.isin(index, [*out])]
        if not len(found):
            continue
        first = f"{why}, first in {graphs.called(int(found[0]))}"
        if accepted:
            note(f"{len(found)} of {len(index)} graphs have {first}: {become}")
            read[field] = dict.fromkeys(found.tolist(), why)
            continue
        out |= dict.fromkeys(found.tolist(), f"got {why}")
        if len(out) == len(index):
            raise InputError(f"{graphs.name}: got no graph without {first}, expected some")
        note(f"left out {len(found)} of {len(index)} graphs: {first}")
    return out, read
