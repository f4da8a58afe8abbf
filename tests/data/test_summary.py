"""A set's repr fits one screen and says what there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sargnn.data.graphs import pack
from sargnn.data.summary import summary


def test_the_lines_say_what_the_set_holds() -> None:
    graphs = pack(
        [(1, []), (3, [(0, 1), (1, 0)])], name="two", y=[0, 1], classes=["0", "1"], class_titles=["no", "yes"],
        node_labels=[0, 1, 0, 0], node_label_names=["C", "O"], node_attributes=[[1.0]] * 4,
        node_attribute_names=["mass"], smiles=["C", "CCO"], notes=["merged 2 edges"],
    )  # fmt: skip
    assert repr(graphs).splitlines() == [
        "GraphSet two: 2 graphs, 4 nodes, 2 directed edges",
        "  nodes per graph  2 (median), 1 to 3",
        "  classes          no (1), yes (1)",
        "  node labels      C, O",
        "  node attributes  1: mass",
        "  also             SMILES",
        "  notes            merged 2 edges",
    ]
    targets = replace(graphs, y=None, targets=np.array([[0, np.nan], [1, 1]]), target_names=("a", "b"))
    assert "  targets          a (2), b (1)" in summary(targets).splitlines()


def test_many_long_names_still_fit_one_screen() -> None:
    names = [f"a very long name of the class number {i}" for i in range(5000)]
    graphs = pack([(1, [])] * 5000, y=range(5000), classes=names, graph_names=names, notes=["x" * 5000] * 50)
    lines = repr(graphs).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) < 400
    assert "... 5,000 in all" in repr(graphs)


def test_an_empty_set_has_a_repr() -> None:
    assert repr(pack([])) == "GraphSet graphs: 0 graphs, 0 nodes, 0 directed edges"
