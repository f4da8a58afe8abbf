"""What a trained model says of chosen graphs, and what speaks for it: saliency, effects, counterfactuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.explain.fragments import fragment_effects
from sargnn.explain.parts import Parts, find_parts
from sargnn.pages.explanation import Explanation, Flip
from sargnn.training.counterfactuals import find_counterfactuals
from sargnn.training.trained_model import Prediction, TrainedModel

__all__ = ["Explained", "Wanted", "explain_graphs"]


@dataclass(frozen=True)
class Wanted:
    """What to find out about graphs beside their predictions and saliency."""

    outputs: Sequence[str] = ()
    """The names of the outputs to find effects on (see :mod:`sargnn.explain.effects`)."""
    parts: str = "nodes"
    """Whose effects: see :mod:`sargnn.explain.parts`."""
    signed: bool = True
    """Whether effects have a sign; else they say how much a part matters, either way."""
    counterfactual: bool = False
    """Whether to look for the smallest removal of parts that changes the decision: on the first of the outputs, where
    each is a decision of its own."""


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations of graphs, and what the fragments of all of them do."""

    items: list[Explanation]
    fragments: Mapping[str, list[dict[str, Any]]]
    """By output, of each kind of fragment: the fields of :class:`~sargnn.explain.fragments.FragmentEffect`."""


def explain_graphs(
    trained: TrainedModel, graphs: GraphSet, index: np.ndarray, rule: str = "mean", wanted: Wanted | None = None
) -> Explained:
    """Explain the graphs at ``index``; ``rule`` combines the layers into one map (see :mod:`sargnn.explain.maps`).

    >>> explain_graphs(trained, graphs, np.array([0, 7])).items[1].map  # doctest: +SKIP
    array([0.02, 0.31, ...
    """
    chosen, wanted = graphs.subset(index), wanted or Wanted()
    data = trained.tensors(chosen, next(trained.model.parameters()).device)
    found = trained.predict_tensors(data)
    layers, task = found.saliency, found.task
    mapped = trained.saliency_of_tensors(data, rule, found) if len(layers) else np.zeros(chosen.num_nodes)
    parts = find_parts(chosen, wanted.parts) if wanted.outputs or wanted.counterfactual else None
    if parts is not None and not len(parts):
        raise InputError(f"parts: got {parts.kind}, of which the graphs of {graphs.name} have none, expected nodes")
    effects = _effects(trained, data, parts, wanted)
    flips = _flips(trained, chosen, parts, wanted)
    truths, columns = _truths(found, chosen), task.columns()
    names = task.names if trained.model.saliency_per_output else ()
    items = []
    for row, (g, values) in enumerate(zip(index.tolist(), found.values, strict=True)):
        nodes = chosen.nodes_of(row)
        cells = dict(zip(columns, task.cells(values), strict=True))
        truth, right = truths[row] if truths else (None, None)
        verdict, maps = task.verdict(values), (layers[:, nodes], rule, mapped[nodes])
        own = {} if parts is None else _own(parts, effects, row)
        items.append(Explanation(g, verdict, *maps, cells, truth, right, names, **own, flip=flips.get(row)))
    fragments = {} if parts is None or parts.kind != "fragments" else effects
    kinds = {name: fragment_effects(parts, of) for name, of in fragments.items()} if parts else {}
    return Explained(items, {name: [asdict(kind) for kind in own] for name, own in kinds.items()})


def _effects(trained: TrainedModel, data: TensorSet, parts: Parts | None, wanted: Wanted) -> dict[str, np.ndarray]:
    """float [P] by output."""
    if parts is None or not wanted.outputs:
        return {}
    effects = trained.effects_of_tensors(data, parts)
    effects = effects if wanted.signed else np.abs(effects)
    return {name: effects[:, trained.task.names.index(name)] for name in wanted.outputs}


def _own(parts: Parts, effects: Mapping[str, np.ndarray], graph: int) -> dict[str, Any]:
    """What an explanation says of the parts of one graph."""
    own = parts.of_graph(graph)
    said: dict[str, Any] = {"effects": {name: values[own] for name, values in effects.items()}, "kind": parts.kind}
    if parts.kind != "nodes":
        said["parts"] = [parts.of(part).tolist() for part in range(own.start, own.stop)]
        said["part_names"] = parts.names[own]
    return said


def _flips(trained: TrainedModel, graphs: GraphSet, parts: Parts | None, wanted: Wanted) -> dict[int, Flip]:
    """By graph, the smallest removal that changes the decision."""
    if parts is None or not wanted.counterfactual:
        return {}
    flips = {}
    for one in find_counterfactuals(trained, graphs, parts, next(iter(wanted.outputs), None)):
        first = parts.of_graph(one.graph).start
        local = [part - first for part in one.parts]
        flips[one.graph] = Flip(local, one.nodes.tolist(), trained.task.verdict(one.values), one.holds)
    return flips


def _truths(found: Prediction, graphs: GraphSet) -> list[tuple[str, bool]]:
    """Each graph's true value in words and whether it was found; nothing where targets are missing or others."""
    try:
        targets = found.task.targets(graphs)
    except InputError:
        return []
    right = found.task.right(targets, found.values).tolist()
    return [(found.task.truth(target), bool(good)) for target, good in zip(targets, right, strict=True)]
