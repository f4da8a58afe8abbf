"""The page on molecules runs from top to bottom, with a few small molecules in place of the files it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command import answer_of, error_of, notes_of, rows_of
from sargnn import GraphClassifier, load_model

PAGE = (Path(__file__).parents[1] / "docs" / "molecules.md").read_text(encoding="utf-8")
SMALL = ["--set", "model.hidden=8", "--set", "training.epochs=2"]


@pytest.fixture(autouse=True)
def molecules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``BBBP.csv``: alcohols and alkyl chlorides on rings of four kinds; ``tox21.csv`` and ``esol.csv``: the same with
    two assays, one of them with gaps, and with a measured number."""
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    monkeypatch.chdir(tmp_path)
    rings = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1")
    ends = (("O", 1), ("Cl", 0))
    rows = [(f"{end}{'C' * n}{ring}", n, label) for ring in rings for n in range(1, 6) for end, label in ends]
    for name, header, cells in (
        ("BBBP.csv", "p_np", lambda n, label: label),
        ("tox21.csv", "NR-AR,SR-p53", lambda n, label: f"{label},{'' if n == 5 else n % 2}"),
        ("esol.csv", "solubility", lambda n, label: label - 0.7 * n),
    ):
        lines = [f"{smiles},{cells(n, label)}\n" for smiles, n, label in rows]
        Path(name).write_text("".join([f"smiles,{header}\n", *lines]))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_commands_give_an_estimate_and_drawn_molecules() -> None:
    lines = "".join(blocks("bash")).splitlines()
    small = {"cv": [*SMALL, "--workers", "1"], "train": SMALL}
    called = [shlex.split(line)[1:] for line in lines]
    estimate, model, *targets, harder = (answer_of(*words, *small[words[0]]) for words in called)
    assert len(estimate["folds"]) == 10
    assert 0 <= estimate["auroc"] <= 1
    assert len(harder["folds"]) == 3
    page = Path(model["report"]).read_text(encoding="utf-8")
    drawings = re.findall(r"<svg[^>]*rdkit.*?</svg>", page, re.DOTALL)
    assert drawings
    assert all("<ellipse" in drawing for drawing in drawings)  # the colour behind each atom
    kinds = [load_model(Path(answer["run"])).task.kind for answer in targets]
    assert kinds == ["classification", "multilabel", "regression"]


def test_a_prediction_can_be_joined_to_its_molecule() -> None:
    answer_of("train", "BBBP.csv", "--model", "gcn", "--out", "run", *SMALL)
    Path("new.csv").write_text("smiles,p_np\nCCO,?\nnonsense,?\nCCCl,?\n")
    answer_of("predict", "run", "new.csv", "--out", "predictions.csv")
    rows = rows_of(Path("predictions.csv"))
    assert [row["smiles"] for row in rows] == [row["graph_name"] for row in rows] == ["CCO", "nonsense", "CCCl"]
    assert [row["graph"] for row in rows] == ["0", "", "1"]
    assert [bool(row["class"]) for row in rows] == [row["status"] == "predicted" for row in rows] == [True, False, True]


def test_a_molecule_with_a_strange_element_costs_no_other_its_prediction() -> None:
    answer_of("train", "BBBP.csv", "--model", "gcn", "--out", "run", *SMALL)
    Path("new.csv").write_text("smiles\nCCO\nCC[Se]C\nCCCl\nC[Si](C)C\n")
    answer = answer_of("predict", "run", "new.csv", "--out", "predictions.csv")
    assert (answer["graphs"], answer["left_out"]) == (2, 2)
    why = "labels that the model was not trained on ('Se', 'Si'), first in graph 1 'CC[Se]C'"
    assert f"left out 2 of 4 graphs: {why}" in notes_of("predict", "run", "new.csv", "--out", "predictions.csv")
    rows = rows_of(Path("predictions.csv"))
    assert [row["status"] for row in rows] == ["predicted", "left out", "predicted", "left out"]
    assert rows[1]["reason"] == "got labels that the model was not trained on ('Se', 'Si')"
    Path("known.csv").write_text("smiles\nCCO\nCCCl\n")
    assert "left_out" not in answer_of("predict", "run", "known.csv", "--out", "alone.csv")
    assert [row | {"graph": ""} for row in rows[::2]] == [row | {"graph": ""} for row in rows_of(Path("alone.csv"))]


