"""Slow inputs in the data cache: computed once, then read."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

import numpy as np

from sargnn.data.cache import data_folder
from sargnn.errors import InputError
from sargnn.files import write_file

__all__ = ["kept"]

KEPT_SECONDS = 1.0
"""What took longer than this to compute is kept on disk."""


def kept(kind: str, name: str, shape: tuple[int, int], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """float64 of that shape: computed once, then read from the data cache if computing took long."""
    path = data_folder() / kind / f"{name}.npy"
    with suppress(OSError, ValueError, EOFError):  # not there, or damaged
        values = np.load(path)
        if values.shape == shape and values.dtype == np.float64:
            return np.asarray(values)
    start = time.perf_counter()
    values = compute()
    if time.perf_counter() - start > KEPT_SECONDS:
        content = BytesIO()
        np.save(content, values)
        with suppress(InputError):  # a cache that cannot be written is done without
            write_file(path, content.getvalue())
    return values
