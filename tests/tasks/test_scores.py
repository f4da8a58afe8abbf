"""Scores against scikit-learn, and intervals against sets that are drawn one by one."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

from sargnn.tasks.scores import (
    CLASS_METRICS,
    NUMBER_METRICS,
    RESAMPLES,
    class_scores,
    intervals,
    number_scores,
    resampled,
    resampled_classes,
    resampled_numbers,
)


def some_classes(seed: int, classes: int, graphs: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = np.concatenate([np.arange(classes), rng.integers(0, classes, graphs - classes)])
    raw = rng.normal(size=(graphs, classes)).round(1) + 1.5 * np.eye(classes)[true]  # rounded: with ties
    probabilities = np.exp(raw) / np.exp(raw).sum(1, keepdims=True)
    return true, probabilities.argmax(1), probabilities


def by_hand(true: np.ndarray, predicted: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Straight from scikit-learn."""
    binary = p.shape[1] == 2
    one_hot = np.eye(p.shape[1])[true]
    area = (true, p[:, 1]) if binary else (one_hot, p)
    return {
        "accuracy": float((true == predicted).mean()),
        "balanced_accuracy": balanced_accuracy_score(true, predicted),
        "auroc": roc_auc_score(*area),
        "average_precision": average_precision_score(*area),
        "f1": f1_score(true, predicted, average="binary" if binary else "macro"),
        "mcc": matthews_corrcoef(true, predicted),
        "brier": brier_score_loss(true, p[:, 1]) if binary else brier_score_loss(true, p),
        "log_loss": log_loss(true, p),
    }


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5]))
@settings(max_examples=25, deadline=None)
def test_classes_score_as_in_scikit_learn(seed: int, classes: int) -> None:
    given = some_classes(seed, classes)
    expected = by_hand(*given)
    assert list(expected) == [metric.key for metric in CLASS_METRICS]
    assert class_scores(*given) == pytest.approx(expected)
    drawn = resampled_classes(*given, np.ones((1, len(given[0]))))
    assert {key: values.item() for key, values in drawn.items()} == pytest.approx(expected)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_a_resampled_score_is_that_of_the_repeated_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, predicted, p = some_classes(seed, 2 + seed % 3)
    counts = rng.integers(0, 4, (1, len(true)))
    counts[0, : p.shape[1]] += 1  # every class is there
    again = np.repeat(np.arange(len(true)), counts[0])
    drawn = resampled_classes(true, predicted, p, counts.astype(float))
    expected = by_hand(true[again], predicted[again], p[again])
    assert {key: values.item() for key, values in drawn.items()} == pytest.approx(expected)
    y, values = rng.normal(size=len(true)).round(1), rng.normal(size=len(true)).round(1)
    numbers = resampled_numbers(y, values, counts.astype(float))
    assert {key: found.item() for key, found in numbers.items()} == pytest.approx(
        number_scores(y[again], values[again])
    )


def test_hundreds_of_classes_need_no_table_of_their_pairs() -> None:
    true, predicted, probabilities = some_classes(0, 600, graphs=700)
    tracemalloc.start()
    found = resampled_classes(true, predicted, probabilities, np.ones((20, 700)))
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    assert found["accuracy"] == pytest.approx([(true == predicted).mean()] * 20)


def test_numbers_score_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(5, 2, 50)
    predicted = true + rng.normal(size=50)
    found = number_scores(true, predicted)
    assert list(found) == [metric.key for metric in NUMBER_METRICS]
    assert found == pytest.approx({
        "rmse": float(np.sqrt(((true - predicted) ** 2).mean())),
        "mae": mean_absolute_error(true, predicted),
        "r2": r2_score(true, predicted),
        "spearman": spearmanr(true, predicted).statistic,
    })  # fmt: skip


def test_what_is_not_defined_is_none() -> None:
    ones = np.ones(3, int)
    found = class_scores(ones, ones, np.array([[0.2, 0.8]] * 3))
    assert (found["auroc"], found["average_precision"], found["mcc"]) == (None, None, None)
    assert found["accuracy"] == 1
    assert set(class_scores(ones[:0], ones[:0], np.empty((0, 2))).values()) == {None}
    assert number_scores(np.ones(3), np.arange(3.0))["r2"] is None
    assert number_scores(np.empty(0), np.empty(0))["rmse"] is None
    assert intervals({"auroc": np.array([np.nan, np.nan, 0.5])}) == {"auroc": None}


def test_intervals_are_those_of_sets_drawn_with_replacement() -> None:
    rng = np.random.default_rng(1)
    true, predicted, p = some_classes(3, 2, graphs=200)
    spread = intervals(resampled(200, lambda counts: resampled_classes(true, predicted, p, counts)))
    one_by_one = []
    for _ in range(2000):
        index = rng.integers(0, 200, 200)
        one_by_one.append(roc_auc_score(true[index], p[index, 1]))
    assert spread["auroc"] == pytest.approx(np.percentile(one_by_one, (2.5, 97.5)).tolist(), abs=0.012)


def test_the_same_sets_are_drawn_every_time_and_each_has_all_its_graphs() -> None:
    seen = [resampled(30, lambda counts: {"size": counts.sum(1), "first": counts[:, 0]}) for _ in range(2)]
    assert np.array_equal(seen[0]["first"], seen[1]["first"])
    assert seen[0]["size"].tolist() == [30] * RESAMPLES
    assert seen[0]["first"].std() > 0.5
