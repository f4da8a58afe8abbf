"""Twins: the four numbers worked by hand, and those of known sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn import both_ways, ring
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.protocol_splits import protocol_folds
from sargnn.data.splits import Fold
from sargnn.data.twins import Twins, find_twins, twins_by_content, unavoidable_errors


def sizes(nodes: list[int], y: list[int]) -> GraphSet:
    """Graphs without edges: twins are those of one size."""
    return pack([(n, []) for n in nodes], y=y, classes=["a", "b", "c"])


def fold(train: list[int], validation: list[int], test: list[int]) -> Fold:
    return Fold(np.array(train, int), np.array(validation, int), np.array(test, int))


def test_worked_by_hand() -> None:
    graphs = sizes([1, 1, 1, 1, 2, 2, 3, 4], [0, 0, 1, 0, 1, 2, 2, 0])
    folds = [
        fold([0, 2, 4], [1], [3, 5, 6]),  # 3: two a, one b, right; 5: only b, wrong; 6: no twin
        fold([1, 2, 5], [], [0, 7]),  # 0: one a, one b, half right; 7: no twin
    ]
    assert find_twins(graphs, folds) == Twins((), 8, 6 / 8, 6 / 8, 3 / 5, 1.5 / 3)
    assert unavoidable_errors(graphs) == 2


def test_in_words() -> None:
    assert str(find_twins(sizes([1, 1], [0, 1]))) == "100.0 % have a twin, ceiling 50.0 %"
    given_up = Twins((), 2, 1.0, None, None, None, by_colours=1)
    assert str(given_up) == "100.0 % have a twin, 1 twins by colours alone"


def test_without_classes_there_is_no_ceiling() -> None:
    graphs = replace(sizes([1, 1], [0, 0]), y=None)
    assert find_twins(graphs, [fold([0], [], [1])]) == Twins((), 2, 1.0, None, None, None)
    assert unavoidable_errors(graphs) == 0


def test_no_test_graph_with_a_twin() -> None:
    assert find_twins(sizes([1, 2], [0, 1]), [fold([0], [], [1])]) == Twins((), 2, 0.0, 1.0, 0.0, None)


def test_colours_are_not_enough() -> None:
    graphs = pack([(6, both_ways(ring(6))), (6, both_ways(ring(3) + ring(3, 3)))], y=[0, 1], classes=["a", "b"])
    assert find_twins(graphs) == Twins((), 2, 0.0, 1.0, None, None)


def test_labels_and_attributes_are_respected_step_by_step() -> None:
    edge = (2, [(0, 1), (1, 0)])
    graphs = replace(
        pack([edge] * 4, node_labels=[0, 0, 0, 0, 0, 0, 0, 1]),
        edge_labels=np.array([0, 0, 0, 0, 1, 1, 0, 0]),
        node_attributes=np.array([[1], [2], [2], [1], [1], [1], [1], [1]], np.float32),
    )
    found = twins_by_content(graphs)
    assert [(twins.respected, twins.with_twin) for twins in found] == [
        ((), 1.0),
        (("node labels",), 0.75),
        (("node labels", "edge labels"), 0.5),
        (("node labels", "edge labels", "node attributes"), 0.5),
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=12))
def test_as_counting_one_by_one_says(rows: list[tuple[int, int, int]]) -> None:
    """Each row: a size, which decides who is a twin; a class; a part."""
    parts = [[g for g, row in enumerate(rows) if row[2] == part] for part in range(3)]
    shares = []
    for nodes, y, _ in (rows[g] for g in parts[2]):
        votes = Counter(rows[g][1] for g in parts[0] + parts[1] if rows[g][0] == nodes)
        best = [one for one in votes if votes[one] == max(votes.values())]
        shares += [(y in best) / len(best)] if best else []
    by_size = [Counter(y for nodes, y, _ in rows if nodes == size) for size in range(1, 5)]
    found = find_twins(sizes([row[0] for row in rows], [row[1] for row in rows]), [fold(*parts)])
    assert found.with_twin == pytest.approx(sum(c.total() for c in by_size if c.total() > 1) / len(rows))
    assert found.ceiling == pytest.approx(sum(max(c.values(), default=0) for c in by_size) / len(rows))
    assert found.test_with_twin == (pytest.approx(len(shares) / len(parts[2])) if parts[2] else None)
    assert found.lookup_right == (pytest.approx(sum(shares) / len(shares)) if shares else None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("IMDB-MULTI", (80.8, 63.3, 80.0, 49.5)), ("IMDB-BINARY", (57.9, 88.6, 56.7, 72.4))],
)
def test_known_sets(
    known: Callable[[str], GraphSet],
    mirror: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    expected: tuple[float, ...],
) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    graphs = known(name)
    found = find_twins(graphs, protocol_folds(graphs))
    numbers = (found.with_twin, found.ceiling, found.test_with_twin, found.lookup_right)
    assert tuple(round(100 * (number or 0), 1) for number in numbers) == expected
    assert found.by_colours == 0
