"""Molecules of every form that people hold are the same set as the CSV file of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.data.io.molecule_tables import MemoryTable, list_table
from sargnn.data.problems import Problems
from sargnn.data.roles import Roles
from sargnn.data.sources import load, read
from sargnn.errors import InputError
from sargnn.training.run import train
from sargnn.training.settings import Settings

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit (extra: chem)")

SMILES = (
    "CC(=O)Nc1ccc(O)cc1",
    "C[C@@H](N)C(=O)O",
    "[Na+].CC(=O)[O-]",
    "C/C=C/c1ccccc1",
    "[2H]C(Cl)(Cl)Cl",
    "[NH4+].[Cl-]",
)
CLASSES = ("1", "0", "1", "0", "0", "1")


def write_csv(folder: Path, mark: str = ",") -> Path:
    path = folder / ("m.csv" if mark == "," else "m.tsv")
    path.write_text(f"smiles{mark}label\n" + "".join(f"{s}{mark}{y}\n" for s, y in zip(SMILES, CLASSES, strict=True)))
    return path


def write_sdf(folder: Path) -> Path:
    with Chem.SDWriter(str(folder / "m.sdf")) as writer:
        for text, label in zip(SMILES, CLASSES, strict=True):
            molecule = Chem.MolFromSmiles(text)
            molecule.SetProp("label", label)
            writer.write(molecule)
    return folder / "m.sdf"


def write_smi(folder: Path) -> Path:
    (folder / "m.smi").write_text("".join(f"{text} {1000 + i}\n" for i, text in enumerate(SMILES)))
    return folder / "m.smi"


def write_parquet(folder: Path) -> Path:
    pytest.importorskip("pyarrow", reason="needs pyarrow (extra: parquet)")
    as_frame(folder).to_parquet(folder / "m.parquet")
    return folder / "m.parquet"


def packed(path: Path) -> Path:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    return Path(f"{path}.gz")


def as_frame(folder: Path) -> Any:
    return pytest.importorskip("pandas", reason="needs pandas (dev group)").read_csv(write_csv(folder))


FORMS: dict[str, Callable[[Path], GraphSet]] = {
    "a list of SMILES": lambda folder: load(list(SMILES), labels=CLASSES),
    "molecules": lambda folder: load([Chem.MolFromSmiles(text) for text in SMILES], labels=CLASSES),
    "pairs": lambda folder: load(list(zip(SMILES, CLASSES, strict=True))),
    "a data frame": lambda folder: load(as_frame(folder)),
    "a data frame, columns named": lambda folder: load(as_frame(folder).rename(columns={"label": "a"}), labels="a"),
    "TSV": lambda folder: load(write_csv(folder, "\t")),
    "a data frame, SMILES as its index": lambda folder: load(as_frame(folder).set_index("smiles")),
    "molecules with all hydrogens": lambda folder: load(
        [Chem.AddHs(Chem.MolFromSmiles(text)) for text in SMILES], labels=CLASSES
    ),
    "Parquet": lambda folder: load(write_parquet(folder)),
    "SDF, gzip": lambda folder: load(packed(write_sdf(folder))),
    "SDF": lambda folder: load(write_sdf(folder)),
    ".smi": lambda folder: load(write_smi(folder), labels=list(CLASSES)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_set(form: str, tmp_path: Path) -> None:
    expected, found = load(write_csv(tmp_path)), FORMS[form](tmp_path)
    assert found.fingerprint == expected.fingerprint
    assert [Chem.CanonSmiles(text) for text in found.smiles] == [Chem.CanonSmiles(text) for text in SMILES]


def test_several_targets_of_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas (dev group)")
    frame = pandas.DataFrame(
        {"smiles": ["CC", "CO", "CN"], "a": [0, 1, None], "b": pandas.array([1, None, 0], "Int64")}
    )
    frame.to_csv(tmp_path / "m.csv", index=False)
    found = load(frame, labels=["a", "b"])
    assert found.fingerprint == load(tmp_path / "m.csv", labels=["a", "b"]).fingerprint
    assert found.targets is not None
    assert np.array_equal(found.targets, [[0, 1], [1, np.nan], [np.nan, 0]], equal_nan=True)


def test_names_in_smi_files_are_no_labels_unless_they_are_named(tmp_path: Path) -> None:
    path = write_smi(tmp_path)
    found = load(path, labelled=False)
    assert (found.y, found.targets) == (None, None)
    named = load(path, labels="name", task="regression")
    assert named.targets is not None
    assert named.targets[:, 0].tolist() == [1000 + i for i in range(len(SMILES))]
    (tmp_path / "head.smi").write_text("smiles id\nCC a\nCO b\n")
    assert len(load(tmp_path / "head.smi", labelled=False)) == 2


def test_what_cannot_be_read_is_left_out_and_told() -> None:
    broken = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    problems = Problems()
    graphs = read(["CC", "xyz", Chem.MolFromSmiles("CO"), None, broken], problems, Roles(labels=()), labelled=False)
    assert graphs.smiles == ("CC", "CO")
    assert [str(problem) for problem in problems.left_out] == [
        "molecules line 2: got 'xyz' (not SMILES), expected a molecule in SMILES",
        "molecules line 4: got '' (no atoms), expected a molecule in SMILES",
        "molecules line 5: got 'CC(C)(C)(C)C' (not a valid molecule), expected a molecule in SMILES",
    ]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["CC", 3], "molecules: got a int, expected SMILES or an RDKit molecule, in graph 1"),
        (
            [3],
            "graphs: got a int, expected SMILES, an RDKit molecule, a NetworkX graph or PyTorch Geometric Data, in g",
        ),
        ([], "graphs: got no graphs, expected at least one"),
        (["xyz"], "molecules line 1: got 'xyz' \\(not SMILES\\), expected a molecule in SMILES"),
    ],
)
def test_errors_are_one_line(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        load(source, labelled=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "not an SDF file\n", "x\n\n\nM  END\n$$$$\n"])
def test_damaged_sdf_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.sdf").write_text(text)
    with pytest.raises(InputError, match=r"m\.sdf"):
        load(tmp_path / "m.sdf", labelled=False)


def test_an_sdf_file_keeps_the_fields_of_every_record_and_a_damaged_one_costs_no_other(tmp_path: Path) -> None:
    good = Chem.MolToMolBlock(Chem.MolFromSmiles("C[C@H](N)C(=O)O"))
    five = Chem.MolToMolBlock(Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False), kekulize=False)
    records = [
        f"{block.replace('', title, 1)}> <smiles>\nC\n\n> <id> (3)\n{title}-1\n\n> <note>\none\ntwo\n\n"
        for title, block in (("a", good), ("b", five), ("c", "\nnonsense\n"), ("d", good))
    ]
    (tmp_path / "m.sdf").write_text("$$$$\n".join(records))
    graphs = load(tmp_path / "m.sdf", id="id", labelled=False)
    assert graphs.graph_names == ("a-1", "d-1")
    assert graphs.smiles == ("C[C@H](N)C(=O)O",) * 2
    rows = graphs.origin.rows
    assert rows.columns["id"] == ("a-1", "b-1", "c-1", "d-1")
    assert rows.columns["name"] == ("a", "b", "c", "d")
    assert rows.columns["note"] == ("one\ntwo",) * 4
    assert rows.columns["field smiles"] == ("C",) * 4
    assert "(not a valid molecule)" in rows.reasons[1]
    assert "(no molecule)" in rows.reasons[2]


def test_patterns_are_no_molecules_and_equal_names_are_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas (dev group)")
    problems = Problems()
    read([Chem.MolFromSmarts("[C,N]O"), Chem.MolFromSmiles("*CO")], problems, labelled=False)
    assert [problem.line for problem in problems.left_out] == [1]
    assert "(a pattern that several molecules match)" in str(problems.left_out[0])
    frame = pandas.DataFrame([["CC", 0, 1]], columns=["smiles", "label", "label"])
    with pytest.raises(InputError, match=r"^frame: got two columns 'label', expected every name once$"):
        load(frame)


def test_hydrogens_that_were_atoms_are_told() -> None:
    graphs = load([Chem.AddHs(Chem.MolFromSmiles("CO")), Chem.MolFromSmiles("CN")], labelled=False)
    assert graphs.notes == ("counted the hydrogens of 1 molecules at their atoms, as SMILES do",)
    assert graphs.sizes.tolist() == [2, 2]


def test_a_table_in_memory_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sargnn.data.io.molecule_tables.ROWS", 2)
    table = list_table(["C"] * 5)
    assert [len(chunk.lines) for chunk in table.chunks()] == [2, 2, 1]
    assert [line for line, _ in table.again().rows()] == [1, 2, 3, 4, 5]
    assert isinstance(table.again(), MemoryTable)


def test_a_model_predicts_and_explains_anything_that_can_be_loaded(tmp_path: Path) -> None:
    graphs = load(list(SMILES) * 4, labels=list(CLASSES) * 4)
    trained = train(graphs, Settings.of("sar-gcn", {"training.epochs": 1, "model.hidden": 8})).trained
    expected = trained.predict(graphs).values[:6]
    frame = as_frame(tmp_path)
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    for source in (list(SMILES), molecules, frame, str(write_csv(tmp_path)), write_csv(tmp_path), write_sdf(tmp_path)):
        assert np.allclose(trained.predict(source).values, expected, atol=1e-6)
    one = trained.saliency([SMILES[0]])
    assert one.shape == (11,)
    assert one.sum() == pytest.approx(1)
    assert trained.effects([SMILES[0]]).shape == (11, 2)
    with pytest.warns(UserWarning, match=r"^left out 1 of 2 graphs, first: molecules line 2: got 'xyz' \(not SMILES\)"):
        assert len(trained.predict([SMILES[0], "xyz"]).values) == 1
