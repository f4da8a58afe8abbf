"""What a zip holds, told before any of it is read, and unpacked within the limits of :mod:`sargnn.limits`."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath, PureWindowsPath

from sargnn.data.problems import refused, shown
from sargnn.limits import over

__all__ = ["Unpacking", "members_of"]

BLOCK = 1 << 20
SMALL = 1 << 26
"""Bytes that may be any number of times as large as their archive."""


def members_of(opened: zipfile.ZipFile, place: str) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """The files by their paths. Paths that lead outside are refused, and so is one that comes twice: programs differ in
    which of the two they read."""
    members: dict[PurePosixPath, zipfile.ZipInfo] = {}
    if problem := over("members", len(opened.infolist()), "files"):
        raise refused(problem, place)
    for member in opened.infolist():
        path = PureWindowsPath(member.filename)  # splits at both kinds of slash and knows drives
        if path.anchor or ".." in path.parts:
            raise refused(f"got member {shown(member.filename, 80)}, expected paths inside the zip only", place)
        own = PurePosixPath(*path.parts)
        if not member.is_dir():
            if own in members:
                raise refused(f"got member {shown(member.filename, 80)} twice, expected every file once", place)
            members[own] = member
    size = sum(member.file_size for member in members.values())
    if problem := over("unpacked", size, "bytes when unpacked"):
        raise refused(problem, place)
    return members


class Unpacking:
    """Counts what comes out of an archive of some bytes: what it declares may be a lie.

    >>> import io
    >>> [len(block) for block in Unpacking("x.gz", 3).blocks(io.BytesIO(bytes(2_000_000)).read)]
    [1048576, 951424]
    """

    def __init__(self, place: str, packed: int) -> None:
        self.place = place
        self.packed = packed
        self.done = 0

    def blocks(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        """What ``read`` gives, part by part, until the end or beyond a limit."""
        while block := read(BLOCK):
            self.done += len(block)
            problem = over("unpacked", self.done, "bytes or more when unpacked")
            if self.done > SMALL:
                times = -(-self.done // max(self.packed, 1))
                problem = problem or over("ratio", times, "times as many bytes when unpacked")
            if problem:
                raise refused(problem, self.place)
            yield block
