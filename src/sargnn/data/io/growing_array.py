"""An array that grows at its end, so that parts of unknown number need no second copy to become one."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["GrowingArray"]


class GrowingArray:
    """Rows of one type, added part by part.

    >>> numbers = GrowingArray(np.float32)
    >>> numbers.extend(np.array([1, 2]))
    >>> numbers.fill(2, -1)
    >>> numbers.take().tolist()
    [1.0, 2.0, -1.0, -1.0]
    """

    def __init__(self, dtype: Any, *width: int) -> None:
        self._array = np.empty((0, *width), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, part: np.ndarray) -> None:
        """Add the rows of ``part``."""
        self._grow(len(part))[:] = part

    def fill(self, count: int, value: int | float) -> None:
        """Add ``count`` rows of one value."""
        self._grow(count)[:] = value

    def take(self) -> np.ndarray:
        """All rows, in an array of their own; nothing is left."""
        array = self._array
        array.resize((self._length, *array.shape[1:]), refcheck=False)
        self._array, self._length = np.empty((0, *array.shape[1:]), array.dtype), 0
        return array

    def _grow(self, count: int) -> np.ndarray:
        """Room for ``count`` more rows."""
        start, self._length = self._length, self._length + count
        if self._length > len(self._array):
            room = max(self._length, len(self._array) * 5 // 4)
            self._array.resize((room, *self._array.shape[1:]), refcheck=False)  # in place where the system can
        return self._array[start : self._length]
