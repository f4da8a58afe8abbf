"""The look of every figure, defined once: colours, fonts, and how user text is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, NullLocator

__all__ = [
    "ACCENT", "COLOURS", "CONTRAST", "EFFECT", "INK", "LINE", "MUTED", "PAPER", "SALIENCY", "STYLE",
    "house_style", "logarithmic", "printable", "readable_on",
]  # fmt: skip

INK = "#26313d"
MUTED = "#6b7885"
LINE = "#d9dfe5"
PAPER = "#ffffff"
ACCENT = "#9c2a5e"
CONTRAST = "#2f7f86"
COLOURS = (ACCENT, CONTRAST, "#d9853b", "#4a6fa5", "#7f8f3a")
"""Of curves and classes that stand side by side."""
SALIENCY = LinearSegmentedColormap.from_list(
    "saliency",
    ["#f8f3ec", "#f3d3b3", "#f2b083", "#f3875e", "#e4625b", "#ca415d", "#a42d60", "#79235c", "#4d1c51"],
)
"""Cream to plum. CIELAB lightness falls evenly from 96 to 20: equal steps of saliency look equal, in grey too."""

EFFECT = LinearSegmentedColormap.from_list(
    "effect", ["#12555c", "#2f7f86", "#8fbcbf", "#f8f3ec", "#dba0b8", "#b14d7d", "#79235c"]
)
"""Teal, through the cream of nothing, to plum: what lowers a prediction and what raises it, equally dark."""

STYLE: Any = {  # matplotlib has a type of its own for these keys
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,  # class names are user data: a dollar sign is a dollar sign
    "text.usetex": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.color": LINE,
    "ytick.labelcolor": MUTED,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's own font
    "svg.hashsalt": "sargnn",
}


@contextmanager
def house_style() -> Iterator[None]:
    """The look of every figure; also a decorator."""
    with mpl.rc_context(STYLE):
        yield


def logarithmic(axes: Axes) -> None:
    """A logarithmic x axis with plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_locator(NullLocator())


def readable_on(level: float) -> tuple[float, float, float, float]:
    """The end of the colour scale that stands out from the colour at ``level``, 0 to 1."""
    return SALIENCY(1.0 if level < 0.5 else 0.0)


def printable(text: str, most: int) -> str:
    """User text on one line, without characters that XML refuses, cut to at most ``most`` characters.

    >>> printable("a\\x00b", 9), printable("a long name", 6)
    ('a�b', 'a lon…')
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"
