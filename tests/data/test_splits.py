"""Every graph is in its place: proportions, disjointness, published files, and faults in split files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold, holdout, named_folds, official, read_splits, stratified_folds, write_splits
from sargnn.errors import InputError

PUBLISHED = {
    "ENZYMES": 600,
    "IMDB-BINARY": 1000,
    "IMDB-BINARY_degree": 1000,
    "IMDB-MULTI": 1500,
    "IMDB-MULTI_degree": 1500,
    "PROTEINS_full": 1113,
}

class_sizes = st.lists(st.integers(1, 40), min_size=1, max_size=6)


def with_classes(y: list[int], **fields: Any) -> GraphSet:
    return pack([(1, [])] * len(y), y=y, classes=[str(label) for label in range(max(y) + 1)], **fields)


def shuffled_classes(sizes: list[int]) -> list[int]:
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(0).permutation(y).tolist()


def parts_of(fold: Fold) -> list[np.ndarray]:
    return [fold.train, fold.validation, fold.test]


def assert_divides(fold: Fold, total: int) -> None:
    for part in parts_of(fold):
        assert part.dtype == np.int64
        assert part.tolist() == sorted(part.tolist())
    assert sorted(np.concatenate(parts_of(fold)).tolist()) == list(range(total))


# --- hold-out --------------------------------------------------------------------------------------------------------


def test_proportions_are_exact_where_they_can_be() -> None:
    graphs = with_classes([0] * 100 + [1] * 50)
    fold = holdout(graphs, validation=0.1, test=0.2)
    assert [np.bincount(graphs.y[part]).tolist() for part in parts_of(fold)] == [[70, 35], [10, 5], [20, 10]]


@settings(derandomize=True, deadline=None)
@given(sizes=class_sizes, seed=st.integers(0, 99), validation=st.sampled_from([0.1, 0.25]), test=st.floats(0.05, 0.5))
def test_classes_keep_their_proportions(sizes: list[int], seed: int, validation: float, test: float) -> None:
    graphs = with_classes(shuffled_classes(sizes))
    fold = holdout(graphs, seed=seed, validation=validation, test=test)
    assert_divides(fold, len(graphs))
    shares = (1 - validation - test, validation, test)
    for label, size in enumerate(sizes):
        counts = [int((graphs.y[part] == label).sum()) for part in parts_of(fold)]
        if size < 3:
            assert counts == [size, 0, 0]
        elif min(share * size for share in shares) >= 1:
            assert all(abs(count - share * size) <= 1 for count, share in zip(counts, shares, strict=True))
        else:  # a part that deserves less than one graph gets one
            assert min(counts) >= 1


def test_tiny_sets_do_not_crash() -> None:
    assert [len(part) for part in parts_of(holdout(with_classes([0, 1])))] == [2, 0, 0]
    assert [len(part) for part in parts_of(holdout(with_classes([0, 0, 0, 1])))] == [2, 1, 1]


def test_parts_may_be_left_out() -> None:
    fold = holdout(with_classes([0, 0, 1, 1]), validation=0.5, test=0.0)
    assert [len(part) for part in parts_of(fold)] == [2, 2, 0]


def test_hold_out_is_decided_by_its_seed() -> None:
    graphs = with_classes([0, 1] * 50)
    first, same, other = (holdout(graphs, seed=seed).test.tolist() for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"validation": -0.1}, "validation: got -0.1, expected a fraction"),
        ({"test": 1.0}, "test: got 1.0, expected a fraction"),
        ({"test": float("nan")}, "test: got nan, expected a fraction"),
        ({"validation": 0.5, "test": 0.5}, "validation . test: got 0.5 . 0.5, expected less than 1"),
    ],
)
def test_impossible_shares_are_refused(shares: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        holdout(with_classes([0, 1]), **shares)


def test_graphs_without_classes_are_refused() -> None:
    with pytest.raises(InputError, match="got no classes, expected a class for every graph, in nameless"):
        holdout(pack([(1, [])], name="nameless"))


# --- official divisions ----------------------------------------------------------------------------------------------


def test_official_division_leaves_the_large_test_out() -> None:
    graphs = with_classes([0] * 6, part=np.array([0, 2, 1, 3, 0, 2], np.int8))
    fold = official(graphs)
    assert fold is not None
    assert [part.tolist() for part in parts_of(fold)] == [[0, 4], [2], [1, 5]]


def test_sets_without_a_division_have_none() -> None:
    assert official(with_classes([0, 1])) is None


# --- cross-validation ------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None)
@given(sizes=class_sizes, folds=st.integers(2, 10), seed=st.integers(0, 99))
def test_every_graph_is_tested_once_and_classes_are_spread(sizes: list[int], folds: int, seed: int) -> None:
    y = np.array(shuffled_classes(sizes))
    if len(y) < folds:
        return
    result = stratified_folds(y, folds, seed=seed)
    assert len(result) == folds
    assert sorted(np.concatenate([fold.test for fold in result]).tolist()) == list(range(len(y)))
    for fold in result:
        assert_divides(fold, len(y))
        assert abs(len(fold.test) - len(y) / folds) < 1
        assert len(fold.train) > 0
        for label, size in enumerate(sizes):
            tested, held_out = (int((y[part] == label).sum()) for part in (fold.test, fold.validation))
            assert abs(tested - size / folds) < 1
            assert abs(held_out - 0.1 * (size - tested)) < 1


def test_folds_are_decided_by_their_seed() -> None:
    y = [0, 1] * 20
    first, same, other = ([f.test.tolist() for f in stratified_folds(y, 4, seed=s)] for s in (1, 1, 2))
    assert first == same != other


def test_the_published_counts_of_a_balanced_set() -> None:
    for fold in stratified_folds(np.repeat(np.arange(6), 100)):
        assert [len(part) for part in parts_of(fold)] == [486, 54, 60]


@pytest.mark.parametrize("folds", [1, 5])
def test_impossible_numbers_of_folds_are_refused(folds: int) -> None:
    with pytest.raises(InputError, match=f"folds: got {folds}, expected 2..4"):
        stratified_folds([0, 1, 0, 1], folds)


# --- split files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_read(name: str, mirror: Path) -> None:
    graphs = with_classes([0] * PUBLISHED[name])
    folds = read_splits(mirror / "splits" / f"{name}_splits.json", graphs)
    assert len(folds) == 10
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(graphs)))
    for fold in folds:
        assert len(set(np.concatenate(parts_of(fold)).tolist())) == sum(map(len, parts_of(fold))) == len(graphs)


def test_written_folds_are_read_back(tmp_path: Path) -> None:
    graphs = with_classes([0, 1] * 15)
    folds = [*stratified_folds(graphs.y, 3), holdout(with_classes([0, 1]))]  # the last has empty parts
    write_splits(tmp_path / "splits.json", folds)
    again = read_splits(tmp_path / "splits.json", graphs)
    for fold, read in zip(folds, again, strict=True):
        for part, same in zip(parts_of(fold), parts_of(read), strict=True):
            assert same.dtype == np.int64
            np.testing.assert_array_equal(part, same)


def fold_json(train: Any = (0, 1), validation: Any = (2,), test: Any = (3,)) -> dict[str, Any]:
    return {"test": test, "model_selection": [{"train": train, "validation": validation}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "got no list of folds"),
        ([], "got no list of folds"),
        ([fold_json(), 3], "got no single model_selection in fold 1"),
        ([{"test": [0]}], "got no single model_selection in fold 0"),
        ([fold_json() | {"model_selection": []}], "got no single model_selection in fold 0"),
        ([fold_json() | {"model_selection": [{}, {}]}], "got no single model_selection in fold 0"),
        ([fold_json() | {"model_selection": [{"train": [0]}]}], "got no list in fold 0 validation"),
        ([fold_json(test=None)], "got no list in fold 0 test"),
        ([fold_json(train=[])], "got no graphs in fold 0 train"),
        ([fold_json(), fold_json(test=[612])], "got index 612 in fold 1 test, expected 0..3, in"),
        ([fold_json(train=[-1])], "got index -1 in fold 0 train, expected 0..3"),
        ([fold_json(train=[10**30])], "got index 10+ in fold 0 train, expected 0..3"),
        ([fold_json(train=[0.0])], "got index 0.0 in fold 0 train"),
        ([fold_json(train=[True])], "got index True in fold 0 train"),
        ([fold_json(train=["0"])], "got index '0' in fold 0 train"),
        ([fold_json(train=[0, 3])], "got index 3 in fold 0 train and test, expected it once"),
        ([fold_json(train=[0, 0])], "got index 0 in fold 0 train and train, expected it once"),
    ],
)
def test_faulty_files_are_refused_by_name_fold_and_field(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "faulty.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as caught:
        read_splits(path, with_classes([0] * 4))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe\xff", b"[" * 100_000, b""])
def test_files_that_are_not_json_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.json: not a readable split file"):
        read_splits(path, with_classes([0]))


def test_a_name_much_like_scaffold_is_one_misspelt(tmp_path: Path) -> None:
    graphs = pack([(1, []), (1, [])], y=[0, 1], classes=["a", "b"])
    for typed in ("scafold", "Scaffold", "scaffolds"):
        with pytest.raises(InputError, match=rf"^--split: got '{typed}', .*; did you mean scaffold\?$"):
            named_folds(typed, graphs)
    with pytest.raises(InputError, match=r"folds\.json: not a readable split file"):
        named_folds(tmp_path / "folds.json", graphs)


def test_one_large_group_is_not_the_validation_part() -> None:
    """Of 100 graphs 40 are of one group: a tenth of the rest is held out, not those 40."""
    groups = np.concatenate([np.zeros(40, np.int64), np.arange(60) // 2 + 1])
    for fold in stratified_folds(np.zeros(100, np.int64), 5, groups=groups):
        assert len(fold.validation) <= 8 if 0 not in fold.test else len(fold.validation) == 6


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json: not a readable split file"):
        read_splits(tmp_path / "absent.json", with_classes([0]))


@pytest.mark.parametrize("strata", [np.zeros(60, np.int64), np.arange(60) % 3])
def test_groups_stay_together(strata: np.ndarray) -> None:
    groups = np.arange(60) // 4
    folds = stratified_folds(strata, 5, seed=3, groups=groups)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(60))
    graphs = replace(pack([(1, [])] * 60), groups=groups)
    for fold in [*folds, holdout(graphs, strata=strata, seed=1)]:
        parts = [set(groups[part].tolist()) for part in (fold.train, fold.validation, fold.test)]
        assert all(parts)
        assert sum(map(len, parts)) == len(set.union(*parts)) == 15
        assert len(fold.train) + len(fold.validation) + len(fold.test) == 60
    again = stratified_folds(strata, 5, seed=3, groups=groups)
    assert [fold.test.tolist() for fold in again] == [fold.test.tolist() for fold in folds]
    with pytest.raises(InputError, match=r"folds: got 16, expected 2\.\.15, the number of groups"):
        stratified_folds(strata, 16, groups=groups)
