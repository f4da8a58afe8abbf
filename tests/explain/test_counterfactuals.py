"""The search for a smallest removal, against all removals there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.explain.counterfactuals import smallest_removals
from sargnn.explain.parts import Parts, node_parts


class Additive:
    """A decision that falls when the weights of the nodes left sum to less than zero."""

    def __init__(self, weights: list[list[int]]) -> None:
        self.weights, self.calls = weights, 0

    def __call__(self, removals: Parts) -> tuple[np.ndarray, np.ndarray]:
        self.calls += 1
        left = np.array([self.left(int(g), removals.of(r).tolist()) for r, g in enumerate(removals.graph)])
        return left, left < 0

    def left(self, graph: int, removed: list[int]) -> float:
        own = self.weights[graph]
        return float(sum(w for v, w in enumerate(own) if v not in removed))


@given(st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=7), min_size=1, max_size=4))
def test_where_effects_add_up_none_is_smaller(weights: list[list[int]]) -> None:
    judge = Additive(weights)
    parts = node_parts(np.array([len(own) for own in weights]))
    found = smallest_removals(judge, parts)
    for graph, own in enumerate(weights):
        sizes = [
            size
            for size in range(1, len(own) + 1)
            for removed in combinations(range(len(own)), size)
            if judge.left(graph, list(removed)) < 0
        ]
        assert (graph in found) == bool(sizes)
        if sizes:
            removed = [int(parts.of(part)[0]) for part in found[graph]]
            assert judge.left(graph, removed) < 0
            assert len(removed) == min(sizes)


def test_idle_parts_are_put_back() -> None:
    """Greedy takes node 0 first, which looks best alone and which 1 and 2 together do not need."""
    distances = {(): 9, (0,): 5, (1,): 8, (2,): 8, (0, 1): 4, (0, 2): 4, (1, 2): -1, (0, 1, 2): -2}

    def judge(removals: Parts) -> tuple[np.ndarray, np.ndarray]:
        far = np.array([distances[tuple(sorted(set(removals.of(r).tolist())))] for r in range(len(removals))])
        return far, far < 0

    assert smallest_removals(judge, node_parts(np.array([3]))) == {0: (1, 2)}


def test_it_ends_after_the_most_parts_that_may_go_and_asks_for_all_graphs_at_once() -> None:
    judge = Additive([[1] * 30, [1, 1, -1], [5]])
    found = smallest_removals(judge, node_parts(np.array([30, 3, 1])), most=4)
    assert set(found) == {1}
    assert judge.calls <= 6


def test_no_parts() -> None:
    assert smallest_removals(Additive([]), node_parts(np.array([], int))) == {}


@pytest.mark.parametrize("most", [0, 1])
def test_as_many_as_asked(most: int) -> None:
    assert bool(smallest_removals(Additive([[2, -1]]), node_parts(np.array([2])), most)) == bool(most)
