"""Where the graphs of a set came from: the rows of the input, also of those left out, and what its columns are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sargnn.data.roles import USUAL, Roles

__all__ = ["Origin", "SourceRows"]


@dataclass(frozen=True, eq=False)
class SourceRows:
    """The rows of a table that became graphs, or did not.

    >>> rows = SourceRows({"id": ["a", "b", "c"]}, np.array([0, -1, 1]), {1: "not SMILES"})
    >>> rows.subset(np.array([1])).graph.tolist()
    [-1, -1, 0]
    """

    columns: Mapping[str, Sequence[Any]]
    """R values each, as they were written."""
    graph: np.ndarray
    """int64 [R]: the graph of each row in the set; -1 where it is none."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """By row, why it is no graph."""

    def subset(self, index: np.ndarray) -> SourceRows:
        """For the graphs at ``index`` of the set; the rows of others have none."""
        place = np.full(int(self.graph.max(initial=-1)) + 2, -1)
        place[index] = np.arange(len(index))
        place[-1] = -1
        return replace(self, graph=place[self.graph])


@dataclass(frozen=True, eq=False)
class Origin:
    """What reading a set knows beside its graphs. It is no part of a set's content, and is not saved with it."""

    roles: Roles = USUAL
    """What each column was taken for."""
    rows: SourceRows | None = None
    """None where the input has no rows."""

    def subset(self, index: np.ndarray) -> Origin:
        return self if self.rows is None else replace(self, rows=self.rows.subset(index))
