"""Columns of targets: found by name, refused where nothing can be learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.targets import LARGEST
from sargnn.data.problems import shown
from sargnn.errors import InputError

__all__ = ["are_binary", "found_columns", "mean_of_targets", "names_of", "require_targets"]


def are_binary(targets: np.ndarray) -> bool:
    """Whether there is nothing but 0, 1 and NaN.

    >>> are_binary(np.array([[0.0, np.nan], [1.0, 1.0]])), are_binary(np.array([[0.5]]))
    (True, False)
    """
    return bool(np.isin(targets[~np.isnan(targets)], (0, 1)).all())


def require_targets(graphs: GraphSet) -> np.ndarray:
    """float64 [G, T]: the targets of a set; refuses what nothing can be learned from."""
    targets, where = graphs.targets, graphs.name
    if targets is None:
        got = "no targets" if graphs.y is None else f"one class for each graph ({', '.join(graphs.classes[:3])}, ...)"
        raise InputError(f"{where}: got {got}, expected columns of targets")
    rows, columns = targets.shape
    if columns > rows:
        raise InputError(f"{where}: got {columns} targets of {rows} graphs, expected no more targets than graphs")
    if (huge := np.abs(targets) > LARGEST).any():
        graph, column = np.argwhere(huge)[0].tolist()
        got = f"got {targets[graph, column]:g} in {graphs.called(graph)}, target {graphs.target_names[column]!r}"
        raise InputError(f"{where}: {got}, expected a number between -{LARGEST:g} and {LARGEST:g}")
    missing = np.isnan(targets).all(axis=0)
    if missing.any():
        name = graphs.target_names[int(np.argmax(missing))]
        raise InputError(f"{where}: got no value of target {name!r} in any of {rows} graphs, expected some")
    return targets


def found_columns(graphs: GraphSet, names: Sequence[str], kind: str) -> np.ndarray:
    """float64 [G, T]: the targets called ``names``, in that order."""
    expected = f"the targets of this {kind} model: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
    if graphs.targets is None:
        got = "no targets" if graphs.y is None else "one class for each graph"
        raise InputError(f"{graphs.name}: got {got}, expected {expected}")
    for name in names:
        if name not in graphs.target_names:
            raise InputError(f"{graphs.name}: got no target {name!r}, expected {expected}")
    order = [graphs.target_names.index(name) for name in names]
    return np.array(graphs.targets[:, order], np.float64)


def names_of(content: Any) -> tuple[str, ...]:
    """The names of the outputs of a saved model: texts, each once.

    >>> names_of(["a", "b"])
    ('a', 'b')
    """
    if not isinstance(content, list) or not content or not all(isinstance(name, str) for name in content):
        raise InputError(f"got {shown(content, 80)}, expected a list of names")
    if len(set(content)) < len(content):
        raise InputError(f"got the names {shown(content, 80)}, expected every name once")
    return tuple(content)


def mean_of_targets(found: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """The mean of each score over the targets for which it is defined.

    >>> mean_of_targets([{"auroc": 0.75}, {"auroc": None}, {"auroc": 0.5}])
    {'auroc': 0.625}
    """
    means: dict[str, float | None] = {}
    for key in found[0] if found else ():
        known = [value for scores in found if (value := scores[key]) is not None]
        means[key] = float(np.mean(known)) if known else None
    return means
