"""How the C library allocates memory, which takes a fifth of a training step on a CPU."""

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
    """Let tensors reuse the memory of the step before, where glibc would return large freed blocks to the kernel and
    the next tensor would wait for fresh, zeroed pages.

    This changes the whole process, so only the command line, its worker processes and the bench call it. You may call
    it too before you train from Python.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGEST_REUSED)
        library.mallopt(M_TRIM_THRESHOLD, MOST_KEPT)
