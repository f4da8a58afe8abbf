"""What a model says of the graphs of a batch: an outcome for each that can be read, an error for each that cannot."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.explain.maps import inference
from sargnn.serving.graph_inputs import GraphInput, read
from sargnn.training.trained_model import TrainedModel

__all__ = ["Outcome", "graph_vectors", "outcomes_of"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One graph and what the model says of it."""

    values: np.ndarray
    """As :meth:`Task.predict` gives them."""
    layers: np.ndarray
    """float64 [L, n]: the saliency of each layer; no rows where the model has none."""
    map: np.ndarray | None
    """float64 [n]: all layers in one, where the model has some."""
    position: int = 0
    graphs: GraphSet | None = field(default=None, repr=False)
    """The graphs that were read together; this one is number ``position``."""

    @property
    def graph(self) -> GraphSet:
        assert self.graphs is not None
        return self.graphs[self.position]


def outcomes_of(trained: TrainedModel, rule: str, inputs: Sequence[GraphInput]) -> list[Outcome | InputError]:
    """Predict every graph, together those that can be read together: one bad graph costs no other. The ``rule`` makes
    one map of the layers, see :mod:`sargnn.explain.maps`."""
    found: list[Outcome | InputError] = [InputError("not read")] * len(inputs)
    forms: dict[Hashable, list[int]] = {}
    for position, one in enumerate(inputs):
        forms.setdefault(one.form, []).append(position)
    for positions in forms.values():
        for position, outcome in zip(
            positions, _of_one_form(trained, rule, [inputs[p] for p in positions]), strict=True
        ):
            found[position] = outcome
    return found


def graph_vectors(trained: TrainedModel, graphs: GraphSet, index: np.ndarray) -> np.ndarray:
    """float64 [K, d]: the vector of which the model's head makes its prediction; of an ensemble, the members' vectors
    side by side."""
    data = trained.tensors(graphs.subset(index))
    with inference(trained.model, data.device):
        everything = np.arange(len(data))
        members = trained.model.ensemble_members()
        vectors = [member.encode(data.batch(everything, member.layouts)).graph for member in members]
    return torch.cat(vectors, dim=1).double().numpy()


def _of_one_form(trained: TrainedModel, rule: str, inputs: Sequence[GraphInput]) -> Sequence[Outcome | InputError]:
    try:
        return _together(trained, rule, inputs)
    except InputError as error:
        return [_alone(trained, rule, one) for one in inputs] if len(inputs) > 1 else [_plain(error)]


def _together(trained: TrainedModel, rule: str, inputs: Sequence[GraphInput]) -> list[Outcome]:
    graphs = read(inputs)
    data = trained.tensors(graphs, next(trained.model.parameters()).device)
    found = trained.predict_tensors(data)
    ends = graphs.node_ptr[1:-1]
    layers = np.split(found.saliency, ends, axis=1)
    maps: Sequence[np.ndarray | None] = [None] * len(graphs)
    if len(found.saliency):
        maps = np.split(trained.saliency_of_tensors(data, rule, found), ends)
    return [Outcome(found.values[g], layers[g], maps[g], g, graphs) for g in range(len(graphs))]


def _alone(trained: TrainedModel, rule: str, one: GraphInput) -> Outcome | InputError:
    try:
        (outcome,) = _together(trained, rule, [one])
    except InputError as error:
        return _plain(error)
    return outcome


def _plain(error: InputError) -> InputError:
    """The message without where the graph is: the one who sent it knows, and counts from another start."""
    text = re.sub(r",? in graph 0( of request)?$|: in graph 0", "", str(error))
    text = re.sub(r" in graph 0( '[^']*')? \((.*?)\) of request", r" in \2", text)
    return InputError(re.sub(r"graph 0 of request|^request: ", "", re.sub(r", in request$", "", text)))
