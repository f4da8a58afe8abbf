"""A trained model on graphs it has not seen: the same graph, the same answer; other graphs, one clear line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from sargnn.data.encodings import Encoder
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError
from sargnn.training.run import score, train
from sargnn.training.trained import Prediction, TrainedModel
from tiny import FOLD, shapes, tiny


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return shapes(truth=True)


@pytest.fixture(scope="module")
def trained(graphs: GraphSet) -> TrainedModel:
    return train(graphs, tiny(training__epochs=5), fold=FOLD).trained


def test_prediction_has_a_distribution_for_every_graph_and_layer(trained: TrainedModel, graphs: GraphSet) -> None:
    prediction = trained.predict(graphs)
    assert prediction.classes == ("ring", "path")
    assert prediction.probabilities.shape == (24, 2)
    assert prediction.saliency.shape == (2, graphs.num_nodes)
    assert prediction.probabilities.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-12)
    for layer in prediction.saliency:
        assert np.bincount(prediction.node_graph, weights=layer) == pytest.approx(np.ones(24), abs=1e-6)
    assert np.array_equal(prediction.predicted, prediction.probabilities.argmax(axis=1))
    assert prediction.mean_saliency == pytest.approx((prediction.saliency[0] + prediction.saliency[1]) / 2)


def test_a_graph_gets_the_same_answer_in_any_company(trained: TrainedModel, graphs: GraphSet) -> None:
    together = trained.predict(graphs)
    backwards = trained.predict(graphs.subset(np.arange(24)[::-1]))
    alone = trained.predict(graphs[7])
    assert backwards.probabilities[::-1] == pytest.approx(together.probabilities, abs=1e-6)
    assert alone.probabilities[0] == pytest.approx(together.probabilities[7], abs=1e-6)
    nodes = slice(*graphs.node_ptr[7:9].tolist())
    assert alone.saliency == pytest.approx(together.saliency[:, nodes], abs=1e-6)


def test_predicting_needs_no_classes_and_no_truth(trained: TrainedModel, graphs: GraphSet) -> None:
    bare = replace(graphs, y=None, classes=(), true_saliency=None)
    assert np.array_equal(trained.predict(bare).probabilities, trained.predict(graphs).probabilities)
    with pytest.raises(InputError, match="shapes has no class labels, expected them"):
        trained.true_classes(bare)


def test_a_model_without_saliency_says_so(graphs: GraphSet) -> None:
    run = train(graphs, tiny("gcn"), fold=FOLD)
    prediction = run.trained.predict(graphs)
    assert prediction.saliency.shape == (0, graphs.num_nodes)
    assert prediction.mean_saliency is None
    assert "saliency_auc" not in run.scores["test"]


def test_predicting_leaves_global_generators_and_the_model_alone(trained: TrainedModel, graphs: GraphSet) -> None:
    weights = {name: value.clone() for name, value in trained.model.state_dict().items()}
    state = torch.get_rng_state()
    trained.predict(graphs)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, weights[name]) for name, value in trained.model.state_dict().items())


def test_classes_are_matched_by_name_and_not_by_number(trained: TrainedModel, graphs: GraphSet) -> None:
    assert graphs.y is not None
    turned = replace(graphs, y=1 - graphs.y, classes=("path", "ring"))
    assert np.array_equal(trained.true_classes(turned), graphs.y)
    ring_only = replace(graphs.subset([0, 2]), classes=("ring",))
    assert trained.true_classes(ring_only).tolist() == [0, 0]
    more_names = replace(graphs, y=graphs.y + 1, classes=("star", "ring", "path"))  # no graph is a star
    assert np.array_equal(trained.true_classes(more_names), graphs.y)


def test_a_class_that_was_not_trained_on_is_refused_by_graph(trained: TrainedModel, graphs: GraphSet) -> None:
    other = replace(graphs.subset([0, 2, 1]), classes=("ring", "star"))
    message = r"^got class 'star' in graph 2 of shapes, expected one of those trained on: ring, path$"
    with pytest.raises(InputError, match=message):
        trained.true_classes(other)


def test_other_features_are_refused(trained: TrainedModel, graphs: GraphSet) -> None:
    assert graphs.node_attributes is not None
    with pytest.raises(InputError, match="got 1 node attributes, expected 2, in shapes"):
        trained.predict(replace(graphs, node_attributes=graphs.node_attributes[:, :1]))
    with pytest.raises(InputError, match="in shapes"):
        trained.predict(replace(graphs, node_attributes=None))


def test_scores_by_hand() -> None:
    """Three of four graphs right; the truth's node is ranked first in one graph and last in the other."""
    graphs = pack(
        [(2, []), (1, []), (2, []), (1, [])], y=[0, 0, 1, 1], classes=["a", "b"], true_saliency=[1, 0, 1, 1, 0, 1]
    )
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    saliency = np.array([[0.8, 0.2, 1.0, 0.3, 0.7, 1.0]])
    prediction = Prediction(("a", "b"), probabilities, saliency, graphs.node_graph)
    settings = tiny()
    trained = TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs), ("a", "b"))
    scores = score(trained, graphs, prediction, np.arange(4))
    assert (scores["graphs"], scores["accuracy"], scores["balanced_accuracy"]) == (4, 0.75, 0.75)
    assert scores["auroc"] == 1.0
    assert scores["saliency_auc"] == 0.5
    assert scores["low"] < 0.75 < scores["high"]
    assert score(trained, graphs, prediction, np.array([2]))["saliency_auc"] == 0.0
    assert score(trained, graphs, prediction, np.array([1, 3]))["saliency_auc"] is None


def test_weights_are_a_function_of_the_seed(graphs: GraphSet) -> None:
    encoder = Encoder.fit(tiny().data, graphs)
    torch.manual_seed(99)
    one, again, other = (
        TrainedModel.untrained(tiny(training__seed=seed), encoder, graphs.classes).model.state_dict()
        for seed in (3, 3, 4)
    )
    assert all(torch.equal(value, again[name]) for name, value in one.items())
    assert not all(torch.equal(value, other[name]) for name, value in one.items())
