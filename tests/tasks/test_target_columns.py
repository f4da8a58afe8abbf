"""Columns of targets; what they refuse stands in the tests of the tasks."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.tasks.target_columns import found_columns, require_targets
from tiny import binary_shapes, shapes


def test_columns_come_in_the_order_that_is_asked_for() -> None:
    graphs = binary_shapes(gaps=False)
    assert graphs.targets is not None
    assert np.array_equal(found_columns(graphs, ("large", "path"), "multilabel"), graphs.targets[:, [1, 0]])


def test_a_set_of_classes_has_no_targets() -> None:
    with pytest.raises(InputError, match=r"shapes: got one class for each graph \(ring, path, ...\), expected columns"):
        require_targets(shapes())
