"""Effects of fragments over a set: means over graphs, intervals, and the order of what is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sargnn.explain.fragments import fragment_effects
from sargnn.explain.parts import Parts


def parts_of(graph: list[int], names: list[str]) -> Parts:
    count = len(graph)
    return Parts("fragments", np.array(graph, np.int64), np.arange(count + 1), np.zeros(count, np.int64), tuple(names))


def test_a_graph_counts_once_and_the_interval_is_students() -> None:
    parts = parts_of([0, 0, 1, 2, 2], ["nitro", "nitro", "nitro", "nitro", "methyl"])
    nitro, methyl = fragment_effects(parts, np.array([1.0, 3.0, 4.0, 6.0, -1.0]))
    low, high = stats.t.interval(0.95, 2, loc=4.0, scale=stats.sem([2.0, 4.0, 6.0]))
    assert (nitro.name, nitro.graphs, nitro.count, nitro.mean) == ("nitro", 3, 4, 4.0)
    assert (nitro.low, nitro.high) == pytest.approx((low, high))
    assert (methyl.graphs, methyl.mean, methyl.low, methyl.high) == (1, -1.0, -math.inf, math.inf)


def test_what_is_certain_comes_first() -> None:
    rng = np.random.default_rng(0)
    names = ["rare"] * 2 + ["lowers"] * 50 + ["nothing"] * 50
    effects = np.concatenate([[9.0, 1.0], rng.normal(-2, 0.5, 50), rng.normal(0, 0.5, 50)])
    found = fragment_effects(parts_of([*range(102)], names), effects)
    assert [one.name for one in found] == ["lowers", "nothing", "rare"]


def test_no_fragments() -> None:
    assert fragment_effects(parts_of([], []), np.empty(0)) == []
