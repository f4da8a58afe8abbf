"""Graphs, targets and weights as scikit-learn hands them over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.estimator.inputs import columns_of, graphs_of, with_targets, with_weights
from tiny import binary_shapes, shapes


def test_single_graphs_join_to_the_set_that_they_came_from() -> None:
    graphs = binary_shapes()
    whole = replace(
        graphs, weights=np.arange(24, dtype=np.float32), groups=np.arange(24) // 3,
        smiles=tuple(map(str, range(24))), graph_names=tuple(f"g{n}" for n in range(24)),
    )  # fmt: skip
    joined = graphs_of(list(whole))
    assert joined.fingerprint == whole.fingerprint
    assert (joined.smiles, joined.graph_names) == (whole.smiles, whole.graph_names)
    assert np.array_equal(joined.targets, whole.targets, equal_nan=True)
    other = replace(whole, target_names=("a", "b", "c"))
    with pytest.raises(InputError, match="got other target_names in item 1 than in item 0"):
        graphs_of([whole[0], other[1]])


def test_targets_take_the_place_of_classes() -> None:
    made = with_targets(shapes(), np.zeros((24, 2)), None)
    assert (made.y, made.classes, made.target_names) == (None, (), ("0", "1"))


def test_gaps_are_kept() -> None:
    assert np.isnan(columns_of([1.0, None])[1])
    with pytest.raises(InputError, match="expected numbers"):
        columns_of(["x"])


def test_no_weights_leave_those_of_the_graphs() -> None:
    graphs = replace(shapes(), weights=np.ones(24, np.float32))
    assert with_weights(graphs, None) is graphs
    assert with_weights(graphs, np.arange(24)).weights.tolist() == list(range(24))
