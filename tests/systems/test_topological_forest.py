"""The topological forest: histograms by hand, trees that are scikit-learn's, and folders that hold no code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.ensemble import RandomForestClassifier

from expressive import PAIRS, undirected
from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet, tensor_set
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.estimator import GraphClassifier
from sargnn.systems.forest import Forest
from sargnn.systems.topological_forest import TopologicalForest, TopologicalForestConfig
from sargnn.training import model_folder
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from tiny import FOLD, shapes

FEW = {"model.trees": 20, "model.bins": 10}
SETTINGS = Settings.of("topological-forest", FEW)


def fitted(x: np.ndarray, y: np.ndarray, classes: int, **values: Any) -> tuple[RandomForestClassifier, Forest]:
    theirs = RandomForestClassifier(30, random_state=0, **values).fit(x, y)
    ours = Forest(x.shape[1], classes)
    ours.take(theirs)
    return theirs, ours


def test_histograms_by_hand() -> None:
    """Five bins from 0 to 10; what is outside counts at the ends, a border belongs to the bin above it."""
    model = TopologicalForest(TopologicalForestConfig(bins=5), inputs=1, classes=2)
    model.low, model.high = torch.tensor([0.0]), torch.tensor([10.0])
    x = torch.tensor([[-3.0], [1.9], [2.0], [10.0], [99.0], [5.0]])
    batch = PackedBatch.from_edges(x, torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 0, 0, 0, 0, 1]))
    assert model.encode(batch).graph.tolist() == [[2, 1, 0, 0, 2], [0, 0, 1, 0, 0]]


def test_bins_are_those_of_the_training_nodes() -> None:
    data = TensorSet(shapes(), np.random.default_rng(0).normal(size=(shapes().num_nodes, 2)).astype(np.float32))
    model = TopologicalForest(TopologicalForestConfig(trees=3), inputs=2, classes=2)
    model.fit_directly(data, np.arange(4), seed=0, balanced=False)
    seen = data.packed(np.arange(4)).x
    torch.testing.assert_close(model.low, seen.amin(0))
    torch.testing.assert_close(model.high, seen.amax(0))


@pytest.mark.parametrize("values", [{}, {"min_samples_leaf": 4}, {"class_weight": "balanced"}])
def test_the_walk_is_that_of_scikit_learn(values: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 9)), rng.integers(0, 4, 200)
    theirs, ours = fitted(x, y, 4, **values)
    new = np.concatenate([x, rng.normal(size=(300, 9))])
    np.testing.assert_allclose(ours.probabilities(torch.from_numpy(new)), theirs.predict_proba(new), rtol=0, atol=1e-12)


def test_numbers_at_a_threshold_go_where_scikit_learn_sends_them() -> None:
    """It compares in single precision."""
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    theirs, ours = fitted(x, y, 2)
    at = ours.threshold.numpy()[:, None]
    near = np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), at + 1e-6, at - 1e-6])
    np.testing.assert_allclose(ours.probabilities(torch.from_numpy(near)), theirs.predict_proba(near), atol=1e-12)


def test_a_class_that_no_training_graph_has_is_improbable() -> None:
    _, ours = fitted(np.arange(6.0)[:, None], np.array([0, 0, 0, 2, 2, 2]), 4)
    probabilities = ours.probabilities(torch.tensor([[0.0], [5.0]]))
    assert not probabilities[:, [1, 3]].any()
    torch.testing.assert_close(ours(torch.tensor([[0.0]])).softmax(1), probabilities[:1])


def test_a_run_predicts_what_scikit_learn_does() -> None:
    graphs = shapes()
    run = train(graphs, SETTINGS, fold=FOLD)
    data = tensor_set(graphs, run.trained.encoder, layout="packed")
    vectors = run.trained.model.encode(data.packed(np.arange(len(graphs)))).graph.numpy()
    assert graphs.y is not None
    order = np.random.default_rng([0, 1]).permutation(FOLD.train)  # as the loop draws it
    theirs = RandomForestClassifier(20, random_state=0).fit(vectors[order], graphs.y[order])
    got = run.trained.predict(graphs).probabilities
    np.testing.assert_allclose(got, theirs.predict_proba(vectors), atol=1e-12)
    assert len(run.state.history) == 1  # whatever training.epochs says


def test_the_profile_tells_rings_from_paths() -> None:
    graphs = replace(shapes(count=60), node_attributes=None)
    fold = Fold(np.arange(0, 40), np.arange(40, 50), np.arange(50, 60))
    assert train(graphs, SETTINGS, fold=fold).scores["test"]["accuracy"] == 1


def test_balanced_classes_and_draws_reach_the_forest() -> None:
    rare = np.concatenate([np.arange(0, 24, 2), [1]])
    fold = Fold(rare, np.array([3]), np.array([5]))
    plain, weighted, drawn = (
        train(shapes(), Settings.of("topological-forest", {**FEW, "model.leaf": 3, **own}), fold=fold)
        for own in ({}, {"training.class_weights": "balanced"}, {"training.sampling": "balanced"})
    )

    def probability_of_the_rare_class(run: TrainingRun) -> float:
        return float(run.trained.predict(shapes()).probabilities[:, 1].mean())

    for balanced in (weighted, drawn):
        assert probability_of_the_rare_class(balanced) > probability_of_the_rare_class(plain) + 0.1


def test_a_finished_run_goes_on_to_the_same_forest(tmp_path: Path) -> None:
    first = train(shapes(), SETTINGS, tmp_path / "run", fold=FOLD)
    again = TrainingRun.start(shapes(), SETTINGS, tmp_path / "run", fold=FOLD, resume=True)
    assert list(again) == []
    expected = first.trained.predict(shapes()).probabilities
    np.testing.assert_array_equal(again.finish().trained.predict(shapes()).probabilities, expected)
    assert {path.suffix for path in (tmp_path / "run").iterdir()} == {".csv", ".html", ".json", ".safetensors"}


def test_the_classifier_takes_it(tmp_path: Path) -> None:
    classifier = GraphClassifier("topological-forest", settings=FEW, random_state=0).fit(shapes())
    classifier.save(tmp_path / "model")
    expected = classifier.predict_proba(shapes())
    np.testing.assert_array_equal(GraphClassifier.load(tmp_path / "model").predict_proba(shapes()), expected)
    assert classifier.transform(shapes()).shape == (24, 10 * (2 + 8))


def circle(tensors: dict[str, torch.Tensor]) -> None:
    tensors["head.left"][tensors["head.left"].argmax()] = 0


def outside(tensors: dict[str, torch.Tensor]) -> None:
    tensors["head.right"][0] = 10**9


def unknown_feature(tensors: dict[str, torch.Tensor]) -> None:
    tensors["head.feature"][0] = 10**9


def one_half(tensors: dict[str, torch.Tensor]) -> None:
    tensors["head.left"] = tensors["head.left"][:-1].clone()


def no_trees(tensors: dict[str, torch.Tensor]) -> None:
    tensors["head.root"] = tensors["head.root"][:0].clone()


def absent(tensors: dict[str, torch.Tensor]) -> None:
    del tensors["head.root"]


@pytest.mark.parametrize("harm", [circle, outside, unknown_feature, one_half, no_trees, absent])
def test_a_file_with_a_forest_that_is_none_is_refused(harm: Any, tmp_path: Path) -> None:
    trained = train(shapes(), SETTINGS, tmp_path / "run", fold=FOLD).trained
    tensors = load_file(tmp_path / "run" / model_folder.WEIGHTS)
    harm(tensors)
    model_folder.write_tensors(tmp_path / "run" / model_folder.WEIGHTS, tensors, trained)
    with pytest.raises(InputError, match=r"weights.safetensors: got no sound forest"):
        model_folder.load_model(tmp_path / "run")


def vectors_of(pair: str) -> torch.Tensor:
    one, other = PAIRS[pair]
    graphs: GraphSet = pack([(n, undirected(edges)) for n, edges in (one, other)], y=[0, 1], classes=["one", "other"])
    data = tensor_set(graphs, Encoder.fit(DataConfig(("topology",)), graphs), layout="packed")
    model = TopologicalForest(TopologicalForestConfig(trees=3), inputs=8, classes=2)
    model.fit_directly(data, np.arange(2), seed=0, balanced=False)
    return model.encode(data.packed(np.arange(2))).graph


@pytest.mark.parametrize(("pair", "apart"), [("triangles", True), ("molecules", True), ("regular", False)])
def test_the_profile_tells_pairs_apart_by_triangles_and_shortest_paths(pair: str, apart: bool) -> None:
    one, other = vectors_of(pair)
    assert (not torch.equal(one, other)) == apart


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match=r"model.trees: got 0, expected at least 1"):
        TopologicalForestConfig(trees=0)
