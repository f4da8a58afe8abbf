"""The molecule that a graph is, as RDKit's, laid out to be drawn (extra: ``chem``). Atoms keep the order of the nodes.

It is read from the graph's SMILES, which say charges, hydrogens, isotopes and stereo. Without SMILES it is built from
the labels: symbols and bonds. What these leave out is deduced where only one answer is right (hydrogens, the charges of
a nitro group). A graph whose bonds make no valid molecule is none: the caller draws the graph.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from sargnn.data.chemistry import atom_symbols, bond_orders
from sargnn.data.graphs import GraphSet
from sargnn.viz.layout import pairs_of

__all__ = ["Depiction", "atom_positions", "depict", "is_kekulizable", "laid_out", "molecule_of"]

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

    one, symbols = graphs[graph], atom_symbols(graphs)
    symbols = None if symbols is None else symbols[graphs.nodes_of(graph)]
    with rdBase.BlockLogs():
        molecule = _read(one, symbols)
        return None if molecule is None else laid_out(molecule)


def laid_out(molecule: Any) -> Any:
    """The molecule with two-dimensional coordinates; large rings fold instead of swelling to circles."""
    from rdkit.Chem import rdCoordGen

    rdCoordGen.AddCoords(molecule)
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
    given = None
    if one.node_attributes is not None and len(columns) == len(WRITTEN):
        given = one.node_attributes[:, columns].astype(int)
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
        if order == "dative" and symbols[a] not in NONMETALS:
            a, b = b, a  # from the donor to the metal
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
    return molecule if given is not None or _adds_up(molecule, counted="H" in symbols) else None


def _adds_up(molecule: Any, counted: bool) -> bool:
    """Whether what was deduced is plausible: no bond is missing; unless hydrogens are counted, charges cancel out."""
    lacking = any(atom.GetNumRadicalElectrons() and atom.GetSymbol() in NONMETALS for atom in molecule.GetAtoms())
    return not lacking and (counted or sum(atom.GetFormalCharge() for atom in molecule.GetAtoms()) == 0)


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


@dataclass(frozen=True)
class Depiction:
    """What is drawn of a molecule, in a form for any medium. Hydrogens that carry a wedge come after the atoms.

    >>> from rdkit import Chem
    >>> found = depict(laid_out(Chem.MolFromSmiles("CC(=O)[O-]")))
    >>> [text for text, _ in found.texts], found.bonds[1]
    (['', '', 'O', 'O⁻'], (1, 2, 2.0, 0, ''))
    """

    positions: np.ndarray
    """float [n + hydrogens, 2]."""
    texts: list[tuple[str, float]]
    """At each atom, what is written and how far from its middle the atom's symbol is, in letters, to the right."""
    bonds: list[tuple[int, int, float, int, str]]
    """Two atoms; the order; on which side of the way between them their ring lies, left (1), right (-1) or none (0);
    and a wedge that starts at the first atom, ``solid`` or ``hashed``, if it is one."""


def depict(molecule: Any) -> Depiction:
    """Rings with single and double bonds, wedges where stereo asks for them, hydrogens counted at their atom."""
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    drawn = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=is_kekulizable(molecule))
    wedges = {Chem.BondDir.BEGINWEDGE: "solid", Chem.BondDir.BEGINDASH: "hashed"}
    positions, rings = atom_positions(drawn), drawn.GetRingInfo().AtomRings()
    bonds = []
    for bond in drawn.GetBonds():
        a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        inside = [ring for ring in rings if a in ring and b in ring]
        side = _side(positions, a, b, min(inside, key=len)) if inside else 0
        bonds.append((a, b, bond.GetBondTypeAsDouble(), side, wedges.get(bond.GetBondDir(), "")))
    return Depiction(positions, [_text(atom, positions) for atom in drawn.GetAtoms()], bonds)


def is_kekulizable(molecule: Any) -> bool:
    """Whether aromatic rings can be drawn with single and double bonds; some that are built from labels cannot."""
    from rdkit import Chem

    try:
        Chem.Kekulize(Chem.Mol(molecule))
    except Chem.KekulizeException:
        return False
    return True


def _side(positions: np.ndarray, a: int, b: int, ring: tuple[int, ...]) -> int:
    (x, y), (u, v) = positions[b] - positions[a], positions[list(ring)].mean(axis=0) - positions[a]
    return int(np.sign(x * v - y * u))


def _text(atom: Any, positions: np.ndarray) -> tuple[str, float]:
    """Nothing at carbon in a chain or ring; else isotope, symbol, hydrogens and charge, hydrogens away from bonds."""
    charge, hydrogens, radicals = atom.GetFormalCharge(), atom.GetTotalNumHs(), atom.GetNumRadicalElectrons()
    isotope = str(atom.GetIsotope() or "").translate(SUPERSCRIPT)
    if atom.GetSymbol() == "C" and atom.GetDegree() and not (charge or radicals or isotope):
        return "", 0.0
    ends = ("H" + str(hydrogens if hydrogens > 1 else "").translate(SUBSCRIPT)) * bool(hydrogens)
    sign = f"{abs(charge) if abs(charge) > 1 else ''}{'+' if charge > 0 else '-'}" if charge else ""
    tail = sign.translate(SUPERSCRIPT) + "•" * radicals
    beside = [positions[other.GetIdx(), 0] - positions[atom.GetIdx(), 0] for other in atom.GetNeighbors()]
    if ends and sum(beside) > 0.1:
        return ends + isotope + atom.GetSymbol() + tail, (len(ends) - len(tail)) / 2
    return isotope + atom.GetSymbol() + ends + tail, (len(isotope) - len(ends) - len(tail)) / 2
