"""Sets of graphs that can be browsed: the one that the server was started with, and files that were dropped.

A file that was dropped is known by a name that cannot be guessed, so nobody sees another's graphs. The oldest are
forgotten when there are too many.
"""

from __future__ import annotations

import io
import secrets
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sargnn.data.graphs import GraphSet
from sargnn.data.problems import Problems
from sargnn.data.sources import SUFFIXES, read
from sargnn.errors import InputError
from sargnn.serving.browsed import BrowsedSet
from sargnn.serving.limits import Limits, Refused

__all__ = ["Sets", "read_file"]

MOST_FILES = 32
UNPACKED = 10
"""Times ``max_bytes`` that a zip may hold when unpacked."""
LISTED = 100
"""Graphs left out that are named."""


class Sets(Mapping[str, GraphSet]):
    """The sets of one server by name."""

    def __init__(self) -> None:
        self._sets: OrderedDict[str, BrowsedSet] = OrderedDict()

    def __getitem__(self, name: str) -> GraphSet:
        return self._sets[name].graphs

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def find(self, name: str) -> BrowsedSet:
        if name not in self._sets:
            raise Refused(404, "got a set that is not here, expected one of /v1/sets")
        self._sets.move_to_end(name)
        return self._sets[name]

    def public(self) -> list[BrowsedSet]:
        """Those that everybody may know of."""
        return [one for one in self._sets.values() if not one.private]

    def add(self, graphs: GraphSet, name: str | None = None, left_out: tuple[str, ...] = ()) -> BrowsedSet:
        """Hold a set, under a name that cannot be guessed unless one is given."""
        made = BrowsedSet(name or secrets.token_urlsafe(16), graphs, left_out, private=name is None)
        self._sets[made.name] = made
        private = [other for other, one in self._sets.items() if one.private]
        for other in private[:-MOST_FILES]:
            del self._sets[other]
        return made


def read_file(name: str, content: bytes, limits: Limits) -> tuple[GraphSet, tuple[str, ...]]:
    """The graphs of a file that was sent, and why some of it was left out. Only the end of its name is used."""
    stem, suffix = Path(name.replace("\\", "/")).stem, Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"got a file that ends in {suffix[:20]!r}, expected one of {', '.join(SUFFIXES)}")
    _refuse_too_many(suffix, content, limits)
    problems = Problems()
    with TemporaryDirectory(prefix="sargnn-") as folder:
        path = Path(folder, f"graphs{suffix}")
        path.write_bytes(content)
        try:
            graphs = read(str(path), problems, labelled=None)
        except InputError as error:
            raise InputError(str(error).replace(f"{path}", "file").replace(folder, "")) from error
        left_out = tuple(str(problem).replace(str(path), "file") for problem in problems.left_out[:LISTED])
    if len(graphs) > limits.max_graphs * UNPACKED:
        raise Refused(413, f"got {len(graphs)} graphs in a file, expected at most {limits.max_graphs * UNPACKED}")
    notes = tuple(note.replace(str(path), "file") for note in graphs.notes if not note.startswith("left out: "))
    return replace(graphs, name=stem[:80] or "file", notes=notes), left_out


def _refuse_too_many(suffix: str, content: bytes, limits: Limits) -> None:
    """What can be counted before it is read."""
    if suffix == ".zip":
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = sum(member.file_size for member in archive.infolist())
        except Exception as error:  # a damaged zip raises almost anything
            raise InputError(f"got no readable zip ({' '.join(str(error).split())})") from error
        if size > UNPACKED * limits.max_bytes:
            message = f"got {size} bytes when unpacked, expected at most {UNPACKED * limits.max_bytes}"
            raise Refused(413, message)
    elif suffix in (".csv", ".tsv", ".smi", ".jsonl", ".ndjson"):
        lines = content.count(b"\n")
        if lines > UNPACKED * limits.max_graphs + 1:
            raise Refused(413, f"got {lines} lines, expected at most {UNPACKED * limits.max_graphs} graphs in a file")
