"""Encodings of what graphs come with: labels, and attributes, which may have gaps.

A gap is NaN in a :class:`GraphSet`. It is read as the mean of the training graphs, which is 0 once standardised. With
``data.missing=flag``, each attribute that has gaps in the training graphs gets a column that is 1 at a gap, else 0, so
that a model can learn what it means that a number is not there. An attribute without gaps there has no such column,
since nothing could be learned from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sargnn.data.features.base import Encoding, check_columns, check_number
from sargnn.data.features.given_inputs import attribute_called, gaps_of, given_attributes, given_labels, require_no_gaps
from sargnn.data.features.standardisation import moments, over_deviation
from sargnn.data.graphs import GraphSet
from sargnn.data.problems import shown
from sargnn.data.set_chunks import Element, SetChunks
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.data.features.encodings import DataConfig

__all__ = ["MISSING", "Attributes", "Labels", "Missing"]

Missing = Literal["refuse", "mean", "flag"]
"""What to make of gaps in attributes."""
MISSING: tuple[Missing, ...] = get_args(Missing)

LISTED = 20
"""Names that a message has."""
FARTHEST = 1e4
"""Deviations from the mean up to which an attribute is read: far beyond, networks overflow."""


@dataclass(frozen=True)
class Labels(Encoding):
    """One-hot of the label, matched by name: another file may number its labels differently."""

    names: tuple[str, ...]
    of: Literal["node", "edge"] = "node"
    rare: int = 0
    """Labels of fewer training graphs share the last column with those never seen; 0: there is no such column, and a
    label without a name is in none of the columns."""

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"names: got {shown(list(self.names), 80)}, expected one or more, each once")
        check_columns("labels", len(self.names))

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks, of: Literal["node", "edge"] = "node") -> Labels:
        # All names of the set, seen in training or not: a rare label must not make a test graph unreadable.
        names = max((given_labels(training.graphs, of, rows)[1] for rows in training.rows(of)), key=len)
        if config.rare_labels:
            graphs_of = _graphs_of_labels(training, of, len(names))
            names = tuple(name for name, count in zip(names, graphs_of, strict=True) if count >= config.rare_labels)
        return cls(names, of, config.rare_labels)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (*(f"label {name}" for name in self.names), *(["label unknown"] if self.rare else []))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        columns, _, _ = self._columns(graphs)
        out = np.zeros((len(columns), len(self.feature_names)), np.float32)
        known = columns >= 0
        out[known, columns[known]] = 1
        out[~known, len(self.names) :] = 1
        return out

    def strange(self, graphs: GraphSet) -> tuple[np.ndarray, list[str]]:
        """bool [G], which graphs have labels without a column of their own, and these labels."""
        names, starts = getattr(graphs, f"{self.of}_label_names"), getattr(graphs, f"{self.of}_ptr")
        known = names and set(names) <= set(self.names)  # as it nearly always is: then no row need be looked at
        if known or not starts[-1]:
            return np.zeros(len(graphs), bool), []
        columns, own_codes, own_names = self._columns(graphs)
        rows = np.flatnonzero(columns < 0)
        owner = np.searchsorted(starts, rows, "right") - 1
        return np.isin(np.arange(len(graphs)), owner), [own_names[code] for code in np.unique(own_codes[rows])]

    def _columns(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """int64: the column of every node or edge, -1 where its label has none; its own code, and what codes mean."""
        own_codes, own_names = given_labels(graphs, self.of)
        column = {name: i for i, name in enumerate(self.names)}
        return np.array([column.get(name, -1) for name in own_names], np.int64)[own_codes], own_codes, own_names


@dataclass(frozen=True)
class Attributes(Encoding):
    """Attributes, each less its mean over its deviation on the training nodes (edges, graphs), clipped to
    :data:`FARTHEST` deviations, which none of a hundred million training nodes can reach; then the flags of gaps."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    of: Element = "node"
    names: tuple[str, ...] = ()
    """What the columns are called, where that is known: other graphs may have them in another order, or have more."""
    missing: Missing = "flag"
    gaps: tuple[int, ...] = ()
    """The columns that had gaps in the training graphs."""

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected as many")
        if len(self.names) not in (0, len(self.mean)):
            raise InputError(f"got {len(self.names)} names, expected {len(self.mean)}")
        if self.gaps != tuple(sorted({*self.gaps} & {*range(len(self.mean))})):
            raise InputError(f"gaps: got {shown(list(self.gaps), 80)}, expected rising columns of {len(self.mean)}")
        check_columns("attributes", len(self.feature_names))
        check_number("std", min(self.std), 0)

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks, of: Element = "node") -> Attributes:
        if config.missing == "refuse":  # also in graphs that are held out, before anything is trained
            require_no_gaps(training.graphs, of)
        is_gap: list[np.ndarray] = []

        def read(rows: np.ndarray) -> np.ndarray:
            values = given_attributes(training.graphs, of, rows)
            is_gap.append(np.isnan(values).any(axis=0))
            return values

        mean, std = moments(map(read, training.rows(of)))
        gaps = tuple(np.flatnonzero(np.any(is_gap, axis=0)).tolist())
        return cls(mean, std, of, getattr(training.graphs, f"{of}_attribute_names"), config.missing, gaps)

    @property
    def feature_names(self) -> tuple[str, ...]:
        flags = self.gaps if self.missing == "flag" else ()
        return (*(f"attribute {i}" for i in range(len(self.mean))), *(f"attribute {i} missing" for i in flags))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        values = given_attributes(graphs, self.of)[:, self._columns(graphs)]
        is_gap = np.isnan(values)
        if self.missing == "refuse" and is_gap.any():
            require_no_gaps(graphs, self.of, self._columns(graphs))
        scaled = np.clip(over_deviation(values - self.mean, self.std), -FARTHEST, FARTHEST)
        scaled[is_gap] = 0
        flags = self.gaps if self.missing == "flag" else ()
        return np.concatenate([scaled, is_gap[:, flags]], axis=1) if flags else np.asarray(scaled)

    def new_gaps(self, graphs: GraphSet) -> tuple[np.ndarray, list[str]]:
        """bool [G], which graphs have gaps in columns that had none in training, and what these columns are called."""
        which = np.zeros(len(graphs), bool)
        starts = np.arange(len(graphs) + 1) if self.of == "graph" else getattr(graphs, f"{self.of}_ptr")
        columns = np.arange(self._width(graphs))[self._columns(graphs)] if self._width(graphs) else np.empty(0, int)
        fresh = [int(place) for column, place in enumerate(columns) if column not in self.gaps]
        found: set[int] = set()
        for rows, places in gaps_of(graphs, self.of, fresh):
            which[np.searchsorted(starts, rows, "right") - 1] = True
            found.update(places.tolist())
        return which, [attribute_called(graphs, self.of, place) for place in fresh if place in found]

    def _columns(self, graphs: GraphSet) -> list[int] | slice:
        """Where the columns stand among those of other graphs, by name if both have names."""
        own, width = getattr(graphs, f"{self.of}_attribute_names"), self._width(graphs)
        if self.names and own and own != self.names:
            return self._places(own, graphs.name)
        if width != len(self.mean):
            raise InputError(f"got {width} {self.of} attributes, expected {len(self.mean)}, in {graphs.name}")
        return slice(None)  # all, without a copy

    def _width(self, graphs: GraphSet) -> int:
        """How many attributes the graphs have; none where there is nothing that could have them."""
        given = getattr(graphs, f"{self.of}_attributes")
        return 0 if given is None or not given.size else int(given.shape[1])

    def _places(self, own: tuple[str, ...], where: str) -> list[int]:
        """Where each column stands among those of other graphs; refused where they lack one."""
        if missing := [name for name in self.names if name not in own]:
            got, expected = ", ".join(map(shown, own[:LISTED])), ", ".join(map(shown, missing[:LISTED]))
            raise InputError(f"got {self.of} attributes {got}, expected {expected} among them, in {where}")
        return [own.index(name) for name in self.names]


def _graphs_of_labels(training: SetChunks, of: Literal["node", "edge"], labels: int) -> np.ndarray:
    """int64 [labels]: in how many training graphs each label is."""
    counts = np.zeros(labels, np.int64)
    starts = getattr(training.graphs, f"{of}_ptr")
    for rows in training.rows(of):
        owner = np.searchsorted(starts, rows, "right") - 1
        codes = given_labels(training.graphs, of, rows)[0]
        counts += np.bincount(np.unique(np.stack([owner, codes]), axis=1)[1], minlength=labels)
    return counts
