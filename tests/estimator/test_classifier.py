"""GraphClassifier: scikit-learn's contract, checked by scikit-learn and by the tools that rely on it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jaxtyping
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import sargnn
from rows import SAMPLES, OneNodeEach
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError
from sargnn.estimator import GraphClassifier, GraphRegressor
from sargnn.training.model_folder import load_model
from tiny import binary_shapes, shapes

QUICK: dict[str, Any] = {
    "model": "sar-gcn", "hidden": 8, "layers": 2, "epochs": 8, "batch_size": 8, "learning_rate": 0.02,
}  # fmt: skip
CLASSES = np.array(["ring", "path"] * 12)
"""Of the 24 graphs of :func:`shapes`."""


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the checks of types while a test runs: a constructor that only stores must take anything."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture(scope="module")
def fitted() -> GraphClassifier:
    return quick().fit(shapes())


def quick(**values: Any) -> GraphClassifier:
    return GraphClassifier(**(QUICK | {"random_state": 0} | values))


def as_networkx(graphs: GraphSet) -> list[nx.Graph]:
    found = []
    for graph in graphs:
        made = nx.Graph()
        for node, (a, b) in enumerate(graph.node_attributes.tolist()):
            made.add_node(node, a=a, b=b)
        made.add_edges_from(graph.edges.T.tolist())
        found.append(made)
    return found


def as_object_array(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


class RowsAsGraphs(OneNodeEach, GraphClassifier):
    """All but the reading of the table is GraphClassifier's own."""

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(self._table(X))


EXCEPTIONS = {
    "check_class_weight_classifiers": "class_weight is 'balanced' or None; a weight for each class is not offered",
    "check_sample_weight_equivalence_on_dense_data": SAMPLES,
}
"""Checks of scikit-learn that do not pass, and why."""


@parametrize_with_checks(
    [RowsAsGraphs("gcn", layers=1, hidden=16, epochs=12, batch_size=64, learning_rate=0.1, random_state=0)],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any, unchecked: None) -> None:
    check(estimator)


def test_scikit_learn_is_told_that_graphs_are_no_table() -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator GraphClassifier"):
        assert [r["status"] for r in check_estimator(GraphClassifier())] == ["passed"]


def test_the_constructor_only_stores_and_a_clone_is_unfitted(fitted: GraphClassifier) -> None:
    given = {
        "settings": {"model.fusion": "scaling"},
        "random_state": np.random.RandomState(3),
        "class_weight": "balanced",
    }
    classifier = GraphClassifier("sar-gin", **given)
    assert vars(classifier) == GraphClassifier().get_params() | {"model": "sar-gin"} | given
    assert all(vars(classifier)[name] is value for name, value in given.items())
    with pytest.raises(NotFittedError):
        clone(fitted).predict(shapes())
    assert clone(fitted).get_params() == fitted.get_params()


@pytest.mark.parametrize("form", ["set", "single graphs", "networkx", "pyg", "object array"])
def test_the_same_graphs_in_any_form_give_the_same_bits(form: str, fitted: GraphClassifier) -> None:
    graphs = shapes()
    forms = {
        "set": lambda: graphs,
        "single graphs": lambda: list(graphs),
        "networkx": lambda: as_networkx(graphs),
        "pyg": lambda: graphs.to_pyg(),
        "object array": lambda: as_object_array(list(graphs)),
    }
    X = forms[form]()
    same = quick().fit(X, CLASSES)
    assert np.array_equal(same.predict_proba(X), fitted.predict_proba(graphs))


def test_one_graph_is_a_list_of_one(fitted: GraphClassifier) -> None:
    for one in (as_networkx(shapes())[0], shapes().to_pyg()[0], shapes()[0]):
        assert np.array_equal(fitted.predict_proba(one), fitted.predict_proba([one]))


def test_classes_may_be_numbers_and_keep_their_type() -> None:
    y = np.where(CLASSES == "ring", 7, -2).astype(np.int16)
    classifier = quick().fit(shapes(), y)
    assert classifier.classes_.tolist() == [-2, 7]
    assert classifier.predict(shapes()).dtype == np.int16
    assert set(classifier.predict(shapes()).tolist()) <= {-2, 7}


