"""Functional groups and ring systems as chemists name them, from SMILES and from graphs with labels alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sargnn.data.chemistry import amine_atoms, nitro_atoms, simple_graph
from sargnn.data.graphs import pack
from sargnn.data.sources import load
from sargnn.explain.functional_groups import GROUPS, RING_SYSTEMS, named_parts
from sargnn.explain.parts import find_parts

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit (extra: chem)")


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("Cc1ccccc1[N+](=O)[O-]", "nitro|benzene|methyl"),
        ("Nc1ccc2ccccc2c1", "primary aromatic amine|naphthalene"),
        ("CC(=O)Nc1ccccc1", "amide|benzene|methyl"),  # its nitrogen is no amine
        ("OC(=O)c1ccccc1O", "carboxylic acid|phenol|benzene"),
        ("CCOC(=O)C=C", "ester|alkene|alkyl of 2 carbons"),
        ("C1OC1CCl", "epoxide|alkyl chloride|carbon between groups"),
        ("CN(C)N=O", "nitrosamine|methyl|methyl"),
        ("c1ccccc1N=Nc1ccccc1", "azo|benzene|benzene"),
        ("O=C1C=CC(=O)c2ccccc21", "quinone|naphthoquinone"),
        ("CC#N", "nitrile|methyl"),
        ("CS(=O)(=O)OC", "sulfonate or sulfate ester|methyl|methyl"),
        ("FC(F)(F)c1ccncc1", "trifluoromethyl|pyridine"),
        ("C1CC2CCC1C2", "2 fused rings"),
        ("C1CCCCCC1", "ring of 7"),
        ("O=[N+]([O-])OCC", "nitrate ester|alkyl of 2 carbons"),
        ("Brc1ccsc1", "aromatic bromide|thiophene"),
        ("NN", "hydrazine"),
        ("CN1CCOCC1", "morpholine|methyl"),
        ("[Na+].CC(=O)[O-]", "carboxylic acid|Na|methyl"),
    ],
)
def test_names(smiles: str, expected: str) -> None:
    found = named_parts(Chem.MolFromSmiles(smiles))
    assert sorted(name for name, _ in found) == sorted(expected.split("|"))
    covered = {atom for _, atoms in found for atom in atoms}
    assert covered == set(range(Chem.MolFromSmiles(smiles).GetNumAtoms()))  # every atom belongs somewhere


def test_every_entry_of_the_tables_can_be_found() -> None:
    for smarts in GROUPS.values():
        assert Chem.MolFromSmarts(smarts) is not None
    for name, smiles in RING_SYSTEMS.items():
        assert name in [found for found, _ in named_parts(Chem.MolFromSmiles(smiles))]


@pytest.mark.parametrize("name", ["pyridine", "indole", "phenanthrene"])
def test_names_do_not_depend_on_how_a_molecule_was_written(name: str) -> None:
    molecule = Chem.MolFromSmiles(RING_SYSTEMS[name])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(molecule.GetNumAtoms()).tolist()
        assert named_parts(Chem.RenumberAtoms(molecule, order))[0][0] == name


def test_hydrogens_that_are_nodes_go_with_their_atom() -> None:
    molecule = Chem.AddHs(Chem.MolFromSmiles("CN"))
    assert [(name, len(atoms)) for name, atoms in named_parts(molecule)] == [
        ("primary aliphatic amine", 3),
        ("methyl", 4),
    ]


def test_molecules_of_a_table_have_the_groups_of_their_smiles(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("smiles,label\nCc1ccccc1[N+](=O)[O-],0\nCCO.Cl,1\n")
    parts = find_parts(load(tmp_path / "two.csv"), "fragments")
    assert list(zip(parts.graph.tolist(), parts.names, strict=True)) == [
        (0, "nitro"), (0, "benzene"), (0, "methyl"), (1, "alcohol"), (1, "alkyl of 2 carbons"), (1, "Cl"),
    ]  # fmt: skip


def test_an_atom_with_impossible_bonds_costs_no_molecule() -> None:
    """Ethylamine whose first carbon has a bond too many: the group is named all the same."""
    bonds = [(0, 1), (1, 2), (0, 3), (0, 4), (0, 5), (0, 6), (1, 7), (1, 8), (2, 9), (2, 10)]
    both = [*bonds, *((b, a) for a, b in bonds)]
    graphs = pack([(11, both)], node_labels=[0, 0, 1, *[2] * 8], node_label_names=["C", "N", "H"])
    parts = find_parts(graphs, "fragments")
    assert {name: parts.of(p).tolist() for p, name in enumerate(parts.names)}["primary aliphatic amine"] == [2, 9, 10]


def test_nitro_and_amine_groups_of_mutagenicity_are_those_found_without_rdkit() -> None:
    graphs = load("Mutagenicity").subset(np.arange(0, 4337, 40))
    parts, titles = find_parts(graphs, "fragments"), np.array(graphs.node_label_titles)
    names = np.array(parts.names)
    for g in range(len(graphs)):
        assert graphs.node_labels is not None
        molecule, symbols = simple_graph(graphs, g), titles[graphs.node_labels[graphs.nodes_of(g)]]
        for finder, wanted in ((nitro_atoms, "nitro"), (amine_atoms, "primary aromatic amine")):
            own = np.flatnonzero((parts.graph == g) & (names == wanted)).tolist()
            found = {atom for p in own for atom in parts.of(p).tolist()}
            assert found <= finder(molecule, symbols)
            if wanted == "nitro":  # a nitrate ester has such a nitrogen, too
                esters = [p for p in np.flatnonzero(parts.graph == g).tolist() if names[p] == "nitrate ester"]
                left = finder(molecule, symbols) - {a for p in esters for a in parts.of(p).tolist()}
                assert found == left
