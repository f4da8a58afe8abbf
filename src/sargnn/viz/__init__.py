"""Drawings, each a matplotlib ``Figure``: a graph with its saliency, learning curves, a confusion matrix, sizes.

No function touches ``pyplot``, so all of them work without a display and none keeps a figure alive.
"""

from sargnn.viz.charts import confusion_matrix, learning_curves, size_histogram
from sargnn.viz.effects import draw_effects
from sargnn.viz.files import save, to_svg
from sargnn.viz.graph import draw_graph
from sargnn.viz.score_charts import parity, ranking_curves, reliability, target_bars
from sargnn.viz.style import (
    ACCENT,
    COLOURS,
    CONTRAST,
    EFFECT,
    INK,
    LINE,
    MUTED,
    PAPER,
    SALIENCY,
    house_style,
    logarithmic,
)

__all__ = [
    "ACCENT", "COLOURS", "CONTRAST", "EFFECT", "INK", "LINE", "MUTED", "PAPER", "SALIENCY",
    "confusion_matrix", "draw_effects", "draw_graph", "house_style", "learning_curves", "logarithmic", "parity",
    "ranking_curves", "reliability", "save", "size_histogram", "target_bars", "to_svg",
]  # fmt: skip
