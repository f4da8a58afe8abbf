"""Where the class of a graph stands."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from graph_inputs import labelled
from sargnn.data.sources import load


@pytest.mark.parametrize("key", ["label", "y", "class", "target"])
def test_where_the_class_stands(key: str) -> None:
    graph = nx.path_graph(2)
    graph.graph[key] = 3
    assert load([graph]).classes == ("3",)
    graph.graph["p_np"] = "yes"
    assert load([graph], labels="p_np").classes == ("yes",)
    assert load([graph], labels=["given"]).classes == ("given",)


@pytest.mark.parametrize("value", [1, 1.0, True, np.int64(1), np.array([1]), [1], "1"])
def test_one_class_in_many_ways(value: Any) -> None:
    name = "True" if value is True else "1"
    assert load([labelled(nx.path_graph(2), value)]).classes == (name,)
