"""Effects of parts as they are drawn: on nodes, and between them."""

from __future__ import annotations

import numpy as np

from sargnn.pages.explanation import Explanation
from sargnn.tasks import Verdict

PAIRS = [(0, 1), (1, 2), (2, 3)]


def item(kind: str, parts: list[list[int]]) -> Explanation:
    names = [f"part {number}" for number in range(len(parts))] if kind == "fragments" else []
    empty = np.empty((0, 4))
    return Explanation(0, Verdict("a", 0.9), empty, "mean", np.zeros(4), kind=kind, parts=parts, part_names=names)


def test_effects_of_nodes_stand_on_nodes_and_those_of_edges_between_them() -> None:
    effects = np.array([1.0, -2.0, 0.0, 3.0])
    nodes, ties = item("nodes", []).painted(effects, PAIRS)
    assert (nodes.tolist(), ties) == (effects.tolist(), {})
    nodes, ties = item("edges", [[0, 1], [2, 3]]).painted(effects[:2], PAIRS)
    assert (nodes.tolist(), ties) == ([0, 0, 0, 0], {(0, 1): 1.0, (2, 3): -2.0})


def test_of_fragments_that_overlap_the_largest_effect_is_drawn() -> None:
    nodes, ties = item("fragments", [[0, 1, 2], [2, 3]]).painted(np.array([1.0, -2.0]), PAIRS)
    assert nodes.tolist() == [1.0, 1.0, -2.0, -2.0]
    assert ties == {(0, 1): 1.0, (1, 2): 1.0, (2, 3): -2.0}