def test_graphs_bring_their_own_classes(fitted: GraphClassifier) -> None:
    assert fitted.classes_.tolist() == ["path", "ring"]
    assert fitted.score(shapes()) == fitted.score(shapes(), CLASSES) == np.mean(fitted.predict(shapes()) == CLASSES)
    with pytest.raises(
        InputError, match="got class 'ring' in graph 0 of shapes, expected one of those trained on: a, b"
    ):
        quick(epochs=1).fit(shapes(), np.where(CLASSES == "ring", "a", "b")).score(shapes())


def test_it_learns_what_the_model_learns() -> None:
    classifier = quick(epochs=30, settings={"data.encodings": ("degree",)}).fit(shapes(count=60))
    assert classifier.score(shapes(count=60, seed=1)) > 0.9


def test_the_default_is_the_recommended_model() -> None:
    """It sees bonds without being asked, is an ensemble, and its graphs' vectors are those of all members."""
    classifier = GraphClassifier(hidden=8, epochs=12, learning_rate=0.02, random_state=0).fit(rings_of_bonds())
    assert classifier.trained_.settings.name == "sargnn-plus"
    assert classifier.score(rings_of_bonds()) > 0.9
    assert classifier.transform(rings_of_bonds()).shape == (30, 3 * 2 * 8)
    assert all(saliency.sum() == pytest.approx(1) for saliency in classifier.explain(rings_of_bonds()))


def rings_of_bonds() -> GraphSet:
    """Thirty rings; the class is the kind of their bonds, and a number about each graph says nothing of it."""
    graphs = [nx.cycle_graph(n, create_using=nx.Graph) for n in range(4, 34)]
    for n, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, "ab"[n % 2], "bond")
        graph.graph.update(label=n % 2, size=n // 2)
    return sargnn.load(graphs)


def test_inputs_of_edges_and_graphs_reach_the_model(tmp_path: Path) -> None:
    inputs = {"data.edge_encodings": ("auto",), "model.edge_channels": 4, "data.graph_encodings": ["attributes"]}
    graphs = rings_of_bonds()
    blind, seeing = (quick(hidden=16, epochs=12, settings=given).fit(graphs) for given in ({}, inputs))
    assert blind.score(graphs) < 0.7
    assert seeing.score(graphs) > 0.9
    assert seeing.transform(graphs).shape == (30, 16 + 1)  # the number of each graph stands beside its vector
    one_by_one = np.concatenate([seeing.predict_proba(graph) for graph in graphs])
    assert np.allclose(one_by_one, seeing.predict_proba(graphs), atol=1e-5)
    assert np.array_equal(seeing.predict_proba(list(graphs)), seeing.predict_proba(graphs))
    seeing.save(tmp_path / "model")
    assert np.array_equal(GraphClassifier.load(tmp_path / "model").predict_proba(graphs), seeing.predict_proba(graphs))


def test_the_seed_decides_everything_and_a_second_fit_forgets_the_first(fitted: GraphClassifier) -> None:
    again = quick(model="sar-gin").fit(shapes(seed=5)).set_params(model="sar-gcn").fit(shapes())
    assert np.array_equal(again.predict_proba(shapes()), fitted.predict_proba(shapes()))
    other = quick(random_state=1).fit(shapes())
    assert not np.array_equal(other.predict_proba(shapes()), fitted.predict_proba(shapes()))
    state = np.random.RandomState(4)
    drawn = [quick(random_state=state, epochs=1).fit(shapes()).trained_.settings.training.seed for _ in range(2)]
    assert drawn == [np.random.RandomState(4).randint(2**31 - 1, size=2).tolist()[i] for i in range(2)]


def test_settings_reach_the_model(fitted: GraphClassifier) -> None:
    classifier = quick(settings={"model.fusion": "scaling", "training.sampling": "balanced"}, class_weight="balanced")
    settings = classifier.fit(shapes()).trained_.settings
    assert (settings.model.fusion, settings.model.hidden, settings.training.sampling) == ("scaling", 8, "balanced")
    assert settings.training.class_weights == "balanced"
    assert fitted.n_iter_ == len(fitted.history_) == 8
    assert 1 <= fitted.best_epoch_ <= 8


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "sar-gcnn"}, "--model: got 'sar-gcnn', expected one of .*; did you mean 'sar-gcn'?"),
        ({"epochs": 0}, "training.epochs: got 0, expected at least 1"),
        ({"settings": {"model.hiden": 3}}, "unknown setting 'model.hiden'; did you mean 'model.hidden'?"),
        ({"settings": {"model.hidden": 3}}, "settings: got 'model.hidden' beside the argument that stands for it"),
        ({"class_weight": "blanced"}, "class_weight: got 'blanced', expected 'balanced' or None"),
        ({"validation_fraction": 1.0}, "validation: got 1.0, expected a fraction from 0 to less than 1"),
        ({"device": "gpu"}, "--device: got 'gpu', expected cpu, cuda, cuda:N or auto"),
    ],
)
def test_wrong_arguments_are_refused_by_fit(values: dict[str, Any], message: str, unchecked: None) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        quick(**values).fit(shapes())


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "graphs: got no graphs, expected at least one"),
        (np.zeros((4, 2)), [0, 1, 0, 1], "got a ndarray, expected SMILES, an RDKit molecule, a NetworkX graph"),
        (shapes(count=4), ["a"] * 4, "y: got one class only, 'a', expected two or more"),
        (shapes(count=4), [0.5, 1.5, 0.1, 2.2], "Unknown label type: continuous"),
        (shapes(count=4), ["a", "b", None, "a"], "^y: got None, expected a class for every graph, in graph 2$"),
        (shapes(count=4), ["a", "b", "a", np.nan], "^y: got nan, expected a class for every graph, in graph 3$"),
        (shapes(count=4), np.array([[0], [np.nan], [1], [1]]), "^y: got nan, expected a class .*, in graph 1$"),
        (shapes(count=4), [0, 1, 0], "inconsistent numbers of samples"),
        (pack([(1, [])] * 4, name="dots"), None, "dots: got no classes, expected y, or graphs that come with"),
        ([*shapes(count=4), pack([(1, [])], y=[0], classes=["o"])], None, "got other classes in item 4 than in item 0"),
    ],
)  # fmt: skip
def test_wrong_graphs_and_classes_are_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick().fit(X, y)


