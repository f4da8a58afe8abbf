"""A trained model with all that it needs to predict: its settings, its fitted encoder and its task."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from sargnn.batching.tensor_set import TensorSet, tensor_set
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.data.problems import Problems, shown
from sargnn.data.roles import TASKS, USUAL, Roles
from sargnn.data.sources import Source, read
from sargnn.errors import InputError
from sargnn.explain.effects import outputs_of, outputs_without
from sargnn.explain.maps import chunks, combine, inference, node_saliency
from sargnn.explain.parts import Parts, node_parts
from sargnn.nn.budget import built_within, within_limits
from sargnn.nn.graph_model import GraphModel
from sargnn.systems import find_system
from sargnn.tasks import Task
from sargnn.training.counterfactuals import Counterfactual, find_counterfactuals
from sargnn.training.loop import predict_outputs
from sargnn.training.settings import Settings

__all__ = ["Prediction", "TrainedModel", "spread_of"]


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictions of a model for every graph of a set.

    >>> from sargnn.tasks import Classification
    >>> found = Prediction(Classification(("a", "b")), np.array([[0.9, 0.1]]), np.array([[0.25, 0.75]]), np.array([2]))
    >>> found.predicted.tolist(), found.mean_saliency.tolist()
    ([0], [0.25, 0.75])
    """

    task: Task
    values: np.ndarray
    """float64 [G, ...]: the outputs as :meth:`Task.predict` gives them; of classes, their probabilities."""
    saliency: np.ndarray
    """float64 [L, N]: how salient each node is in each layer; no rows if the model has no saliency."""
    sizes: np.ndarray
    """int64 [G]: nodes of each graph."""
    spread: np.ndarray | None = None
    """float64 [G, ...]: standard deviation of the values over the members of an ensemble; none of a single model."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the columns of the values."""
        return self.task.names

    @property
    def probabilities(self) -> np.ndarray:
        """float64 [G, C]: the values, where the task is one class per graph."""
        return self.values

    @cached_property
    def node_graph(self) -> np.ndarray:
        """int64 [N]: the graph of each node."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def predicted(self) -> np.ndarray:
        """[G, ...]: what is predicted, as targets are stored; of classes, the index of the most probable one."""
        return self.task.decide(self.values)

    @cached_property
    def mean_saliency(self) -> np.ndarray | None:
        """float64 [N]: the mean over the layers."""
        return self.saliency.mean(axis=0) if len(self.saliency) else None


def spread_of(prediction: Prediction) -> np.ndarray:
    """The spread of a prediction that must be an ensemble's, of numbers."""
    if prediction.task.link != "identity":
        raise InputError(f"normalised: got a model of {prediction.task.kind}, expected regression: sets have no width")
    if prediction.spread is None:
        raise InputError("normalised: got a single model, expected an ensemble: model.members of 2 or more")
    return prediction.spread


