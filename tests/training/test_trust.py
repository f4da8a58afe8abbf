"""How near graphs are to the training graphs: by hand, in files that are checked, and for every kind of graph."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sargnn
from sargnn import Settings, load_model, load_trust
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.training import trust as module
from sargnn.training.run import TrainingRun, train
from sargnn.training.trust import FILE, TrustReference, save_trust
from tiny import FOLD, labelled, shapes, tiny

SMILES = ("CCO", "CCN", "CCCO", "c1ccccc1", "c1ccccc1C", "c1ccncc1", "CC(=O)O", "CCCC")
NEW = ("CCO", "C1CCCCC1C", "CC(C)(C)C")


def molecules(tmp_path: Path, smiles: tuple[str, ...] = SMILES, name: str = "molecules") -> GraphSet:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    path = tmp_path / f"{name}.csv"
    path.write_text("smiles,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(smiles)))
    return sargnn.load(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on rings and paths."""
    folder = tmp_path_factory.mktemp("runs") / "shapes"
    train(shapes(), tiny("sar-gcn"), folder, fold=FOLD)
    return folder


def reference_of(graphs: GraphSet, index: np.ndarray | None = None) -> TrustReference:
    """An untrained model's: how graphs are compared does not depend on what it has learned."""
    chosen = np.arange(len(graphs)) if index is None else index
    run = TrainingRun.start(graphs, tiny("gin"), fold=Fold(chosen, chosen[:0], chosen[:0]))
    return run.trust_reference


def test_molecules_are_compared_by_tanimoto_similarity(tmp_path: Path) -> None:
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    train_set, new = molecules(tmp_path), molecules(tmp_path, NEW, "new")
    found = reference_of(train_set).trust(new)
    prints = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    one, other = ([prints.GetFingerprint(Chem.MolFromSmiles(text)) for text in texts] for texts in (NEW, SMILES))
    pairs = np.array([[TanimotoSimilarity(a, b) for b in other] for a in one])
    np.testing.assert_allclose(1 - found.distances, -np.sort(-pairs, axis=1)[:, :3])
    assert found.nearest[0][0] == "CCO"
    columns = found.columns()
    assert columns["similarity_1"][0] == 1
    assert columns["nearest_1"][0] == "CCO"
    assert list(columns)[:2] == ["nearest_1", "similarity_1"]
    assert reference_of(train_set).trust(list(NEW)).columns() == columns


def test_scaffolds_and_elements_that_no_training_molecule_has_are_named(tmp_path: Path) -> None:
    found = reference_of(molecules(tmp_path)).trust(molecules(tmp_path, NEW[:2], "new"))
    assert found.unseen_scaffold is not None
    assert found.unseen_scaffold.tolist() == [False, True]  # no ring: as most; cyclohexane: new
    assert found.unseen_categories == ((), ())


def test_the_percentile_is_among_the_distances_of_training_graphs(tmp_path: Path) -> None:
    """By hand: of every training molecule the distance to the nearest other one."""
    graphs = molecules(tmp_path)
    reference = reference_of(graphs)
    own = reference.trust(graphs)
    expected = sorted(row[1] for row in own.distances.tolist())  # the first is the molecule itself
    np.testing.assert_allclose(reference.distances, expected)
    assert own.percentile.tolist() == [0.0] * 8
    far = reference.trust(molecules(tmp_path, ("N#N",), "far"))
    assert far.percentile.tolist() == [100.0]


def test_twins_among_training_graphs_are_at_distance_zero(tmp_path: Path) -> None:
    reference = reference_of(molecules(tmp_path, ("CCO", "CCO", "CCO", "CCN")))
    assert reference.distances[:3].tolist() == [0, 0, 0]
    assert reference.distances[3] > 0


def test_other_graphs_are_compared_by_their_vectors() -> None:
    graphs = shapes()
    reference = reference_of(graphs, np.arange(16))
    found = reference.trust(graphs)
    vectors = reference.trained.vectors(graphs).astype(float)
    pairs = np.linalg.norm(vectors[:, None] - vectors[None, :16], axis=2)
    np.testing.assert_allclose(found.distances, np.sort(pairs, axis=1)[:, :3], atol=1e-4)
    assert found.nearest[5][0] == "5"
    assert found.unseen_scaffold is None
    assert list(found.columns())[:4] == ["nearest_1", "distance_1", "nearest_2", "distance_2"]


def test_labels_that_no_training_graph_has_are_named() -> None:
    graphs = labelled(shapes())
    rare = replace(graphs, edge_labels=np.where(graphs.edge_graph < 16, 0, graphs.edge_labels))
    found = reference_of(rare, np.arange(16)).trust(rare)
    for graph, unseen in enumerate(found.unseen_categories):
        names = {rare.edge_label_names[code] for code in rare.edge_labels[rare.edge_graph == graph].tolist()}
        assert set(unseen) == names - {"single"}
    assert any(found.unseen_categories)
    assert found.columns()["unseen_categories"][0] == ""


