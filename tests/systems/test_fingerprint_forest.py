"""The forest on fingerprints sees which substructures a molecule has, for every kind of task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import shapes

pytest.importorskip("rdkit", reason="fingerprints need RDKit, the extra 'chem'")

SETTINGS = Settings.of("fingerprint-forest", {"model.trees": 30})
FOLD = Fold(np.arange(24), np.arange(24, 28), np.arange(28, 40))


def molecules(kind: str) -> GraphSet:
    """Chains, every second one an acid; the graphs all look alike."""
    smiles = ["C" * (2 + n // 2 % 7) + ("C(=O)O" if n % 2 else "CN") for n in range(40)]
    graphs = pack([(1, [])] * 40, smiles=smiles, name="chains")
    acid, length = np.arange(40) % 2, np.arange(40) // 2 % 7
    if kind == "classification":
        return replace(graphs, y=acid, classes=("amine", "acid"))
    columns = np.stack([acid, 1 - acid], 1) if kind == "multilabel" else np.stack([3.0 * acid + 1, length], 1)
    targets = columns.astype(np.float64)
    targets[::7, 1] = np.nan
    return replace(graphs, targets=targets, target_names=("first", "second"))


@pytest.mark.parametrize(("kind", "enough"), [("classification", 1.0), ("multilabel", 1.0), ("regression", 0.8)])
def test_it_knows_an_acid(kind: str, enough: float, tmp_path: Path) -> None:
    graphs = molecules(kind)
    run = train(graphs, SETTINGS, tmp_path / "run", fold=FOLD)
    scores = run.scores["test"]
    assert (scores["r2"] if kind == "regression" else scores["accuracy"]) >= enough
    assert len(run.state.history) == 1
    found = load_model(tmp_path / "run").predict(graphs)
    assert np.array_equal(found.values, run.trained.predict(graphs).values)
    assert np.array_equal(train(graphs, SETTINGS, fold=FOLD).trained.predict(graphs).values, found.values)


def test_graphs_that_are_no_molecules_are_refused() -> None:
    with pytest.raises(InputError, match="got graphs without SMILES, expected molecules"):
        train(shapes(), SETTINGS)
    with pytest.raises(InputError, match=r"data\.graph_encodings: got none, expected morgan"):
        train(molecules("classification"), Settings.of("fingerprint-forest", {"data.graph_encodings": ""}))