def test_a_column_of_classes_is_taken_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning):
        assert quick(epochs=1).fit(shapes(), CLASSES[:, None]).classes_.tolist() == ["path", "ring"]


def test_vectors_are_what_the_head_classifies(fitted: GraphClassifier) -> None:
    import torch

    vectors = fitted.transform(shapes())
    logits = fitted.trained_.model.head(torch.from_numpy(vectors))
    assert np.allclose(logits.softmax(1).detach().numpy(), fitted.predict_proba(shapes()), atol=1e-6)
    assert fitted.get_feature_names_out().tolist() == [f"graphclassifier{i}" for i in range(8)]
    assert fitted.fit_transform(shapes()).shape == (24, 8)


def test_a_model_that_draws_numbers_gives_the_same_vectors_every_time() -> None:
    classifier = quick(model="as-published", epochs=1).fit(shapes())
    assert np.array_equal(classifier.transform(shapes()), classifier.transform(shapes()))


def test_explanations_are_one_distribution_a_graph(fitted: GraphClassifier) -> None:
    graphs = shapes()
    explained = fitted.explain(graphs)
    assert [len(saliency) for saliency in explained] == graphs.sizes.tolist()
    assert np.allclose([saliency.sum() for saliency in explained], 1)
    alone = fitted.explain(graphs[3])
    assert np.allclose(alone[0], explained[3], atol=1e-6)
    with pytest.raises(InputError, match="model: got 'gcn', which has no saliency"):
        quick(model="gcn", epochs=1).fit(graphs).explain(graphs)


