"""A forest for each target: walked as scikit-learn walks it, grown on the graphs that have the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from sargnn.data.graphs import GraphSet
from sargnn.systems.forest import Forest
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import FOLD, binary_shapes, measured_shapes

SETTINGS = Settings.of("topological-forest", {"model.trees": 20, "model.bins": 6})


def test_forests_of_targets_are_walked_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 5)), rng.integers(0, 2, (120, 3))
    theirs = [RandomForestClassifier(15, random_state=0).fit(x, y[:, t]) for t in range(3)]
    ours = Forest(5, 3)
    ours.take_each(theirs)
    new = rng.normal(size=(40, 5))
    found = ours.probabilities(torch.from_numpy(new))
    for t, forest in enumerate(theirs):
        np.testing.assert_allclose(found[:, t], forest.predict_proba(new), atol=1e-12)
    p = found[..., 1].clamp(1e-9, 1 - 1e-9)
    torch.testing.assert_close(ours(torch.from_numpy(new)).sigmoid().clamp(1e-9, 1 - 1e-9), p)


def test_forests_of_numbers_are_walked_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 5)), rng.normal(size=(120, 2))
    theirs = [RandomForestRegressor(15, random_state=0).fit(x, y[:, t]) for t in range(2)]
    ours = Forest(5, 2)
    ours.take_each(theirs)
    new = rng.normal(size=(40, 5))
    expected = np.stack([forest.predict(new) for forest in theirs], axis=1)
    np.testing.assert_allclose(ours(torch.from_numpy(new)), expected, atol=1e-12)


@pytest.mark.parametrize("graphs", [binary_shapes(gaps=False), measured_shapes(gaps=False)])
def test_a_missing_target_is_as_a_graph_that_is_not_there(graphs: GraphSet) -> None:
    assert graphs.targets is not None
    gone = graphs.targets.copy()
    gone[4:10, 0] = np.nan
    with_gaps = train(replace(graphs, targets=gone), SETTINGS, fold=FOLD).trained.predict(graphs).values
    whole = train(graphs, SETTINGS, fold=FOLD).trained.predict(graphs).values
    assert np.allclose(with_gaps[:, 1:], whole[:, 1:])
    assert not np.allclose(with_gaps[:, 0], whole[:, 0])


def test_weights_of_graphs_reach_the_forest() -> None:
    graphs = binary_shapes(gaps=False)
    heavy = np.where(np.arange(24) % 2, 50.0, 0.1).astype(np.float32)
    settings = Settings.of("topological-forest", {"model.trees": 20, "model.bins": 6, "model.leaf": 8})
    plain, weighted = (
        train(some, settings, fold=FOLD).trained.predict(graphs).values[:, 0].mean()
        for some in (graphs, replace(graphs, weights=heavy))
    )
    assert weighted > plain + 0.1  # paths are the heavy ones
