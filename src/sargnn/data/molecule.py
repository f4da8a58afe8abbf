"""The molecule that a graph is, as RDKit's (extra: ``chem``). Atoms keep the order of the nodes.

It is read from the graph's SMILES, which say charges, hydrogens, isotopes and stereo. Without SMILES it is built from
the labels: symbols and bonds. What these leave out is deduced where only one answer is right (hydrogens, the charges of
a nitro group).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet, pairs_of

__all__ = ["atom_symbols", "bond_orders", "molecules_in"]

ELEMENTS = re.findall(
    r"\w+",
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr "
    "Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu "
    "Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr "
    "Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og",
)
ANY_ATOM = "*"
"""An atom left open, as SMILES write it."""

ORDERS = {"1": "single", "2": "double", "3": "triple"}
"""Bonds named by their valence."""
BONDS = (*ORDERS.values(), "aromatic", "quadruple", "dative", "ionic", "zero", "unspecified")

ODD = 0.05
"""The largest fraction of nodes of a set of molecules that are no atoms of a known element."""

NONMETALS = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I")
"""Of a deduced molecule, these must have all their bonds; metals stand in salts."""

WRITTEN = ("charge", "hydrogens")
"""Node attributes that say what else would have to be deduced."""


def atom_symbols(graphs: GraphSet) -> np.ndarray | None:
    """str [N]: the chemical symbol of every node, empty at the few that have none; none where nodes are no atoms."""
    names = graphs.node_label_titles or graphs.node_label_names
    if graphs.node_labels is None or not names:
        return None
    symbols = np.array([name if name in (*ELEMENTS, ANY_ATOM) else "" for name in names])[graphs.node_labels]
    return symbols if np.count_nonzero(symbols == "") <= ODD * len(symbols) else None


def bond_orders(graphs: GraphSet) -> np.ndarray:
    """str [E]: single, double, triple, aromatic, ...; single where the file does not say."""
    names = [ORDERS.get(title, title) for title in graphs.edge_label_titles] or graphs.edge_label_names
    if graphs.edge_labels is None or not set(names) <= set(BONDS):
        return np.full(graphs.num_edges, "single")
    return np.asarray(np.array(names)[graphs.edge_labels])


def molecules_in(graphs: GraphSet, index: Iterable[int], *, lenient: bool = False) -> Iterator[Any | None]:
    """The graphs at ``index`` as molecules; none where one's bonds make no valid molecule, or RDKit is not there.

    ``lenient`` accepts atoms with more or fewer bonds than they can have, as a file without charges has them.
    """
    if importlib.util.find_spec("rdkit") is None:
        yield from (None for _ in index)
        return
    from rdkit import rdBase

    symbols = atom_symbols(graphs)
    for graph in index:
        own = None if symbols is None else symbols[graphs.nodes_of(graph)]
        with rdBase.BlockLogs():
            molecule = _read(graphs[graph], own, lenient)
        yield molecule


def _read(one: GraphSet, symbols: np.ndarray | None, lenient: bool) -> Any | None:
    """From the SMILES, if they are this graph, atoms in any order; else from the labels."""
    from rdkit import Chem

    text = (one.smiles or one.graph_names or ("",))[0]
    read = Chem.MolFromSmiles(text) if text else None
    if read is not None and _same(read, one, symbols):
        return read
    built = None if symbols is None else _built(one, symbols, lenient)
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


def _built(one: GraphSet, symbols: np.ndarray, lenient: bool) -> Any | None:
    """From symbols and bonds, with the charges and hydrogens that attributes give or that valence asks for."""
    from rdkit import Chem

    if not all(symbols):
        return None
    columns = [one.node_attribute_names.index(name) for name in WRITTEN if name in one.node_attribute_names]
    given = None
    if one.node_attributes is not None and len(columns) == len(WRITTEN):
        values = one.node_attributes[:, columns]
        given = values.astype(int) if np.isfinite(values).all() else None
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
    unchecked = Chem.SanitizeFlags.SANITIZE_PROPERTIES | Chem.SanitizeFlags.SANITIZE_KEKULIZE
    try:
        Chem.SanitizeMol(molecule, Chem.SanitizeFlags.SANITIZE_ALL ^ (unchecked if lenient else 0))
    except Chem.MolSanitizeException:
        return None
    return molecule if lenient or given is not None or _adds_up(molecule, counted="H" in symbols) else None


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
