"""Who writes: the name of this process, whether another is gone, and a folder that only one may write to."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import ClassVar
from weakref import WeakValueDictionary

from sargnn.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no locks on folders
    fcntl = None  # type: ignore[assignment]

__all__ = ["FolderLock", "alone", "host", "is_dead", "is_gone", "own_name"]


@cache
def _places() -> tuple[str, str, str]:
    """This machine, its boot and, in a container, its own processes: what a process id is unique in."""
    boot = processes = ""
    with suppress(OSError):  # files of Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        processes = os.readlink("/proc/self/ns/pid")
    return platform.node(), boot, processes


def host() -> str:
    """Names what a process id is unique in."""
    return " ".join(place for place in _places() if place)


def is_gone(at: str, pid: int) -> bool:
    """Whether it is certain that no such process runs; on other machines it never is."""
    return at == host() and _has_ended(pid)


def own_name() -> str:
    """A short name of this process, for the names of the files that it is writing.

    >>> is_dead(own_name())
    False
    """
    return "-".join([*map(_short, _places()), str(os.getpid())])


def is_dead(name: str) -> bool:
    """Whether the process of that :func:`own_name` has certainly ended; one whose name says nothing has."""
    *places, pid = name.split("-")
    if len(places) != 3 or not pid.isdecimal():
        return True
    node, boot, processes = map(_short, _places())
    if places[0] != node:
        return False
    return places[1] != boot or (places[2] == processes and _has_ended(int(pid)))


def _short(place: str) -> str:
    return hashlib.sha256(place.encode(errors="replace")).hexdigest()[:6]


def _has_ended(pid: int) -> bool:
    if os.name == "posix":
        try:
            os.kill(pid, 0)  # signal 0 only asks
        except (OSError, OverflowError) as error:
            return getattr(error, "errno", errno.ESRCH) == errno.ESRCH
    return False


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A block in which no other process that asks may write to the ``folder``."""
    lock = FolderLock.of(folder)
    yield
    del lock


class FolderLock:
    """A folder that no other process may take; it is free again when the lock or the process is gone, however it ended.

    Within one process a folder can be taken again. Systems and disks without locks have none.
    """

    _held: ClassVar[WeakValueDictionary[tuple[int, int], FolderLock]] = WeakValueDictionary()

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def of(cls, folder: Path) -> FolderLock | None:
        """The lock of a folder that there is; refused while another process holds it."""
        if fcntl is None:
            return None
        file = os.open(folder, os.O_RDONLY)
        found = os.fstat(file)
        lock = cls._held.get((found.st_dev, found.st_ino))
        if lock is not None:
            os.close(file)
            return lock
        lock = cls(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            expected = "to be alone: wait for it to end, or choose another folder"
            raise InputError(f"{folder}: got a run that another process is writing, expected {expected}") from error
        except OSError:  # this disk has no locks
            return None
        cls._held[found.st_dev, found.st_ino] = lock
        return lock

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self._file)
