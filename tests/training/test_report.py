"""The report of a run has the run's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from sargnn.data.splits import Fold
from sargnn.tasks.thresholds import best_threshold
from sargnn.training.report import training_report
from sargnn.training.run import TrainingRun, train
from tiny import FOLD, shapes, tiny


@pytest.fixture(scope="module")
def run() -> TrainingRun:
    return train(shapes(truth=True), tiny(), fold=FOLD)


def test_the_numbers_are_those_of_the_run(run: TrainingRun) -> None:
    report = training_report(run)
    sizes = {part: scores["graphs"] for part, scores in report.results.items()}
    assert sizes == {"train": 16, "validation": 4, "test": 4}
    assert report.results == run.scores
    assert report.history == run.state.history
    assert f"{run.scores['test']['saliency_auc']:.3f}" in run.page
    assert report.parameters == sum(p.numel() for p in run.trained.model.parameters())
    assert run.prediction is not None
    np.testing.assert_array_equal(report.values, run.prediction.values[FOLD.test])


def test_the_gallery_shows_test_graphs_with_their_saliency_and_truth(run: TrainingRun) -> None:
    assert run.prediction is not None
    assert run.prediction.mean_saliency is not None
    assert run.graphs.y is not None
    gallery = training_report(run).gallery
    assert gallery
    for item in gallery:
        assert item.graph in FOLD.test
        assert item.true == run.graphs.classes[run.graphs.y[item.graph]]
        assert item.right == (item.true == item.verdict.text)
        assert item.verdict.confidence == pytest.approx(run.prediction.probabilities[item.graph].max())
        np.testing.assert_array_equal(item.saliency, run.prediction.mean_saliency[run.graphs.nodes_of(item.graph)])
    assert "true saliency" in run.page


def test_distances_are_those_of_test_graphs_from_training_graphs(run: TrainingRun) -> None:
    report = training_report(run)
    vectors = run.trained.vectors(run.graphs).astype(float)
    pairs = np.linalg.norm(vectors[FOLD.test][:, None] - vectors[None, FOLD.train], axis=2)
    assert report.distances is not None
    np.testing.assert_allclose(report.distances[:, 0], pairs.min(axis=1), atol=1e-4)
    assert run.prediction is not None
    assert run.graphs.y is not None
    wrong = run.prediction.predicted[FOLD.test] != run.graphs.y[FOLD.test]
    np.testing.assert_array_equal(report.distances[:, 1], wrong)
    assert "Can it be trusted on new graphs?" in run.page


def test_thresholds_are_chosen_on_validation_graphs_and_measured_on_test_graphs(run: TrainingRun) -> None:
    (one,) = training_report(run).thresholds
    assert run.prediction is not None
    assert run.graphs.y is not None
    probability = run.prediction.values[:, 1]
    held_out, test = run.fold.validation, run.fold.test
    assert one.name == run.graphs.classes[1]
    assert one.at == best_threshold(run.graphs.y[held_out] == 1, probability[held_out])
    assert one.balanced == balanced_accuracy_score(run.graphs.y[test], probability[test] >= one.at)
    assert one.usual == balanced_accuracy_score(run.graphs.y[test], probability[test] >= 0.5)
    assert "From which probability on?" in run.page


def test_a_run_without_other_graphs_says_nothing_of_distances() -> None:
    everything = np.arange(24)
    assert training_report(train(shapes(), tiny("gcn"), fold=Fold(everything, *[everything[:0]] * 2))).distances is None


def test_without_saliency_there_is_no_gallery_and_without_test_graphs_another_part_is_shown() -> None:
    fold = type(FOLD)(FOLD.train, np.concatenate([FOLD.validation, FOLD.test]), FOLD.test[:0])
    report = training_report(train(shapes(), tiny("gcn", training__epochs=1), fold=fold))
    assert report.gallery == []
    assert len(report.values) == 8
