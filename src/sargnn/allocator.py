"""How the C library hands out memory, which decides a fifth of a training step on a CPU."""

from __future__ import annotations

import ctypes
import platform

__all__ = ["keep_freed_memory"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_REUSED = 2**25
"""Bytes: larger tensors are still mapped and unmapped one by one."""
MOST_KEPT = 2**29
"""Bytes: beyond this, freed memory at the end of the heap goes back to the system."""


def keep_freed_memory() -> None:
    """Let tensors of a step reuse the memory of the step before.

    By default glibc returns large freed blocks to the kernel, and the next tensor of that size pays for fresh, zeroed
    pages: longer than most operations on it take. Other C libraries are left alone.

    This changes the whole process, so it is called only where the process is this project's own: the command line, its
    worker processes and the bench. Who trains from Python may call it too.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGEST_REUSED)
        library.mallopt(M_TRIM_THRESHOLD, MOST_KEPT)