def test_calibrated_probabilities_and_sets_come_from_the_held_out_graphs() -> None:
    classifier = quick(validation_fraction=0.25).fit(shapes(count=80))
    raw = classifier.predict_proba(shapes())
    temperature = classifier.calibration_.temperature
    expected = raw ** (1 / temperature)
    calibrated = classifier.set_params(calibrated=True).predict_proba(shapes())
    assert np.allclose(calibrated, expected / expected.sum(axis=1, keepdims=True))
    assert len(classifier.calibration_.scores) == 20
    sets = classifier.predict_set(shapes(), coverage=0.8)
    assert sets.dtype == bool
    assert (sets.sum(axis=1) >= 1).all()
    assert classifier.predict_set(shapes(), coverage=0.99).all()  # 20 graphs cannot promise as much
    without = quick(validation_fraction=0.0, epochs=1).fit(shapes())
    with pytest.raises(
        InputError, match="validation_fraction: got no graphs to calibrate on, expected a fraction above 0"
    ):
        without.predict_set(shapes())


def test_grid_search_and_cross_validation(unchecked: None) -> None:
    graphs, folds = as_networkx(shapes()), StratifiedKFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(quick(epochs=2), {"hidden": [4, 8], "model": ["gin", "sar-sage"]}, cv=folds)
    search.fit(graphs, CLASSES)
    assert search.best_params_["hidden"] in (4, 8)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(graphs).shape == (24,)
    assert cross_val_score(quick(), as_object_array(graphs), CLASSES, cv=folds).shape == (2,)
    assert cross_val_score(quick(epochs=2), shapes(), cv=3).shape == (3,)  # classes out of the graphs
    found = cross_val_predict(quick(epochs=2), shapes(), CLASSES, cv=folds, method="predict_proba")
    assert found.shape == (24, 2)


def test_pipelines_and_calibration_of_scikit_learn() -> None:
    graphs = shapes().to_pyg()
    pipeline = make_pipeline(quick(), LogisticRegression())
    assert pipeline.fit(graphs, CLASSES).predict(graphs).shape == (24,)
    pipeline = make_pipeline(quick()).set_params(graphclassifier__epochs=2)
    assert pipeline.fit(graphs, CLASSES)[-1].n_iter_ == 2
    calibrated = CalibratedClassifierCV(quick(epochs=2), cv=2).fit(graphs, CLASSES)
    assert np.allclose(calibrated.predict_proba(graphs).sum(axis=1), 1)


def test_other_processes_get_the_same_classifier(fitted: GraphClassifier) -> None:
    twin = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(twin.predict_proba(shapes()), fitted.predict_proba(shapes()))


@pytest.mark.parametrize("y", [None, CLASSES, CLASSES.astype(object), CLASSES == "ring", np.arange(24) % 3 - 1])
def test_a_saved_classifier_comes_back_whole(y: Any, tmp_path: Path) -> None:
    classifier = quick(epochs=2, settings={"model.fusion": "scaling"}).fit(shapes(), y)
    classifier.save(tmp_path / "model")
    twin = GraphClassifier.load(tmp_path / "model")
    assert twin.get_params() == classifier.get_params()
    assert twin.classes_.dtype == classifier.classes_.dtype
    assert np.array_equal(twin.predict(shapes()), classifier.predict(shapes()))
    assert np.array_equal(twin.predict_proba(shapes()), classifier.predict_proba(shapes()))
    assert np.array_equal(twin.predict_set(shapes()), classifier.predict_set(shapes()))
    assert twin.history_ == classifier.history_
    twin.save(tmp_path / "again")
    assert load_model(tmp_path / "again").classes == tuple(map(str, classifier.classes_))


