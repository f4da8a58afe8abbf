"""Thresholds chosen on some graphs and measured on others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from sargnn.tasks import Classification, Multilabel, Regression
from sargnn.tasks.thresholds import best_threshold, thresholds

HELD_OUT = ("toxic", np.array([True, False, False, True, False]), np.array([0.3, 0.1, 0.2, 0.4, 0.35]))
TEST = ("toxic", np.array([True, True, False, False]), np.array([0.6, 0.3, 0.2, 0.28]))


def test_a_threshold_by_hand() -> None:
    # from 0.25 on: both yes are found and two of three no are spared; from 0.375 on: one yes and all no
    assert best_threshold(*HELD_OUT[1:]) == pytest.approx(0.25)
    (one,) = thresholds([HELD_OUT], [TEST])
    assert (one.name, one.at) == ("toxic", pytest.approx(0.25))
    assert (one.usual, one.found, one.spared, one.balanced) == (0.75, 1.0, 0.5, 0.75)


def test_a_threshold_is_kept_at_one_half_where_nothing_is_better() -> None:
    assert best_threshold(np.array([True, False]), np.array([0.9, 0.2])) == 0.5
    assert best_threshold(np.array([True, False]), np.array([0.3, 0.3])) == 0.5


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20)), min_size=2, max_size=40))
def test_no_other_threshold_between_probabilities_is_better(pairs: list[tuple[bool, int]]) -> None:
    truth, probability = np.array([yes for yes, _ in pairs]), np.array([p / 20 for _, p in pairs])
    if truth.all() or not truth.any():
        return
    best = balanced_accuracy_score(truth, probability >= best_threshold(truth, probability))
    for other in np.unique(probability)[1:]:
        assert best >= balanced_accuracy_score(truth, probability >= other) - 1e-12


def test_only_questions_that_both_parts_can_answer_have_one() -> None:
    assert thresholds([], [TEST]) == []
    assert thresholds([HELD_OUT], [("other", *TEST[1:])]) == []


def test_what_a_task_asks() -> None:
    two = Classification(("safe", "toxic"))
    values = np.array([[0.7, 0.3], [0.4, 0.6]])
    ((name, truth, probability),) = two.questions(np.array([0, 1]), values)
    assert (name, truth.tolist(), probability.tolist()) == ("toxic", [False, True], [0.3, 0.6])
    assert two.questions(np.array([1, 1]), values) == []
    assert Classification(("a", "b", "c")).questions(np.array([0, 1]), np.ones((2, 3)) / 3) == []
    gaps = np.array([[0, 1.0], [1, np.nan], [np.nan, 1]])
    ((name, truth, probability),) = Multilabel(("a", "b")).questions(
        gaps, np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    )
    assert (name, truth.tolist(), probability.tolist()) == ("a", [False, True], [0.1, 0.3])
    assert Regression(("a",), (0.0,), (1.0,)).questions(np.zeros((2, 1)), np.zeros((2, 1))) == []
