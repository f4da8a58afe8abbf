"""Labels and attributes that graphs lack, or that are not finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from feature_graphs import (
    PATH,
    undirected,
)
from sargnn.data import set_chunks
from sargnn.data.features import given_inputs
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.features.given_inputs import gap_problems, gaps_in
from sargnn.errors import InputError


@pytest.mark.parametrize("cells", [1, 10**6])
def test_a_number_that_is_none_is_found_in_the_graph_as_the_set_counts_it(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    graphs = undirected((2, []), (1, []), (3, []), node_attributes=[[0.0], [1], [2], [3], [np.inf], [5]], name="dots")
    with pytest.raises(InputError, match=r"got inf as attribute 0 in graph 2 \(node 1\) of dots"):
        Encoder.fit(DataConfig(), graphs, np.array([2, 1]))


@pytest.mark.parametrize("cells", [1, 10**6])
def test_gaps_are_counted_and_placed_whatever_the_blocks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_inputs, "CELLS", cells)
    nan = np.nan
    values = [[0, nan], [1, 1], [nan, nan], [3, 1], [4, 1], [5, nan]]
    graphs = undirected((2, []), (1, []), (3, []), node_attributes=values, graph_attributes=[[1], [nan], [1]])
    graphs = replace(graphs, name="dots", node_attribute_names=("mass", "charge"))
    assert gaps_in(graphs) == {"node attribute 'charge'": 3, "node attribute 'mass'": 1, "graph attribute 0": 1}
    found, count = gap_problems(graphs, "node", [1])
    assert count == 3
    expected = "expected one for every node (data.missing=refuse)"
    assert [str(problem) for problem in found] == [
        f"got no value of node attribute 'charge' in graph {place} of dots, {expected}"
        for place in ("0 (node 0)", "1 (node 0)", "2 (node 2)")
    ]


@pytest.mark.parametrize("name", ["labels", "attributes"])
def test_inputs_that_the_training_graphs_lack_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"got no node {name}"):
        Encoder.fit(DataConfig((name,)), undirected((3, PATH)))
