"""Molecules from SMILES: atoms and bonds by hand, rows that are left out, and a real file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sargnn.data.problems import Problems
from sargnn.data.sources import load, read
from sargnn.errors import InputError

pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")


def write(folder: Path, text: str) -> Path:
    path = folder / "molecules.csv"
    path.write_text(text)
    return path


def test_a_molecule_worked_by_hand(tmp_path: Path) -> None:
    """Acetate: methyl, carbonyl carbon, oxygen by a double bond, charged oxygen."""
    graphs = load(write(tmp_path, "smiles,label\nCC(=O)[O-],1\nC,0\n"))
    assert graphs.name == "molecules"
    assert graphs.graph_names == ("CC(=O)[O-]", "C")
    assert graphs.node_names.tolist() == ["C", "C", "O", "O", "C"]
    assert graphs.node_label_names == ("C", "O")
    column = {name: graphs.node_attributes[:4, i].tolist() for i, name in enumerate(graphs.node_attribute_names)}
    assert column["charge"] == [0, 0, 0, -1]
    assert column["degree"] == [1, 3, 1, 1]
    assert column["hydrogens"] == [3, 0, 0, 0]
    assert column["hybridization_SP3"] == [1, 0, 0, 0]
    assert column["hybridization_SP2"] == [0, 1, 1, 1]
    assert column["ring"] == column["aromatic"] == column["cip"] == [0, 0, 0, 0]
    assert graphs.edges.tolist() == [[1, 0, 2, 3, 1, 1], [0, 1, 1, 1, 2, 3]]
    assert [graphs.edge_label_names[label] for label in graphs.edge_labels] == [
        "single", "single", "double", "single", "double", "single",
    ]  # fmt: skip
    assert graphs.edge_attribute_names == ("conjugated", "ring", "stereo")


def test_rings_mirror_images_and_double_bonds(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,label\nc1ccccc1,0\nN[C@@H](C)O,1\nN[C@H](C)O,1\nC/C=C/C,0\nC/C=C\\C,0\n")
    graphs = load(path)
    names = graphs.node_attribute_names
    assert (graphs[0].node_attributes[:, names.index("aromatic")] == 1).all()
    assert (graphs[0].edge_attributes[:, 1] == 1).all()
    assert [graphs[g].node_attributes[1, names.index("cip")] for g in (1, 2)] == [1, -1]  # R and S
    stereo = [graphs[g].edge_attributes[:, 2].sum() for g in (3, 4)]
    assert stereo == [2, -2]


ONE_MOLECULE = {
    "alanine": ["C[C@H](N)C(=O)O", "N[C@@H](C)C(=O)O", "OC(=O)[C@H](C)N"],
    "cis-1,4": ["C[C@H]1CC[C@@H](O)CC1", "O[C@@H]1CC[C@H](C)CC1"],
    "butene": ["C/C=C/C", "C\\C=C\\C"],
    "nitrobenzene": ["O=N(=O)c1ccccc1", "[O-][N+](=O)C1=CC=CC=C1"],
}


@pytest.mark.parametrize("name", ONE_MOLECULE)
def test_a_molecule_is_the_same_however_it_is_written(name: str) -> None:
    """The inputs of its atoms and bonds, in whatever order they are written."""
    found = set()
    for graphs in load(ONE_MOLECULE[name], labelled=False):
        atoms = zip(
            [graphs.node_label_names[c] for c in graphs.node_labels], graphs.node_attributes.tolist(), strict=True
        )
        bonds = zip(
            [graphs.edge_label_names[c] for c in graphs.edge_labels], graphs.edge_attributes.tolist(), strict=True
        )
        found.add((str(sorted(map(str, atoms))), str(sorted(map(str, bonds)))))
    assert len(found) == 1


def test_a_model_says_the_same_of_a_molecule_however_it_is_written() -> None:
    from rdkit import Chem

    from sargnn.training.run import train
    from sargnn.training.settings import Settings

    written = ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "C/C=C/c1ccccc1", "C1C[C@H](C)CC[C@@H]1O", "CC(=O)[O-].[Na+]"] * 4
    trained = train(load(written, labels=[0, 1] * 10), Settings.of("sar-gcn", {"training.epochs": 3})).trained
    molecules = list(map(Chem.MolFromSmiles, written[:5]))
    again = [Chem.MolToRandomSmilesVect(molecule, 1, randomSeed=7)[0] for molecule in molecules]
    expected = trained.predict(written[:5]).values
    assert len(set(expected[:, 0].round(6))) == 5  # mirror images too
    for other in (again, molecules, list(map(Chem.AddHs, molecules))):
        assert abs(trained.predict(other).values - expected).max() < 1e-5


@pytest.mark.parametrize("text", ["I don't know", "CO not tested", "N or O", "O\tx"])
def test_words_are_no_molecules_even_where_the_first_is_one(text: str) -> None:
    problems = Problems()
    graphs = read(["CC", text, "CCO |$;;R1$|"], problems, labelled=False)
    assert graphs.smiles == ("CC", "CCO |$;;R1$|")
    assert "(text after the SMILES), expected a molecule in SMILES" in str(problems.left_out[0])


def test_rows_that_do_not_fit_the_header_are_left_out_and_keep_what_they_hold(tmp_path: Path) -> None:
    graphs = load(write(tmp_path, "id,smiles,label\na,CC,1\nb,CO\n\nc,CN,0,d,e\nf,C,0\n"), id="id")
    assert graphs.graph_names == ("a", "f")
    rows = graphs.origin.rows
    assert rows.graph.tolist() == [0, -1, -1, 1]
    assert rows.columns == {
        "id": ("a", "b", "c", "f"), "smiles": ("CC", "CO", "CN", "C"), "label": ("1", "", "0,d,e", "0")
    }  # fmt: skip
    assert rows.reasons[1] == "got 2 cells, expected 3 as in the header"
    assert [f"line {line}" in note for line, note in zip((3, 5), graphs.notes, strict=True)] == [True, True]


def test_a_column_without_a_name_is_kept_by_its_place(tmp_path: Path) -> None:
    rows = load(write(tmp_path, ",smiles,label\n7,CC,1\n9,CO,0\n")).origin.rows
    assert rows.columns == {"column 1": ("7", "9"), "smiles": ("CC", "CO"), "label": ("1", "0")}


def test_rows_that_cannot_be_read_are_listed_by_line_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,label\nCC,1\nnonsense,0\nC(C)(C)(C)(C)C,1\nCO,\n,1\nCN,0\n")
    problems = Problems()
    graphs = read(path, problems)
    assert graphs.graph_names == ("CC", "CN")
    assert [problem.line for problem in problems.left_out] == [3, 4, 5, 6]
    assert graphs.notes[0] == f"left out: {path} line 3: got 'nonsense' (not SMILES), expected a molecule in SMILES"
    valence = "Explicit valence for atom # 0 C, 5, is greater than permitted"
    assert (
        graphs.notes[1] == f"left out: {path} line 4: got 'C(C)(C)(C)(C)C' ({valence}), expected a molecule in SMILES"
    )
    assert graphs.notes[2] == f"left out: {path} line 5: got no class in 'label', expected one"
    assert graphs.notes[3] == f"left out: {path} line 6: got '' (no atoms), expected a molecule in SMILES"


def test_the_notes_about_many_rows_are_few(tmp_path: Path) -> None:
    graphs = load(write(tmp_path, "smiles,label\nCC,1\nC,0\n" + "?,1\n" * 30))
    assert len(graphs.notes) == 6
    assert graphs.notes[-1] == "left out: 25 more; `sargnn data check` lists them"


def test_columns_are_guessed_or_named(tmp_path: Path) -> None:
    guessed = load(write(tmp_path, "num,p_np,SMILES,name\n1,1,CC,a\n2,0,CO,b\n3,1,CN,b\n4,0,C,d\n"))
    assert guessed.y.tolist() == [1, 0, 1, 0]
    assert guessed.notes == ("took 'p_np' as the class",)
    path = write(tmp_path, "num,name,p_np,mol_text\n1,a,1,CC\n2,b,0,CO\n")
    graphs = load(path, smiles="mol_text", labels="p_np")
    assert graphs.y.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"line 1: got no column 'active', expected one of 'num', 'name', 'p_np'"):
        load(path, smiles="mol_text", labels="active")


def test_of_two_columns_that_repeat_none_is_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,toxic,soluble\nCC,1,no\nCO,0,yes\nCN,1,yes\nC,0,no\n")
    with pytest.raises(InputError, match=r"or one of 'toxic', 'soluble' named by labels \(--labels COLUMN\)$"):
        load(path)
    assert load(path, labels="toxic").y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("rows", ["CC,ethane\n", "CC,ethane\nCO,methanol\n", "CC,ethane\nCO,methanol\nC,methane\n"])
def test_names_beside_molecules_are_not_classes(rows: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"smiles,name\n{rows}")
    assert load(path, labelled=False).y is None
    given = [0, 1, 0][: rows.count("\n")]
    assert load(path, labels=given).y.tolist() == given


def test_rdkit_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(InputError, match=r"^reading SMILES needs RDKit: pip install 'sargnn\[chem\]'$"):
        load(write(tmp_path, "smiles,label\nCC,1\n"))


def test_bbbp(mirror: Path, tmp_path: Path) -> None:
    path = mirror / "moleculenet" / "BBBP.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    some = tmp_path / "BBBP.csv"
    some.write_text("".join(path.read_text().splitlines(keepends=True)[:401]))
    graphs = load(some)
    assert len(graphs) == 400
    assert graphs.classes == ("0", "1")
    assert graphs.notes == ("took 'p_np' as the class",)
    assert graphs.node_attributes.shape == (graphs.num_nodes, 13)
