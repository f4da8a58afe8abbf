"""Going through a set of any size in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from sargnn.data.graphs import CELLS, GraphSet, ranges

__all__ = ["Element", "SetChunks"]

Element = Literal["node", "edge", "graph"]
"""What labels and attributes belong to; also how the arrays of a :class:`GraphSet` that hold them begin."""


class SetChunks:
    """The graphs at ``index`` (default: all) in chunks of at most ``CELLS`` numbers and one more graph.

    A small set is one chunk, in the order of ``index``. The chunks of a larger one follow the order of the set, so that
    a memory-mapped file is read from beginning to end.

    >>> from sargnn.data.graphs import pack
    >>> [chunk.num_nodes for chunk in SetChunks(pack([(1, []), (2, []), (4, [])]), [2, 0])]
    [5]
    """

    def __init__(self, graphs: GraphSet, index: Sequence[int] | np.ndarray | None = None) -> None:
        self.graphs = graphs
        chosen = np.arange(len(graphs)) if index is None else np.asarray(index, np.int64)
        cells = _cells(graphs)
        if cells[chosen].sum() > CELLS:
            chosen = np.sort(chosen)
        number = (np.cumsum(cells[chosen]) - 1) // CELLS
        self.indices = np.split(chosen, np.flatnonzero(np.diff(number)) + 1)

    def __iter__(self) -> Iterator[GraphSet]:
        return iter((self._only,)) if len(self.indices) == 1 else map(self.graphs.subset, self.indices)

    @cached_property
    def _only(self) -> GraphSet:
        return self.graphs.subset(self.indices[0])

    def rows(self, of: Element) -> Iterator[np.ndarray]:
        """The rows of each chunk's nodes (edges, graphs) in the arrays of the set. Chunks without any are left out; if
        all have none, one array is empty."""
        pointers = np.arange(len(self.graphs) + 1) if of == "graph" else getattr(self.graphs, f"{of}_ptr")
        filled = [some for some in self.indices if (pointers[some + 1] > pointers[some]).any()]
        return (ranges(pointers, some) for some in filled or self.indices[:1])


def _cells(graphs: GraphSet) -> np.ndarray:
    """int64 [G]: about how many numbers each graph is made of."""
    attributes = (graphs.graph_attributes, graphs.node_attributes, graphs.edge_attributes)
    graph, node, edge = (1 if values is None else 1 + values.shape[1] for values in attributes)
    return np.asarray(graph + node * graphs.sizes + edge * np.diff(graphs.edge_ptr))
