"""Where nodes go."""

from __future__ import annotations

from drawn import one_graph, ring
from sargnn.viz.layout import positions_of


def test_parts_stand_side_by_side() -> None:
    points = positions_of(one_graph(11, ring(5) + ring(4, 5)))
    boxes = [(points[part].min(axis=0), points[part].max(axis=0)) for part in (slice(0, 5), slice(5, 9), [9], [10])]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert ((high < other_low) | (other_high < low)).any()
