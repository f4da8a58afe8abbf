"""Molecules drawn as molecules."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError
from sargnn.viz.molecules import are_molecules, draw_molecule, molecule_positions

pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")

BONDS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6), (6, 7), (6, 8)]
SYMBOLS = [0, 0, 0, 0, 0, 0, 1, 2, 2]


def nitrobenzene(**fields: object) -> GraphSet:
    """With the labels of MUTAG's files."""
    edges = [*BONDS, *((b, a) for a, b in BONDS)]
    graphs = pack([(9, edges)], name="MUTAG", node_labels=SYMBOLS, node_label_names=map(str, range(7)), **fields)
    orders = {(a, b): 0 if max(a, b) < 6 else 1 if (a, b) == (5, 6) else 2 for a, b in BONDS}
    labels = np.array([orders.get((a, b), orders.get((b, a))) for a, b in graphs.edges.T.tolist()])
    from dataclasses import replace

    return replace(graphs, edge_labels=labels, edge_label_names=("0", "1", "2", "3"))


def test_a_molecule_is_drawn_with_its_symbols_and_the_salient_atom_is_darkest() -> None:
    graphs = nitrobenzene()
    assert are_molecules(graphs)
    saliency = np.full(9, 0.05)
    saliency[6] = 0.6
    svg = draw_molecule(graphs, 0, saliency, title="graph 0").decode()
    root = ElementTree.fromstring(svg)
    circles = [e for e in root.iter() if e.tag.endswith("ellipse")]
    assert len(circles) == 9
    fills = [re.findall(r"#([0-9A-F]{6})", c.get("style", ""))[0] for c in circles]
    light = [sum(int(fill[i : i + 2], 16) for i in (0, 2, 4)) for fill in fills]
    assert light.index(min(light)) == 6
    assert draw_molecule(graphs, 0, saliency, vector=False).startswith(b"\x89PNG")
    assert svg == draw_molecule(graphs, 0, saliency, title="graph 0").decode()


def test_atoms_lie_apart_in_two_dimensions() -> None:
    points = molecule_positions(nitrobenzene(), 0)
    assert points.shape == (9, 2)
    apart = np.linalg.norm(points[:, None] - points, axis=-1)[~np.eye(9, dtype=bool)]
    assert apart.min() > 0.5


def test_other_graphs_are_no_molecules_and_wrong_sizes_are_refused() -> None:
    assert not are_molecules(pack([(1, [])]))
    with pytest.raises(InputError, match=r"^got saliency of shape \(2,\), expected \(9,\), in graph 0 of MUTAG$"):
        draw_molecule(nitrobenzene(), 0, np.ones(2))
