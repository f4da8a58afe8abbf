"""What `sargnn data check` found as a page and pictures: the problems, the summary, sizes, classes and degrees.

Everything on the page may come from a data file and is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sargnn import viz
from sargnn.data.check import CheckReport
from sargnn.data.graphs import GraphSet
from sargnn.files import write_file
from sargnn.pages.environment import render

__all__ = ["degree_histogram", "duplicate_bars", "write_check_page"]

BARS = 50


def write_check_page(folder: Path, title: str, report: CheckReport, summary: Mapping[str, Any]) -> Path:
    """Write ``check.html`` and, if the graphs could be read, ``sizes.png``, ``degrees.png`` and ``duplicates.png``;
    gives the page. ``summary`` is that of :func:`sargnn.data.check.summary`."""
    figures = {}
    if report.graphs is not None:
        figures["sizes"] = viz.size_histogram(report.graphs)
        figures["degrees"] = degree_histogram(report.graphs)
        figures["duplicates"] = duplicate_bars(summary)
    for name, figure in figures.items():
        viz.save(figure, folder / f"{name}.png")
    page = render(
        "check.html.j2",
        title=title,
        problems=report.problems,
        count=report.count,
        summary={name: value for name, value in summary.items() if name != "problems"},
        figures=[Markup(viz.to_svg(figure, prefix=name)) for name, figure in figures.items()],
    )
    write_file(folder / "check.html", page)
    return folder / "check.html"


@viz.house_style()
def degree_histogram(graphs: GraphSet) -> Figure:
    """How many nodes have each degree, over all graphs; the last bar holds all degrees from there on.

    >>> from sargnn.data.graphs import pack
    >>> figure = degree_histogram(pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])]))
    >>> [int(bar.get_height()) for bar in figure.axes[0].patches]
    [0, 2, 1]
    """
    counts = np.bincount(np.minimum(graphs.degrees, BARS - 1))
    figure = Figure(figsize=(9, 2.3), layout="constrained")
    axes = figure.subplots()
    axes.bar(np.arange(len(counts)), counts.astype(float), color=viz.CONTRAST, width=0.92)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.set_title("Nodes of each degree" + (f" ({BARS - 1} or more in the last)" if len(counts) == BARS else ""))
    return figure


@viz.house_style()
def duplicate_bars(summary: Mapping[str, Any]) -> Figure:
    """How many graphs are like no other, like another of their class, or like one of another class.

    >>> counts = {"graphs": 9, "duplicates": {"graphs": 5}, "duplicates_across_classes": {"graphs": 2}}
    >>> [int(bar.get_width()) for bar in duplicate_bars(counts).axes[0].patches]
    [4, 3, 2]
    """
    equal, across = summary["duplicates"]["graphs"], summary["duplicates_across_classes"]["graphs"]
    counts = {
        "like no other": summary["graphs"] - equal,
        "equal to another of their class": equal - across,
        "equal to one of another class": across,
    }
    figure = Figure(figsize=(9, 1.5), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(list(counts), list(counts.values()), color=[viz.CONTRAST, viz.CONTRAST, viz.ACCENT], height=0.7)
    axes.bar_label(bars, [f"{count:,}" for count in counts.values()], padding=4, color=viz.MUTED)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.margins(x=0.1)
    axes.tick_params(length=0, labelcolor=viz.INK)
    axes.spines[:].set_visible(False)
    axes.set_title("Equal graphs")
    return figure
