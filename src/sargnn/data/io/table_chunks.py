"""Rows of a table, some at a time and column by column, and tables split on disk into parts that fit into memory."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: np.ndarray) -> Chunk:
        """Some of the rows."""
        index = rows.tolist()
        return Chunk(self.lines[rows], [[column[i] for i in index] for column in self.columns])

    @staticmethod
    def joined(chunks: Sequence[Chunk], width: int) -> Chunk:
        """One after the other; ``width`` is the number of columns, also of no chunks."""
        lines = np.concatenate([*(chunk.lines for chunk in chunks), np.empty(0, np.int64)])
        return Chunk(lines, [list(chain.from_iterable(chunk.columns[i] for chunk in chunks)) for i in range(width)])


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
    >>> chunk = Chunk(np.array([2, 3, 4]), [["a", "b", "c"]])
    >>> with TemporaryDirectory() as folder:
    ...     split = SplitTable(Path(folder, "nodes"), [0, 2, 4], width=1)
    ...     split.fill([(np.array([0, 3, 1]), chunk)])
    ...     [(graph.tolist(), part.lines.tolist(), part.columns) for graph, part in map(split.read, (0, 1))]
    [([0, 1], [2, 4], [['a', 'c']]), ([3], [3], [['b']])]
    """

    def __init__(self, prefix: Path, bounds: Sequence[int], width: int) -> None:
        self.paths = [prefix.with_name(f"{prefix.name}-{part}.jsonl") for part in range(len(bounds) - 1)]
        self.bounds = np.asarray(bounds)
        self.width = width

    def fill(self, chunks: Iterable[tuple[np.ndarray, Chunk]]) -> None:
        """Write all rows, which come with the number of their graph, int64 [R]."""
        for graph, chunk in chunks:
            part = np.searchsorted(self.bounds, graph, side="right") - 1
            for one in np.unique(part).tolist():
                rows = np.flatnonzero(part == one)
                own = chunk if len(rows) == len(part) else chunk.take(rows)
                with self.paths[one].open("a", encoding="ascii") as file:
                    file.write(json.dumps([graph[rows].tolist(), own.lines.tolist(), list(own.columns)]) + "\n")

    def read(self, part: int) -> tuple[np.ndarray, Chunk]:
        """The rows of a part with their graphs; its file is then no longer needed."""
        graphs, chunks = [np.empty(0, np.int64)], []
        if self.paths[part].exists():
            with self.paths[part].open(encoding="ascii") as file:
                for text in file:
                    graph, lines, columns = json.loads(text)
                    graphs.append(np.array(graph, np.int64))
                    chunks.append(Chunk(np.array(lines, np.int64), columns))
            self.paths[part].unlink()
        return np.concatenate(graphs), Chunk.joined(chunks, self.width)
