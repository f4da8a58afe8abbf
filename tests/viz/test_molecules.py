"""Molecules drawn as molecules."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.known import with_titles
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.viz.molecules import CAPTION, WIDTH, caption_of, draw_molecule, is_molecule

pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")

BONDS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6), (6, 7), (6, 8)]
SYMBOLS = [0, 0, 0, 0, 0, 0, 1, 2, 2]


def nitrobenzene() -> GraphSet:
    """With the labels of MUTAG's files."""
    edges = [*BONDS, *((b, a) for a, b in BONDS)]
    graphs = pack([(9, edges)], name="MUTAG", node_labels=SYMBOLS, node_label_names=map(str, range(7)))
    orders = {ends: 0 if max(ends) < 6 else 2 if ends == (6, 7) else 1 for ends in BONDS}
    labels = np.array([orders.get((a, b), orders.get((b, a))) for a, b in graphs.edges.T.tolist()])
    return with_titles(replace(graphs, edge_labels=labels, edge_label_names=("0", "1", "2", "3")))


def circles_of(svg: bytes) -> list[str]:
    """The fill of every highlighted atom, in the order of the atoms."""
    found = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("ellipse")]
    return [re.findall(r"fill:#([0-9A-F]{6})", circle.get("style", ""))[0] for circle in found]


def test_a_molecule_is_drawn_with_its_symbols_and_the_salient_atom_is_darkest() -> None:
    graphs = nitrobenzene()
    assert is_molecule(graphs, 0)
    saliency = np.full(9, 0.05)
    saliency[6] = 0.6
    svg = draw_molecule(graphs, 0, saliency, title="graph 0")
    fills = circles_of(svg)
    assert len(fills) == 9
    light = [sum(int(fill[i : i + 2], 16) for i in (0, 2, 4)) for fill in fills]
    assert light.index(min(light)) == 6
    assert draw_molecule(graphs, 0, saliency, vector=False).startswith(b"\x89PNG")
    assert svg == draw_molecule(graphs, 0, saliency, title="graph 0")


def test_the_colour_scale_ends_at_the_darkest_atom_and_texts_add_lines() -> None:
    graphs, saliency = nitrobenzene(), np.eye(9)[6]
    heights = {}
    for lines, texts in enumerate(({"caption": ""}, {"caption": "a"}, {"caption": "a", "title": "b"})):
        svg = draw_molecule(graphs, 0, saliency, title=texts.get("title", ""), caption=texts["caption"])
        root = ElementTree.fromstring(svg)
        heights[lines] = int(root.get("height", "0px").removesuffix("px"))
        steps = re.findall(r"fill:#([0-9A-F]{6});fill-rule:evenodd", svg.decode())
        assert circles_of(svg)[6] in steps
    assert heights[1] - heights[0] == heights[2] - heights[1] > 0


def test_the_caption_is_the_name_and_the_smiles(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("smiles,label\nCCO,0\nCCN,1\n")
    graphs = load(tmp_path / "two.csv")
    assert caption_of(graphs, 1) == "CCN"
    assert caption_of(replace(graphs, graph_names=("ethanol", "amine")), 0) == "ethanol  CCO"
    assert caption_of(nitrobenzene(), 0) == ""
    saliency = np.ones(3) / 3
    named = draw_molecule(graphs, 0, saliency)
    assert named == draw_molecule(graphs, 0, saliency, caption="CCO") != draw_molecule(graphs, 0, saliency, caption="")
    cut = "x" * (CAPTION - 1) + "…"
    assert draw_molecule(graphs, 0, saliency, caption="x" * 500) == draw_molecule(graphs, 0, saliency, caption=cut)


@pytest.mark.parametrize("letter", ["@", "W", "."])
def test_a_long_caption_stays_inside_the_drawing(letter: str) -> None:
    graphs, saliency = nitrobenzene(), np.eye(9)[6]
    without = draw_molecule(graphs, 0, saliency, caption="").decode()
    lines = draw_molecule(graphs, 0, saliency, caption=letter * CAPTION).decode()[without.rindex("<path") :]
    places = [float(x) for x in re.findall(r"[ML] (-?[0-9.]+),", lines)]
    assert len(places) > 4 * CAPTION
    assert min(places) >= 0
    assert max(places) <= WIDTH


def test_every_letter_of_a_caption_is_drawn_also_what_is_no_ascii() -> None:
    graphs, saliency = nitrobenzene(), np.eye(9)[6]
    drawn = {
        text: draw_molecule(graphs, 0, saliency, caption=text).count(b"<path")
        for text in ("l", "ü", "o", "…", "8", "Ж", "分", "�", "")
    }
    areas = {text: count - drawn[""] for text, count in drawn.items()}
    assert areas.pop("分") == areas.pop("�"), "a sign for what the font lacks"
    assert areas == {"l": 1, "ü": 3, "o": 2, "…": 3, "8": 3, "Ж": 1, "": 0}


def test_other_graphs_are_no_molecules_and_wrong_sizes_are_refused() -> None:
    dot = pack([(1, [])], name="dots")
    assert not is_molecule(dot, 0)
    with pytest.raises(InputError, match=r"^got graph 0, expected a molecule that RDKit can draw, in dots$"):
        draw_molecule(dot, 0, np.ones(1))
    with pytest.raises(InputError, match=r"^got saliency of shape \(2,\), expected \(9,\), in graph 0 of MUTAG$"):
        draw_molecule(nitrobenzene(), 0, np.ones(2))
