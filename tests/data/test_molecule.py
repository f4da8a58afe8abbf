"""Graphs read as molecules: strictly, to be drawn, and leniently, to have their groups named. How single graphs become
molecules is tested where they are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sargnn.data.chemistry import known_causes
from sargnn.data.graphs import pack
from sargnn.data.molecule import atom_symbols, bond_orders, molecules_in
from sargnn.errors import InputError

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


def test_one_odd_atom_in_twenty_is_no_reason_to_doubt_the_others() -> None:
    names = ["C", "Lu", "U", "*", "R1"]
    graphs = pack([(20, [])], node_labels=[0] * 16 + [1, 2, 3, 4], node_label_names=names)
    assert (symbols := atom_symbols(graphs)) is not None
    assert symbols.tolist() == ["C"] * 16 + ["Lu", "U", "*", ""]
    assert atom_symbols(replace(graphs, node_labels=np.array([0] * 18 + [4, 4]))) is None


def test_bonds_by_valence_have_the_words_of_their_orders() -> None:
    water = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])], node_labels=[0, 1, 0], node_label_names=["H", "O"])
    valences = replace(water, edge_labels=np.array([0, 0, 1, 1]), edge_label_names=("0", "1"))
    assert bond_orders(valences).tolist() == ["single"] * 4  # numbers without a meaning
    assert bond_orders(replace(valences, edge_label_titles=("1", "2"))).tolist() == ["single"] * 2 + ["double"] * 2


def test_symbols_are_known_by_name_alone() -> None:
    water = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])], node_labels=[0, 1, 0], node_label_names=["H", "O"])
    assert (symbols := atom_symbols(water)) is not None
    assert symbols.tolist() == ["H", "O", "H"]
    assert atom_symbols(replace(water, node_label_names=("0", "1"))) is None
    assert atom_symbols(replace(water, node_labels=None)) is None
    assert bond_orders(water).tolist() == ["single"] * 4
    with pytest.raises(
        InputError, match=r"^graphs: got nodes that are no atoms, expected node labels that are chemical"
    ):
        known_causes(replace(water, node_labels=None))
