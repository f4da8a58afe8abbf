"""Scores, against numbers worked by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, roc_auc_score

from sargnn.metrics import accuracy, auroc, balanced_accuracy, confusion, node_auc, wilson_interval

TRUE = np.array([0, 0, 0, 1, 2, 2])
PREDICTED = np.array([0, 0, 1, 1, 2, 0])


def test_accuracies_by_hand() -> None:
    assert accuracy(TRUE, PREDICTED) == 4 / 6
    assert balanced_accuracy(TRUE, PREDICTED) == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert confusion(TRUE, PREDICTED, 4).tolist() == [[2, 1, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]


def test_wilson_interval_by_hand() -> None:
    """8 of 10: the roots of (0.8 - p)^2 = z^2 p (1 - p) / 10."""
    z = 1.959963984540054
    roots = np.sort(np.roots([10 + z * z, -(16 + z * z), 6.4]))
    assert wilson_interval(0.8, 10) == pytest.approx(tuple(roots))
    assert wilson_interval(0.8, 10) == pytest.approx((0.4901625, 0.9433178))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_wilson_interval_holds_the_share_and_stays_within_bounds(case: tuple[int, int]) -> None:
    graphs, right = case
    low, high = wilson_interval(right / graphs, graphs)
    assert 0 <= low <= right / graphs + 1e-12
    assert right / graphs - 1e-12 <= high <= 1
    assert high - low > 0


def test_auroc_by_hand() -> None:
    probability = np.array([0.1, 0.4, 0.4, 0.8])
    two = np.stack([1 - probability, probability], axis=1)
    assert auroc(np.array([0, 0, 1, 1]), two) == (1 + 0.5 + 1 + 1) / 4  # of four pairs one is a tie
    assert auroc(np.array([1, 1, 1, 1]), two) is None
    assert auroc(np.array([0, 0, 0, 0]), two) is None


def test_auroc_of_several_classes_is_the_mean_of_those_that_occur() -> None:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    assert auroc(np.array([0, 1, 1]), probabilities) == pytest.approx((1.0 + 1.0) / 2)


@given(st.integers(0, 10_000))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    true = np.concatenate([np.arange(classes), rng.integers(classes, size=int(rng.integers(1, 40)))])
    probabilities = rng.dirichlet(np.ones(classes), size=len(true)).round(int(rng.integers(1, 4)))
    predicted = probabilities.argmax(axis=1)
    assert accuracy(true, predicted) == pytest.approx(accuracy_score(true, predicted))
    assert balanced_accuracy(true, predicted) == pytest.approx(balanced_accuracy_score(true, predicted))
    assert np.array_equal(confusion(true, predicted, classes), confusion_matrix(true, predicted))
    expected = (
        roc_auc_score(true, probabilities[:, 1])
        if classes == 2
        else np.mean([roc_auc_score(true == c, probabilities[:, c]) for c in range(classes)])
    )
    assert auroc(true, probabilities) == pytest.approx(expected)


def test_node_auc_is_the_mean_over_graphs_that_have_a_ranking() -> None:
    graph = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    truth = np.array([1, 0, 0, 1, 1, 0, 2, 0])
    saliency = np.array([0.5, 0.3, 0.2, 0.9, 0.1, 0.6, 0.3, 0.1])
    assert node_auc(saliency, truth, graph) == (1.0 + 0.5) / 2  # in the second graph every node matters
    assert node_auc(saliency[3:5], truth[3:5], graph[3:5]) is None
    assert node_auc(np.empty(0), np.empty(0), np.empty(0, np.int64)) is None


def test_node_auc_compares_nodes_of_one_graph_only() -> None:
    """A large graph has a small saliency everywhere: that must not count against it."""
    small, large = np.array([0.6, 0.4]), np.array([0.02, 0.01])
    one = node_auc(np.concatenate([small, large]), np.array([1, 0, 1, 0]), np.array([4, 4, 7, 7]))
    assert one == 1.0
