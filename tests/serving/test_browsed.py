"""A set as the page shows it: what a run says of each graph, and where each is on the map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sargnn.errors import InputError
from sargnn.serving.browsed import BrowsedSet, map_of
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Wanted, outcomes_of
from tiny import shapes


def test_a_row_has_what_is_known_and_what_is_said(run: Path) -> None:
    graphs, one = shapes(), LoadedRun.load("run", run)
    browsed = BrowsedSet("data", graphs)
    assert browsed.rows(one, 0, 2)["prediction"] == [None, None]
    outcomes = outcomes_of(one.trained, None, Wanted(), [GraphInput.in_set(graphs, g) for g in (4, 5)])
    browsed.take(one, 4, [*outcomes, InputError("got x")])
    rows = browsed.rows(one, 4, 99)
    assert rows["graph"] == list(range(4, 24))
    assert rows["truth"][:2] == ["ring", "path"]
    assert rows["error"][2] == "got x"
    expected = one.trained.predict(graphs.subset([4, 5]))
    assert rows["right"][:2] == (expected.predicted == graphs.y[4:6]).tolist()


def test_pca_keeps_distances_of_a_plane_and_tsne_keeps_groups_together() -> None:
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(20, 2))
    turned, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    found = map_of(plane @ turned[:2], "pca")
    for i in range(20):
        assert np.linalg.norm(found - found[i], axis=1) == pytest.approx(np.linalg.norm(plane - plane[i], axis=1))
    groups = np.repeat(np.eye(6)[:2] * 50, 15, axis=0) + rng.normal(size=(30, 6))
    places = map_of(groups, "tsne")
    inside, across = (np.linalg.norm(places[:15].mean(0) - places[k].mean(0)) for k in (slice(0, 15), slice(15, 30)))
    assert inside < across
    assert map_of(np.zeros((1, 3)), "tsne").tolist() == [[0, 0]]
