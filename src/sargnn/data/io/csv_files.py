"""CSV with a header line, some rows at a time: comma, semicolon or tab, quoted or not, UTF-8."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from sargnn.data.io.table_chunks import ROWS, Chunk, TableFile
from sargnn.data.problems import Problems, refused, shown

__all__ = ["CsvTable"]

DELIMITERS = ",;\t"


class CsvTable(TableFile):
    """The rows of a CSV file; those that do not fit the header are problems and are passed over.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "graphs.csv")
    ...     _ = path.write_text("graph,label\\nfirst,1\\nsecond,0\\n")
    ...     table = CsvTable(path, Problems())
    ...     table.header, list(table.rows())
    (['graph', 'label'], [(2, ['first', '1']), (3, ['second', '0'])])
    """

    cells = True

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        first = next(self._read(after_header=False), None)
        if first is None:
            raise refused("got an empty file, expected a header line", path)
        self.header = [name.strip() for name in first[1][0]]
        named = [name for name in self.header if name]
        for name in sorted({name for name in named if named.count(name) > 1}):
            problems.add(f"two columns {shown(name)}", "every name once", file=str(path), line=1, field=name)

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.path.stat().st_size

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number, counted from 1, and cells of each row that is not empty."""
        for chunk in self.chunks():
            for line, *row in zip(chunk.lines.tolist(), *chunk.columns, strict=True):
                yield line, row

    def chunks(self) -> Iterator[Chunk]:
        """The same, many at a time."""
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
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                delimiter = max(DELIMITERS, key=file.readline(csv.field_size_limit()).count)
                file.seek(0)
                reader = csv.reader(file, delimiter=delimiter)
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
            got = "bytes that are not UTF-8 text"
            raise refused(f"got {got} after line {max(lines, default=1)}, expected UTF-8", self.path) from error
        except csv.Error as error:
            raise refused(f"not readable as CSV ({error})", self.path, max(lines, default=1) + 1) from error
