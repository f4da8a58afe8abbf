"""Groups of graphs by distance, by hand, and their chart."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.metrics import wilson_interval
from sargnn.viz.distance import distance_groups, error_by_distance

DISTANCES = np.array([0.9, 0.1, 0.5, 0.2, 0.6, 0.8, 0.3])
WRONG = np.array([True, False, True, False, False, True, False])


def test_groups_are_thirds_from_near_to_far() -> None:
    near, middle, far = distance_groups(DISTANCES, WRONG)
    assert (near.low, near.high, near.graphs, near.wrong) == (0.1, 0.3, 3, 0)
    assert (middle.low, middle.high, middle.graphs, middle.wrong) == (0.5, 0.6, 2, 0.5)
    assert (far.low, far.high, far.graphs, far.wrong) == (0.8, 0.9, 2, 1)
    assert middle.ends == wilson_interval(0.5, 2)


@pytest.mark.parametrize("graphs", [1, 2])
def test_few_graphs_are_few_groups(graphs: int) -> None:
    assert [group.graphs for group in distance_groups(DISTANCES[:graphs], WRONG[:graphs])] == [1] * graphs


def test_the_axis_of_molecules_is_their_similarity() -> None:
    groups = distance_groups(DISTANCES, WRONG)
    axes, molecules = (error_by_distance(groups, similarity=of).axes[0] for of in (False, True))
    assert axes.get_xticklabels()[0].get_text() == "0.1 to 0.3\n3 graphs"
    assert molecules.get_xticklabels()[0].get_text() == "0.7 to 0.9\n3 graphs"
    assert molecules.get_xlabel() == "similarity of the nearest training graph"
    assert [round(bar.get_height(), 2) for bar in axes.patches] == [0, 0.5, 1]
