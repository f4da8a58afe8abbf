"""Whether predictions are more often wrong, the farther a graph is from the training graphs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from sargnn.metrics import wilson_interval
from sargnn.viz.style import ACCENT, INK, MUTED, house_style

__all__ = ["DistanceGroup", "distance_groups", "error_by_distance"]


class DistanceGroup(NamedTuple):
    """Graphs that are about as far from the training graphs."""

    low: float
    """The smallest distance."""
    high: float
    graphs: int
    wrong: float
    """The fraction of them that is predicted wrongly."""
    ends: tuple[float, float]
    """Its 95 % interval."""


def distance_groups(distances: np.ndarray, wrong: np.ndarray, count: int = 3) -> list[DistanceGroup]:
    """The graphs in ``count`` groups of equal size by their distances, the nearest first.

    >>> [round(group.wrong, 2) for group in distance_groups(np.array([5, 1, 2, 4]), np.array([1, 0, 0, 0]), 2)]
    [0.0, 0.5]
    """
    parts = np.array_split(np.argsort(distances, kind="stable"), min(count, len(distances)))
    groups = []
    for part in parts:
        fraction = float(wrong[part].mean())
        near, far = float(distances[part[0]]), float(distances[part[-1]])
        groups.append(DistanceGroup(near, far, len(part), fraction, wilson_interval(fraction, len(part))))
    return groups


@house_style()
def error_by_distance(groups: list[DistanceGroup], *, similarity: bool = False) -> Figure:
    """The wrong fraction of each group with its interval; ``similarity``: distances are 1 less a similarity.

    >>> groups = distance_groups(np.array([0.1, 0.2, 0.9]), np.array([0, 0, 1]))
    >>> [text.get_text() for text in error_by_distance(groups).axes[0].texts]
    ['0%', '0%', '100%']
    """
    figure = Figure(figsize=(4.6, 2.7), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(groups))
    wrong = np.array([group.wrong for group in groups])
    ends = np.array([group.ends for group in groups])
    look: dict[str, Any] = {"color": ACCENT, "width": 0.6}
    axes.bar(places, wrong, **look)
    axes.errorbar(places, wrong, np.abs(ends.T - wrong), fmt="none", ecolor=INK, elinewidth=1.0, capsize=3)
    for place, value, (_, high) in zip(places.tolist(), wrong.tolist(), ends.tolist(), strict=True):
        axes.text(place, high + 0.02, f"{value:.0%}", ha="center", va="bottom", color=INK)
    shown = [(1 - group.high, 1 - group.low) if similarity else (group.low, group.high) for group in groups]
    labels = [
        f"{low:.2g} to {high:.2g}\n{group.graphs} graphs" for (low, high), group in zip(shown, groups, strict=True)
    ]
    axes.set_xticks(places, labels)
    axes.set_ylim(0, min(1.0, float(ends.max())) + 0.12)
    axes.set_title("Wrong predictions")
    axes.set_xlabel(f"{'similarity' if similarity else 'distance'} of the nearest training graph")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.tick_params(length=0, labelcolor=MUTED)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return figure
