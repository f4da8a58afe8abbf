"""A trained model on graphs it has not seen: the same graph, the same answer; other graphs, one clear line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from command import answer_of, error_of
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.tasks import Classification
from sargnn.training.model_folder import load_model
from sargnn.training.run import score, train
from sargnn.training.trained_model import Prediction, TrainedModel
from tiny import FOLD, labelled, shapes, tiny


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
        trained.task.targets(bare)


@pytest.mark.parametrize("attribute", [1e7, -1e30, 3e38])
def test_attributes_out_of_all_bounds_still_give_a_distribution(graphs: GraphSet, attribute: float) -> None:
    trained = train(graphs, tiny("sargnn-plus", training__epochs=3), fold=FOLD).trained
    assert graphs.node_attributes is not None
    attributes = graphs.node_attributes.copy()
    attributes[5] = attribute
    prediction = trained.predict(replace(graphs, node_attributes=attributes))
    assert prediction.probabilities.sum(axis=1) == pytest.approx(np.ones(24))
    assert np.isfinite(prediction.saliency).all()


def test_scores_that_are_no_numbers_are_no_prediction(graphs: GraphSet) -> None:
    trained = train(graphs, tiny("gcn", training__epochs=1), fold=FOLD).trained
    with torch.no_grad():
        next(trained.model.parameters()).fill_(float("nan"))
    with pytest.raises(
        InputError, match=r"got no finite scores for 24 of 24 graphs, expected a model and inputs that give some"
    ):
        trained.predict(graphs)


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
    assert np.array_equal(trained.task.targets(turned), graphs.y)
    ring_only = replace(graphs.subset([0, 2]), classes=("ring",))
    assert trained.task.targets(ring_only).tolist() == [0, 0]
    more_names = replace(graphs, y=graphs.y + 1, classes=("star", "ring", "path"))  # no graph is a star
    assert np.array_equal(trained.task.targets(more_names), graphs.y)


def test_a_class_that_was_not_trained_on_is_refused_by_graph(trained: TrainedModel, graphs: GraphSet) -> None:
    other = replace(graphs.subset([0, 2, 1]), classes=("ring", "star"))
    message = r"^got class 'star' in graph 2 of shapes, expected one of those trained on: ring, path$"
    with pytest.raises(InputError, match=message):
        trained.task.targets(other)


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
    prediction = Prediction(Classification(("a", "b")), probabilities, saliency, graphs.sizes)
    settings = tiny()
    trained = TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs), Classification(("a", "b")))
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
        TrainedModel.untrained(tiny(training__seed=seed), encoder, Classification(graphs.classes)).model.state_dict()
        for seed in (3, 3, 4)
    )
    assert all(torch.equal(value, again[name]) for name, value in one.items())
    assert not all(torch.equal(value, other[name]) for name, value in one.items())


# ------------------------------------------------------------------------------------------ inputs of edges and graphs

EDGES: dict[str, Any] = {"data__edge_encodings": ("auto",)}
SYSTEMS_WITH_EDGES = {
    "sar-gcn": EDGES | {"model__edge_channels": 3, "data__graph_encodings": ("attributes",)},
    "sar-gat": EDGES | {"model__edge_channels": 3, "model__relative": True},
    "gin": {"model__edge_channels": 2, "model__relative": True, "data__graph_encodings": ("attributes",)},
    "ecc": EDGES,
    "graphormer": EDGES,
}


@pytest.mark.parametrize("name", SYSTEMS_WITH_EDGES)
def test_models_with_edge_and_graph_inputs_are_saved_and_say_the_same_when_loaded(name: str, tmp_path: Path) -> None:
    graphs = labelled(shapes())
    run = train(graphs, tiny(name, **SYSTEMS_WITH_EDGES[name]), tmp_path / "run", fold=FOLD)
    loaded, expected = load_model(tmp_path / "run"), run.trained.predict(graphs)
    assert np.array_equal(loaded.predict(graphs).probabilities, expected.probabilities)
    assert loaded.encoder == run.trained.encoder
    alone = np.concatenate([loaded.predict(graph).probabilities for graph in graphs])
    assert alone == pytest.approx(expected.probabilities, abs=1e-6)


@pytest.mark.parametrize("name", ["sar-gcn", "ecc", "graphormer"])
def test_other_edge_inputs_give_other_answers_and_missing_ones_a_line(name: str) -> None:
    graphs = labelled(shapes())
    trained = train(graphs, tiny(name, **SYSTEMS_WITH_EDGES[name]), fold=FOLD).trained
    before = trained.predict(graphs).probabilities
    after = trained.predict(labelled(shapes(), seed=1)).probabilities
    assert np.abs(before - after).max() > 1e-6
    with pytest.raises(InputError, match="got no edge attributes, expected numbers for every edge, in shapes"):
        trained.predict(replace(graphs, edge_attributes=None))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (
            "sar-gcn",
            EDGES,
            r"model\.edge_channels: got 0 with 4 edge inputs \(data\.edge_encodings\), expected 1 or more",
        ),
        ("dgcnn", EDGES, r"data\.edge_encodings: got 4 edge inputs, expected none: DGCNN reads none"),
        (
            "ecc",
            {"data__graph_encodings": "attributes"},
            r"data\.graph_encodings: got 2 graph inputs, expected none: ECC",
        ),
    ],
)
def test_inputs_that_nothing_would_read_are_refused(name: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(labelled(shapes()), tiny(name, **values), fold=FOLD)


def test_the_command_trains_on_edge_labels_and_predicts(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    asked = ("data.edge_encodings=labels", "model.edge_channels=4", "training.epochs=2", "model.hidden=8")
    values = [word for setting in asked for word in ("--set", setting)]
    answer_of("train", "MUTAG", *values, "--out", tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert len(config["edge_features"]) == 4
    answer_of("predict", tmp_path / "run", "MUTAG", "--out", tmp_path / "predictions.csv")
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 189


def test_a_column_of_the_table_of_graphs_is_an_input(tmp_path: Path) -> None:
    """Graphs all alike but for that number, which tells their classes."""
    folder = tmp_path / "tables"
    folder.mkdir()
    numbers = [(g, "low" if g % 2 else "high", g % 2 * 9 + 0.1 * g) for g in range(30)]
    rows = {
        "graphs": ["graph,label,dose", *(f"g{g},{label},{dose}" for g, label, dose in numbers)],
        "nodes": ["graph,node", *(f"g{g},{node}" for g, _, _ in numbers for node in "ab")],
        "edges": ["graph,source,target", *(f"g{g},a,b" for g, _, _ in numbers)],
    }
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    asked = ("data.graph_encodings=attributes", "training.epochs=60", "model.hidden=8", "training.learning_rate=0.02")
    values = [word for setting in asked for word in ("--set", setting)]
    answer_of("train", folder, *values, "--out", tmp_path / "run")
    prediction = load_model(tmp_path / "run").predict(load(folder))
    assert (prediction.predicted == load(folder).y).all()
    (folder / "graphs.csv").write_text("\n".join(line.rpartition(",")[0] for line in rows["graphs"]))
    said = error_of("predict", tmp_path / "run", folder, "--out", tmp_path / "predictions.csv")
    assert "got no graph attributes, expected numbers for every graph, in tables" in said
