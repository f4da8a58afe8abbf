"""Nearest training graphs, against every pair compared by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.training.neighbours import nearest_molecules, nearest_vectors


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 5))
def test_vectors_are_ranked_by_their_distance(seed: int, known: int, new: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, others = rng.normal(size=(new, 4)).astype(np.float32), rng.normal(size=(known, 4)).astype(np.float32)
    count = min(3, known)
    distances, index = nearest_vectors(vectors, others, count)
    pairs = np.linalg.norm(vectors[:, None].astype(float) - others[None], axis=2)
    np.testing.assert_allclose(distances, np.sort(pairs, axis=1)[:, :count], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(pairs, index, 1), distances, rtol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 5))
def test_molecules_are_ranked_by_shared_bits(seed: int, known: int, new: int) -> None:
    pytest.importorskip("rdkit", reason="Tanimoto similarities need RDKit, the extra 'chem'")
    rng = np.random.default_rng(seed)
    bits, others = rng.random((new, 16)) < 0.4, rng.random((known, 16)) < 0.4
    bits[:, 0] = others[:, 0] = True  # as every molecule has some
    packed = [np.packbits(some, axis=1, bitorder="little") for some in (bits, others)]
    count = min(3, known)
    distances, index = nearest_molecules(*packed, count)
    pairs = np.array([[1 - (a & b).sum() / (a | b).sum() for b in others] for a in bits]).reshape(new, known)
    np.testing.assert_allclose(distances, np.sort(pairs, axis=1)[:, :count], atol=1e-12)
    expected = np.argsort(pairs.round(12), axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(index, expected)  # of equally near ones, the first
