"""The parts of a molecule that chemists name: functional groups, ring systems, the chains between (extra: ``chem``).

Groups are looked for in the order of :data:`GROUPS`, the more specific before the more general, and an atom belongs to
one group only: the nitrogen of an amide is no amine. Rings that share a bond are one ring system. An atom may belong
to a group and to a ring system, as the carbons of a quinone do. What is left are chains. Hydrogens that are nodes go
with their atom.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import networkx as nx

__all__ = ["GROUPS", "RING_SYSTEMS", "named_parts"]

HALOGENS = {"F": "fluoride", "Cl": "chloride", "Br": "bromide", "I": "iodide"}
GROUPS: dict[str, str] = {
    # nitrogen with oxygen or nitrogen
    "nitrate ester": "[OX2;$(O[#6])][NX3](~[OX1])~[OX1]",
    "nitro": "[NX3](~[OX1])~[OX1]",
    "nitrosamine": "[NX3][NX2]=[OX1]",
    "nitroso": "[NX2]=[OX1]",
    "azide": "[#7X2]~[#7X2]~[#7X1]",
    "diazonium": "[#7X2]#[#7X1]",
    "diazo": "[#7X2]=[#7X1]",
    "azoxy": "[#7X2]=[#7X3][OX1]",
    "azo": "[NX2;!R]=[NX2;!R]",
    "hydrazone": "[NX3][NX2]=[CX3]",
    "hydrazine": "[NX3;!R][NX3;!R]",
    "oxime": "[CX3]=[NX2][OX2]",
    "hydroxylamine": "[NX3;!R][OX2;H1]",
    "N-oxide": "[OX1;$(O[#7X3+]),$(O[#7X4+])]",
    # strained rings
    "epoxide": "[#6]1[OX2][#6]1",
    "aziridine": "[CX4]1[NX3][CX4]1",
    # carbonyls and their like
    "isothiocyanate": "[NX2]=[CX2]=[SX1]",
    "isocyanate": "[NX2]=[CX2]=[OX1]",
    "thiocyanate": "[SX2][CX2]#[NX1]",
    "nitrile": "[CX2]#[NX1]",
    "quinone": "[OX1]=[#6X3]1[#6X3]~[#6X3][#6X3](=[OX1])[#6X3]~[#6X3]1",
    "ortho-quinone": "[OX1]=[#6X3]1[#6X3](=[OX1])[#6X3]~[#6X3]~[#6X3]~[#6X3]1",
    "acyl halide": "[CX3](=[OX1])[F,Cl,Br,I]",
    "anhydride": "[CX3](=[OX1])[OX2][CX3]=[OX1]",
    "carboxylic acid": "[CX3](=[OX1])[$([OX2H1]),$([OX1-])]",
    "carbamate": "[NX3][CX3](=[OX1])[OX2]",
    "urea": "[NX3][CX3](=[OX1])[NX3]",
    "imide": "[CX3](=[OX1])[NX3][CX3]=[OX1]",
    "amide": "[CX3](=[OX1])[NX3]",
    "ester": "[CX3](=[OX1])[OX2;H0]",
    "thioamide": "[CX3](=[SX1])[NX3]",
    "aldehyde": "[CX3;H1,H2]=[OX1]",
    "ketone": "[CX3;$(C([#6])[#6])]=[OX1]",
    "carbonyl": "[#6X3]=[OX1]",
    "thiocarbonyl": "[#6X3]=[SX1]",
    "amidine": "[NX3][CX3]=[NX2]",
    "imine": "[CX3]=[NX2;!R]",
    # sulfur and phosphorus
    "sulfonic acid": "[SX4](=[OX1])(=[OX1])[$([OX2H1]),$([OX1-])]",
    "sulfonamide": "[SX4](=[OX1])(=[OX1])[NX3]",
    "sulfonate or sulfate ester": "[SX4](=[OX1])(=[OX1])[OX2;H0]",
    "sulfone": "[SX4](=[OX1])=[OX1]",
    "sulfoxide": "[SX3]~[OX1]",
    "phosphate or its like": "[PX4](=[OX1,SX1])([#8,#16])[#8,#16]",
    "disulfide": "[SX2;!R][SX2;!R]",
    "thiol": "[SX2;H1]",
    "sulfide": "[SX2;H0;!R]",
    # amines
    "quaternary ammonium": "[NX4+;!R]",
    "primary aromatic amine": "[NX3;H2;$(N[c])]",
    "secondary aromatic amine": "[NX3;H1;!R;$(N[c])]",
    "tertiary aromatic amine": "[NX3;H0;!R;$(N[c])]",
    "primary aliphatic amine": "[NX3;H2;$(N[CX4])]",
    "secondary aliphatic amine": "[NX3;H1;!R;$(N[CX4])]",
    "tertiary aliphatic amine": "[NX3;H0;!R;$(N[CX4])]",
    # oxygen
    "peroxide": "[OX2][OX2]",
    "phenol": "[OX2;H1;$(O[c])]",
    "alcohol": "[OX2;H1;$(O[CX4])]",
    "hydroxyl": "[OX2;H1]",
    "aromatic ether": "[OX2;H0;!R;$(O[c])]",
    "ether": "[OX2;H0;!R]",
    # halides
    "trifluoromethyl": "[CX4](F)(F)F",
    **{f"aromatic {name}": f"[{halogen};$({halogen}[c])]" for halogen, name in HALOGENS.items()},
    **{f"alkyl {name}": f"[{halogen};$({halogen}[CX4])]" for halogen, name in HALOGENS.items()},
    **{f"vinyl {name}": f"[{halogen};$({halogen}[CX3])]" for halogen, name in HALOGENS.items()},
    # carbon with carbon
    "alkyne": "[CX2]#[CX2]",
    "alkene": "[CX3]=!@[CX3]",
}
"""SMARTS by name. The atoms that match are the group; recursive parts look at its surroundings."""

RING_SYSTEMS = {
    "cyclopropane": "C1CC1", "cyclobutane": "C1CCC1", "cyclopentane": "C1CCCC1", "cyclopentene": "C1CCC=C1",
    "cyclohexane": "C1CCCCC1", "cyclohexene": "C1CCC=CC1", "benzene": "c1ccccc1", "naphthalene": "c1ccc2ccccc2c1",
    "indane": "c1ccc2CCCc2c1", "indene": "c1ccc2CC=Cc2c1", "tetralin": "c1ccc2CCCCc2c1",
    "acenaphthene": "C1Cc2cccc3cccc1c23", "acenaphthylene": "C1=Cc2cccc3cccc1c23", "fluorene": "c1ccc2c(c1)Cc1ccccc12",
    "anthracene": "c1ccc2cc3ccccc3cc2c1", "phenanthrene": "c1ccc2c(c1)ccc1ccccc12",
    "fluoranthene": "c1ccc2c(c1)-c1cccc3cccc2c13",
    "pyrene": "c1cc2ccc3cccc4ccc(c1)c2c34", "chrysene": "c1ccc2c(c1)ccc1c2ccc2ccccc21",
    "benz[a]anthracene": "c1ccc2cc3c(ccc4ccccc43)cc2c1", "triphenylene": "c1ccc2c(c1)c1ccccc1c1ccccc21",
    "benzo[a]pyrene": "c1ccc2c(c1)cc1ccc3cccc4ccc2c1c34", "perylene": "c1cc2cccc3c4cccc5cccc(c(c1)c23)c45",
    "anthraquinone": "O=C1c2ccccc2C(=O)c2ccccc21", "naphthoquinone": "O=C1C=CC(=O)c2ccccc21",
    "pyrrole": "c1cc[nH]c1", "furan": "c1ccoc1", "thiophene": "c1ccsc1", "imidazole": "c1c[nH]cn1",
    "pyrazole": "c1cn[nH]c1", "oxazole": "c1cocn1", "isoxazole": "c1cnoc1", "thiazole": "c1cscn1",
    "1,2,4-triazole": "c1nc[nH]n1", "1,2,3-triazole": "c1c[nH]nn1", "tetrazole": "c1nn[nH]n1",
    "1,3,4-thiadiazole": "c1nncs1", "1,3,4-oxadiazole": "c1nnco1", "pyridine": "c1ccncc1", "pyrimidine": "c1cncnc1",
    "pyrazine": "c1cnccn1", "pyridazine": "c1ccnnc1", "1,3,5-triazine": "c1ncncn1", "indole": "c1ccc2[nH]ccc2c1",
    "benzofuran": "c1ccc2occc2c1", "benzothiophene": "c1ccc2sccc2c1", "benzimidazole": "c1ccc2[nH]cnc2c1",
    "indazole": "c1ccc2[nH]ncc2c1", "benzoxazole": "c1ccc2ocnc2c1", "benzothiazole": "c1ccc2scnc2c1",
    "benzotriazole": "c1ccc2[nH]nnc2c1", "purine": "c1ncc2[nH]cnc2n1", "quinoline": "c1ccc2ncccc2c1",
    "isoquinoline": "c1ccc2cnccc2c1", "quinoxaline": "c1ccc2nccnc2c1", "quinazoline": "c1ccc2ncncc2c1",
    "phthalazine": "c1ccc2cnncc2c1", "carbazole": "c1ccc2c(c1)[nH]c1ccccc12", "acridine": "c1ccc2nc3ccccc3cc2c1",
    "phenazine": "c1ccc2nc3ccccc3nc2c1", "phenothiazine": "c1ccc2c(c1)Nc1ccccc1S2",
    "dibenzofuran": "c1ccc2c(c1)oc1ccccc12", "dibenzothiophene": "c1ccc2c(c1)sc1ccccc12",
    "benzodioxole": "c1ccc2OCOc2c1", "coumarin or chromone": "O=c1ccc2ccccc2o1",
    "imidazo[4,5-f]quinoline": "c1cnc2ccc3[nH]cnc3c2c1", "imidazo[4,5-f]quinoxaline": "c1cnc2c(n1)ccc1[nH]cnc12",
    "imidazo[4,5-b]pyridine": "c1cnc2[nH]cnc2c1", "pyrrolidine": "C1CCNC1", "piperidine": "C1CCNCC1",
    "piperazine": "C1CNCCN1", "morpholine": "C1COCCN1", "tetrahydrofuran": "C1CCOC1", "tetrahydropyran": "C1CCOCC1",
    "1,3-dioxolane": "C1COCO1", "steroid": "C1CCC2C(C1)CCC1C3CCCC3CCC12",
}  # fmt: skip
"""Ring systems by name, with or without substituents."""


def named_parts(molecule: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The groups, ring systems and chains of an RDKit molecule: the name and the atoms of each.

    >>> from rdkit import Chem
    >>> named_parts(Chem.MolFromSmiles("CCc1ccc(N)cc1[N+](=O)[O-]"))  # doctest: +NORMALIZE_WHITESPACE
    [('nitro', (9, 10, 11)), ('primary aromatic amine', (6,)), ('benzene', (2, 3, 4, 5, 7, 8)),
     ('alkyl of 2 carbons', (0, 1))]
    """
    groups = _groups(molecule)
    grouped = [set(atoms) for _, atoms in groups]
    systems = [ring for ring in _ring_systems(molecule) if not any(ring <= group for group in grouped)]
    rings = [(_ring_name(molecule, tuple(sorted(ring))), tuple(sorted(ring))) for ring in systems]
    taken = set().union(*grouped, *systems)
    found = [*groups, *rings, *_chains(molecule, taken)]
    return [(name, _with_hydrogens(molecule, atoms)) for name, atoms in found]


