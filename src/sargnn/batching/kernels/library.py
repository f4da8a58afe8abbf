"""The C library: found in the cache, or compiled into it."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch

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
    if path.exists():
        with suppress(OSError):
            return ctypes.CDLL(str(path))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        arguments = [*command, str(SOURCE), "-o", str(made), "-lm"]
        subprocess.run(arguments, check=True, capture_output=True, timeout=300)
        made.replace(path)  # two processes that compile at the same time make the same file
    return ctypes.CDLL(str(path))


def _own_folder() -> Path:
    """The user's own cache, even where ``SARGNN_DATA`` is shared: never a folder that others can write to, because what
    is in it is executed."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sargnn" / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise OSError(f"{folder}: got a folder that others can write to, expected one of this user alone")
    return folder


def _processor() -> bytes:
    """What the code is made for: a cache folder may be shared by machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features"))).encode()
    except (OSError, StopIteration):
        return " ".join(platform.uname()).encode()
