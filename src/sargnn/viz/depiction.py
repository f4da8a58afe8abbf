"""The molecule that a graph is, as RDKit's, laid out to be drawn (extra: ``chem``). Atoms keep the order of the nodes.

It is read from the graph's SMILES, which say charges, hydrogens, isotopes and stereo. Without SMILES it is built from
the labels: symbols and bonds. What these leave out is deduced where only one answer is right (hydrogens, the charges of
a nitro group). A graph whose bonds make no valid molecule is none: the caller draws the graph.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from sargnn.data.chemistry import atom_symbols, bond_orders
from sargnn.data.graphs import GraphSet
from sargnn.viz.layout import pairs_of

__all__ = ["atom_positions", "atom_texts", "molecule_of"]

NONMETALS = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I")
"""Of a deduced molecule, these must have all their bonds; metals stand in salts."""

WRITTEN = ("charge", "hydrogens")
"""Node attributes that say what else would have to be deduced."""

SUPERSCRIPT = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def molecule_of(graphs: GraphSet, graph: int) -> Any | None:
    """Graph number ``graph`` as a molecule with its layout; none where it is no molecule, or RDKit is not there."""
    if importlib.util.find_spec("rdkit") is None:
        return None
    from rdkit import rdBase
    from rdkit.Chem import rdCoordGen

    one, symbols = graphs[graph], atom_symbols(graphs)
    symbols = None if symbols is None else symbols[graphs.nodes_of(graph)]
    with rdBase.BlockLogs():
        molecule = _read(one, symbols)
        if molecule is not None:
            rdCoordGen.AddCoords(molecule)  # large rings fold instead of swelling to circles
    return molecule


def _read(one: GraphSet, symbols: np.ndarray | None) -> Any | None:
    """From the SMILES, if they are this graph, atoms in any order; else from the labels."""
    from rdkit import Chem

    text = (one.smiles or one.graph_names or ("",))[0]
    read = Chem.MolFromSmiles(text) if text else None
    if read is not None and _same(read, one, symbols):
        return read
    built = None if symbols is None else _built(one, symbols)
    if built is not None and read is not None and read.GetNumAtoms() == built.GetNumAtoms():
        match = read.GetSubstructMatch(built)
        return Chem.RenumberAtoms(read, match) if match else built
    return built


def _same(molecule: Any, one: GraphSet, symbols: np.ndarray | None) -> bool:
    atoms = [atom.GetSymbol() for atom in molecule.GetAtoms()]
    bonds = {tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()}
    if len(atoms) != one.num_nodes or bonds != set(map(tuple, pairs_of(one).tolist())):
        return False
    return symbols is None or all(s in ("", atom) for s, atom in zip(symbols, atoms, strict=True))


def _built(one: GraphSet, symbols: np.ndarray) -> Any | None:
    """From symbols and bonds, with the charges and hydrogens that attributes give or that valence asks for."""
    from rdkit import Chem

    if not all(symbols):
        return None
    columns = [one.node_attribute_names.index(name) for name in WRITTEN if name in one.node_attribute_names]
    known = one.node_attributes is not None and len(columns) == len(WRITTEN)
    given = one.node_attributes[:, columns].astype(int) if known else None
    molecule = Chem.RWMol()
    for atom, symbol in enumerate(symbols.tolist()):
        made = Chem.Atom(symbol)
        made.SetNoImplicit(given is not None or "H" in symbols)
        if given is not None:
            made.SetFormalCharge(int(given[atom, 0]))
            made.SetNumExplicitHs(int(given[atom, 1]))
        molecule.AddAtom(made)
    orders = {tuple(sorted(ends)): order for ends, order in zip(one.edges.T.tolist(), bond_orders(one), strict=True)}
    for (a, b), order in orders.items():
        if a != b:
            molecule.AddBond(a, b, Chem.BondType.names[order.upper()])
            if order == "aromatic":
                molecule.GetAtomWithIdx(a).SetIsAromatic(True)
                molecule.GetAtomWithIdx(b).SetIsAromatic(True)
                molecule.GetBondBetweenAtoms(a, b).SetIsAromatic(True)
    if given is None:
        _deduce_charges(molecule, counted="H" in symbols)
    try:
        Chem.SanitizeMol(molecule)
    except Chem.MolSanitizeException:
        return None
    lacking = any(atom.GetNumRadicalElectrons() and atom.GetSymbol() in NONMETALS for atom in molecule.GetAtoms())
    return None if given is None and lacking else molecule


def _deduce_charges(molecule: Any, counted: bool) -> None:
    """Where bonds alone ask for it: nitrogen with four bonds is positive; beside it, oxygen with one or nitrogen with
    two is negative. Where hydrogens are ``counted``, so is every oxygen with one bond and a halogen with none."""
    bonds = {atom.GetIdx(): sum(b.GetBondTypeAsDouble() for b in atom.GetBonds()) for atom in molecule.GetAtoms()}
    for atom in molecule.GetAtoms():
        if atom.GetSymbol() == "N" and bonds[atom.GetIdx()] == 4:
            atom.SetFormalCharge(1)
    for atom in molecule.GetAtoms():
        symbol, count = atom.GetSymbol(), bonds[atom.GetIdx()]
        beside = any(n.GetFormalCharge() == 1 for n in atom.GetNeighbors()) and atom.GetDegree() == 1
        ends = (symbol, count) in (("O", 1), ("N", 2)) and beside
        if ends or (counted and ((symbol, count) == ("O", 1) or (symbol in ("F", "Cl", "Br", "I") and not count))):
            atom.SetFormalCharge(-1)


def atom_positions(molecule: Any) -> np.ndarray:
    """float [n, 2]: where the atoms lie."""
    return np.array(molecule.GetConformer().GetPositions())[:, :2]


def atom_texts(molecule: Any) -> list[str]:
    """What is written at each atom: nothing at carbon in a chain or ring, else isotope, symbol, hydrogens and charge.

    >>> from rdkit import Chem
    >>> atom_texts(Chem.MolFromSmiles("C[NH3+].[13CH4].[O-2]"))
    ['', 'NH₃⁺', '¹³CH₄', 'O²⁻']
    """
    return [_text(atom) for atom in molecule.GetAtoms()]


def _text(atom: Any) -> str:
    charge, hydrogens, radicals = atom.GetFormalCharge(), atom.GetTotalNumHs(), atom.GetNumRadicalElectrons()
    isotope = str(atom.GetIsotope() or "")
    if atom.GetSymbol() == "C" and atom.GetDegree() and not (charge or radicals or isotope):
        return ""
    count = (f"{hydrogens}" if hydrogens > 1 else "").translate(SUBSCRIPT)
    sign = f"{abs(charge) if abs(charge) > 1 else ''}{'+' if charge > 0 else '-'}" if charge else ""
    made = f"{atom.GetSymbol()}{'H' * bool(hydrogens)}{count}"
    return f"{isotope.translate(SUPERSCRIPT)}{made}{sign.translate(SUPERSCRIPT)}{'•' * radicals}"
