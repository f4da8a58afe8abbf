"""Which layout a batch is laid out in: decided here and nowhere else."""

from __future__ import annotations

from typing import Literal

__all__ = ["Layout"]

Layout = Literal["compressed", "packed", "padded"]
"""See :mod:`sargnn.batching`."""
