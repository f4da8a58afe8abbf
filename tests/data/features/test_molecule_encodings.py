"""Descriptors and Morgan counts as inputs: fitted on training graphs, bounded, and read by a trained model."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command import answer_of, error_of
from sargnn.batching.tensor_set import StreamedSet, tensor_set
from sargnn.data import descriptors as computed
from sargnn.data.descriptors import descriptor_names, descriptors, morgan_counts
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.features.molecule_encodings import FARTHEST, Descriptors, Morgan
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.training.model_folder import load_model

pytest.importorskip("rdkit", reason="descriptors need RDKit, the extra 'chem'")

BOTH = DataConfig(graph_encodings=("descriptors", "morgan"))
FERROCENE, LONG = "[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1", "OC(=O)" * 40
SMILES = [f"{'C' * length}{end}" for end in ("O", "N", "c1ccccc1", "C(=O)O") for length in range(1, 7)]


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    rows = [f"{smiles},{int('c' in smiles)}\n" for smiles in SMILES]
    (tmp_path / "molecules.csv").write_text("smiles,label\n" + "".join(rows))
    return tmp_path / "molecules.csv"


def test_descriptors_are_those_of_rdkit_standardised_on_the_training_graphs(molecules: Path) -> None:
    graphs, train = load(molecules), np.arange(0, 24, 2)
    encoder = Encoder.fit(BOTH, graphs, train)
    column = descriptor_names().index("MolWt")
    weight = np.arcsinh(descriptors(SMILES)[:, column])
    expected = (weight - weight[train].mean()) / weight[train].std()
    np.testing.assert_allclose(encoder.encode_graphs(graphs)[:, column], expected, rtol=1e-5)


def test_counts_are_over_their_deviation_and_not_centred(molecules: Path) -> None:
    graphs, train = load(molecules), np.arange(0, 24, 2)
    [block] = Encoder.fit(DataConfig(graph_encodings=("morgan",)), graphs, train).graph_encodings
    counts = morgan_counts(SMILES, 2, 1024)
    deviation = counts[train].std(axis=0)
    expected = np.divide(counts, deviation, out=np.zeros_like(counts), where=deviation > 0)
    np.testing.assert_allclose(block.encode(graphs), np.minimum(expected, FARTHEST), rtol=1e-5)


def test_odd_molecules_have_finite_bounded_inputs(molecules: Path) -> None:
    """Iron has no partial charges; the other is far beyond every training molecule."""
    encoder = Encoder.fit(BOTH, load(molecules))
    odd = molecules.with_name("odd.csv")
    odd.write_text(f"smiles\n{FERROCENE}\n{LONG}\n")
    inputs = encoder.encode_graphs(load(odd, labelled=False))
    assert np.isfinite(inputs).all()
    assert np.abs(inputs).max() == FARTHEST
    missing = np.isnan(descriptors([FERROCENE])[0])
    assert missing.any()
    assert (inputs[0, : len(missing)][missing] == 0).all()  # the mean of the training graphs


def test_a_training_molecule_without_some_descriptor_counts_in_the_others(molecules: Path) -> None:
    with molecules.open("a") as file:
        file.write(f"{FERROCENE},1\n")
    with_iron, without = (Encoder.fit(BOTH, load(molecules), np.arange(n)).graph_encodings[0] for n in (25, 24))
    missing = np.isnan(descriptors([FERROCENE])[0])
    assert isinstance(with_iron, Descriptors)
    assert isinstance(without, Descriptors)
    np.testing.assert_allclose(np.array(with_iron.mean)[missing], np.array(without.mean)[missing], rtol=1e-12)


def test_the_fitted_inputs_are_plain_values_that_come_back(molecules: Path) -> None:
    graphs = load(molecules)
    encoder = Encoder.fit(BOTH, graphs)
    back = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert back == encoder
    np.testing.assert_array_equal(back.encode_graphs(graphs), encoder.encode_graphs(graphs))
    assert encoder.graph_width == len(descriptor_names()) + 1024


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"names": ["MolWt"]}, "got 1 names, "),
        ({"std": [-1.0] * len(descriptor_names())}, "std: got -1.0, expected 0 or more"),
    ],
)
def test_a_damaged_record_is_refused(change: dict[str, object], line: str, molecules: Path) -> None:
    content = Encoder.fit(BOTH, load(molecules)).to_json()
    content["graph_encodings"][0] |= change
    with pytest.raises(InputError, match=line):
        Encoder.from_json(content)


def test_descriptors_are_no_inputs_of_nodes() -> None:
    with pytest.raises(InputError, match=r"^data\.encodings: got 'morgan', expected one of auto, labels, "):
        DataConfig(encodings=("morgan",))


def test_another_rdkit_may_have_more_descriptors_but_not_fewer(
    molecules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = load(molecules)
    encoder = Encoder.fit(DataConfig(graph_encodings=("descriptors",)), graphs)
    expected = encoder.encode_graphs(graphs)
    [block] = encoder.graph_encodings
    assert isinstance(block, Descriptors)
    fewer = Descriptors(*(value[::-1][:9] for value in (block.names, block.mean, block.std)))  # in another order too
    np.testing.assert_allclose(fewer.encode(graphs), expected[:, ::-1][:, :9], rtol=1e-6)
    with pytest.raises(InputError, match="got an RDKit without Fame, expected one that computes it, as in training"):
        replace(block, names=("Fame", *block.names[1:])).encode(graphs)


def test_graphs_without_smiles_and_machines_without_rdkit_are_told(
    molecules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = load(molecules)
    without = replace(graphs, smiles=())
    line = "molecules: got graphs without SMILES, expected molecules: data.graph_encodings are computed from SMILES"
    for encodings in (("descriptors",), ("morgan",)):
        with pytest.raises(InputError, match=f"^{line}$"):
            Encoder.fit(DataConfig(graph_encodings=encodings), without)
    encoder = Encoder.fit(BOTH, graphs)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(InputError, match=r"needs RDKit: pip install 'sargnn\[chem\]'"):
        encoder.encode_graphs(graphs)


def test_a_streamed_set_computes_them_once(molecules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(molecules).save(tmp_path / "set")
    graphs = GraphSet.open(tmp_path / "set")
    encoder = Encoder.fit(BOTH, graphs)
    index = np.array([5, 0, 17, 3])
    expected = tensor_set(graphs, encoder).packed(index).graph_x
    once = StreamedSet(graphs, encoder, often=True)
    each_time = StreamedSet(graphs, encoder)
    assert np.array_equal(each_time.packed(index).graph_x, expected)
    monkeypatch.setattr(computed, "molecules_of", lambda *_: pytest.fail("computed again"))
    assert np.array_equal(once.packed(index).graph_x, expected)


def test_a_model_trained_with_them_predicts_from_smiles_and_refuses_other_graphs(
    molecules: Path, tmp_path: Path
) -> None:
    """The command line, from the file to the table."""
    asked = ("data.graph_encodings=descriptors,morgan", "training.epochs=3", "model.hidden=8", "model.members=1")
    values = [word for setting in asked for word in ("--set", setting)]
    answer_of("train", molecules, *values, "--out", tmp_path / "run")
    answer_of("predict", tmp_path / "run", molecules, "--out", tmp_path / "predictions.csv")
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 25
    trained = load_model(tmp_path / "run")
    whole, graphs = trained.predict(load(molecules)).values, load(molecules)
    np.testing.assert_allclose(trained.predict(graphs.subset([3, 20])).values, whole[[3, 20]], rtol=1e-5)
    np.testing.assert_allclose(trained.predict([SMILES[3], SMILES[20]]).values, whole[[3, 20]], rtol=1e-5)
    replace(graphs, smiles=()).save(tmp_path / "plain")
    line = error_of("predict", tmp_path / "run", tmp_path / "plain", "--out", tmp_path / "none.csv")
    assert "got graphs without SMILES, expected molecules" in line


def test_settings_of_earlier_folders_are_read(molecules: Path) -> None:
    from sargnn.training.settings import Settings

    content = Settings.of("sargnn-plus").to_json()
    del content["data"]["graph_encodings"]
    assert (
        Settings.from_json({**content, "data": {**content["data"], "graph_inputs": False}}).data.graph_encodings == ()
    )
    read = Settings.from_json({**content, "data": {**content["data"], "graph_inputs": True}})
    assert read.data.graph_encodings == ("attributes",)


def test_morgan_counts_have_a_column_for_each_deviation() -> None:
    assert Morgan(2, (1.0,) * 64).feature_names[-1] == "substructure 63"
    with pytest.raises(InputError, match="columns: got 0, expected 1 or more"):
        Morgan(2, ())
