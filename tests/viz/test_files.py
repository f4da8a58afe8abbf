"""Figures as files and inside pages."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from drawn import one_graph, ring
from sargnn import viz
from sargnn.errors import InputError
from sargnn.viz.graph import STRIP
from sargnn.viz.layout import PANEL


def ids(svg: str) -> list[str]:
    return re.findall(r'\bid="([^"]*)"', svg)


def test_svg_can_live_in_one_page_with_others() -> None:
    graphs = one_graph(30, ring(30))
    figures = [viz.draw_graph(graphs, 0, np.arange(30) / n) for n in (1, 2)]
    figures += [viz.learning_curves([{"epoch": e, "train_loss": 1 / e} for e in (1, 2, 3)]), viz.size_histogram(graphs)]
    svgs = [viz.to_svg(figure) for figure in figures]
    svgs.append(viz.to_svg(figures[0], prefix="again"))
    every = [name for svg in svgs for name in ids(svg)]
    assert len(every) == len(set(every)) > 0
    for svg in svgs:
        assert svg.startswith("<svg ")
        assert "<style" not in svg
        assert "<metadata" not in svg
        used = re.findall(r'(?:href="#|url\(#)([^")]*)', svg)
        assert set(used) <= set(ids(svg))


def test_names_in_svg_are_text_and_nothing_else() -> None:
    evil = ['<script>alert("1")</script>', "$x_1$ & id=\"p\" 'q'", "\x00\x1b", "分子"]
    svg = viz.to_svg(viz.confusion_matrix(np.ones((4, 4), dtype=int), evil))
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    texts = {e.text for e in root.iter() if e.tag.endswith("}text")}
    assert {"$x_1$ & id=\"p\" 'q'", "��", "分子"} <= texts


def test_save_writes_valid_files_and_the_same_twice(tmp_path: Path) -> None:
    graphs = one_graph(8, ring(8))
    for suffix in ("png", "svg"):
        for name in ("a", "b"):
            viz.save(viz.draw_graph(graphs, 0, np.arange(8.0)), tmp_path / "new" / f"{name}.{suffix}")
        first, second = ((tmp_path / "new" / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
        assert first == second
    image = mpl.image.imread(tmp_path / "new" / "a.png")
    assert image.shape == (int(200 * (PANEL[1] + STRIP)), int(200 * PANEL[0]), 4)
    assert ElementTree.parse(tmp_path / "new" / "a.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with pytest.raises(InputError, match=r"a\.pdf: got suffix '\.pdf', expected \.png or \.svg"):
        viz.save(Figure(), tmp_path / "a.pdf")
