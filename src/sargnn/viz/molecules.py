"""Molecules drawn as molecules (extra: ``chem``): RDKit's two-dimensional layout, atoms highlighted by their saliency.

Atoms and bonds are taken from the graph as they are; hydrogens that the data leaves out are not drawn.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from sargnn.data.chemistry import atom_symbols, bond_orders
from sargnn.data.graphs import GraphSet
from sargnn.viz.graph import checked_saliency, shades_of
from sargnn.viz.style import SALIENCY

__all__ = ["are_molecules", "draw_molecule", "molecule_positions"]

SIZE = (680, 540)
DARKEST = 0.7
"""Of the colour scale: beyond it black symbols cannot be read."""


def are_molecules(graphs: GraphSet) -> bool:
    """Whether the nodes are atoms of known symbols, and RDKit is there to draw them."""
    return importlib.util.find_spec("rdkit") is not None and atom_symbols(graphs) is not None


def draw_molecule(graphs: GraphSet, graph: int, saliency: np.ndarray, vector: bool = True, *, title: str = "") -> bytes:
    """Molecule number ``graph`` with atoms coloured and sized by ``saliency`` [n]: the bytes of an SVG or PNG."""
    from rdkit.Chem.Draw import rdMolDraw2D

    one = graphs[graph]
    molecule = _rdkit_molecule(one)
    shades = shades_of(checked_saliency(saliency, one, graph, "saliency"))
    colours = {atom: tuple(SALIENCY(DARKEST * value)[:3]) for atom, value in enumerate(shades.tolist())}
    radii = {atom: 0.2 + 0.25 * value for atom, value in enumerate(shades.tolist())}
    drawer = (rdMolDraw2D.MolDraw2DSVG if vector else rdMolDraw2D.MolDraw2DCairo)(*SIZE)
    options: Any = drawer.drawOptions()
    options.useBWAtomPalette()
    options.prepareMolsBeforeDrawing = False  # the atoms of a data file need not be valid chemistry
    drawer.DrawMolecule(
        molecule, legend=title, highlightAtoms=list(colours), highlightBonds=[],
        highlightAtomColors=colours, highlightAtomRadii=radii,
    )  # fmt: skip
    drawer.FinishDrawing()
    drawn = drawer.GetDrawingText()
    return drawn.encode() if isinstance(drawn, str) else drawn


def molecule_positions(graphs: GraphSet, graph: int) -> np.ndarray:
    """float [n, 2]: where RDKit puts the atoms."""
    return np.array(_rdkit_molecule(graphs[graph]).GetConformer().GetPositions())[:, :2]


def _rdkit_molecule(one: GraphSet) -> Any:
    """A graph of one molecule as RDKit's, with its layout."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    symbols, orders = atom_symbols(one), bond_orders(one)
    assert symbols is not None
    molecule = Chem.RWMol()
    for symbol in symbols.tolist():
        atom = Chem.Atom(symbol)
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    edges = set(zip(*one.edges.tolist(), strict=True))
    for (source, target), order in zip(one.edges.T.tolist(), orders.tolist(), strict=True):
        if source < target or (source > target and (target, source) not in edges):
            molecule.AddBond(source, target, getattr(Chem.BondType, order.upper()))
    for bond in molecule.GetBonds():
        if bond.GetBondType() == Chem.BondType.AROMATIC:
            for aromatic in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
                aromatic.SetIsAromatic(True)
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    rdDepictor.Compute2DCoords(molecule)
    return molecule