def _groups(molecule: Any) -> list[tuple[str, tuple[int, ...]]]:
    taken: set[int] = set()
    found = []
    for name, pattern in _patterns():
        for atoms in molecule.GetSubstructMatches(pattern, maxMatches=molecule.GetNumAtoms()):
            if taken.isdisjoint(atoms):
                taken.update(atoms)
                found.append((name, tuple(sorted(atoms))))
    return found


@cache
def _patterns() -> list[tuple[str, Any]]:
    from rdkit import Chem

    return [(name, Chem.MolFromSmarts(smarts)) for name, smarts in GROUPS.items()]


def _ring_systems(molecule: Any) -> list[set[int]]:
    """Rings that share a bond, together."""
    rings = nx.Graph()
    by_bond: dict[int, int] = {}
    for number, bonds in enumerate(molecule.GetRingInfo().BondRings()):
        rings.add_node(number)
        for bond in bonds:
            rings.add_edge(number, by_bond.setdefault(bond, number))
    atoms = molecule.GetRingInfo().AtomRings()
    return [set().union(*(atoms[ring] for ring in system)) for system in nx.connected_components(rings)]


def _ring_name(molecule: Any, atoms: tuple[int, ...]) -> str:
    """Of the table; for other systems, how many rings, and the elements that are not carbon."""
    if (known := _known_rings().get(_skeleton(molecule, atoms))) is not None:
        return known
    inside = set(atoms)
    count = sum(inside.issuperset(ring) for ring in molecule.GetRingInfo().AtomRings())
    found = [molecule.GetAtomWithIdx(atom) for atom in atoms]
    others = sorted({atom.GetSymbol() for atom in found} - {"C"})
    aromatic = "aromatic " if all(atom.GetIsAromatic() for atom in found) else ""
    what = f"{aromatic}ring of {len(atoms)}" if count == 1 else f"{count} fused {aromatic}rings"
    return what + (f" with {', '.join(others)}" if others else "")


