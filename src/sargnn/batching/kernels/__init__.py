"""Sums over nodes and neighbours of many small graphs, written in C for CPUs.

The machine's C compiler compiles ``kernels.c`` when first needed, in half a second, into the cache folder. Without a
compiler PyTorch's operations do the same, more slowly.
"""

from sargnn.batching.kernels.library import library
from sargnn.batching.kernels.sums import Sums, drop

__all__ = ["Sums", "drop", "library"]
