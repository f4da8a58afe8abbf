"""Disks that fail for real: full or read-only file systems in memory where the system lets one mount them, and limits
on the size of files, which it always does."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write more than that many bytes into a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def full_disk(place: Path, *, pages: int) -> Iterator[Path]:
    """A file system with room for that many pages of 4 KiB."""
    place.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={4 * pages}k", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def enlarge(disk: Path) -> None:
    """Give a :func:`full_disk` room for all."""
    _mount("-o", "remount,size=64m", str(disk))


@contextmanager
def read_only(place: Path) -> Iterator[Path]:
    """A folder in which nothing can be written, not even by root."""
    if os.geteuid():
        place.mkdir(mode=0o555)
        yield place
        return
    with full_disk(place, pages=4) as disk:
        _mount("-o", "remount,ro", str(disk))
        yield disk


def _mount(*arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here ({error})")
