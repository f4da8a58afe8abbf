"""Every path that a user gives is opened here: regular files only, no longer than when they were opened.

A pipe would wait for a writer, ``/dev/zero`` never ends, and a log file can grow faster than it is read. JSON and
numbers, too, are read in one way everywhere: what two programs would understand differently is refused.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from sargnn.errors import InputError
from sargnn.limits import over

__all__ = [
    "RepeatedName", "integer_of", "is_utf16", "not_utf8", "number_of", "open_regular", "parse_json", "read_bytes",
    "read_text", "require_regular",
]  # fmt: skip

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def require_regular(path: Path | str) -> os.stat_result:
    """Refuse what is no regular file, for libraries that open a path themselves; ``OSError`` where nothing is there."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise InputError(f"{path}: got {kind}, expected a regular file")
    return found


class _AsOpened(io.FileIO):
    """A regular file that ends where it ended when it was opened."""

    def __init__(self, path: Path | str) -> None:
        require_regular(path)  # before it is opened: opening alone can wait, or rewind a tape
        super().__init__(str(path), opener=_without_waiting)
        found = os.fstat(self.fileno())
        if not stat.S_ISREG(found.st_mode):  # it was replaced in between
            self.close()
            raise InputError(f"{path}: got something else than before, expected a regular file")
        self.size = found.st_size

    def readinto(self, buffer: Any, /) -> int | None:
        left = max(self.size - self.tell(), 0)
        return super().readinto(memoryview(buffer).cast("B")[:left])

    def readall(self) -> bytes:
        return self.read(max(self.size - self.tell(), 0)) or b""


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_regular(path: Path | str) -> io.BufferedReader:
    """A regular file, to read its bytes; an :class:`InputError` for a pipe or a device, ``OSError`` for nothing."""
    return io.BufferedReader(_AsOpened(path))


def read_bytes(path: Path | str, most: str = "file") -> bytes:
    """All of a file, unless it is larger than the limit called ``most`` (:mod:`sargnn.limits`)."""
    with open_regular(path) as file:
        if problem := over(most, os.fstat(file.fileno()).st_size, "bytes"):
            raise InputError(f"{path}: {problem}")
        return file.read()


def read_text(path: Path | str, most: str = "file") -> str:
    """The same as text, UTF-8 with a mark of it or without; a ``UnicodeDecodeError`` where it is something else."""
    return read_bytes(path, most).decode("utf-8-sig")


def is_utf16(start: bytes) -> bool:
    """Whether text that starts so is UTF-16, as spreadsheets write it: with the mark, and letters of two bytes.

    >>> is_utf16("graph,label".encode("utf-16")), is_utf16(b"\\xff\\xfe\\xfd")
    (True, False)
    """
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in start[:64]


def not_utf8(error: UnicodeDecodeError, place: str = "") -> tuple[str, str]:
    """What came instead of UTF-8, and what was expected.

    >>> try:
    ...     b"gr\\xf6n".decode()
    ... except UnicodeDecodeError as error:
    ...     not_utf8(error, " after line 7")[0]
    'bytes that are not UTF-8 text after line 7'
    """
    if is_utf16(error.object):
        return "UTF-16, not UTF-8 text", "UTF-8 (UTF-16 becomes it by `iconv -f UTF-16 -t UTF-8`)"
    return f"bytes that are not UTF-8 text{place}", "UTF-8 (Latin-1 becomes it by `iconv -f LATIN1 -t UTF-8`)"


class RepeatedName(ValueError):
    """Says which name comes twice in one object."""


def parse_json(text: str | bytes) -> Any:
    """JSON without names that come twice in one object: programs differ in which of the two counts.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    sargnn.reading.RepeatedName: the name 'a' twice in one object
    """
    return json.loads(text, object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        again, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise RepeatedName(f"the name {again[:40]!r} twice in one object")
    return found


def number_of(text: str) -> float:
    """A number as people write it; Python alone would read ``1_0``, and digits of any script.

    >>> number_of(" -1.5e3 "), number_of("inf")
    (-1500.0, inf)
    >>> number_of("1_0")
    Traceback (most recent call last):
    ValueError: '1_0' is no number
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text[:40]!r} is no number")
    return float(text)


def integer_of(text: str) -> int:
    """The same of a whole number.

    >>> integer_of("+7")
    7
    """
    number_of(text)
    return int(text)
