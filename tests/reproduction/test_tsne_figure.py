"""How well classes separate, and maps of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.reproduction import tsne_figure


def test_classes_that_stand_apart_separate_and_mixed_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 20)
    noise = rng.normal(size=(60, 4))
    apart = tsne_figure.separation(noise + 50 * np.eye(4)[classes], classes)
    mixed = tsne_figure.separation(noise, classes)
    assert apart["neighbours"] == 1.0
    assert apart["silhouette"] > 0.9
    assert abs(mixed["silhouette"]) < 0.1
    assert mixed["neighbours"] < 0.7


def test_a_silhouette_by_hand() -> None:
    # on a line: class 0 at 0 and 1, class 1 at 4 and 6; a = 1, b = 5 and 4; a = 2, b = 3.5 and 5.5
    found = tsne_figure.separation(np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    assert found["silhouette"] == pytest.approx((4 / 5 + 3 / 4 + 1.5 / 3.5 + 3.5 / 5.5) / 4)


def test_the_same_vectors_get_the_same_places() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 3))
    np.testing.assert_array_equal(tsne_figure.tsne(vectors), tsne_figure.tsne(vectors))
