"""What a notebook shows of a set: whole, safe and small."""

from __future__ import annotations

import re

import pytest

from sargnn.data.graphs import pack
from sargnn.data.sources import load
from sargnn.data.synthetic import motifs

EVIL = "<script>alert(1)</script>"


def test_four_graphs_are_drawn_under_the_summary() -> None:
    page = motifs(9)._repr_html_()
    assert page.startswith("<pre>GraphSet motifs-house: 9 graphs")
    assert page.count("<svg") == page.count("<figcaption") == 4
    assert len(page) < 200_000
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_molecules_are_drawn_as_molecules() -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    page = load(["CCO", "c1ccccc1"], labelled=False)._repr_html_()
    assert page.count("<svg") == 2
    assert "bond-0" in page  # RDKit's class of a bond


def test_names_cannot_run_and_large_or_empty_graphs_are_not_drawn() -> None:
    graphs = pack([(500, []), (1, [])], name=EVIL, graph_names=[EVIL, EVIL], y=[0, 0], classes=[EVIL])
    page = graphs._repr_html_()
    assert "<script" not in page
    assert page.count("<svg") == 1
    assert "<svg" not in pack([])._repr_html_()
