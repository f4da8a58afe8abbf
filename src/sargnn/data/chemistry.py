"""What is known of the chemistry of mutagenicity, read off the graph of a molecule, as a truth to compare with.

Debnath and others (1991), who assembled MUTAG, found two causes: nitro groups, and systems of fused aromatic rings.
Explanations of Mutagenicity are compared with its nitro and primary amine groups, since Luo and others (2020).
All are found here by structure alone. They are causes known of the class *mutagenic*, not a label of every molecule:
that a model looks elsewhere can be a fault of the model or of this list.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.molecule import atom_symbols
from sargnn.errors import InputError

__all__ = [
    "amine_atoms", "fused_rings", "known_causes", "mutagenic_groups", "nitro_atoms",
    "simple_graph",
]  # fmt: skip

LARGEST_RING = 8
"""Longer cycles of bonds are no rings of a fused system."""


def known_causes(graphs: GraphSet) -> dict[str, np.ndarray]:
    """float32 [N] each, in the form of ``GraphSet.true_saliency``: 1 for atoms of fused rings, nitro groups, either."""
    symbols = atom_symbols(graphs)
    if symbols is None:
        raise InputError(f"{graphs.name}: got nodes that are no atoms, expected node labels that are chemical symbols")
    nitro, fused = np.zeros((2, graphs.num_nodes), np.float32)
    for g in range(len(graphs)):
        nodes, molecule = graphs.nodes_of(g), simple_graph(graphs, g)
        nitro[nodes][list(nitro_atoms(molecule, symbols[nodes]))] = 1
        fused[nodes][[atom for ring in fused_rings(molecule) for atom in ring]] = 1
    return {"fused rings": fused, "nitro groups": nitro, "nitro groups or fused rings": np.maximum(nitro, fused)}


def mutagenic_groups(graphs: GraphSet) -> np.ndarray:
    """float32 [N], in the form of ``GraphSet.true_saliency``: 1 for the atoms of NO2 and NH2 groups of mutagens.

    Other molecules have none, since these groups do not speak for their class, and not every mutagen has one: there are
    other causes.
    """
    symbols, titles = atom_symbols(graphs), graphs.class_titles or graphs.classes
    if symbols is None or graphs.y is None or "mutagen" not in titles:
        raise InputError(f"{graphs.name}: got no atoms or no class mutagen, expected those of Mutagenicity")
    found = np.zeros(graphs.num_nodes, np.float32)
    for g in np.flatnonzero(graphs.y == titles.index("mutagen")).tolist():
        nodes, molecule = graphs.nodes_of(g), simple_graph(graphs, g)
        atoms = nitro_atoms(molecule, symbols[nodes]) | amine_atoms(molecule, symbols[nodes])
        found[nodes][list(atoms)] = 1
    return found


def nitro_atoms(molecule: nx.Graph, symbols: np.ndarray) -> set[int]:
    """Atoms of groups -NO2: a nitrogen with three neighbours, two of them oxygens that have no other.

    >>> nitro_atoms(nx.star_graph(3), np.array(["N", "O", "O", "C"]))
    {0, 1, 2}
    """
    return _nitrogens_with_two(molecule, symbols, "O")


def amine_atoms(molecule: nx.Graph, symbols: np.ndarray) -> set[int]:
    """Atoms of groups -NH2: a nitrogen with three neighbours, two of them hydrogens. Hydrogens must be nodes.

    >>> amine_atoms(nx.star_graph(3), np.array(["N", "H", "H", "C"]))
    {0, 1, 2}
    """
    return _nitrogens_with_two(molecule, symbols, "H")


def _nitrogens_with_two(molecule: nx.Graph, symbols: np.ndarray, end: str) -> set[int]:
    found: set[int] = set()
    for atom in molecule:
        ends = [o for o in molecule[atom] if symbols[o] == end and molecule.degree(o) == 1]
        if symbols[atom] == "N" and molecule.degree(atom) == 3 and len(ends) == 2:
            found |= {atom, *ends}
    return found


def fused_rings(molecule: nx.Graph) -> list[list[int]]:
    """Rings that share a bond with another ring, the atoms of each in order around it.

    >>> two_squares = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 3)])
    >>> [sorted(ring) for ring in fused_rings(two_squares)], fused_rings(nx.cycle_graph(6))
    ([[0, 1, 2, 3], [2, 3, 4, 5]], [])
    """
    found = (ring for ring in nx.minimum_cycle_basis(molecule) if len(ring) <= LARGEST_RING)
    rings = sorted(found, key=sorted)  # the basis comes in no fixed order
    bonds = [{frozenset(pair) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)} for ring in rings]
    return [ring for i, ring in enumerate(rings) if any(bonds[i] & other for j, other in enumerate(bonds) if j != i)]


def simple_graph(graphs: GraphSet, g: int) -> nx.Graph:
    """Graph number ``g`` without directions and self-loops."""
    found = nx.Graph()
    found.add_nodes_from(range(int(graphs.sizes[g])))
    edges = graphs.edges[:, graphs.edge_ptr[g] : graphs.edge_ptr[g + 1]]
    found.add_edges_from((a, b) for a, b in edges.T.tolist() if a != b)
    return found
