"""A graph as RDKit's molecule: right where the file says all, deduced where one answer is right, none elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.sources import load
from sargnn.viz.depiction import atom_positions, depict, molecule_of

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit (extra: chem)")

SMILES = {
    "nitro": "Cc1ccc([N+](=O)[O-])cc1[N+](=O)[O-]",
    "salt": "CC(=O)[O-].[Na+].O",
    "metal": "[Cl-].[Cl-].[NH3][Pt+2][NH3]",
    "dative": "CN->[Cu+2]",
    "isotopes": "[2H]C([2H])([2H])[13CH2]O",
    "radical": "CC1(C)CCCC(C)(C)N1[O]",
    "zwitterion": "C[N+](C)(C)CC(=O)[O-]",
    "stereo": "C[C@@H](N)C(=O)O",
    "double bonds": "C/C=C/C(=O)O/C=C\\C",
    "open": "[1*]c1ccccc1C(=O)*",
    "lanthanide": "[Eu+3].[O-]C(=O)C.[O-]C(=O)C.[O-]C(=O)C",
    "uranyl": "O=[U+2]=O",
    "one atom": "[He]",
    "steroid": "C[C@]12CC[C@H]3[C@@H](CC=C4C[C@@H](O)CC[C@]34C)[C@@H]1CC[C@@H]2O",
    "macrocycle": "O=C1CCCCCCCCCCCCCCO1",
    "porphyrin": "C1=CC2=CC3=CC=C(N3)C=C4C=CC(=N4)C=C5C=CC(N5)=CC1=N2",
    "azide": "CCN=[N+]=[N-]",
    "amine and phenol": "Nc1ccc(O)cc1",
}


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> GraphSet:
    path = tmp_path_factory.mktemp("odd") / "odd.csv"
    path.write_text("smiles,label\n" + "".join(f'"{text}",{i % 2}\n' for i, text in enumerate(SMILES.values())))
    return load(path)


def canonical(molecule: object) -> str:
    return str(Chem.MolToSmiles(molecule))


@pytest.mark.parametrize("name", SMILES)
def test_what_the_smiles_says_is_what_is_drawn(molecules: GraphSet, name: str) -> None:
    """Every odd atom of the same file beside it."""
    graph = list(SMILES).index(name)
    molecule = molecule_of(molecules, graph)
    assert canonical(molecule) == canonical(Chem.MolFromSmiles(SMILES[name]))
    points = atom_positions(molecule)
    assert points.shape == (molecules.sizes[graph], 2)
    apart = np.linalg.norm(points[:, None] - points, axis=-1)[~np.eye(len(points), dtype=bool)]
    assert len(points) == 1 or apart.min() > 0.3


def test_drawing_says_nothing(molecules: GraphSet, capfd: pytest.CaptureFixture[str]) -> None:
    """The layout complains of dative bonds, past Python's own streams."""
    molecule_of(molecules, list(SMILES).index("dative"))
    assert capfd.readouterr() == ("", "")


def test_atoms_keep_the_order_of_the_nodes(molecules: GraphSet) -> None:
    """A text whose atoms come in another order is matched to the graph."""
    graph = list(SMILES).index("zwitterion")
    renamed = replace(molecules[graph], smiles=("[O-]C(=O)C[N+](C)(C)C",))
    symbols = [atom.GetSymbol() for atom in molecule_of(renamed, 0).GetAtoms()]
    assert symbols == ["C", "N", "C", "C", "C", "C", "O", "O"]


def test_a_name_that_is_another_molecule_is_not_drawn_for_it(molecules: GraphSet) -> None:
    graph = list(SMILES).index("amine and phenol")
    named = replace(molecules[graph], smiles=(), graph_names=("CCO",))
    assert canonical(molecule_of(named, 0)) == canonical(Chem.MolFromSmiles(SMILES["amine and phenol"]))


@pytest.mark.parametrize("name", [name for name in SMILES if name not in ("isotopes", "stereo", "steroid", "open")])
def test_without_the_text_charges_and_hydrogens_come_from_the_attributes(molecules: GraphSet, name: str) -> None:
    bare = replace(molecules, smiles=(), graph_names=())
    flat = Chem.MolToSmiles(Chem.MolFromSmiles(SMILES[name]), isomericSmiles=False)
    found = Chem.MolToSmiles(molecule_of(bare, list(SMILES).index(name)), isomericSmiles=False)
    assert found == flat


def graph_of(symbols: str, bonds: list[tuple[int, int, int]]) -> GraphSet:
    """From labels alone, bonds named by their orders."""
    atoms = symbols.split()
    names = sorted(set(atoms))
    pairs = [(a, b) for a, b, _ in bonds] + [(b, a) for a, b, _ in bonds]
    graphs = pack([(len(atoms), pairs)], node_labels=[names.index(a) for a in atoms], node_label_names=names)
    orders = {frozenset((a, b)): order - 1 for a, b, order in bonds}
    labels = np.array([orders[frozenset(ends)] for ends in graphs.edges.T.tolist()], np.int64)
    return replace(graphs, edge_labels=labels, edge_label_names=("single", "double", "triple"))


