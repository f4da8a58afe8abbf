"""Files of rows under a header, CSV or Parquet (extra: ``parquet``), read some rows at a time and column by column; and
tables split on disk into parts that fit into memory."""

from __future__ import annotations

import csv
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.problems import Problems, refused, shown
from sargnn.errors import InputError
from sargnn.limits import limit_of, over
from sargnn.reading import not_utf8, open_regular, require_regular

__all__ = ["Chunk", "CsvTable", "ParquetTable", "SplitTable", "TableFile", "repeated"]

ROWS = 20_000
"""Rows of a chunk."""

DELIMITERS = ",;\t"

FEW = 200_000
"""Cells that a Parquet file may have whatever its size: what repeats is written once, with a count."""
CELL = 8
"""Bytes that a cell takes in memory at least."""

HEADER = 1 << 17
"""Characters of the first line that are looked at to find out what parts the cells."""


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
        """Where the first of ``names`` that there is stands: as it is written, else in capitals or not."""
        lower = [name.lower() for name in self.header]
        for name in names:
            if name in self.header:
                return self.header.index(name)
            if name.lower() in lower:
                return lower.index(name.lower())
        return None


class CsvTable(TableFile):
    """The rows of a CSV file, UTF-8, with comma, semicolon or tab; those that do not fit the header are problems."""

    cells = True

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        first = next(self._read(after_header=False), None)
        if first is None:
            raise refused("got an empty file, expected a header line", path)
        self.header = [name.strip() for name in first[1][0]]
        refuse_wide(self)
        for name in repeated(self.header):
            problems.add(f"two columns {shown(name)}", "every name once", file=str(path), line=1, field=name)

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.path.stat().st_size

    def again(self) -> CsvTable:
        """The same table for a second look, which tells no problems."""
        return CsvTable(self.path, Problems())

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number, counted from 1, and cells of each row that is not empty."""
        for chunk in self.chunks():
            for line, *row in zip(chunk.lines.tolist(), *chunk.columns, strict=True):
                yield line, row

    def all_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The same, also of rows that do not fit the header, which are no problems then."""
        return ((line, row) for lines, rows in self._read() for line, row in zip(lines, rows, strict=True) if row)

    def chunks(self) -> Iterator[Chunk]:
        """The rows that fit the header, many at a time; others are problems."""
        for lines, rows in self._read():
            width = len(self.header)
            if set(map(len, rows)) != {width}:
                for line, row in zip(lines, rows, strict=True):
                    if len(row) not in (0, width):
                        expected = f"{width} as in the header"
                        self.problems.add(f"{len(row)} cells", expected, file=str(self.path), line=line)
                lines = [line for line, row in zip(lines, rows, strict=True) if len(row) == width]
                rows = [row for row in rows if len(row) == width]
            yield Chunk(np.array(lines, np.int64), list(zip(*rows, strict=True)) or [()] * width)

    def _read(self, after_header: bool = True) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Line numbers and rows, many at a time."""
        lines: list[int] = []
        try:
            with TextIOWrapper(open_regular(self.path), encoding="utf-8-sig", newline="") as file:
                header = file.readline(HEADER)
                file.seek(0)
                reader = csv.reader(self._lines(file), delimiter=_delimiter(header, self.path.suffix.lower()))
                if after_header:
                    next(reader, None)
                while True:
                    rows, lines = [], []
                    for row in islice(reader, ROWS):
                        rows.append(row)
                        lines.append(reader.line_num)
                    if not rows:
                        return
                    yield lines, rows
        except OSError as error:
            raise refused(f"cannot read ({error.strerror})", self.path) from error
        except UnicodeDecodeError as error:
            got, expected = not_utf8(error, f" after line {max(lines, default=1)}")
            raise refused(f"got {got}, expected {expected}", self.path) from error
        except csv.Error as error:
            raise refused(f"not readable as CSV ({error})", self.path, max(lines, default=1) + 1) from error

    def _lines(self, file: TextIOWrapper) -> Iterator[str]:
        """The lines of a file; one without an end would take all the memory there is."""
        longest = limit_of("line")
        for number, line in enumerate(iter(lambda: file.readline(longest + 1), ""), 1):
            if problem := over("line", len(line), "characters or more in a line"):
                raise refused(problem, self.path, number)
            yield line


def repeated(header: Sequence[str]) -> list[str]:
    """The names that come more than once.

    >>> repeated(["b", "a", "", "a", "", "b"])
    ['a', 'b']
    """
    return sorted(name for name, count in Counter(header).items() if name and count > 1)


def refuse_wide(table: TableFile) -> None:
    """Refuse more columns than are allowed."""
    if problem := over("columns", len(table.header), "columns"):
        raise refused(problem, table.path, 1)


def _delimiter(header: str, suffix: str) -> str:
    """What parts the cells: a tab in a .tsv file, else what the header has most of outside quotes."""
    return "\t" if suffix == ".tsv" else max(DELIMITERS, key=re.sub(r'"[^"]*"', "", header).count)


class ParquetTable(TableFile):
    """The rows of a Parquet file."""

    cells = False

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise refused("reading Parquet needs pyarrow: pip install 'sargnn[parquet]'", path) from error
        try:
            packed = require_regular(path).st_size
            self._file = parquet.ParquetFile(path)
        except InputError:
            raise
        except (OSError, ValueError) as error:  # PyArrow's own errors are among these
            raise refused(f"not readable as Parquet ({_one_line(error)})", path) from error
        cells = self._file.metadata.num_rows * self._file.metadata.num_columns
        if cells > FEW and (problem := over("ratio", -(-CELL * cells // packed), "times as many bytes when unpacked")):
            raise refused(problem, path)
        self.header = [str(name) for name in self._file.schema_arrow.names]
        refuse_wide(self)

    @property
    def size(self) -> int:
        """Bytes to read, when unpacked."""
        metadata = self._file.metadata
        return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))

    def chunks(self) -> Iterator[Chunk]:
        """The rows, counted from 1, many at a time."""
        done = 0
        try:
            for batch in self._file.iter_batches(batch_size=ROWS):
                lines = np.arange(done + 1, done + 1 + batch.num_rows)
                done += batch.num_rows
                yield Chunk(lines, [column.to_pylist() for column in batch.columns])
        except (OSError, ValueError) as error:
            raise refused(f"not readable as Parquet ({_one_line(error)})", self.path) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class SplitTable:
    """A table in parts: part p has the rows of the graphs ``bounds[p]`` to ``bounds[p + 1]``."""

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
