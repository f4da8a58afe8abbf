"""Metrics of explanations, against numbers worked out by hand, scikit-learn, SciPy and PyTorch Geometric."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from torch_geometric.explain.metric import characterization_score

from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.explain import metrics

TWO = np.array([0, 0, 0, 0, 1, 1, 1])


def test_fidelity_by_hand() -> None:
    whole = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    removed = np.array([[0.3, 0.7], [0.4, 0.6], [0.1, 0.9]])
    assert metrics.changed(whole, removed).tolist() == [1, 0, 1]
    assert metrics.probability_drop(whole, removed) == pytest.approx([0.6, 0.2, 0.5])
    assert metrics.characterization(2 / 3, 0.2) == pytest.approx(1 / (0.5 / (2 / 3) + 0.5 / 0.8))
    assert metrics.characterization(0.0, 0.0) == metrics.characterization(1.0, 1.0) == 0


@given(st.floats(0.01, 1), st.floats(0, 0.99), st.sampled_from([0.25, 0.5, 0.75]))
def test_characterization_is_that_of_pyg(plus: float, minus: float, weight: float) -> None:
    expected = characterization_score(torch.tensor(plus), torch.tensor(minus), weight, 1 - weight).item()
    assert metrics.characterization(plus, minus, weight) == pytest.approx(expected, rel=1e-4)


def test_unfaithfulness_by_hand() -> None:
    p, kept = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    divergence = 0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75)
    assert metrics.unfaithfulness(p, kept) == pytest.approx([1 - np.exp(-divergence), 0])
    assert metrics.unfaithfulness(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == pytest.approx([1])


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.integers(1, 3))
def test_truth_metrics_agree_with_all_ways_to_break_ties(values: list[int], k: int) -> None:
    scores, truth, graph = np.array(values, float), np.array([1.0, 0, 2, 0]), np.zeros(4, int)
    assert metrics.node_aucs(scores, truth, graph)[0] == pytest.approx(roc_auc_score(truth > 0, scores))
    rankings = [p for p in permutations(range(4)) if all(scores[a] >= scores[b] for a, b in pairwise(p))]
    expected = np.mean([np.mean(truth[list(p[:k])] > 0) for p in rankings])
    assert metrics.precision_at_k(scores, truth, graph, k)[0] == pytest.approx(expected)


def test_graphs_without_a_contrast_have_no_truth_metric() -> None:
    scores, truth = np.arange(7.0), np.array([0, 0, 1, 1, 1, 1, 1])
    assert metrics.node_aucs(scores, truth, TWO) == pytest.approx([1, np.nan], nan_ok=True)
    assert metrics.precision_at_k(scores, truth, TWO) == pytest.approx([1, np.nan], nan_ok=True)
    assert metrics.interval(np.array([np.nan])) is None


def test_agreement_is_the_rank_correlation_of_each_graph() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 5, (2, 7)).astype(float)
    expected = [spearmanr(one[g == TWO], other[g == TWO]).statistic for g in (0, 1)]
    assert metrics.agreement(one, other, TWO) == pytest.approx(expected)
    assert np.isnan(metrics.agreement(np.ones(7), other, TWO)).all()
    assert metrics.stability([one, one, one], TWO) == pytest.approx([1, 1])
    assert metrics.stability([one, other], TWO) == pytest.approx(expected)
    assert np.isnan(metrics.stability([one], TWO)).all()


def test_a_random_explainer_is_no_better_than_chance() -> None:
    graph = np.repeat(np.arange(400), 10)
    truth = np.tile([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], 400)
    scores = metrics.random_scores(len(graph))
    for values, chance in ((metrics.node_aucs, 0.5), (metrics.precision_at_k, 0.3)):
        found = metrics.interval(values(scores, truth, graph))
        assert found is not None
        assert found.low < chance < found.high
    assert np.array_equal(scores, metrics.random_scores(len(graph)))


def test_relabelled_graphs_are_the_same_graphs() -> None:
    edges = [(0, 1), (1, 0), (1, 2), (2, 1)]
    graphs = pack([(3, edges), (4, edges)], node_labels=range(7), true_saliency=range(7), y=[0, 1])
    other, order = metrics.relabelled(graphs, seed=3)
    assert not np.array_equal(order, np.arange(7))
    assert np.array_equal(other.node_labels, order)  # type: ignore[arg-type]
    for g in range(2):
        start, names = graphs.node_ptr[g], other[g].node_labels
        assert names is not None
        found = {(int(names[a] - start), int(names[b] - start)) for a, b in other[g].edges.T}
        assert found == set(edges)
    pairs = other.edges[:, : other.edge_ptr[1]]
    assert np.array_equal(np.lexsort(pairs), np.arange(pairs.shape[1]))  # still sorted by target, then source
    assert metrics.relabelling_error(np.arange(7.0), order.astype(float), order) == 0
    assert metrics.relabelling_error(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([0, 1])) == 0.5


@pytest.mark.parametrize("metric", [metrics.node_aucs, metrics.precision_at_k, metrics.agreement])
def test_values_that_are_not_one_a_node_are_refused_in_one_line(metric: object) -> None:
    with pytest.raises(InputError, match=r"^got \w+ of shape \(6,\), expected \(7,\): one per node$"):
        metric(np.ones(7), np.ones(6), TWO)  # type: ignore[operator]
