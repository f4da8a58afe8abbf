"""Rows of a table, some at a time and column by column, and tables split on disk into parts that fit into memory."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ROWS", "Chunk", "SplitTable", "TableFile"]

ROWS = 20_000
"""Rows of a chunk."""


@dataclass(frozen=True)
class Chunk:
    """Some rows."""

    lines: np.ndarray
    """int64 [R]: where each row stands, counted from 1."""
    columns: Sequence[Sequence[Any]]
    """R values each; no lists of rows, because many small lists are slow and large."""
    graph: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """int64 [R]: the graph of each row, once it is known."""

    def take(self, rows: np.ndarray) -> Chunk:
        """Some of the rows."""
        columns = [[column[i] for i in rows.tolist()] for column in self.columns]
        return Chunk(self.lines[rows], columns, self.graph[rows] if len(self.graph) else self.graph)

    def sorted(self) -> Chunk:
        """By graph; rows of one graph keep their order."""
        in_order = (np.diff(self.graph) >= 0).all()
        return self if in_order else self.take(np.argsort(self.graph, kind="stable"))

    @staticmethod
    def joined(chunks: Sequence[Chunk], width: int) -> Chunk:
        """One after the other; ``width`` is the number of columns, also of no chunks."""
        lines, graph = (
            np.concatenate([*(getattr(chunk, name) for chunk in chunks), np.empty(0, np.int64)])
            for name in ("lines", "graph")
        )
        columns = [list(chain.from_iterable(chunk.columns[i] for chunk in chunks)) for i in range(width)]
        return Chunk(lines, columns, graph)


class TableFile(ABC):
    """A file of rows under a header; what sets one kind of file apart from another is how rows are read."""

    path: Path
    header: list[str]
    cells: bool
    """Whether every value is text, also a number."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes to read."""

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The rows, many at a time."""

    def column(self, *names: str) -> int | None:
        """Where the first of ``names`` that there is stands, in capitals or not."""
        lower = [name.lower() for name in self.header]
        return next((lower.index(name.lower()) for name in names if name.lower() in lower), None)


class SplitTable:
    """A table in parts: part p has the rows of the graphs ``bounds[p]`` to ``bounds[p + 1]``.

    >>> from tempfile import TemporaryDirectory
    >>> chunk = Chunk(np.array([2, 3, 4]), [["a", "b", "c"]], graph=np.array([0, 3, 1]))
    >>> with TemporaryDirectory() as folder:
    ...     split = SplitTable(Path(folder, "nodes"), [0, 2, 4], width=1)
    ...     split.fill([chunk])
    ...     [(part.graph.tolist(), part.lines.tolist(), part.columns) for part in map(split.read, (0, 1))]
    [([0, 1], [2, 4], [['a', 'c']]), ([3], [3], [['b']])]
    """

    def __init__(self, prefix: Path, bounds: Sequence[int], width: int) -> None:
        self.paths = [prefix.with_name(f"{prefix.name}-{part}.jsonl") for part in range(len(bounds) - 1)]
        self.bounds = np.asarray(bounds)
        self.width = width

    def fill(self, chunks: Iterable[Chunk]) -> None:
        """Write all rows, of which the graph is known."""
        for chunk in chunks:
            part = np.searchsorted(self.bounds, chunk.graph, side="right") - 1
            for one in np.unique(part).tolist():
                own = chunk.take(np.flatnonzero(part == one))
                with self.paths[one].open("a", encoding="ascii") as file:
                    file.write(json.dumps([own.lines.tolist(), list(own.columns), own.graph.tolist()]) + "\n")

    def read(self, part: int) -> Chunk:
        """The rows of a part; its file is then no longer needed."""
        chunks = []
        if self.paths[part].exists():
            with self.paths[part].open(encoding="ascii") as file:
                for lines, columns, graph in map(json.loads, file):
                    chunks.append(Chunk(np.array(lines, np.int64), columns, np.array(graph, np.int64)))
            self.paths[part].unlink()
        return Chunk.joined(chunks, self.width)
