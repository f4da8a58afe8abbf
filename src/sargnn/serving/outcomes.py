"""What a model says of the graphs of a batch: an outcome for each that can be read, an error for each that cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.problems import shown_some
from sargnn.errors import InputError
from sargnn.serving.graph_inputs import GraphInput, read
from sargnn.training.trained_model import Prediction, TrainedModel
from sargnn.training.trust import TrustReference

__all__ = ["Outcome", "Wanted", "outcomes_of"]

Read = Callable[[Sequence[GraphInput]], list["Outcome"]]
"""Predicts graphs of one form; refuses all of them if one cannot be read."""


@dataclass(frozen=True)
class Wanted:
    """What to find out about a graph beside its prediction."""

    rule: str = "mean"
    """How the layers become one map, see :mod:`sargnn.explain.maps`."""
    effects: bool = False
    """How much each node raises each output: one pass for every node."""
    trust: bool = False
    """How near it is to the graphs that the model was trained on."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One graph and what the model says of it."""

    values: np.ndarray
    """As :meth:`Task.predict` gives them."""
    spread: np.ndarray | None
    """Their standard deviation over the members of an ensemble."""
    layers: np.ndarray
    """float64 [L, n]: the saliency of each layer; no rows where the model has none."""
    map: np.ndarray | None
    """float64 [n]: all layers in one, where the model has some."""
    graphs: GraphSet
    """The graphs that were read together."""
    position: int
    """The number of this one."""
    effects: np.ndarray | None = None
    """float64 [n, O]: how much each node raises each output."""
    trust: Mapping[str, Any] | None = None
    """What speaks for and against the prediction, as the columns of a file of predictions."""

    @property
    def graph(self) -> GraphSet:
        return self.graphs[self.position]


def outcomes_of(
    trained: TrainedModel, reference: TrustReference | None, wanted: Wanted, inputs: Sequence[GraphInput]
) -> list[Outcome | InputError]:
    """Predict every graph, together those that can be read together: one bad graph costs no other. They are compared
    with the training graphs of the ``reference`` if that is wanted."""
    found: list[Outcome | InputError] = [InputError("not read")] * len(inputs)
    together = partial(_together, trained, reference, wanted)
    forms: dict[Hashable, list[int]] = {}
    for position, one in enumerate(inputs):
        forms.setdefault(one.form, []).append(position)
    for positions in forms.values():
        outcomes = _of_one_form(together, [inputs[p] for p in positions])
        for position, outcome in zip(positions, outcomes, strict=True):
            found[position] = outcome
    return found


def _of_one_form(together: Read, inputs: Sequence[GraphInput]) -> Sequence[Outcome | InputError]:
    """A bad graph is found by halves, so that the others are still predicted together."""
    try:
        return together(inputs)
    except InputError as error:
        half = len(inputs) // 2
        parts = (inputs[:half], inputs[half:]) if half else ()
        return [one for part in parts for one in _of_one_form(together, part)] or [_plain(error)]


def _together(
    trained: TrainedModel, reference: TrustReference | None, wanted: Wanted, inputs: Sequence[GraphInput]
) -> list[Outcome]:
    graphs = read(inputs)
    _refuse_unknown(trained, graphs)
    data = trained.tensors(graphs, next(trained.model.parameters()).device)
    found = trained.predict_tensors(data)
    ends = graphs.node_ptr[1:-1]
    layers = np.split(found.saliency, ends, axis=1)
    none: list[Any] = [None] * len(graphs)
    mapped = len(found.saliency) > 0
    maps = np.split(trained.saliency_of_tensors(data, wanted.rule, found), ends) if mapped else none
    effects = np.split(trained.effects_of_tensors(data), ends) if wanted.effects else none
    trust = _trust(reference, graphs, found) if wanted.trust else none
    spread = none if found.spread is None else list(found.spread)
    each = zip(found.values, spread, layers, maps, effects, trust, strict=True)
    return [Outcome(v, s, l, m, graphs, g, effects=e, trust=t) for g, (v, s, l, m, e, t) in enumerate(each)]


def _refuse_unknown(trained: TrainedModel, graphs: GraphSet) -> None:
    """Refuse labels that have no column in the model, as the command does."""
    encoder = trained.encoder
    strange, labels = encoder.strange(graphs)
    if strange.any() and not encoder.has_unknown:
        got = f"got labels that the model was not trained on ({shown_some(labels)})"
        raise InputError(f"{got}, expected ones that it knows ({shown_some(encoder.label_names)})")


def _trust(reference: TrustReference | None, graphs: GraphSet, found: Prediction) -> list[Mapping[str, Any]]:
    """One row of a table for each graph; where they cannot be compared, why."""
    try:
        if reference is None:
            raise InputError("got a model without its training graphs, expected: sargnn calibrate RUN DATA")
        columns = reference.trust(graphs, found).columns()
    except InputError as error:
        return [{"error": str(error)}] * len(graphs)
    return [{name: values[g] for name, values in columns.items()} for g in range(len(graphs))]


def _plain(error: InputError) -> InputError:
    """The message without where the graph is: the one who sent it knows, and counts from another start."""
    text = re.sub(r",? in graph 0( of request)?$|: in graph 0", "", str(error))
    text = re.sub(r" in graph 0( '[^']*')? \((.*?)\) of request", r" in \2", text)
    return InputError(re.sub(r"graph 0 of request|^request: ", "", re.sub(r", in request$", "", text)))
