"""What needs no model, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sargnn.data.graphs import pack
from sargnn.tasks import task_of
from sargnn.training.baselines import NEAREST, baselines, beside
from tiny import FOLD, binary_shapes, measured_shapes, shapes


def test_the_largest_class_the_frequencies_and_the_mean() -> None:
    graphs = shapes()
    found = baselines(task_of(graphs), graphs, np.array([0, 2, 4, 1]), np.arange(20, 24))
    assert found["largest class"]["accuracy"] == 0.5  # rings, of two rings and two paths
    assert found["largest class"]["auroc"] == 0.5
    graphs = binary_shapes(gaps=False)
    found = baselines(task_of(graphs), graphs, FOLD.train, FOLD.test)
    assert found["frequency of each target"]["auroc"] == 0.5
    graphs = measured_shapes(gaps=False)
    assert graphs.targets is not None
    found = baselines(task_of(graphs), graphs, FOLD.train, FOLD.test)
    off = graphs.targets[FOLD.test] - graphs.targets[FOLD.train].mean(axis=0)
    assert found["mean of the training graphs"]["mae"] == pytest.approx(np.abs(off).mean(axis=0).mean())
    assert NEAREST not in found


def test_the_nearest_molecule_gives_its_targets() -> None:
    pytest.importorskip("rdkit", reason="fingerprints need RDKit, the extra 'chem'")
    smiles = ["CCCCCC", "CCCCCCC", "c1ccccc1C", "c1ccccc1CC", "CCCCCCCC", "c1ccccc1CCC"]
    targets = np.array([[1.0, 5.0], [1.0, 5.0], [3.0, np.nan], [3.0, 7.0], [1.0, 6.0], [3.0, 9.0]])
    graphs = replace(pack([(1, [])] * 6, smiles=smiles), targets=targets, target_names=("a", "b"))
    train, test = np.array([0, 2]), np.array([4, 5])
    found = baselines(task_of(graphs), graphs, train, test)[NEAREST]
    assert found["mae"] == pytest.approx((0 + (1 + 4) / 2) / 2)  # the missing one is taken as the mean, 5
    assert beside({"baselines": {NEAREST: found}}, "mae") == {NEAREST: found["mae"]}