def test_the_spread_is_that_of_the_members() -> None:
    graphs = shapes()
    run = train(graphs, tiny("sargnn-plus", training__epochs=1), fold=FOLD)
    assert run.prediction is not None
    assert run.prediction.spread is not None
    found = run.trust_reference.trust(graphs, run.prediction)
    np.testing.assert_array_equal(found.spread, run.prediction.spread.max(axis=1))
    assert "spread" not in reference_of(graphs).trust(graphs).columns()


def test_percentiles_of_many_training_graphs_are_of_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPARED", 7)
    assert len(reference_of(shapes()).distances) == 7


def test_of_many_training_graphs_some_are_kept_and_all_their_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    graphs = labelled(shapes())
    reference = reference_of(graphs)
    assert reference.points.shape[0] == len(reference.names) == 2
    assert reference.categories["edge"] == tuple(sorted(graphs.edge_label_names))
    assert len(set(reference.trust(graphs).nearest[0])) == 2


def test_a_saved_reference_says_the_same(folder: Path, tmp_path: Path) -> None:
    graphs = shapes()
    trained = load_model(folder)
    read, made = load_trust(folder, trained), TrustReference.of(trained, graphs, FOLD.train)
    again, expected = read.trust(graphs).columns(), made.trust(graphs).columns()
    assert again == expected
    copy = shutil.copytree(folder, tmp_path / "copy")
    save_trust(copy, read)
    assert (copy / FILE).read_bytes() == (folder / FILE).read_bytes()


def test_molecules_come_back_from_a_folder(tmp_path: Path) -> None:
    graphs = molecules(tmp_path)
    settings = Settings.of("gin", {"training.epochs": 1, "model.hidden": 8})
    run = train(graphs, settings, tmp_path / "run", fold=Fold(np.arange(6), np.array([6]), np.array([7])))
    read = load_trust(tmp_path / "run", load_model(tmp_path / "run"))
    assert read.by == "fingerprints"
    assert read.points.dtype == np.uint8
    assert read.scaffolds == ("", "c1ccccc1", "c1ccncc1")
    assert read.trust(graphs).columns() == run.trust_reference.trust(graphs).columns()
    line = r"^molecules: got graphs without SMILES, expected molecules: trust is computed from SMILES$"
    with pytest.raises(InputError, match=line):
        read.trust(replace(graphs, smiles=()))


def test_molecules_are_compared_by_vectors_where_rdkit_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = molecules(tmp_path)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    assert reference_of(graphs).by == "vectors"


def test_folders_of_earlier_versions_say_what_to_do(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / FILE).unlink()
    with pytest.raises(InputError, match=r"no such file, which earlier .* train again, or: sargnn calibrate"):
        load_trust(copy, load_model(copy))


def test_a_damaged_file_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    content = bytearray((copy / FILE).read_bytes())
    content[-3] ^= 1
    (copy / FILE).write_bytes(content)
    with pytest.raises(InputError, match="got damaged content, expected that of its checksum"):
        load_trust(copy, load_model(copy))
    (copy / FILE).write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a readable safetensors file"):
        load_trust(copy, load_model(copy))


@pytest.mark.parametrize("distances", [[-1.0, 2.0], [2.0, 1.0], [float("nan")]])
def test_distances_that_are_none_are_refused(distances: list[float], folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    trained = load_model(copy)
    save_trust(copy, replace(load_trust(copy, trained), distances=np.array(distances)))
    with pytest.raises(InputError, match="got no sound points, distances and names"):
        load_trust(copy, trained)


def test_vectors_of_another_width_are_refused(folder: Path) -> None:
    reference = load_trust(folder, load_model(folder))
    wide = replace(reference, points=np.repeat(reference.points, 2, axis=1))
    with pytest.raises(InputError, match=r"trust.safetensors: got training graphs of 16 numbers each, expected 8"):
        wide.trust(shapes())


def test_the_file_of_other_weights_is_refused(folder: Path, tmp_path: Path) -> None:
    other = train(shapes(), tiny("sar-gcn", training__epochs=1), tmp_path / "other", fold=FOLD)
    assert other.folder is not None
    shutil.copy(folder / FILE, other.folder / FILE)
    config = json.loads((other.folder / "config.json").read_text())
    assert config["settings"]["training"]["epochs"] == 1  # else the same config: then the weights tell
    with pytest.raises(InputError, match="got the training graphs of other weights; train again"):
        load_trust(other.folder, load_model(other.folder))
