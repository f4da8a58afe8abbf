"""Graphs read as molecules: strictly, to be drawn, and leniently, to have their groups named. How single graphs become
molecules is tested where they are drawn."""

from __future__ import annotations

import pytest

from sargnn.data.graphs import pack
from sargnn.data.molecule import molecules_in

pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")


def test_what_no_molecule_can_be_is_read_leniently_alone() -> None:
    """Carbon with five neighbours, and methane."""
    five, four = [(0, n) for n in range(1, 6)], [(0, n) for n in range(1, 5)]
    graphs = pack([(6, five), (5, four)], node_labels=[0, *[1] * 5, 0, *[1] * 4], node_label_names=["C", "H"])
    strict = list(molecules_in(graphs, [1, 0]))
    assert [molecule is None for molecule in strict] == [False, True]
    lenient = list(molecules_in(graphs, [0, 1], lenient=True))
    assert [molecule.GetNumAtoms() for molecule in lenient if molecule is not None] == [6, 5]


def test_graphs_without_symbols_are_none() -> None:
    assert list(molecules_in(pack([(2, [(0, 1)])]), [0, 0], lenient=True)) == [None, None]
