"""What a trained model says of graphs, and which of their nodes decided."""

from __future__ import annotations

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.pages.explanations import Explanation
from sargnn.training.trained_model import TrainedModel

__all__ = ["explain_graphs"]


def explain_graphs(trained: TrainedModel, graphs: GraphSet, index: np.ndarray, rule: str = "mean") -> list[Explanation]:
    """Explain the graphs at ``index``; ``rule`` combines the layers into one map (see :mod:`sargnn.explain.maps`).

    >>> explain_graphs(trained, graphs, np.array([0, 7]))[1].map  # doctest: +SKIP
    array([0.02, 0.31, ...
    """
    chosen = graphs.subset(index)
    data = trained.tensors(chosen, next(trained.model.parameters()).device)
    found = trained.predict_tensors(data)
    layers = found.saliency
    mapped = trained.saliency_of_tensors(data, rule, found) if len(layers) else np.zeros(chosen.num_nodes)
    explained = []
    for row, g in enumerate(index.tolist()):
        nodes = chosen.nodes_of(row)
        explained.append(Explanation(g, found.task.verdict(found.values[row]), layers[:, nodes], rule, mapped[nodes]))
    return explained
