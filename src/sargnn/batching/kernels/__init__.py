"""Sums over nodes and neighbours of many small graphs, written in C for CPUs.

``kernels.c`` is compiled when it is first needed, in half a second, by the machine's own C compiler, and kept in the
cache folder. Without a compiler there are no kernels, and PyTorch's operations do the same, more slowly.
"""

from sargnn.batching.kernels.library import library
from sargnn.batching.kernels.sums import Sums, drop

__all__ = ["Sums", "drop", "library"]
