"""The ceiling beside every number: what isomorphic graphs allow any model to reach, and what looking them up reaches.

A twin of a graph is another graph of the set that is isomorphic to it. A function of the graph gives twins one answer,
so where their classes differ it is wrong on some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.isomorphism import isomorphism_classes
from sargnn.data.splits import Fold

__all__ = ["Twins", "find_twins", "twins_by_content", "unavoidable_errors"]

CONTENT = {
    "node_labels": "node labels",
    "edge_labels": "edge labels",
    "node_attributes": "node attributes",
    "edge_attributes": "edge attributes",
    "graph_attributes": "graph attributes",
}
"""What a graph may hold besides its nodes and edges: the field, and its words."""


@dataclass(frozen=True)
class Twins:
    """What :func:`find_twins` found; numbers are fractions.

    >>> print(Twins(("node labels",), graphs=8, with_twin=0.5, ceiling=0.75, test_with_twin=0.25, lookup_right=1.0))
    50.0 % have a twin, ceiling 75.0 %, 25.0 % of test graphs have a twin in training, looking it up is right on 100.0 %
    """

    respected: tuple[str, ...]
    """What twins must share besides their nodes and edges."""
    graphs: int
    with_twin: float
    """Graphs with a twin."""
    ceiling: float | None
    """The best accuracy that a function of the graph can have on this set: each graph gets the majority class of its
    twins and itself. None without classes."""
    test_with_twin: float | None
    """Test graphs, over all folds, with a twin among the training and validation graphs. None without folds."""
    lookup_right: float | None
    """Of those, the ones whose class is that of most of these twins; among k classes that tie, a graph counts 1 / k.
    None where there are none."""
    by_colours: int = 0
    """Graphs that count as a twin by the colours of Weisfeiler and Leman alone: the search was given up."""

    def __str__(self) -> str:
        parts = [
            (self.with_twin, "{} have a twin"),
            (self.ceiling, "ceiling {}"),
            (self.test_with_twin, "{} of test graphs have a twin in training"),
            (self.lookup_right, "looking it up is right on {}"),
        ]
        texts = [words.format(f"{100 * value:.1f} %") for value, words in parts if value is not None]
        return ", ".join([*texts, *([f"{self.by_colours} twins by colours alone"] if self.by_colours else [])])


def find_twins(graphs: GraphSet, folds: Sequence[Fold] = ()) -> Twins:
    """How many graphs have a twin, and what this means for the accuracy on them and on the test graphs of ``folds``.

    >>> from sargnn.data.graphs import pack
    >>> find_twins(pack([(1, []), (1, []), (1, []), (2, [])], y=[0, 0, 1, 1], classes=["a", "b"])).ceiling
    0.75
    """
    twins, by_colours = isomorphism_classes(graphs)
    y = graphs.y
    looked_up = [] if y is None else [_look_up(twins, y, fold) for fold in folds]
    found, right = np.concatenate([np.empty((2, 0)), *looked_up], axis=1)
    return Twins(
        respected=tuple(words for field, words in CONTENT.items() if getattr(graphs, field) is not None),
        graphs=len(graphs),
        with_twin=_mean(np.bincount(twins)[twins] > 1) or 0.0,
        ceiling=None if y is None else 1 - _errors(twins, y) / max(len(y), 1),
        test_with_twin=_mean(found),
        lookup_right=_mean(right[found > 0]),
        by_colours=by_colours,
    )


def twins_by_content(graphs: GraphSet, folds: Sequence[Fold] = ()) -> list[Twins]:
    """Twins by their nodes and edges alone; then node labels count too, then edge labels, then all attributes.

    >>> from sargnn.data.graphs import pack
    >>> graphs = pack([(1, []), (1, [])], node_labels=[0, 1], node_label_names=["C", "O"])
    >>> [(twins.respected, twins.with_twin) for twins in twins_by_content(graphs)]
    [((), 1.0), (('node labels',), 0.0)]
    """
    steps = [field for field in ("node_labels", "edge_labels") if getattr(graphs, field) is not None]
    kept = [steps[:count] for count in range(len(steps) + 1)]
    if any(getattr(graphs, field) is not None for field in CONTENT if field.endswith("attributes")):
        kept.append([*CONTENT])
    hidden: list[dict[str, Any]] = [{field: None for field in CONTENT if field not in fields} for fields in kept]
    return [find_twins(replace(graphs, **fields), folds) for fields in hidden]


def unavoidable_errors(graphs: GraphSet) -> int:
    """How many of ``graphs`` any function of the graph gets wrong at the least.

    >>> from sargnn.data.graphs import pack
    >>> unavoidable_errors(pack([(1, []), (1, []), (1, []), (2, [])], y=[0, 0, 1, 1], classes=["a", "b"]))
    1
    """
    return 0 if graphs.y is None else _errors(isomorphism_classes(graphs)[0], graphs.y)


def _errors(twins: np.ndarray, y: np.ndarray) -> int:
    return len(y) - int(_votes(twins, y, np.arange(len(y))).max(axis=1, initial=0).sum())


def _look_up(twins: np.ndarray, y: np.ndarray, fold: Fold) -> np.ndarray:
    """float64 [2, T]: for each test graph, whether it has a twin outside the test part, and how often that is right."""
    votes = _votes(twins, y, np.concatenate([fold.train, fold.validation]))[twins[fold.test]]
    most = votes.max(axis=1, initial=0)
    right = votes[np.arange(len(votes)), y[fold.test]] == most
    return np.stack([most > 0, right / (votes == most[:, None]).sum(axis=1)])


def _votes(twins: np.ndarray, y: np.ndarray, graphs: np.ndarray) -> np.ndarray:
    """int64 [isomorphism classes, classes]: how many of ``graphs`` there are of each."""
    votes = np.zeros((twins.max(initial=-1) + 1, y.max(initial=-1) + 1), np.int64)
    np.add.at(votes, (twins[graphs], y[graphs]), 1)
    return votes


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None
