"""GraphML as NetworkX and yEd write it."""

from __future__ import annotations

from pathlib import Path

from graph_inputs import GRAPHML
from sargnn.data.sources import load


def test_graphml_worked_by_hand(tmp_path: Path) -> None:
    (tmp_path / "two.graphml").write_text(GRAPHML)
    graphs = load(tmp_path / "two.graphml")
    assert graphs.name == "two"
    assert graphs.graph_names == ("first", "second")
    assert graphs.classes == ("safe", "toxic")
    assert graphs.node_label_names == ("C", "O")
    assert graphs.node_labels.tolist() == [1, 0, 0, 0, 0]
    assert graphs.node_attributes[:, 0].tolist() == [16, 12, 12, 12, 12]
    assert graphs.node_names.tolist() == ["a", "b", "x", "y", "z"]
    assert graphs.edges.tolist() == [[1, 0, 0, 2, 1], [0, 1, 1, 1, 2]]
    assert graphs.edge_attributes[:, 0].tolist() == [1, 1, 0, 1, 1]
