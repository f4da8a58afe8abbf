"""Where nodes go."""

from __future__ import annotations

import numpy as np

from drawn import one_graph, ring
from sargnn.viz.layout import positions_of


def test_parts_stand_side_by_side() -> None:
    points = positions_of(one_graph(11, ring(5) + ring(4, 5)))
    boxes = [(points[part].min(axis=0), points[part].max(axis=0)) for part in (slice(0, 5), slice(5, 9), [9], [10])]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert ((high < other_low) | (other_high < low)).any()


def test_attributes_that_nodes_share_are_no_coordinates() -> None:
    """A ring of carbon and nitrogen, each with its mass and its charge, is a ring."""
    atoms = np.array([[12, 0], [14, -1]] * 3, np.float32)
    points = positions_of(one_graph(6, ring(6), node_attributes=atoms))
    assert np.array_equal(points, positions_of(one_graph(6, ring(6))))
    corners = np.array([[0, 0], [0, 1], [1, 0]], np.float32)
    assert np.array_equal(positions_of(one_graph(3, ring(3), node_attributes=corners)), corners)
