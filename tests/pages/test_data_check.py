"""The page of a data check: its numbers by hand; files and escaping are in ``tests/data/test_check.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sargnn.data.check import CheckReport, summary
from sargnn.data.graphs import pack
from sargnn.data.problems import Problem
from sargnn.pages.data_check import BARS, degree_histogram, duplicate_bars, write_check_page

PATH = (3, [(0, 1), (1, 0), (1, 2), (2, 1)])


def heights(figure: Figure) -> list[int]:
    return [int(bar.get_height()) for bar in figure.axes[0].patches]


def test_large_degrees_share_the_last_bar() -> None:
    leaves = np.arange(1, 61)
    star = (61, [*((0, int(leaf)) for leaf in leaves), *((int(leaf), 0) for leaf in leaves)])
    figure = degree_histogram(pack([star]))
    assert heights(figure) == [0, 60, *[0] * (BARS - 3), 1]
    assert figure.axes[0].get_title(loc="left") == "Nodes of each degree (49 or more in the last)"


def test_equal_graphs_are_counted_by_class() -> None:
    graphs = pack([PATH, PATH, PATH, (1, []), (1, []), (2, [])], y=[0, 0, 0, 0, 1, 1], classes=["a", "b"])
    widths = [int(bar.get_width()) for bar in duplicate_bars(summary(graphs)).axes[0].patches]
    assert widths == [1, 3, 2]


def test_problems_that_are_not_listed_are_counted(tmp_path: Path) -> None:
    report = CheckReport(None, [Problem("got x, expected y")], 12)
    page = write_check_page(tmp_path, "set", report, {"problems": []}).read_text()
    assert "12 problems found." in page
    assert "and 11 more" in page
    assert "Summary" not in page
