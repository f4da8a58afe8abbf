"""What RDKit computes, against RDKit asked for one molecule and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sargnn.data import descriptors as module
from sargnn.data.descriptors import descriptor_names, descriptors, fingerprints, molecules_of, morgan_counts, smiles_of
from sargnn.data.features import kept
from sargnn.data.graphs import pack
from sargnn.errors import InputError

pytest.importorskip("rdkit", reason="descriptors need RDKit, the extra 'chem'")

ETHANOL, BENZENE, FERROCENE = "CCO", "c1ccccc1", "[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1"


def named(smiles: str) -> dict[str, float]:
    return dict(zip(descriptor_names(), descriptors([smiles])[0].tolist(), strict=True))


def test_descriptors_that_can_be_checked_by_hand() -> None:
    found = named(ETHANOL)
    assert found["MolWt"] == pytest.approx(2 * 12.011 + 6 * 1.008 + 15.999, abs=0.01)
    assert (found["HeavyAtomCount"], found["NumHDonors"], found["RingCount"]) == (3, 1, 0)
    assert named(BENZENE)["RingCount"] == 1


def test_what_rdkit_cannot_compute_is_missing() -> None:
    """RDKit has no partial charges beside iron."""
    values = descriptors([FERROCENE])
    assert np.isnan(values).any()
    assert not np.isinf(values).any()


def test_a_substructure_counts_as_often_as_it_occurs() -> None:
    counts = morgan_counts(["CC(C)(C)C", "C"], radius=0, size=512)
    assert sorted(counts[0][counts[0] > 0].tolist()) == [1, 4]  # the middle, four ends
    assert counts[1].sum() == 1
    assert counts.dtype == np.float32


def test_fingerprints_are_bits_of_the_same_substructures() -> None:
    counts = morgan_counts([ETHANOL, BENZENE], radius=2, size=2048)
    bits = np.unpackbits(fingerprints([ETHANOL, BENZENE]), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits, counts > 0)


def test_a_text_that_is_no_molecule_is_refused() -> None:
    with pytest.raises(InputError, match=r"^got 'nonsense' as graph 1, expected SMILES$"):
        list(molecules_of([ETHANOL, "nonsense"]))
    with pytest.raises(InputError, match=r"^got '' as graph 0, expected SMILES$"):
        list(molecules_of([""]))


def test_graphs_without_smiles_are_refused() -> None:
    graphs = pack([(1, [])], name="dots")
    with pytest.raises(
        InputError, match=r"^dots: got graphs without SMILES, expected molecules: trust is computed from"
    ):
        smiles_of(graphs, "trust is")


def test_descriptors_are_computed_once_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smiles = [ETHANOL, BENZENE, "C"]
    whole = descriptors(smiles)
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(module, "KEPT_TOGETHER", 2)
    np.testing.assert_array_equal(descriptors(smiles), whole)
    assert len(list((tmp_path / "descriptors").iterdir())) == 2
    monkeypatch.setattr(module, "molecules_of", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(descriptors(smiles), whole)


def test_no_molecules_have_no_descriptors() -> None:
    assert descriptors([]).shape == (0, len(descriptor_names()))