@cache
def _known_rings() -> dict[str, str]:
    from rdkit import Chem

    found = {}
    for name, smiles in RING_SYSTEMS.items():
        molecule = Chem.MolFromSmiles(smiles)
        (system,) = _ring_systems(molecule)
        found[_skeleton(molecule, tuple(sorted(system)))] = name
    return found


def _skeleton(molecule: Any, atoms: tuple[int, ...]) -> str:
    """The canonical text of some atoms and the bonds between them, without charges, hydrogens and substituents."""
    from rdkit import Chem

    made, place = Chem.RWMol(), {}
    for index in atoms:
        atom = Chem.Atom(molecule.GetAtomWithIdx(index).GetAtomicNum())
        atom.SetNoImplicit(True)
        atom.SetIsAromatic(molecule.GetAtomWithIdx(index).GetIsAromatic())
        place[index] = made.AddAtom(atom)
    for bond in molecule.GetBonds():
        start, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if start in place and end in place:
            made.AddBond(place[start], place[end], bond.GetBondType())
    return str(Chem.MolToSmiles(made))


def _chains(molecule: Any, taken: set[int]) -> list[tuple[str, tuple[int, ...]]]:
    """What is left, each connected piece: carbons are named by their number, others by their elements."""
    left = nx.Graph()
    left.add_nodes_from(a.GetIdx() for a in molecule.GetAtoms() if a.GetAtomicNum() > 1 and a.GetIdx() not in taken)
    ends = ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds())
    left.add_edges_from((a, b) for a, b in ends if a in left and b in left)
    pieces = map(sorted, nx.connected_components(left))
    return [(_chain_name([molecule.GetAtomWithIdx(i) for i in atoms]), tuple(atoms)) for atoms in pieces]


def _chain_name(atoms: list[Any]) -> str:
    elements = Counter(atom.GetSymbol() for atom in atoms)
    if set(elements) != {"C"}:
        return "".join(symbol + (str(n) if n > 1 else "") for symbol, n in sorted(elements.items()))
    if len(atoms) > 1:
        return f"alkyl of {len(atoms)} carbons"
    return "methyl" if atoms[0].GetTotalNumHs(includeNeighbors=True) >= 3 else "carbon between groups"


def _with_hydrogens(molecule: Any, atoms: tuple[int, ...]) -> tuple[int, ...]:
    """The atoms and those of their neighbours that are hydrogens."""
    hydrogens = (
        other.GetIdx()
        for atom in atoms
        for other in molecule.GetAtomWithIdx(atom).GetNeighbors()
        if other.GetAtomicNum() == 1
    )
    return tuple(sorted({*atoms, *hydrogens}))
