"""Fine-tuning: a model starts from the weights of a trained one. Inputs and outputs are matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sargnn.data.problems import shown
from sargnn.errors import InputError
from sargnn.systems import find_system
from sargnn.training.model_folder import load_model, weights_of
from sargnn.training.trained_model import TrainedModel

__all__ = ["FREEZABLE", "Transfer", "freeze_part", "start_from", "transfer"]

FREEZABLE = ("backbone",)
"""What ``--freeze`` can name."""
LAST = ("graph", "outputs")
"""What stands behind other numbers where a weight reads both, as graph inputs behind the vector of the nodes. Node and
edge inputs stand in front of what layers made of them."""
SHOWN = 5
"""Names that a note lists."""

Names = dict[str, tuple[str, ...]]
"""The columns of each kind of input, and the outputs, by name."""


class Axis(NamedTuple):
    """Of a weight: the kind of input or output that grows it, if any."""

    kind: str | None
    by_name: bool = True
    """Whether it has one column for each, which goes where its name is; else all must have the same names."""


Axes = tuple[Axis, ...]


class Transfer(NamedTuple):
    """What came of copying weights."""

    notes: list[str]
    """What did not fit, in words."""
    anew: list[str]
    """The weights that have something to learn anew: of another shape, or with a column for a new input."""


def start_from(trained: TrainedModel, run: Path | str) -> Transfer:
    """Give ``trained`` the weights of the model of ``run``."""
    name = trained.settings.name
    done = transfer(trained, load_model(run, model=name if ":" in name else None))
    return done._replace(notes=[f"from {run}: {text}" for text in done.notes])


def freeze_part(trained: TrainedModel, part: str | None, anew: Sequence[str] = ()) -> None:
    """Let training leave a part of the model as it is, but for the weights that are to be learned ``anew``."""
    if part is None:
        return
    if part not in FREEZABLE:
        raise InputError(f"--freeze: got {part!r}, expected {', '.join(FREEZABLE)}")
    if trained.settings.training.policy == "alternating":
        raise InputError("--freeze: got training.policy = alternating, expected joint: one of its turns would be empty")
    trained.model.freeze_backbone()
    named = dict(trained.model.named_parameters())
    for name in named.keys() & set(anew):
        named[name].requires_grad_(True)


def transfer(trained: TrainedModel, source: TrainedModel) -> Transfer:
    """Copy the weights of ``source``. Of a weight that reads inputs, the column of each input goes to the column of the
    same name. Inputs without a namesake, and weights of another shape, keep their initialisation and are told.

    >>> from sargnn import Settings, motifs, train
    >>> trained = train(motifs(20), Settings.of("sar-gin", {"training.epochs": 1, "model.hidden": 8})).trained
    >>> fresh = TrainedModel.untrained(trained.settings, trained.encoder, trained.task)
    >>> transfer(fresh, trained)
    Transfer(notes=[], anew=[])
    """
    if trained.settings.name != source.settings.name:
        raise InputError(f"--from: got a run of {source.settings.name}, expected one of {trained.settings.name}")
    if trained.model.fits_directly or source.model.fits_directly:
        raise InputError("--from: got a model that is fitted without gradients, expected one whose weights can be kept")
    ours, theirs = _names(trained), _names(source)
    if trained.task.kind != source.task.kind or ours["outputs"] != theirs["outputs"]:
        theirs["outputs"] = ()  # class "1" of another task is another class
    axes, old = _axes(trained), weights_of(source.model)
    own = dict([*trained.model.named_parameters(), *trained.model.named_buffers()])
    widths = {kind: len(names) for kind, names in _names(source).items()}
    with torch.no_grad():
        fit = {n: n in old and _copy(value, old[n], axes[n], (ours, theirs, widths)) for n, value in own.items()}
    lost = [name for name, fits in fit.items() if not fits]
    new = [n for n in fit if any(kind and not set(ours[kind]) <= set(theirs[kind]) for kind, _ in axes[n])]
    notes = [*_told_names(ours, theirs), *_told_weights(len(own), lost)]
    return Transfer(notes, sorted({*lost, *new}))


def _copy(value: Tensor, given: Tensor, axes: Axes, columns: tuple[Names, Names, dict[str, int]]) -> bool:
    """Copy what ``given`` has for ``value``, axis by axis; False if their shapes differ otherwise."""
    ours, theirs, widths = columns
    if value.dim() != given.dim():
        return False
    into: list[Tensor] = []
    of: list[Tensor] = []
    for (kind, by_name), here, there in zip(axes, value.shape, given.shape, strict=True):
        if kind and not by_name and ours[kind] != theirs[kind]:
            return False
        names, known, width = (ours[kind], theirs[kind], widths[kind]) if kind and by_name else ((), (), 0)
        others = here - len(names)
        if others != there - width:
            return False
        pairs = [(i, known.index(name)) for i, name in enumerate(names) if name in known]
        named, rest = ((others, others), (0, 0)) if kind in LAST else ((0, 0), (len(names), width))
        for index, start, end, side in ((into, named[0], rest[0], 0), (of, named[1], rest[1], 1)):
            columns_of = [*range(end, end + others), *(start + pair[side] for pair in pairs)]
            index.append(torch.tensor(columns_of, dtype=torch.long))
    if not into:
        value.copy_(given)
    else:
        value[torch.meshgrid(*into, indexing="ij")] = given[torch.meshgrid(*of, indexing="ij")].to(value)
    return all(len(index) for index in into)


def _names(trained: TrainedModel) -> Names:
    encoder = trained.encoder
    graph = tuple(name for encoding in encoder.graph_encodings for name in encoding.feature_names)
    outputs = tuple(trained.task.names) if len(trained.task.names) == trained.task.outputs else ()
    return {"node": encoder.feature_names, "edge": encoder.edge_feature_names, "graph": graph, "outputs": outputs}


def _axes(trained: TrainedModel) -> dict[str, Axes]:
    """What each axis of each weight stands for: it grows when there is one more input, or output, of a kind."""
    widths = {kind: len(names) for kind, names in _names(trained).items()} | {"outputs": trained.task.outputs}
    usual = _shapes(trained, widths)
    grown = {kind: _shapes(trained, {**widths, kind: n + 1}) for kind, n in widths.items() if n}

    def of(name: str, axis: int) -> Axis:
        size = usual[name][axis]
        for kind, shapes in grown.items():
            if more := shapes[name][axis] - size:
                alone = kind in LAST or size == widths[kind] or trained.model.reads_inputs_first
                return Axis(kind, by_name=more == 1 and alone)
        return Axis(None)

    return {name: tuple(of(name, axis) for axis in range(len(shape))) for name, shape in usual.items()}


def _shapes(trained: TrainedModel, widths: dict[str, int]) -> dict[str, torch.Size]:
    """The shape of every weight for these numbers of inputs; nothing is computed."""
    optional = {"edge_inputs": widths["edge"], "graph_inputs": widths["graph"]}
    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        build: Any = find_system(trained.settings.name).model.build
        model = build(trained.settings.model, widths["node"], widths["outputs"], **optional)
    return {name: value.shape for name, value in [*model.named_parameters(), *model.named_buffers()]}


def _told_names(ours: Names, theirs: Names) -> list[str]:
    """What has no namesake, in words."""
    notes = []
    for kind, names in ours.items():
        what = kind if kind == "outputs" else f"{kind} inputs"
        if new := [name for name in names if name not in theirs[kind]]:
            notes.append(f"{len(new)} of {len(names)} {what} are new: {_some(new)}")
        if gone := [name for name in theirs[kind] if name not in names]:
            notes.append(f"{len(gone)} of {len(theirs[kind])} {what} are not there any more: {_some(gone)}")
    return notes


def _told_weights(count: int, lost: list[str]) -> list[str]:
    return [f"{len(lost)} of {count} weights do not fit and are trained anew: {_some(lost)}"] if lost else []


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
