"""Explanations of some graphs of a set: the same numbers as for the whole set."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.data.synthetic import motifs
from sargnn.training.explanations import explain_graphs
from sargnn.training.run import train
from sargnn.training.settings import Settings

GRAPHS = motifs(12)


@pytest.mark.parametrize("rule", ["mean", "last", "rollout"])
def test_chosen_graphs_are_explained_as_in_the_whole_set(rule: str) -> None:
    trained = train(
        GRAPHS, Settings.of("sar-gcn", {"model.layers": 2, "model.hidden": 4, "training.epochs": 1})
    ).trained
    whole, mapped = trained.predict(GRAPHS), trained.saliency(GRAPHS, rule)
    explained = explain_graphs(trained, GRAPHS, np.array([7, 2]), rule)
    assert [item.graph for item in explained] == [7, 2]
    for item in explained:
        nodes = GRAPHS.nodes_of(item.graph)
        assert item.rule == rule
        assert np.allclose(item.layers, whole.saliency[:, nodes], atol=1e-6)
        assert np.allclose(item.map, mapped[nodes], atol=1e-6)
        assert item.verdict.text == GRAPHS.classes[whole.predicted[item.graph]]


def test_a_model_without_saliency_has_no_layers() -> None:
    trained = train(GRAPHS, Settings.of("gcn", {"model.layers": 1, "model.hidden": 4, "training.epochs": 1})).trained
    (item,) = explain_graphs(trained, GRAPHS, np.array([3]))
    assert item.layers.shape == (0, GRAPHS.sizes[3])
