"""Molecules laid out and described to be drawn (extra: ``chem``). A graph that makes no valid molecule is none: the
caller draws the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.molecule import molecules_in

__all__ = ["Depiction", "atom_positions", "depict", "is_kekulizable", "laid_out", "molecule_of"]

SUPERSCRIPT = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def molecule_of(graphs: GraphSet, graph: int) -> Any | None:
    """Graph number ``graph`` as a molecule with its layout; none where it is no molecule, or RDKit is not there."""
    molecule = next(molecules_in(graphs, [graph]))
    return None if molecule is None else laid_out(molecule)


def laid_out(molecule: Any) -> Any:
    """The molecule with two-dimensional coordinates; large rings fold instead of swelling to circles."""
    from rdkit import rdBase
    from rdkit.Chem import rdCoordGen

    with rdBase.BlockLogs():  # it lays dative bonds out too, and complains of each
        rdCoordGen.AddCoords(molecule)
    return molecule


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
