"""Labels and attributes that graphs lack, or that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from feature_graphs import (
    PATH,
    undirected,
)
from sargnn.data import set_chunks
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.errors import InputError


@pytest.mark.parametrize("cells", [1, 10**6])
def test_a_number_that_is_none_is_found_in_the_graph_as_the_set_counts_it(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    graphs = undirected((2, []), (1, []), (3, []), node_attributes=[[0.0], [1], [2], [3], [np.nan], [5]], name="dots")
    with pytest.raises(InputError, match=r"got nan as attribute 0 in graph 2 \(node 1\) of dots"):
        Encoder.fit(DataConfig(), graphs, np.array([2, 1]))


@pytest.mark.parametrize("name", ["labels", "attributes"])
def test_inputs_that_the_training_graphs_lack_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"got no node {name}"):
        Encoder.fit(DataConfig((name,)), undirected((3, PATH)))