def test_a_strange_element_costs_no_other_molecule_its_score() -> None:
    answer_of("train", "BBBP.csv", "--model", "gcn", "--out", "run", *SMALL)
    Path("odd.csv").write_text("smiles,label\nCCO,1\nCC[Se]C,1\nCCCl,0\nCCCCl,0\n")
    Path("known.csv").write_text("smiles,label\nCCO,1\nCCCl,0\nCCCCl,0\n")
    scored = answer_of("evaluate", "run", "odd.csv")
    assert scored.pop("left_out") == 1
    assert scored == answer_of("evaluate", "run", "known.csv")
    calibrated = answer_of("calibrate", "run", "odd.csv", "--part", "all")
    assert calibrated.pop("left_out") == 1
    assert calibrated == answer_of("calibrate", "run", "known.csv", "--part", "all")


def test_measured_values_are_numbers_and_no_hindrance_to_a_prediction() -> None:
    answer_of("train", "BBBP.csv", "--model", "gcn", "--out", "run", *SMALL)
    Path("assay.csv").write_text("smiles,label\nCCO,0.67\nCCCl,1\n")
    assert answer_of("predict", "run", "assay.csv", "--out", "predictions.csv")["graphs"] == 2
    assert "took 'label' as a measured number (task regression)" in notes_of("data", "info", "assay.csv")
    refused = error_of("train", "assay.csv", "--task", "classification", "--out", "new")
    assert "got 0.67 in 'label', expected a whole number or a text" in refused


def test_nan_is_no_class() -> None:
    Path("gaps.csv").write_text("smiles,label\nCCO,1\nCCCl,0\nCCCCl,nan\nCCCO,NaN\n")
    assert answer_of("data", "info", "gaps.csv")["graphs"] == 2


def test_only_graphs_that_can_be_read_are_explained_and_bare_atoms_are_among_them() -> None:
    answer_of("train", "BBBP.csv", "--out", "run", "--set", "model.members=1", *SMALL)  # it reads bonds too
    Path("new.csv").write_text("smiles\nCCO\nCC[Se]C\nCCCl\nC[Si](C)C\n")
    answer = answer_of("explain", "run", "new.csv", "--out", "why", "--format", "svg")
    assert (answer["graphs"], answer["left_out"]) == (2, 2)
    assert sorted(path.name for path in Path("why/drawings").iterdir()) == ["graph-0.svg", "graph-2.svg"]
    refused = "new: got no graph without labels that the model was not trained on ('Se', 'Si'), first in graph 3"
    assert error_of("explain", "run", "new.csv", "--out", "why", "--graphs", "3").startswith(refused)
    Path("atoms.csv").write_text("smiles\nO\nC\n")
    assert answer_of("predict", "run", "atoms.csv", "--out", "atoms-predicted.csv")["graphs"] == 2


def test_molecules_without_a_class_are_predicted_beside_those_with_one() -> None:
    answer_of("train", "BBBP.csv", "--model", "gcn", "--out", "run", *SMALL)
    Path("new.csv").write_text("smiles,label\nCCO,1\nCCCl,\nCCCO,0\n")
    assert answer_of("predict", "run", "new.csv", "--out", "predictions.csv")["graphs"] == 3
    converted = answer_of("data", "convert", "new.csv", "converted")
    assert converted["graphs"] == 2, "a set with classes has one for each graph"
    assert answer_of("data", "info", "converted")["graphs_per_class"] == [1, 1]
    assert answer_of("data", "info", "new.csv")["graphs_per_class"] == [1, 1]


def test_the_parts_of_a_file_with_molecules_without_a_class_are_those_of_its_training() -> None:
    labelled = Path("BBBP.csv").read_text()
    Path("partial.csv").write_text(labelled.replace("smiles,p_np\n", "smiles,label\n") + "CCCCO,\nCCCCCl,\n")
    answer_of("train", "partial.csv", "--model", "sar-gcn", "--out", "run", *SMALL)
    tested = answer_of("evaluate", "run", "partial.csv", "--part", "test")["graphs"]
    assert answer_of("predict", "run", "partial.csv", "--part", "test", "--out", "p.csv")["graphs"] == tested
    assert answer_of("predict", "run", "partial.csv", "--out", "p.csv")["graphs"] == 42
    Path("new.csv").write_text("smiles\nCCO\n")
    refused = "--part: got 'test', expected all: new is not the set that run was trained on"
    assert error_of("predict", "run", "new.csv", "--part", "test", "--out", "p.csv") == refused
    classifier = GraphClassifier("gcn", hidden=8, epochs=2).fit("partial.csv")
    assert classifier.classes_.tolist() == ["0", "1"]
    assert len(classifier.predict("partial.csv")) == 42


def test_python_does_the_same_in_less_than_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) < 10
    code = code.replace("random_state=0", "random_state=0, hidden=8, epochs=2").replace("cv=10", "cv=2")
    exec(compile(code, "molecules.md", "exec"), {"__name__": "example"})
    assert 0 <= float(capsys.readouterr().out) <= 1
    assert Path("molecule.svg").read_text().count("<ellipse") > 1
