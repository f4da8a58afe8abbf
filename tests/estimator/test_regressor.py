"""GraphRegressor: scikit-learn's contract, units, gaps, spread and intervals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import sargnn
from rows import SAMPLES, OneNodeEach
from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.estimator import GraphClassifier, GraphRegressor
from sargnn.training.model_folder import load_model
from tiny import measured_shapes, shapes

QUICK: dict[str, Any] = {
    "model": "sar-gcn", "hidden": 8, "layers": 2, "epochs": 8, "batch_size": 8, "learning_rate": 0.02,
    "random_state": 0, "settings": {"model.readout": "sum"},
}  # fmt: skip
GRAPHS = measured_shapes(count=60)
COMPLETE = measured_shapes(count=60, gaps=False)


def quick(**values: Any) -> GraphRegressor:
    return GraphRegressor(**(QUICK | values))


@pytest.fixture(scope="module")
def fitted() -> GraphRegressor:
    return quick(epochs=40, validation_fraction=0.3, settings={"model.members": 3, "model.readout": "sum"}).fit(GRAPHS)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the checks of types while a test runs: a constructor that only stores must take anything."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class RowsAsGraphs(OneNodeEach, GraphRegressor):
    """All but the reading of the table is GraphRegressor's own."""


EXCEPTIONS = {"check_sample_weight_equivalence_on_dense_data": SAMPLES}
"""Checks of scikit-learn that do not pass, and why."""


@parametrize_with_checks(
    [RowsAsGraphs("gcn", layers=1, hidden=16, epochs=60, batch_size=32, learning_rate=0.03, random_state=0)],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any, unchecked: None) -> None:
    check(estimator)


def test_it_is_a_regressor_and_a_public_name() -> None:
    assert is_regressor(GraphRegressor())
    assert sargnn.GraphRegressor is GraphRegressor


def test_numbers_come_in_their_own_unit_and_in_the_shape_of_y(fitted: GraphRegressor) -> None:
    assert fitted.target_names_ == ("nodes", "edges")
    found = fitted.predict(GRAPHS)
    assert found.shape == (60, 2)
    assert found.mean(axis=0) == pytest.approx(COMPLETE.targets.mean(axis=0), rel=0.1)
    one = quick().fit(GRAPHS, COMPLETE.targets[:, 1])
    assert one.predict(GRAPHS).shape == (60,)
    assert one.predict(GRAPHS).mean() == pytest.approx(COMPLETE.targets[:, 1].mean(), rel=0.3)
    assert quick(epochs=1).fit(GRAPHS, COMPLETE.targets[:, :1]).predict(GRAPHS).shape == (60, 1)


def test_the_score_is_r2_over_the_numbers_that_are_there(fitted: GraphRegressor) -> None:
    found = fitted.predict(GRAPHS)
    assert fitted.score(GRAPHS) > 0.7
    assert (
        fitted.score(COMPLETE)
        == fitted.score(GRAPHS, COMPLETE.targets)
        == pytest.approx(r2_score(COMPLETE.targets, found))
    )
    known = ~np.isnan(GRAPHS.targets[:, 1])
    areas = [r2_score(GRAPHS.targets[:, 0], found[:, 0]), r2_score(GRAPHS.targets[known, 1], found[known, 1])]
    assert fitted.score(GRAPHS) == pytest.approx(np.mean(areas))
    weights = np.linspace(0, 1, 60)
    expected = r2_score(COMPLETE.targets, found, sample_weight=weights)
    assert fitted.score(GRAPHS, COMPLETE.targets, weights) == pytest.approx(expected)


def test_the_spread_is_that_of_the_members(fitted: GraphRegressor) -> None:
    spread = fitted.predict_spread(GRAPHS)
    assert np.array_equal(spread, fitted.trained_.predict(GRAPHS).spread)
    assert (spread > 0).all()
    assert spread[:, 1].mean() > 10 * spread[:, 0].mean()  # the unit is a hundred times smaller
    with pytest.raises(InputError, match="got a single model, expected an ensemble"):
        quick(epochs=1).fit(GRAPHS).predict_spread(GRAPHS)


