"""Effects drawn side by side."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection

from sargnn import viz
from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.viz.effects import COLUMNS, draw_effects
from sargnn.viz.style import EFFECT

PATH = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])], name="path", node_labels=[0, 1, 0], node_label_names=["C", "N"])


def colours_of(figure: object, panel: int) -> dict[tuple[float, ...], int]:
    """The colours of the nodes of one panel and how many nodes have each."""
    found: dict[tuple[float, ...], int] = {}
    for drawn in figure.axes[panel].collections:  # type: ignore[attr-defined]
        assert isinstance(drawn, PathCollection)
        for colour in drawn.get_facecolors().tolist():
            found[tuple(colour)] = found.get(tuple(colour), 0) + 1
    return found


def test_there_is_a_panel_for_the_saliency_and_for_each_target() -> None:
    names = [f"target {n}" for n in range(6)]
    figure = draw_effects(
        PATH, 0, dict.fromkeys(names, np.array([1.0, 0.0, -1.0])), saliency={"all": np.ones(3)}, title="x"
    )
    assert [ax.get_title() for ax in figure.axes] == ["all", *names]
    lefts = {round(ax.get_position().x0, 3) for ax in figure.axes}
    assert len(lefts) == COLUMNS
    assert all(ax.get_position().y0 >= 0 and ax.get_position().y1 <= 1 for ax in figure.axes)
    assert "target 5" in viz.to_svg(figure)


def test_what_raises_and_what_lowers_have_opposite_colours() -> None:
    figure = draw_effects(PATH, 0, {"a": np.array([2.0, 0.0, -1.0]), "b": np.array([-5.0, -5.0, 5.0])})
    assert colours_of(figure, 0) == {EFFECT(1.0): 1, EFFECT(0.5): 1, EFFECT(0.25): 1}
    assert colours_of(figure, 1) == {EFFECT(0.0): 2, EFFECT(1.0): 1}
    assert colours_of(draw_effects(PATH, 0, {"a": np.zeros(3)}), 0) == {EFFECT(0.5): 3}


def test_numbers_that_are_no_map_are_refused() -> None:
    with pytest.raises(InputError, match=r"got toxic of shape \(2,\), expected \(3,\)"):
        draw_effects(PATH, 0, {"toxic": np.ones(2)})


def test_edges_are_broad_lines_in_the_colours_of_their_effects() -> None:
    figure = draw_effects(PATH, 0, {"toxic": np.zeros(3)}, ties={"toxic": {(0, 1): 1.0, (1, 2): -2.0}})
    (lines,) = (drawn for drawn in figure.axes[0].collections if isinstance(drawn, LineCollection))
    assert np.allclose(lines.get_edgecolor(), EFFECT([0.75, 0.0]))  # type: ignore[arg-type]
    assert lines.get_linewidths()[0] < lines.get_linewidths()[1]
    texts = [text.get_text() for axis in figure.axes for bar in axis.child_axes for text in bar.texts]
    assert [text.split()[-1] for text in texts] == ["-2", "2"]
