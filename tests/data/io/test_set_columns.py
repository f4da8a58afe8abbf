"""A set as named columns: directions and exact numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_inputs import named_set
from sargnn.data.graphs import pack
from sargnn.data.io.convert import convert
from sargnn.data.io.set_columns import SetColumns, exact, undirected
from sargnn.errors import InputError


def test_an_attribute_that_is_called_like_the_structure(tmp_path: Path) -> None:
    graphs = replace(named_set(), node_attribute_names=("graph", "x10"))
    with pytest.raises(InputError, match=r"^three: got an attribute of nodes called 'graph', expected another name$"):
        convert(graphs, tmp_path / "x", "csv")


def test_an_edge_that_differs_by_direction_is_directed() -> None:
    graphs = pack([(2, [(0, 1), (1, 0)]), (2, [(0, 1)]), (2, [])])
    assert undirected(graphs).tolist() == [True, False, True]
    turned = replace(graphs, edge_labels=np.array([0, 1, 0]))
    assert undirected(turned).tolist() == [False, False, True]
    assert SetColumns.of(turned).ends.tolist() == [[1, 0, 0], [0, 1, 1]]


def test_graphs_without_an_edge_lead_both_ways_whatever_edges_would_bring() -> None:
    bare = pack([(2, []), (1, [])])
    graphs = replace(bare, edge_labels=np.empty(0, np.int64), edge_label_names=("single",))
    assert undirected(graphs).tolist() == [True, True]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_exact_numbers_are_exact(values: list[float]) -> None:
    array = np.array(values, np.float32)
    texts = [str(value) for value in exact(array)]
    assert np.array([float(text) for text in texts]).astype(np.float32).tobytes() == array.tobytes()
