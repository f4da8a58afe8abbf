"""How cost grows, drawn."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from sargnn.viz import ACCENT, CONTRAST, MUTED, house_style

__all__ = ["draw_growth"]

LABELS = {
    "batch": "graphs in a batch",
    "nodes": "nodes of a graph",
    "edges": "edges of a graph",
    "models": "models trained at once",
}
LOOKS: dict[str, dict[str, Any]] = {
    "sar-gcn": {"color": ACCENT},
    "gcn": {"color": CONTRAST},
    "pyg-sar-gcn": {"color": ACCENT, "linestyle": "--"},
    "pyg-gcn": {"color": CONTRAST, "linestyle": "--"},
}


@house_style()
def draw_growth(rows: list[dict[str, Any]]) -> Figure:
    """Time by size, one panel for each thing that grows; both axes are logarithmic, so a straight line is a power.

    >>> rows = [{"by": "batch", "size": s, "contender": "gcn", "seconds": s / 1e4, "hidden": 64, "threads": 1}
    ...         for s in (32, 128)]
    >>> [axes.get_xlabel() for axes in draw_growth(rows).axes]
    ['graphs in a batch']
    """
    hidden, threads = rows[0]["hidden"], rows[0]["threads"]
    rows = [row for row in rows if row["hidden"] == hidden and row["threads"] == threads]
    grown = [by for by in LABELS if any(row["by"] == by for row in rows)]
    figure = Figure(figsize=(3 * len(grown), 3), layout="constrained")
    for axes, by in zip(figure.subplots(1, len(grown), squeeze=False)[0], grown, strict=True):
        shown = [row for row in rows if row["by"] == by]
        for name in dict.fromkeys(row["contender"] for row in shown):
            points = sorted((row["size"], row["seconds"]) for row in shown if row["contender"] == name)
            look = {"color": MUTED, **LOOKS.get(name, {})}
            axes.loglog(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.4, label=name, **look)
        axes.set_xlabel(LABELS[by])
        axes.set_xticks(sizes := sorted({row["size"] for row in shown}), list(map(str, sizes)))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda seconds, _: f"{1000 * seconds:g}")
        axes.minorticks_off()
        axes.grid(axis="y")
    figure.axes[0].set_ylabel("milliseconds")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, labelcolor=MUTED)
    figure.axes[0].set_title(f"Time, hidden {hidden}, threads {threads}")
    return figure
