"""Means and deviations of the training graphs, at once and chunk by chunk."""

from __future__ import annotations

import numpy as np
import pytest

from feature_graphs import (
    EVERYTHING,
    described,
    encoded,
    random_graphs,
    undirected,
)
from sargnn.data import set_chunks
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.features.standardisation import moments, over_deviation


def test_a_constant_column_that_rounding_disturbs_still_vanishes() -> None:
    graphs = undirected((1001, []), node_attributes=np.full((1001, 1), 0.1))
    assert np.abs(encoded(graphs, "attributes")).max() < 1e-6


def numbers(encoder: Encoder) -> list[float]:
    """All that was fitted."""
    blocks = (*encoder.encodings, *encoder.edge_encodings, *encoder.graph_encodings)
    fitted = [vars(block)[name] for block in blocks for name in ("mean", "std", "max_degree") if name in vars(block)]
    return np.concatenate([np.atleast_1d(value) for value in fitted]).tolist()


@pytest.mark.parametrize("cells", [1, 60, 300])
def test_fitting_in_pieces_is_fitting_on_all_at_once(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = described(random_graphs(4, count=30))
    index = np.random.default_rng(4).permutation(30)[:20]
    at_once = Encoder.fit(EVERYTHING, graphs, index)
    monkeypatch.setattr(set_chunks, "CELLS", cells)
    assert len(set_chunks.SetChunks(graphs, index).indices) > 1
    in_pieces = Encoder.fit(EVERYTHING, graphs, index)
    assert in_pieces.feature_names == at_once.feature_names
    assert in_pieces.edge_feature_names == at_once.edge_feature_names
    np.testing.assert_allclose(numbers(in_pieces), numbers(at_once), rtol=1e-12)


def test_a_column_that_is_constant_in_every_piece_but_not_in_all_has_a_deviation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(set_chunks, "CELLS", 1)
    graphs = undirected((1, []), (3, []), node_attributes=[[5.0, 1.0], [9.0, 1.0], [9.0, 1.0], [9.0, 1.0]])
    [attributes] = Encoder.fit(DataConfig(("attributes",)), graphs).encodings
    moments_of_both = {"mean": (8.0, 1.0), "std": (np.sqrt(3.0), 0.0), "of": "node", "names": ()}
    assert vars(attributes) == {**moments_of_both, "missing": "flag", "gaps": ()}


def test_moments_by_hand_whatever_the_chunks() -> None:
    values = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    for cuts in ([], [1], [1, 2]):
        mean, deviation = moments(np.split(values, cuts))
        assert mean == pytest.approx((3.0, 5.0))
        assert deviation == pytest.approx((np.sqrt(14 / 3), 0.0))


def test_missing_values_count_in_no_column() -> None:
    values = np.array([[1.0, np.nan, np.nan], [np.nan, np.nan, 4.0], [5.0, np.nan, 6.0]])
    for cuts in ([], [1], [1, 2]):
        mean, deviation = moments(np.split(values, cuts))
        assert mean == pytest.approx((3.0, 0.0, 5.0))
        assert deviation == pytest.approx((2.0, 0.0, 1.0))


def test_a_column_without_deviation_is_zero() -> None:
    assert over_deviation(np.array([[4.0, 9.0]]), (2.0, 0.0)).tolist() == [[2.0, 0.0]]
