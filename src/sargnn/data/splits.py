"""Which graphs train, select and test a model: hold-out, cross-validation, official splits, split files.

The file form is the published one of Errica et al. (2020), with graph indices from 0::

    [{"test": [...], "model_selection": [{"train": [...], "validation": [...]}]}, ...]
"""

from __future__ import annotations

import difflib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS, GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.reading import parse_json, read_bytes

__all__ = ["Fold", "holdout", "named_folds", "official", "read_splits", "stratified_folds", "write_splits"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Disjoint graph indices, int64 each: to fit on, to choose the epoch and hyperparameters by, to report on.

    >>> len(Fold(train=np.array([0, 1, 4]), validation=np.array([2]), test=np.array([3])).train)
    3
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def holdout(
    graphs: GraphSet,
    *,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    strata: np.ndarray | None = None,
) -> Fold:
    """One random split, stratified by class, or by other ``strata``, as far as whole graphs allow.

    A class of three graphs or more is in every part, a smaller one in the training part only. Graphs of one group
    stay together, where the set has groups.

    >>> from sargnn.data.graphs import pack
    >>> fold = holdout(pack([(1, [])] * 20, y=[0, 1] * 10, classes=["a", "b"]))
    >>> len(fold.train), len(fold.validation), len(fold.test)
    (16, 2, 2)
    """
    strata = graphs.y if strata is None else strata
    if strata is None:
        raise InputError(f"got no classes, expected a class for every graph, in {graphs.name}")
    _check_fraction("validation", validation)
    _check_fraction("test", test)
    if validation + test >= 1:
        raise InputError(f"validation + test: got {validation} + {test}, expected less than 1")
    if graphs.groups is not None:
        rest, tested = _apart(np.arange(len(graphs)), strata, graphs.groups, test, seed)
        return Fold(*_apart(rest, strata, graphs.groups, validation / (1 - test), seed), tested)
    return Fold(*_split(strata, (1 - validation - test, validation, test), np.random.default_rng(seed)))


def official(graphs: GraphSet) -> Fold | None:
    """The split that comes with the set, if one does; a large test set is in no part.

    >>> from sargnn.data.synthetic import triangles
    >>> official(triangles(train=20, validation=10, test=10, test_large=0)).validation.tolist()
    [20, 21, 22, 23, 24, 25, 26, 27, 28, 29]
    """
    if graphs.part is None:
        return None
    train, validation, test = (np.flatnonzero(graphs.part == PARTS.index(name)) for name in PARTS[:3])
    return Fold(train, validation, test)


def stratified_folds(
    y: np.ndarray | Sequence[int],
    folds: int = 10,
    *,
    seed: int = 0,
    validation: float = 0.1,
    groups: np.ndarray | None = None,
) -> list[Fold]:
    """Cross-validation: every graph is tested once; of the rest of each fold, a stratified fraction is held out. Graphs
    of one of the ``groups``, if any are given, stay together.

    Graphs, sorted by class and shuffled within it, are dealt to the folds in turn, so that each class and the whole set
    are spread as evenly as possible.

    >>> y = np.array([0, 0, 1, 1])
    >>> [y[fold.test].tolist() for fold in stratified_folds(y, folds=2, validation=0.0)]
    [[0, 1], [0, 1]]
    """
    y = np.asarray(y)
    if not 2 <= folds <= len(y):
        raise InputError(f"folds: got {folds}, expected 2..{len(y)}, the number of graphs")
    _check_fraction("validation", validation)
    if groups is not None:
        if folds > (count := len(np.unique(groups))):
            raise InputError(f"folds: got {folds}, expected 2..{count}, the number of groups")
        every = np.arange(len(y))
        tests = [every[test] for test in _dealt(every, y, groups, folds, seed)]
        rests = [_apart(np.setdiff1d(every, test), y, groups, validation, seed) for test in tests]
        return [Fold(train, held_out, test) for (train, held_out), test in zip(rests, tests, strict=True)]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    result = []
    for fold in range(folds):
        test = np.sort(order[fold::folds])
        rest = np.setdiff1d(np.arange(len(y)), test)
        train, held_out = _split(y[rest], (1 - validation, validation), rng)
        result.append(Fold(rest[train], rest[held_out], test))
    return result


def _apart(
    index: np.ndarray, strata: np.ndarray, groups: np.ndarray, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """``index`` without about that ``fraction`` of it, and that fraction, no group in both.

    Of the parts that could be taken it is the one nearest in size: a single large group can be much larger."""
    count = len(np.unique(groups[index]))
    if fraction <= 0 or count < 2:
        return index, index[:0]
    parts = _dealt(index, strata, groups, min(max(2, round(1 / fraction)), count), seed)
    apart = index[min(parts, key=lambda part: abs(len(part) - fraction * len(index)))]
    return np.setdiff1d(index, apart), apart


def _dealt(index: np.ndarray, strata: np.ndarray, groups: np.ndarray, parts: int, seed: int) -> list[np.ndarray]:
    """Positions in ``index`` of each part: whole groups, parts of about one size and alike in their strata."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    own, counts = strata[index], np.bincount(strata[index])
    if len(np.unique(own)) > 1 and counts.max() >= parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer graphs than parts is not in every part
            dealt = StratifiedGroupKFold(parts, shuffle=True, random_state=seed).split(own, own, groups[index])
            return [np.sort(test) for _, test in dealt]
    return [np.sort(test) for _, test in GroupKFold(parts).split(own, own, groups[index])]


def _split(y: np.ndarray, fractions: tuple[float, ...], rng: np.random.Generator) -> list[np.ndarray]:
    """Sorted indices of each part; the first is the training part."""
    parts: list[list[np.ndarray]] = [[np.empty(0, np.int64)] for _ in fractions]
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        cuts = np.cumsum(_counts(len(members), fractions))[:-1]
        for part, chosen in zip(parts, np.split(members, cuts), strict=True):
            part.append(chosen)
    return [np.sort(np.concatenate(part)) for part in parts]


def _counts(total: int, fractions: tuple[float, ...]) -> np.ndarray:
    """``total`` graphs of one class by largest remainder, then one for each part that would have none.

    >>> _counts(12, (0.8, 0.1, 0.1)).tolist(), _counts(4, (0.8, 0.1, 0.1)).tolist()
    ([10, 1, 1], [2, 1, 1])
    """
    wanted = np.array(fractions) > 0
    if total < wanted.sum():
        return np.array([total] + [0] * (len(fractions) - 1))
    ideal = total * np.array(fractions)
    counts = np.floor(ideal + 1e-9).astype(np.int64)  # 0.7 * 10 is a whole number
    counts[np.argsort(counts - ideal, kind="stable")[: total - counts.sum()]] += 1
    for part in np.flatnonzero(wanted & (counts == 0)):
        counts[np.argmax(counts)] -= 1
        counts[part] += 1
    return counts


def _check_fraction(name: str, fraction: float) -> None:
    if not 0 <= fraction < 1:
        raise InputError(f"{name}: got {fraction}, expected a fraction from 0 to less than 1")


def write_splits(path: Path | str, folds: Sequence[Fold]) -> None:
    """Write folds in the published form, which :func:`read_splits` and other tools read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_splits(Path(folder, "folds.json"), [Fold(np.array([0, 1]), np.array([2]), np.array([3]))])
    ...     Path(folder, "folds.json").read_text()
    '[{"test": [3], "model_selection": [{"train": [0, 1], "validation": [2]}]}]'
    """
    content = []
    for fold in folds:
        inner = {"train": fold.train.tolist(), "validation": fold.validation.tolist()}
        content.append({"test": fold.test.tolist(), "model_selection": [inner]})
    write_file(Path(path), json.dumps(content))


def read_splits(path: Path | str, graphs: GraphSet) -> list[Fold]:
    """Read folds in the published form, as they stand in the file; refuses what does not fit ``graphs``.

    >>> from tempfile import TemporaryDirectory
    >>> from sargnn.data.graphs import pack
    >>> graphs = pack([(1, [])] * 20, y=[0, 1] * 10, classes=["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     write_splits(Path(folder, "folds.json"), stratified_folds(graphs.y, 5))
    ...     [len(fold.test) for fold in read_splits(Path(folder, "folds.json"), graphs)]
    [4, 4, 4, 4, 4]
    """
    try:
        content = parse_json(read_bytes(path, "json"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a readable split file ({error})") from error
    if not isinstance(content, list) or not content:
        raise InputError(f"got no list of folds, expected [{{'test': ..., 'model_selection': ...}}, ...], in {path}")
    return [_fold(entry, f"fold {number}", len(graphs), path) for number, entry in enumerate(content)]


def named_folds(split: Path | str, graphs: GraphSet, folds: int | None = None) -> list[Fold]:
    """The folds that ``--split`` names: those of a split file, or by ``scaffold`` a single one, or as many ``folds`` as
    are asked for."""
    if str(split) != "scaffold":
        if difflib.get_close_matches(str(split).lower(), ["scaffold"]) and not Path(split).exists():
            raise InputError(f"--split: got {str(split)!r}, expected a split file or scaffold; did you mean scaffold?")
        return read_splits(split, graphs)
    from sargnn.data.scaffolds import scaffold_groups, scaffold_split  # which makes a Fold

    if folds is None:
        return [scaffold_split(graphs)]
    return stratified_folds(np.zeros(len(graphs), np.int64), folds, groups=scaffold_groups(graphs))


def _fold(entry: Any, where: str, total: int, path: Path | str) -> Fold:
    inner = entry.get("model_selection") if isinstance(entry, dict) else None
    if not isinstance(inner, list) or len(inner) != 1 or not isinstance(inner[0], dict):
        expected = "[{'train': ..., 'validation': ...}]"
        raise InputError(f"got no single model_selection in {where}, expected {expected}, in {path}")
    lists = {"train": inner[0].get("train"), "validation": inner[0].get("validation"), "test": entry.get("test")}
    parts = {name: _indices(values, f"{where} {name}", total, path) for name, values in lists.items()}
    if not len(parts["train"]):
        raise InputError(f"got no graphs in {where} train, expected some, in {path}")
    owner: dict[int, str] = {}
    for name, values in parts.items():
        for index in values.tolist():
            if index in owner:
                raise InputError(f"got index {index} in {where} {owner[index]} and {name}, expected it once, in {path}")
            owner[index] = name
    return Fold(**parts)


def _indices(values: Any, where: str, total: int, path: Path | str) -> np.ndarray:
    if not isinstance(values, list):
        raise InputError(f"got no list in {where}, expected graph indices, in {path}")
    for value in values:
        if type(value) is not int or not 0 <= value < total:
            raise InputError(f"got index {value!r} in {where}, expected 0..{total - 1}, in {path}")
    return np.array(values, np.int64)