def test_intervals_are_those_of_the_calibration(fitted: GraphRegressor) -> None:
    values, spread = fitted.predict(GRAPHS), fitted.predict_spread(GRAPHS)
    alike, normalised = (fitted.predict_interval(GRAPHS, 0.8, normalised=n) for n in (False, True))
    assert np.array_equal(alike, fitted.calibration_.regions(values, 0.8))
    assert np.array_equal(normalised, fitted.calibration_.regions(values, 0.8, spread))
    widths = alike[..., 1] - alike[..., 0]
    np.testing.assert_allclose(widths, np.broadcast_to(widths[:1], widths.shape))
    one = quick(epochs=1).fit(GRAPHS, COMPLETE.targets[:, 0])
    assert one.predict_interval(GRAPHS, 0.5).shape == (60, 2)
    assert np.isinf(one.predict_interval(GRAPHS, 0.99)).all()  # six graphs cannot promise as much
    with pytest.raises(InputError, match="validation_fraction: got no graphs to calibrate on"):
        quick(epochs=1, validation_fraction=0.0).fit(GRAPHS).predict_interval(GRAPHS)


def test_the_tools_of_scikit_learn() -> None:
    folds = KFold(2, shuffle=True, random_state=0)
    assert cross_val_score(quick(), list(GRAPHS), COMPLETE.targets[:, 0], cv=folds).shape == (2,)
    assert cross_val_score(quick(epochs=2), GRAPHS, cv=3).shape == (3,)  # numbers out of the graphs, with gaps
    errors = cross_val_score(quick(), list(GRAPHS), COMPLETE.targets, cv=folds, scoring="neg_root_mean_squared_error")
    assert (errors < 0).all()
    assert cross_val_predict(quick(epochs=2), list(GRAPHS), COMPLETE.targets, cv=folds).shape == (60, 2)
    search = GridSearchCV(quick(epochs=2), {"hidden": [4, 8]}, cv=folds).fit(list(GRAPHS), COMPLETE.targets[:, 0])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    on_vectors = make_pipeline(quick(epochs=2), Ridge()).fit(list(GRAPHS), COMPLETE.targets[:, 0])
    assert on_vectors.predict(list(GRAPHS)).shape == (60,)
    assert clone(quick()).get_params() == quick().get_params()


@pytest.mark.parametrize("y", [None, COMPLETE.targets, COMPLETE.targets[:, 0]])
def test_a_saved_regressor_comes_back_whole(y: Any, tmp_path: Path) -> None:
    regressor = quick(settings={"model.members": 2}).fit(GRAPHS, y)
    regressor.save(tmp_path / "model")
    twin = GraphRegressor.load(tmp_path / "model")
    for same in (twin, pickle.loads(pickle.dumps(regressor))):
        assert np.array_equal(same.predict(GRAPHS), regressor.predict(GRAPHS))
        interval = regressor.predict_interval(GRAPHS, 0.7, normalised=True)
        assert np.array_equal(same.predict_interval(GRAPHS, 0.7, normalised=True), interval)
    assert (twin.get_params(), twin.target_names_) == (regressor.get_params(), regressor.target_names_)
    assert load_model(tmp_path / "model").task.names == regressor.target_names_
    with pytest.raises(InputError, match="got a model of regression, expected classification or multilabel"):
        GraphClassifier.load(tmp_path / "model")


def test_effects_are_in_the_unit_of_the_target(fitted: GraphRegressor) -> None:
    effects = fitted.effects(GRAPHS)
    assert [len(effect) for effect in effects] == GRAPHS.sizes.tolist()
    path = GRAPHS[1]  # its last node is an end: without it, the path is one node shorter
    n = path.num_nodes - 1
    pairs = [pair for pair in path.edges.T.tolist() if n not in pair]
    shorter = pack([(n, pairs)], node_attributes=path.node_attributes[:n])
    expected = fitted.predict(path) - fitted.predict(shorter)
    np.testing.assert_allclose(effects[1][n], expected[0], rtol=1e-4)
    assert abs(effects[1][n, 1]) > 10 * abs(effects[1][n, 0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "^shapes: got no numbers, expected y, or graphs that come with their targets$"),
        (["a"] * 4, "^y: got could not convert string to float: 'a', expected numbers$"),
        ([1.0, 2.0, np.inf, 0.0], "contains infinity"),
        ([np.nan] * 4, "got no value of target '0' in any of 4 graphs"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0] * 4, "got no two different values of '0' in training"),
    ],
)
def test_wrong_numbers_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick().fit(shapes(count=4), y)