@dataclass(eq=False)
class TrainedModel:
    """A model and what it was trained with. Built by ``sargnn.train``, read back by ``sargnn.load_model``.

    >>> from sargnn import Settings, motifs, train
    >>> trained = train(motifs(20), Settings.of("sar-gcn", {"training.epochs": 1, "model.hidden": 8})).trained
    >>> trained.predict(motifs(3)).probabilities.shape
    (3, 2)
    """

    settings: Settings
    encoder: Encoder
    task: Task
    model: GraphModel
    roles: Roles = USUAL
    """What the columns of the input were for, so that other commands find them again."""

    @classmethod
    def untrained(
        cls,
        settings: Settings,
        encoder: Encoder,
        task: Task,
        roles: Roles = USUAL,
        budget: Callable[[int, int], str] = within_limits,
    ) -> TrainedModel:
        """The model of ``settings`` with weights drawn from its seed, no larger than the ``budget`` says."""
        with torch.random.fork_rng(devices=[]), built_within(budget):
            torch.manual_seed(settings.training.seed)
            widths = {"edge_inputs": encoder.edge_width, "graph_inputs": encoder.graph_width}
            model = find_system(settings.name).model.build(settings.model, encoder.width, task.outputs, **widths)
        model.link = task.link
        return cls(settings, encoder, task, model, roles)

    @property
    def known_roles(self) -> Roles:
        """What columns of other inputs are for, as far as the model can know."""
        kind = self.task.kind if self.task.kind in TASKS else None  # a task from outside reads what it needs itself
        return USUAL.or_else(replace(self.roles, task=kind))

    def read(self, source: Source) -> GraphSet:
        """The graphs of anything that :func:`sargnn.load` takes; graphs that cannot be read are left out and told."""
        problems = Problems()
        graphs = source if isinstance(source, GraphSet) else read(source, problems, self.known_roles, labelled=False)
        strange, labels = self.encoder.strange(graphs)
        if strange.any() and not self.encoder.has_unknown:
            some = ", ".join(map(shown, labels[:5]))
            warnings.warn(f"{int(strange.sum())} graphs have labels unknown to the model: {some}", stacklevel=3)
        lacking, attributes = self.encoder.new_gaps(graphs)
        if lacking.any() and not self.encoder.refuses_gaps:
            which = f"{', '.join(attributes[:5])}, which had none in training"
            warnings.warn(f"{int(lacking.sum())} graphs have gaps in {which}: read as the mean", stacklevel=3)
        if problems.left_out:
            some = f"left out {len(problems.left_out)} of {len(graphs) + len(problems.left_out)} graphs"
            warnings.warn(f"{some}, first: {problems.left_out[0]}", stacklevel=3)
        return graphs

    def tensors(self, graphs: GraphSet, device: torch.device | str = "cpu", *, often: bool = False) -> TensorSet:
        """The graphs with encoded inputs, on the device, in the layout of the settings; read once or ``often``."""
        return tensor_set(graphs, self.encoder, often=often, device=device, layout=self.settings.training.layout)

    def predict(self, graphs: Source) -> Prediction:
        """What the task predicts, and node saliency, of every graph of anything that :func:`sargnn.load` takes.

        >>> sargnn.load_model("run").predict(["CCO", "c1ccccc1"]).predicted  # doctest: +SKIP
        """
        return self.predict_tensors(self.tensors(self.read(graphs), next(self.model.parameters()).device))

    def predict_tensors(self, data: TensorSet) -> Prediction:
        """The same for graphs that :meth:`tensors` has encoded."""
        outputs, saliency, members = predict_outputs(self.model, data, np.arange(len(data)))
        if not (finite := outputs.isfinite().all(1)).all():
            got = f"got no finite scores for {int((~finite).sum())} of {len(data)} graphs"
            some = "inputs within the training range" if finite.any() else "a model and inputs that give some"
            raise InputError(f"{got}, expected {some}")
        layers = np.empty((len(saliency), data.sizes.sum()))
        for layer, values in zip(layers, saliency, strict=True):
            layer[:] = values.cpu().numpy()
        spread = np.std([self.task.predict(own) for own in members], axis=0) if len(members) > 1 else None
        return Prediction(self.task, self.task.predict(outputs), layers, data.sizes, spread)

    def vectors(self, graphs: Source) -> np.ndarray:
        """float32 [G, d]: the vector of each graph that the last layers classify."""
        data = self.tensors(self.read(graphs), next(self.model.parameters()).device)
        return self.vectors_of_tensors(data, np.arange(len(data)))

    def vectors_of_tensors(self, data: TensorSet, index: np.ndarray) -> np.ndarray:
        """The same for the encoded graphs at ``index``."""
        with inference(self.model, data.device):
            batches = (data.batch(some, self.model.layouts) for some in chunks(data, index))
            return torch.cat([self.model.encode(batch).graph for batch in batches]).cpu().numpy()

    def saliency(self, graphs: Source, rule: str = "mean") -> np.ndarray:
        """float64 [N]: the saliency of every node, all layers in one map by the ``rule`` of :mod:`sargnn.explain.maps`.

        >>> sargnn.load_model("run").saliency(graphs, rule="rollout")  # doctest: +SKIP
        """
        return self.saliency_of_tensors(self.tensors(self.read(graphs), next(self.model.parameters()).device), rule)

    def saliency_of_tensors(self, data: TensorSet, rule: str = "mean", seen: Prediction | None = None) -> np.ndarray:
        """The same for encoded graphs. The layers are those of the prediction ``seen``, if given; ``rollout`` takes a
        pass of its own, since it needs message weights that a prediction does not keep."""
        if rule == "rollout":
            return node_saliency(self.model, data, rule=rule).double().cpu().numpy()
        layers = (seen or self.predict_tensors(data)).saliency
        return combine(list(torch.from_numpy(layers)), rule).numpy()

    def effects(self, graphs: Source, parts: Parts | None = None) -> np.ndarray:
        """float64 [P, O]: how much each part of the graphs raises each output, found by removing it
        (:mod:`sargnn.explain.effects`): the log-odds of a probability, or a number in its own unit. The parts are the
        nodes, unless :func:`sargnn.explain.find_parts` has found others.

        >>> sargnn.load_model("run").effects(graphs)[:, 0]  # doctest: +SKIP
        """
        return self.effects_of_tensors(self.tensors(self.read(graphs), next(self.model.parameters()).device), parts)

    def effects_of_tensors(self, data: TensorSet, parts: Parts | None = None) -> np.ndarray:
        """The same for encoded graphs."""
        parts = node_parts(data.sizes) if parts is None else parts
        whole, without = outputs_of(self.model, data), outputs_without(self.model, data, parts)
        return np.asarray(
            self._additive(self.task.predict(whole))[parts.graph] - self._additive(self.task.predict(without))
        )

    def counterfactuals(
        self, graphs: Source, parts: Parts | None = None, output: str | None = None
    ) -> list[Counterfactual]:
        """Of each graph that has one, the smallest removal of parts (by default nodes) that changes what is decided,
        checked on what is left (:mod:`sargnn.training.counterfactuals`).

        >>> sargnn.load_model("run").counterfactuals(graphs)[0].nodes  # doctest: +SKIP
        array([3, 4])
        """
        return find_counterfactuals(self, self.read(graphs), parts, output)

    def _additive(self, values: np.ndarray) -> np.ndarray:
        """Values whose differences can be compared: probabilities as log-odds."""
        if self.task.link == "identity":
            return values
        inside = np.clip(values, np.finfo(float).eps, 1 - np.finfo(float).eps)
        return np.asarray(np.log(inside) - np.log1p(-inside))

    @property
    def classes(self) -> tuple[str, ...]:
        """The outputs by name."""
        return self.task.names
