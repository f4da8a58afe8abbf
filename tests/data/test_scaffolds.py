"""Division by scaffold: what is in one part, what is refused, and the name on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from command import answer_of, error_of
from sargnn.data.graphs import pack
from sargnn.data.scaffolds import scaffold_groups, scaffold_split
from sargnn.data.sources import load
from sargnn.data.splits import holdout, named_folds, write_splits
from sargnn.errors import InputError
from tiny import shapes

pytest.importorskip("rdkit", reason="scaffolds need RDKit, the extra 'chem'")

RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1")


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    """Eight molecules of each of five rings; the class is whether the tail is long."""
    rows = [f"{'C' * length}{ring},{int(length > 4)}\n" for ring in RINGS for length in range(1, 9)]
    (tmp_path / "molecules.csv").write_text("smiles,label\n" + "".join(rows))
    return tmp_path / "molecules.csv"


def test_a_scaffold_is_in_one_part(molecules: Path) -> None:
    graphs = load(molecules)
    fold = scaffold_split(graphs, validation=0.2, test=0.2)
    scaffold = np.repeat(np.arange(5), 8)
    parts = [set(scaffold[part]) for part in (fold.train, fold.validation, fold.test)]
    assert [len(part) for part in parts] == [3, 1, 1]
    assert sorted(np.concatenate([fold.train, fold.validation, fold.test])) == list(range(40))
    of_texts = scaffold_split(graphs.graph_names, validation=0.2, test=0.2)
    assert of_texts.test.tolist() == fold.test.tolist()


@pytest.mark.parametrize(
    ("molecules", "options", "message"),
    [
        (["CC", "?"], {}, "got '?' as graph 1, expected SMILES"),
        (
            ["CC"],
            {"validation": 0.6, "test": 0.5},
            "validation + test: got 0.6 + 0.5, expected fractions of less than 1",
        ),
    ],
)
def test_a_split_that_cannot_be_made(molecules: list[str], options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as error:
        scaffold_split(molecules, **options)
    assert str(error.value).startswith(message)


def test_only_molecules_have_scaffolds() -> None:
    graphs = load([nx.path_graph(2)], labels=[1])
    with pytest.raises(InputError, match=r"^graphs: got graphs that are not named by SMILES, expected a set read from"):
        scaffold_split(graphs)


def test_a_split_is_named_or_a_file(molecules: Path, tmp_path: Path) -> None:
    graphs = load(molecules)
    assert [fold.test.tolist() for fold in named_folds("scaffold", graphs)] == [scaffold_split(graphs).test.tolist()]
    write_splits(tmp_path / "splits.json", [holdout(graphs)])
    (fold,) = named_folds(tmp_path / "splits.json", graphs)
    assert fold.test.tolist() == holdout(graphs).test.tolist()


def test_the_commands(molecules: Path, tmp_path: Path) -> None:
    small = ["--split", "scaffold", "--model", "gcn", "--set", "model.hidden=8", "--set", "training.epochs=2"]
    answer_of("train", molecules, "--out", tmp_path / "run", *small)
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["split"]["test"] == scaffold_split(load(molecules)).test.tolist()
    answer = answer_of("cv", molecules, *small, "--set", "training.learning_rate=0.01", "--repeats", 2, "--workers", 1)
    assert len(answer["folds"]) == 2  # one division, so each repeat has a score
    shapes().save(tmp_path / "shapes")
    assert "not named by SMILES" in error_of("cv", tmp_path / "shapes", *small)


@pytest.mark.parametrize("texts", [["CCO", "CC", "CCN", "CCC"], ["c1ccccc1"] * 10])
def test_molecules_of_one_scaffold_cannot_be_divided(texts: list[str]) -> None:
    with pytest.raises(InputError, match=f"got 1 scaffolds, one of them in {len(texts)} of {len(texts)} molecules"):
        scaffold_split(texts)


def test_ten_folds_of_scaffolds_share_none() -> None:
    rings = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCCC1", "c1ccoc1", "c1ccsc1", "C1CC1", "C1CCC1", "c1ccc2ccccc2c1",
             "C1CCOC1", "C1CCNCC1", "C1CSCCN1"]  # fmt: skip
    molecules = pack([(1, [])] * 36, smiles=[ring + tail for ring in rings for tail in ("C", "CC", "O")])
    groups = scaffold_groups(molecules)
    folds = named_folds("scaffold", molecules, 10)
    assert len(folds) == 10
    for fold in folds:
        assert not set(groups[fold.test]) & set(groups[np.concatenate([fold.train, fold.validation])])
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(36))
    assert len(named_folds("scaffold", molecules)) == 1
