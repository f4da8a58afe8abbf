"""Which folds the protocol uses for which set."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from sargnn.data import cache, protocol_splits
from sargnn.data.graphs import GraphSet
from sargnn.data.known import KNOWN
from sargnn.data.protocol_splits import has_own_folds, protocol_folds
from sargnn.data.sources import load
from sargnn.data.splits import stratified_folds
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from tiny import shapes


@pytest.fixture
def known(mirror: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    return mirror


def assert_partition(graphs: GraphSet) -> None:
    """Ten folds that test every graph once; in each, the parts are disjoint and cover the set."""
    folds = protocol_folds(graphs)
    assert len(folds) == 10
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(graphs)))
    for fold in folds:
        parts = np.concatenate([fold.train, fold.validation, fold.test])
        assert sorted(parts.tolist()) == list(range(len(graphs)))


@pytest.mark.parametrize("name", ["MUTAG", "Letter-high", "ENZYMES"])
def test_known_sets_have_ten_folds_of_their_own(known: Path, name: str) -> None:
    graphs = load(name)
    assert has_own_folds(graphs)
    assert_partition(graphs)


def test_the_published_folds_are_those_of_the_file(known: Path) -> None:
    content = json.loads((known / "splits" / "ENZYMES_splits.json").read_text())
    folds = protocol_folds(load("ENZYMES"))
    assert [fold.test.tolist() for fold in folds] == [entry["test"] for entry in content]
    assert [fold.train.tolist() for fold in folds] == [entry["model_selection"][0]["train"] for entry in content]


def test_the_folds_of_mutag_are_fixed_and_stratified(known: Path) -> None:
    graphs = load("MUTAG")
    assert graphs.y is not None
    for fold in protocol_folds(graphs):
        assert len(fold.test) in (18, 19)
        assert abs(graphs.y[fold.test].mean() - graphs.y.mean()) < 0.05


def test_an_official_division_is_a_single_fold() -> None:
    graphs = triangles(20, 10, 10, 10)
    (fold,) = protocol_folds(graphs)
    assert [len(part) for part in (fold.train, fold.validation, fold.test)] == [20, 10, 10]


def test_any_other_set_gets_ten_stratified_folds_always_the_same() -> None:
    graphs = shapes()
    assert_partition(graphs)
    assert graphs.y is not None
    expected = stratified_folds(graphs.y, 10, seed=0)
    assert all(np.array_equal(a.test, b.test) for a, b in zip(protocol_folds(graphs), expected, strict=True))


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES"])
def test_another_set_of_a_known_name_is_not_the_known_set(name: str) -> None:
    graphs = shapes(name=name)
    assert not has_own_folds(graphs)
    assert_partition(graphs)


def test_folds_that_cannot_be_fetched_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise URLError("no route")

    monkeypatch.delenv("SARGNN_MIRROR", raising=False)
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    monkeypatch.setattr(cache.urllib.request, "urlopen", unreachable)
    monkeypatch.setattr(protocol_splits, "mismatch", lambda graphs, known: "")
    with pytest.raises(InputError, match=r"cannot fetch the published folds of ENZYMES .*set SARGNN_MIRROR") as error:
        protocol_folds(shapes(name="ENZYMES"))
    assert "\n" not in str(error.value)


def test_every_set_with_folds_of_its_own_is_known() -> None:
    assert {*protocol_splits.PUBLISHED, *protocol_splits.OWN} <= KNOWN.keys()
