"""Files that are sent: what they would unpack to is counted before they are read, then they are read as by ``load``."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from sargnn.data.graphs import GraphSet
from sargnn.data.problems import Problems
from sargnn.data.sources import SUFFIXES, read
from sargnn.errors import InputError
from sargnn.serving.limits import Limits, Refused

__all__ = ["read_file"]

UNPACKED = 10
"""Times ``max_bytes`` that a file may hold when unpacked, and ``max_graphs`` that it may have."""
LISTED = 100
"""Graphs left out that are named."""
ENDS_A_GRAPH = dict.fromkeys((".csv", ".tsv", ".smi", ".jsonl", ".ndjson"), b"\n") | {".sdf": b"$$$$"}


def read_file(name: str, content: bytes, limits: Limits) -> tuple[GraphSet, tuple[str, ...]]:
    """The graphs of a file that was sent, and why some of it was left out. Only the end of its name is used."""
    name = name.replace("\\", "/")
    if name.lower().endswith(".gz"):
        name, content = name[:-3], _unpacked(content, limits)
        _refuse_ending(name, [suffix for suffix in SUFFIXES if suffix != ".zip"])
    _refuse_ending(name, SUFFIXES)
    stem, suffix = Path(name).stem, Path(name).suffix.lower()
    _count(suffix, content, limits)
    problems = Problems()
    with TemporaryDirectory(prefix="sargnn-") as folder:
        path = Path(folder, f"graphs{suffix}")
        path.write_bytes(content)
        try:
            graphs = read(str(path), problems, labelled=None)
        except InputError as error:
            raise InputError(str(error).replace(f"{path}", "file").replace(folder, "")) from error
        left_out = tuple(str(problem).replace(str(path), "file") for problem in problems.left_out[:LISTED])
    _refuse_more(len(graphs), "graphs in a file", UNPACKED * limits.max_graphs)
    notes = tuple(note.replace(str(path), "file") for note in graphs.notes if not note.startswith("left out: "))
    return replace(graphs, name=stem[:80] or "file", notes=notes), left_out


def _refuse_ending(name: str, expected: list[str] | tuple[str, ...]) -> None:
    suffix = Path(name).suffix.lower()
    if suffix not in expected:
        raise InputError(f"got a file that ends in {suffix[:20]!r}, expected one of {', '.join(expected)}")


def _refuse_more(got: int, what: str, most: int) -> None:
    if got > most:
        raise Refused(413, f"got {got} {what}, expected at most {most}")


def _unpacked(content: bytes, limits: Limits) -> bytes:
    most = UNPACKED * limits.max_bytes
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            found = packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"got no readable gzip ({' '.join(str(error).split())})") from error
    _refuse_more(len(found), "bytes or more when unpacked", most)
    return found


def _count(suffix: str, content: bytes, limits: Limits) -> None:
    """Refuse a file of more graphs, or one that unpacks to more, than is allowed."""
    if suffix == ".zip":
        _count_zip(content, limits)
    elif suffix == ".parquet":
        _count_parquet(content, limits)
    elif suffix in ENDS_A_GRAPH:
        what = "graphs in a file" if suffix == ".sdf" else "lines in a file"
        _refuse_more(content.count(ENDS_A_GRAPH[suffix]), what, UNPACKED * limits.max_graphs + 1)


def _count_zip(content: bytes, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _refuse_more(sum(one.file_size for one in members), "bytes when unpacked", UNPACKED * limits.max_bytes)
            _refuse_more(len(members), "files in a zip", UNPACKED * limits.max_graphs)
            for one in members:
                suffix = PurePosixPath(one.filename).suffix.lower()
                if suffix in (".zip", ".gz"):
                    raise InputError(f"got a file that ends in {suffix!r} in a zip, expected no archive in an archive")
                if suffix == ".parquet" or len(members) == 1:
                    _count(suffix, archive.read(one), limits)
    except (InputError, Refused):
        raise
    except Exception as error:  # a damaged zip raises almost anything
        raise InputError(f"got no readable zip ({' '.join(str(error).split())})") from error


def _count_parquet(content: bytes, limits: Limits) -> None:
    """A column that repeats itself takes hardly any bytes, so its values and the letters in them are counted."""
    try:
        import pyarrow
        from pyarrow import compute, parquet
    except ImportError as error:
        raise InputError("reading Parquet needs pyarrow: pip install 'sargnn[parquet]'") from error
    try:
        about = parquet.ParquetFile(io.BytesIO(content)).metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        packed = sum(group.total_byte_size for group in groups)
        values = sum(group.column(j).num_values for group in groups for j in range(group.num_columns))
        most = UNPACKED * limits.max_bytes
        _refuse_more(packed, "bytes when unpacked", most)
        _refuse_more(values, "values in a file", limits.max_bytes)
        file = parquet.ParquetFile(io.BytesIO(content), read_dictionary=about.schema.names)
        letters = 0
        for batch in file.iter_batches():
            for column in batch.columns:
                if pyarrow.types.is_dictionary(column.type):
                    lengths = compute.binary_length(column.dictionary).take(column.indices)
                    letters += compute.sum(lengths).as_py() or 0
            _refuse_more(letters, "bytes when unpacked", most)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:  # PyArrow's own errors are among these
        raise InputError(f"got no readable Parquet ({' '.join(str(error).split())[:200]})") from error