@pytest.mark.parametrize(
    ("symbols", "bonds", "expected"),
    [
        ("C N O O", [(0, 1, 1), (1, 2, 2), (1, 3, 1)], "C[N+](=O)[O-]"),
        ("C N N N", [(0, 1, 1), (1, 2, 2), (2, 3, 2)], "CN=[N+]=[N-]"),
        ("C O", [(0, 1, 1)], "CO"),  # hydrogens that the data leaves out
        ("C O H H H", [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1)], "C[O-]"),  # hydrogens that it counts
        ("N C C C C Cl H H H H H H H H H H H H",
         [(0, i, 1) for i in range(1, 5)] + [(1 + i // 3, 6 + i, 1) for i in range(12)], "C[N+](C)(C)C.[Cl-]"),
    ],
)  # fmt: skip
def test_what_labels_leave_out_is_deduced(symbols: str, bonds: list[tuple[int, int, int]], expected: str) -> None:
    found = Chem.RemoveHs(molecule_of(graph_of(symbols, bonds), 0))
    assert canonical(found) == canonical(Chem.MolFromSmiles(expected))


@pytest.mark.parametrize(
    ("symbols", "bonds"),
    [
        ("C C C C C C", [(0, i, 1) for i in range(1, 6)]),  # five bonds of a carbon
        ("C H H", [(0, 1, 1), (0, 2, 1)]),  # two hydrogens lost
        ("C N C C C", [(1, i, 1) for i in (0, 2, 3, 4)]),  # a charge without its counterpart
        ("C Xx", [(0, 1, 1)]),  # no element
    ],
)
def test_what_is_no_valid_molecule_is_none(symbols: str, bonds: list[tuple[int, int, int]]) -> None:
    assert molecule_of(graph_of(symbols, bonds), 0) is None


def test_one_odd_graph_costs_one_drawing() -> None:
    names = ["C", "R1"]
    graphs = pack([(1, [])] * 30, node_labels=[0] * 29 + [1], node_label_names=names)
    assert [molecule_of(graphs, g) is not None for g in range(30)] == [True] * 29 + [False]


def test_other_graphs_are_no_molecules() -> None:
    assert molecule_of(pack([(1, [])]), 0) is None
    assert molecule_of(pack([(1, [])], graph_names=["first"]), 0) is None


def test_of_mutag_all_but_nine_are_valid(mirror: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two have a carbon with five bonds, and seven N-methyl heterocycles have bonds that make an ion of them."""
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    mutag = load("MUTAG")
    none = [g for g in range(len(mutag)) if molecule_of(mutag, g) is None]
    assert none == [13, 41, 82, 88, 119, 137, 149, 177, 187]


def texts_of(smiles: str) -> list[str]:
    from sargnn.viz.depiction import laid_out

    return [text for text, _ in depict(laid_out(Chem.MolFromSmiles(smiles))).texts]


def test_texts_say_isotope_hydrogens_charge_and_radical() -> None:
    assert texts_of("[NH4+].[13CH4].[O-2].[OH]") == ["NH₄⁺", "¹³CH₄", "O²⁻", "OH•"]
    assert set(texts_of("NCC")) in ({"NH₂", ""}, {"H₂N", ""})
    assert texts_of("c1ccccc1") == [""] * 6


def test_rings_alternate_wedges_start_at_the_stereocentre_and_its_hydrogen_is_last(molecules: GraphSet) -> None:
    drawn = depict(molecule_of(molecules, list(SMILES).index("amine and phenol")))
    ring = [bond for bond in drawn.bonds if bond[3]]
    assert [order for *_, order, _, _ in ring].count(2.0) == 3
    for a, b, _, side, _ in ring:
        along, centre = drawn.positions[b] - drawn.positions[a], drawn.positions[[1, 2, 3, 4, 6, 7]].mean(axis=0)
        across = centre - drawn.positions[a]
        assert np.sign(along[0] * across[1] - along[1] * across[0]) == side
    steroid = list(SMILES).index("steroid")
    drawn = depict(molecule_of(molecules, steroid))
    wedges = [(a, b) for a, b, *_, wedge in drawn.bonds if wedge]
    assert len(wedges) == 7
    size = int(molecules.sizes[steroid])
    assert [text for text, _ in drawn.texts[size:]] == ["H"] * (len(drawn.positions) - size) != []
    centres = {atom for atom, _ in Chem.FindMolChiralCenters(Chem.MolFromSmiles(SMILES["steroid"]))}
    assert {a for a, _ in wedges} <= centres