def test_saving_spares_what_is_there_and_loading_refuses_what_is_not_its_own(
    fitted: GraphClassifier, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(InputError, match="got something that exists, expected a new folder"):
        fitted.save(tmp_path)
    folder = tmp_path / "model"
    fitted.save(folder)
    file = folder / "estimator.json"
    words = json.loads(file.read_text())
    damages: list[tuple[dict[str, Any], str]] = [
        ({"classes": ["path", "star"]}, "got other classes than those of the model"),
        ({"type": "V1000000"}, "expected a file of GraphClassifier.save"),
        ({"parameters": {"modle": 1}}, "expected a file of GraphClassifier.save"),
    ]
    for damage, message in damages:
        file.write_text(json.dumps(words | damage))
        with pytest.raises(InputError, match=message):
            GraphClassifier.load(folder)
    file.unlink()
    with pytest.raises(InputError, match="expected a file of GraphClassifier"):
        GraphClassifier.load(folder)


def test_verbose_shows_progress_and_silence_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    quick(epochs=1).fit(shapes())
    assert capsys.readouterr() == ("", "")
    quick(epochs=1, verbose=1).fit(shapes())
    assert "epoch 1/1" in capsys.readouterr().err


MULTILABEL = binary_shapes(count=60)
COMPLETE = binary_shapes(count=60, gaps=False)


@pytest.fixture(scope="module")
def of_targets() -> GraphClassifier:
    return quick(settings={"model.members": 2}, validation_fraction=0.3).fit(MULTILABEL)


def test_several_targets_have_the_shapes_of_a_forest(of_targets: GraphClassifier) -> None:
    graphs, truth = COMPLETE, COMPLETE.targets
    forest = RandomForestClassifier(5, random_state=0).fit(np.zeros((60, 2)), truth.astype(int))
    for method in ("predict", "predict_proba"):
        ours, theirs = getattr(of_targets, method)(graphs), getattr(forest, method)(np.zeros((60, 2)))
        assert np.shape(ours) == np.shape(theirs)
        assert type(ours) is type(theirs)
    assert [c.tolist() for c in of_targets.classes_] == [c.tolist() for c in forest.classes_]
    assert of_targets.predict(graphs).dtype.kind == "i"
    assert np.array_equal(
        of_targets.predict(graphs), np.stack([p.argmax(1) for p in of_targets.predict_proba(graphs)], 1)
    )
    assert of_targets.target_names_ == ("path", "large", "large-path")


def test_several_targets_come_with_the_graphs_or_as_y(of_targets: GraphClassifier) -> None:
    given = quick(settings={"model.members": 2}, validation_fraction=0.3).fit(shapes(count=60), MULTILABEL.targets)
    assert given.target_names_ == ("0", "1", "2")
    assert np.array_equal(given.predict_set(MULTILABEL), of_targets.predict_set(MULTILABEL))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MULTILABEL.targets, columns=["path", "large", "large-path"])
    named = quick(epochs=1).fit(list(MULTILABEL), frame)
    assert named.target_names_ == of_targets.target_names_


def test_the_score_counts_graphs_of_which_all_known_targets_are_right(of_targets: GraphClassifier) -> None:
    predicted = of_targets.predict(COMPLETE)
    complete = accuracy_score(COMPLETE.targets.astype(int), predicted)
    assert of_targets.score(COMPLETE) == of_targets.score(COMPLETE, COMPLETE.targets) == pytest.approx(complete)
    right = (np.isnan(MULTILABEL.targets) | (predicted == MULTILABEL.targets)).all(axis=1)
    assert of_targets.score(MULTILABEL) == pytest.approx(right.mean()) != pytest.approx(complete)
    weights = np.arange(60)
    assert of_targets.score(MULTILABEL, sample_weight=weights) == pytest.approx((right * weights).sum() / weights.sum())


def test_several_targets_are_calibrated_target_by_target(of_targets: GraphClassifier) -> None:
    raw, twin = of_targets.predict_proba(COMPLETE), pickle.loads(pickle.dumps(of_targets)).set_params(calibrated=True)
    for own, calibrated, target in zip(raw, twin.predict_proba(COMPLETE), twin.calibration_.targets, strict=True):
        odds = own[:, 1] / own[:, 0]
        np.testing.assert_allclose(calibrated[:, 1] / calibrated[:, 0], odds ** (1 / target.temperature), rtol=1e-6)
    sets = of_targets.predict_set(COMPLETE, coverage=0.8)
    assert sets.shape == (60, 3, 2)
    assert sets.any(axis=-1).all()


