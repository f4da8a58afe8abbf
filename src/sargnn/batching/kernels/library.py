"""The C library: found in the cache, or compiled into it."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import stat
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch

from sargnn.errors import InputError
from sargnn.files import write_file

__all__ = ["library"]

SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
THREADS = (("-fopenmp",), ())
"""With threads, or without where the compiler has no OpenMP, as Apple's."""
TYPES = {torch.float32: "float", torch.float64: "double"}

_log = logging.getLogger(__name__)


@cache
def library(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The functions of ``kernels.c`` for that type; None where they cannot be compiled or if ``SARGNN_KERNELS=0``."""
    if dtype not in TYPES or os.environ.get("SARGNN_KERNELS") == "0":
        return None
    for threads in THREADS:
        try:
            return _loaded([*shlex.split(os.environ.get("CC", "cc")), *FLAGS, *threads, f"-DREAL={TYPES[dtype]}"])
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error
    _log.info("no C kernels, PyTorch's operations are used: %s", reason)
    return None


def _loaded(command: list[str]) -> ctypes.CDLL:
    """The library that this command compiles, from the cache if it is there and intact."""
    made_of = (SOURCE.read_bytes(), *map(str.encode, command), _processor())
    path = _own_folder() / f"{hashlib.sha256(b'|'.join(made_of)).hexdigest()[:16]}.so"
    if _is_whole(path):
        with suppress(OSError):
            return ctypes.CDLL(str(path))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        arguments = [*command, str(SOURCE), "-o", str(made), "-lm"]
        subprocess.run(arguments, check=True, capture_output=True, timeout=300)
        content = made.read_bytes()
        library = ctypes.CDLL(str(made))  # what cannot be loaded is not kept
    _keep(path, content)
    return library


def _keep(path: Path, content: bytes) -> None:
    """Put a library into the cache, flushed to disk before it has its name, and then its size and hash beside it. Two
    processes that compile at the same time make the same files."""
    try:
        write_file(path, content)
        path.chmod(0o600)
        write_file(_seal(path), _words(content))
    except InputError as error:
        raise OSError(str(error)) from error


def _is_whole(path: Path) -> bool:
    """Whether a library is all that was written: a part of one would end the process when its code is reached."""
    try:
        for file in (path, _seal(path)):
            found = file.lstat()
            if not stat.S_ISREG(found.st_mode) or not _is_own(found):
                return False
        return _seal(path).read_text() == _words(path.read_bytes())
    except (OSError, UnicodeDecodeError):
        return False


def _seal(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _words(content: bytes) -> str:
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}\n"


def _own_folder() -> Path:
    """The user's own cache, even where ``SARGNN_DATA`` is shared: never a folder that others can write to, because what
    is in it is executed."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sargnn" / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = folder.resolve()
    if not _is_own(folder.stat()):
        raise OSError(f"{folder}: got a folder that others can write to, expected one of this user alone")
    for parent in folder.parents:
        if not _is_safe(parent.stat()):
            raise OSError(f"{parent}: got a folder that others can write to, expected none above {folder}")
    return folder


def _is_own(found: os.stat_result) -> bool:
    """Whether only this user can change it."""
    return os.name != "posix" or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _is_safe(found: os.stat_result) -> bool:
    """Whether nobody but this user and the system can put something else in its place; where a folder is sticky, as
    that of temporary files, everyone can add files and nobody can replace those of others."""
    if os.name != "posix":
        return True
    return found.st_uid in (0, os.getuid()) and (not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX))


def _processor() -> bytes:
    """What the code is made for: a cache folder may be shared by machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features"))).encode()
    except (OSError, StopIteration):
        return " ".join(platform.uname()).encode()
