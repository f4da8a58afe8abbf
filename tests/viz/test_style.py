"""The look: even, readable, and nobody else's business."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb

from drawn import one_graph, ring
from sargnn import viz
from sargnn.viz.style import readable_on


def test_equal_steps_of_saliency_look_equal() -> None:
    """CIELAB lightness of the colour map, worked from sRGB, falls by equal steps."""
    rgb = viz.SALIENCY(np.linspace(0, 1, 33))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16
    steps = -np.diff(lightness)
    assert lightness[0] > 94
    assert lightness[-1] < 22
    assert np.abs(steps - steps.mean()).max() < 0.25 * steps.mean()


def test_text_in_cells_can_be_read() -> None:
    """WCAG contrast of at least 3 for large text between every shade and the text put on it."""

    def luminance(colour: object) -> float:
        rgb = np.array(to_rgb(colour))
        return float(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    for share in np.linspace(0, 1, 21):
        low, high = sorted([luminance(viz.SALIENCY(share)), luminance(readable_on(share))])
        assert (high + 0.05) / (low + 0.05) > 3


def test_the_style_of_the_caller_is_left_alone() -> None:
    before = dict(mpl.rcParams)
    viz.to_svg(viz.draw_graph(one_graph(3, ring(3)), 0, np.ones(3)))
    assert dict(mpl.rcParams) == before
