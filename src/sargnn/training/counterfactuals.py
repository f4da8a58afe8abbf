"""Counterfactuals of a trained model: searched with the inputs of the whole graph, then checked on what is left.

The search (:mod:`sargnn.explain.counterfactuals`) masks parts, so that thousands of removals fit in a batch. The check
takes the graph that is left as a graph of its own, with its inputs computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.subgraphs import subgraphs
from sargnn.errors import InputError
from sargnn.explain.counterfactuals import Judge, smallest_removals
from sargnn.explain.effects import outputs_without
from sargnn.explain.parts import Parts, find_parts

if TYPE_CHECKING:
    from sargnn.training.trained_model import TrainedModel

__all__ = ["Counterfactual", "find_counterfactuals"]

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A removal after which the model decides otherwise."""

    graph: int
    parts: tuple[int, ...]
    """The numbers of the removed parts."""
    nodes: np.ndarray
    """int64: the nodes of the removed parts, each once; of edges, their ends."""
    values: np.ndarray
    """What the model predicts for the graph that is left, as :meth:`Task.predict` gives it."""
    holds: bool
    """Whether that is another decision, too."""


def find_counterfactuals(
    trained: TrainedModel, graphs: GraphSet, parts: Parts | None = None, output: str | None = None
) -> list[Counterfactual]:
    """Of each graph that has one. ``output``: whose decision is to change, where there are several; the class is one
    decision, whatever its name."""
    task = trained.task
    if task.link == "identity":
        raise InputError(f"counterfactual: got a model of {task.kind}, expected one that decides between classes")
    if task.link == "sigmoid" and output not in task.names:
        raise InputError(f"counterfactual: got {output!r}, expected one of the targets {', '.join(task.names)}")
    column = task.names.index(str(output)) if task.link == "sigmoid" else None
    parts = find_parts(graphs) if parts is None else parts
    whole = trained.predict(graphs).values
    found = smallest_removals(_judge(trained, graphs, whole, column), parts)
    if not found:
        return []
    removals = list(found.values())
    left = _left(graphs, parts.joined(removals))
    values = trained.predict(left).values
    holds = _decisions(trained, values, column) != _decisions(trained, whole[list(found)], column)
    nodes = [np.unique(np.concatenate([parts.of(part) for part in removal])) for removal in removals]
    each = zip(found.items(), nodes, values, holds.tolist(), strict=True)
    return [Counterfactual(graph, removal, own, value, good) for (graph, removal), own, value, good in each]


def _judge(trained: TrainedModel, graphs: GraphSet, whole: np.ndarray, column: int | None) -> Judge:
    """How far removals are from changing the decision for ``whole``, in log-odds, and whether they do."""
    data = trained.tensors(graphs, next(trained.model.parameters()).device)
    decided = _decisions(trained, whole, column)

    def judge(removals: Parts) -> tuple[np.ndarray, np.ndarray]:
        values = trained.task.predict(outputs_without(trained.model, data, removals))
        before, rows = decided[removals.graph], np.arange(len(values))
        if column is not None:
            own = values[:, column]
            odds = np.log(np.maximum(own, TINY)) - np.log(np.maximum(1 - own, TINY))
            distance = np.where(before == 1, odds, -odds)
        else:
            others = values.copy()
            others[rows, before] = 0
            own = values[rows, before]
            distance = np.log(np.maximum(own, TINY)) - np.log(np.maximum(others.max(axis=1), TINY))
        return distance, _decisions(trained, values, column) != before

    return judge


def _decisions(trained: TrainedModel, values: np.ndarray, column: int | None) -> np.ndarray:
    """int64 [G]: the class of each graph, or what is decided of one target."""
    decided = trained.task.decide(values)
    return np.asarray(decided if column is None else decided[:, column]).astype(np.int64)


def _left(graphs: GraphSet, removals: Parts) -> GraphSet:
    """The graph of each removal without what it removes."""
    chosen = graphs.subset(removals.graph)
    nodes, edges = np.ones(chosen.num_nodes, bool), np.ones(chosen.num_edges, bool)
    members = removals.nodes + np.repeat(chosen.node_ptr[:-1], np.diff(removals.ptr))
    if removals.kind != "edges":
        nodes[members] = False
        return subgraphs(chosen, nodes, edges)
    pairs = np.sort(members.reshape(-1, 2), axis=1)
    ends = np.sort(chosen.edges + chosen.node_ptr[chosen.edge_graph], axis=0)
    edges = ~np.isin(ends[0] * chosen.num_nodes + ends[1], pairs[:, 0] * chosen.num_nodes + pairs[:, 1])
    return subgraphs(chosen, nodes, edges)
