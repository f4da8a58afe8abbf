"""Parquet, some rows at a time (extra: ``parquet``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sargnn.data.io.table_chunks import ROWS, Chunk, TableFile
from sargnn.data.problems import Problems, refused

__all__ = ["ParquetTable"]


class ParquetTable(TableFile):
    """The rows of a Parquet file, like those of :class:`sargnn.data.io.csv_files.CsvTable`."""

    cells = False

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise refused("reading Parquet needs pyarrow: pip install 'sargnn[parquet]'", path) from error
        try:
            self._file = parquet.ParquetFile(path)
        except (OSError, ValueError) as error:  # PyArrow's own errors are among these
            raise refused(f"not readable as Parquet ({_one_line(error)})", path) from error
        self.header = [str(name) for name in self._file.schema_arrow.names]

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
