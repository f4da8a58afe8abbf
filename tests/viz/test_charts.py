"""Charts of what awkward runs and sets have."""

from __future__ import annotations

import numpy as np
import pytest

from drawn import both_ways, ring
from sargnn import viz
from sargnn.data import set_chunks
from sargnn.data.graphs import pack
from sargnn.errors import InputError


def history(epochs: int) -> list[dict[str, float]]:
    return [
        {"epoch": e, "train_loss": 1 / e, "validation_loss": 1.2 / e, "validation_accuracy": 1 - 0.5 / e}
        for e in range(1, epochs + 1)
    ]


def test_learning_curves_mark_the_kept_epoch() -> None:
    figure = viz.learning_curves(history(9), best_epoch=7)
    marks = [line.get_xydata().tolist() for line in figure.axes[1].lines if line.get_marker() == "o"]
    assert marks == [[[7.0, pytest.approx(1 - 0.5 / 7)]]]
    assert "kept: epoch 7" in viz.to_svg(figure)


def test_learning_curves_of_little_and_of_broken_history() -> None:
    broken = [*history(3), {"epoch": 4, "train_loss": float("inf"), "validation_loss": None}]
    for rows in (history(1), history(2), broken):
        viz.to_svg(viz.learning_curves(rows))
    with pytest.raises(InputError, match="without epochs"):
        viz.learning_curves([])


@pytest.mark.parametrize("count", [2, 7, 20])
def test_confusion_matrix(count: int) -> None:
    matrix = np.eye(count, dtype=int) * 9
    matrix[0, 1] = 1
    matrix[1] = 0  # a class that the part does not have
    figure = viz.confusion_matrix(matrix, [f"class number {c}" for c in range(count)])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["9", "90%", "1", "10%"] + ["9", "100%"] * (count - 2)
    svg = viz.to_svg(figure)
    assert all(f"class number {c}" in svg for c in range(count))
    with pytest.raises(InputError, match=r"got a matrix of shape"):
        viz.confusion_matrix(matrix, ["one"])


def test_a_confusion_matrix_of_very_many_classes_shows_those_with_most_graphs() -> None:
    matrix = np.zeros((1000, 1000), dtype=int)
    matrix[np.arange(960, 1000), np.arange(960, 1000)] = 3
    matrix[999, 0] = 1  # part of the row, but not among the most
    axes = viz.confusion_matrix(matrix, [f"c{c}" for c in range(1000)]).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"c{c}" for c in range(960, 1000)]
    assert axes.get_xlabel() == "predicted (40 of 1000 classes, those with most graphs)"
    assert [text.get_text() for text in axes.texts][-4:] == ["3", "100%", "3", "75%"]


@pytest.mark.parametrize("cells", [1, 2**21])
def test_sizes_count_an_undirected_edge_once(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    graphs = pack([(3, both_ways([(0, 1), (1, 2)])), (2, [(0, 1), (0, 0)]), (1, [])], y=[0, 1, 1], classes=["a", "b"])
    nodes, edges, classes = viz.size_histogram(graphs).axes
    assert [bar.get_height() for bar in nodes.patches] == [1, 1, 1]
    assert [bar.get_height() for bar in edges.patches] == [1, 0, 2]
    assert [bar.get_width() for bar in classes.patches] == [1, 2]


def test_sizes_of_odd_sets() -> None:
    wide = pack([(3, [])] * 30 + [(900, both_ways(ring(900)))], y=np.arange(31), classes=[f"c{i}" for i in range(31)])
    figure = viz.size_histogram(wide)
    assert figure.axes[0].get_xscale() == "log"
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 31
    assert sum(bar.get_height() for bar in figure.axes[1].patches) == 31
    assert figure.axes[2].get_title(loc="left").endswith("(16 smaller not shown)")
    assert len(viz.size_histogram(pack([(1, [])])).axes) == 2
    with pytest.raises(InputError, match="got no graphs"):
        viz.size_histogram(pack([]))
