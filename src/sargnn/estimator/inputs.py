"""What estimators are fitted to: graphs out of whatever scikit-learn makes of them, and columns of targets."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from sargnn.data.graphs import EDGE_ARRAYS, GRAPH_ARRAYS, NODE_ARRAYS, GraphSet
from sargnn.data.sources import load
from sargnn.errors import InputError

__all__ = ["columns_of", "graphs_of", "with_targets", "with_weights"]

VOCABULARIES = ("classes", "node_label_names", "edge_label_names", "target_names")


def graphs_of(X: Any, labelled: bool | None = False) -> GraphSet:
    """The graphs of ``X``, with their classes or targets if all have some; ``labelled`` as in :func:`load`."""
    if isinstance(X, list | tuple | np.ndarray) and len(X) and all(isinstance(item, GraphSet) for item in X):
        return _joined(list(X))
    return load(X, labelled=labelled)


def _joined(sets: list[GraphSet]) -> GraphSet:
    """Sets that are parts of the same one, joined: their categories must have the same names."""
    first = sets[0]
    for position, other in enumerate(sets):
        for name in VOCABULARIES:
            if getattr(other, name) != getattr(first, name):
                raise InputError(f"X: got other {name} in item {position} than in item 0, expected graphs of one set")
    joined: dict[str, Any] = {}
    for name in (*NODE_ARRAYS, *EDGE_ARRAYS, *GRAPH_ARRAYS):
        parts = [getattr(item, name) for item in sets]
        joined[name] = None if any(part is None for part in parts) else np.concatenate(parts)
    for name in ("node_ptr", "edge_ptr"):
        counts = np.concatenate([np.diff(getattr(item, name)) for item in sets])
        joined[name] = np.concatenate([[0], np.cumsum(counts)])
    joined["edges"] = np.concatenate([item.edges for item in sets], axis=1)
    for name in ("graph_names", "smiles"):
        joined[name] = tuple(chain.from_iterable(getattr(item, name) for item in sets))
    return replace(first, **joined, origin=None)


def columns_of(y: Any) -> np.ndarray:
    """float64 [G, T] or [G]: numbers with gaps, which are NaN.

    >>> columns_of([[0, 1], [None, 0]]).tolist()
    [[0.0, 1.0], [nan, 0.0]]
    """
    try:
        given = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y: got {error}, expected numbers") from error
    found: np.ndarray = check_array(given, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
    return found


def with_targets(graphs: GraphSet, targets: np.ndarray, y: Any) -> GraphSet:
    """The graphs with ``targets`` [G, T] in place of their own, called as the columns of ``y`` are, if it has any."""
    check_consistent_length(range(len(graphs)), targets)
    names = getattr(y, "columns", range(targets.shape[1]))
    return replace(
        graphs, y=None, classes=(), class_titles=(), targets=targets, target_names=tuple(map(str, names)), part=None
    )


def with_weights(graphs: GraphSet, weights: Any) -> GraphSet:
    """The graphs with ``weights`` [G] in place of their own, where some are given."""
    if weights is None:
        return graphs
    found = check_array(weights, ensure_2d=False, dtype=np.float32, input_name="sample_weight")
    if found.shape != (len(graphs),):
        raise InputError(f"sample_weight: got shape {found.shape}, expected {(len(graphs),)}: one number per graph")
    if (found < 0).any() or not found.any():
        raise InputError("sample_weight: got negative numbers or zeros only, expected 0 or more, and some above 0")
    return replace(graphs, weights=found)
