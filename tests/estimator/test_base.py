"""What classifier and regressor share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.estimator import GraphClassifier, GraphRegressor
from sargnn.estimator.base import GraphEstimator
from tiny import measured_shapes, shapes


def test_both_take_the_same_arguments_but_those_of_classes() -> None:
    classifier, regressor = GraphClassifier().get_params(), GraphRegressor().get_params()
    assert classifier.keys() - regressor.keys() == {"class_weight", "calibrated"}
    assert {name: classifier[name] for name in regressor} == regressor


@pytest.mark.parametrize("kind", [GraphClassifier, GraphRegressor])
def test_both_explain_and_embed(kind: type[GraphEstimator]) -> None:
    graphs = shapes() if kind is GraphClassifier else measured_shapes()
    fitted = kind("sar-gcn", hidden=8, layers=2, epochs=1, random_state=0).fit(graphs)
    assert fitted.transform(graphs).shape == (24, 8)
    assert all(saliency.sum() == pytest.approx(1) for saliency in fitted.explain(graphs))
    assert [effect.shape for effect in fitted.effects(graphs)] == [(n, 2) for n in graphs.sizes.tolist()]


def test_a_damaged_file_of_a_regressor_is_refused(tmp_path: Path) -> None:
    GraphRegressor("gcn", hidden=8, epochs=1, random_state=0).fit(measured_shapes()).save(tmp_path / "model")
    file = tmp_path / "model" / "estimator.json"
    words = json.loads(file.read_text())
    for damage in ({"parameters": {"calibrated": True}}, {"vector": "x"}):
        file.write_text(json.dumps(words | damage))
        with pytest.raises(InputError, match=r"estimator\.json: got .*expected a file of GraphRegressor\.save"):
            GraphRegressor.load(tmp_path / "model")
    file.write_text(json.dumps(words))
    assert np.isfinite(GraphRegressor.load(tmp_path / "model").predict(measured_shapes())).all()
