"""Charts of predictions against the truth show what they are given."""

from __future__ import annotations

import numpy as np

from sargnn import viz


def test_a_bar_for_each_target_that_has_a_score() -> None:
    figure = viz.target_bars(["a", "b", "c"], [0.9, None, 0.6], "AUROC", chance=0.5)
    (axes,) = figure.axes
    assert [round(float(bar.get_width()), 2) for bar in axes.patches] == [0.4, 0.1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"]
    many = viz.target_bars([f"t{i}" for i in range(50)], [0.7] * 50, "AUROC")
    assert "10 not shown" in many.axes[0].get_title(loc="left")


def test_parity_has_a_panel_for_each_number_without_the_gaps() -> None:
    true = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    figure = viz.parity(true, true + 0.5, ["a", "b"])
    first, second = figure.axes
    assert first.collections[0].get_offsets().tolist() == [[1, 1.5], [2, 2.5], [3, 3.5]]
    assert second.collections[0].get_offsets().tolist() == [[5, 5.5], [7, 7.5]]


def test_curves_start_and_end_where_they_must() -> None:
    positive, score = np.array([True, False, True, False]), np.array([0.9, 0.8, 0.7, 0.1])
    left, right = viz.ranking_curves([("a", positive, score)]).axes
    x, y = left.lines[1].get_data()
    assert list(zip(x.tolist(), y.tolist(), strict=True)) == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]
    assert right.lines[0].get_data()[1][-1] == 1


def test_reliability_by_hand() -> None:
    axes, below = viz.reliability(np.array([True, False, True]), np.array([0.92, 0.98, 0.05])).axes
    x, y = axes.lines[1].get_data()
    assert np.allclose(x, [0.05, 0.95])
    assert np.allclose(y, [1, 0.5])
    assert [bar.get_height() for bar in below.patches] == [1, 2]