def test_several_targets_in_the_tools_of_scikit_learn() -> None:
    graphs, folds = list(COMPLETE), KFold(2, shuffle=True, random_state=0)
    y = COMPLETE.targets.astype(int)
    areas = cross_val_score(quick(), graphs, y, cv=folds, scoring="roc_auc")
    assert np.isfinite(areas).all()
    found = cross_val_predict(quick(epochs=2), graphs, y, cv=folds, method="predict_proba")
    assert np.shape(found) == (3, 60, 2)
    search = GridSearchCV(quick(epochs=2), {"hidden": [4, 8]}, cv=folds).fit(MULTILABEL)  # targets with gaps
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert clone(search.best_estimator_).fit(graphs, y).predict(graphs).shape == (60, 3)


def test_a_saved_classifier_of_targets_comes_back_whole(of_targets: GraphClassifier, tmp_path: Path) -> None:
    of_targets.save(tmp_path / "model")
    twin = GraphClassifier.load(tmp_path / "model")
    assert np.array_equal(twin.predict_proba(COMPLETE), of_targets.predict_proba(COMPLETE))
    assert np.array_equal(twin.predict_set(COMPLETE), of_targets.predict_set(COMPLETE))
    assert (twin.target_names_, twin.get_params()) == (of_targets.target_names_, of_targets.get_params())
    with pytest.raises(InputError, match="got a model of multilabel, expected regression for GraphRegressor"):
        GraphRegressor.load(tmp_path / "model")


def test_weights_of_graphs_reach_the_loss() -> None:
    graphs, weights = shapes(count=60), np.where(np.arange(60) % 2, 1000.0, 0.001)
    almost_all_paths = quick(model="gcn", epochs=30).fit(graphs, sample_weight=weights).predict(graphs)
    assert np.mean(almost_all_paths == "path") > 0.9
    own = quick(model="gcn", epochs=30).fit(replace(graphs, weights=weights.astype(np.float32))).predict(graphs)
    assert np.array_equal(own, almost_all_paths)


@pytest.mark.parametrize(
    ("y", "more", "message"),
    [
        ([[0, 1], [1, 2], [0, 0], [1, 1]], {}, r"^y: got 2 in graph 1, target 1, expected 0, 1 or nan$"),
        ([["a", "b"]] * 4, {}, r"^y: got could not convert string to float: 'a', expected numbers"),
        ([[0, np.inf]] * 4, {}, "contains infinity"),
        ([[0, 1], [1, 0]], {}, "inconsistent numbers of samples"),
        ([[0, np.nan]] * 4, {}, r"got no value of target '1' in any of 4 graphs"),
        ([0, 1, 0, 1], {"sample_weight": [1, 1, -1, 1]}, "sample_weight: got negative numbers"),
        ([0, 1, 0, 1], {"sample_weight": [1, 1]}, r"sample_weight: got shape \(2,\), expected \(4,\)"),
    ],
)
def test_wrong_targets_and_weights_are_refused(y: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick().fit(shapes(count=4), y, **more)


def test_it_is_a_public_name() -> None:
    assert sargnn.GraphClassifier is GraphClassifier


PAGE = Path(__file__).parents[2] / "docs" / "estimator.md"

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(sargnn.__file__).parents[1])}

SCRIPT = """
import re, shlex, sys
from pathlib import Path
from sargnn.cli import main
namespace = {}
for kind, block in re.findall("```(python|bash)\\n(.*?)```", Path(sys.argv[1]).read_text(), flags=re.DOTALL):
    if kind == "python":
        exec(block, namespace)
        continue
    for line in block.splitlines():
        sys.argv[:] = shlex.split(line)
        try:
            main()
        except SystemExit as end:
            assert not end.code, line
"""


def test_every_example_of_the_page_runs(tmp_path: Path) -> None:
    """All blocks, from top to bottom, in an empty folder and a process without the checks that hold in tests."""
    for package in ("optuna", "onnxruntime", "onnxscript"):
        pytest.importorskip(package)
    command = [sys.executable, "-c", SCRIPT, str(PAGE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
