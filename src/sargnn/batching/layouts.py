"""Which layout a batch has: decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from sargnn.batching.kernels import library

__all__ = ["AskedLayout", "Layout", "choose_layout", "has_stacked_layout"]

Layout = Literal["compressed", "packed", "padded"]
"""See :mod:`sargnn.batching`."""
AskedLayout = Literal["auto", "packed", "padded"]
"""What a user may ask for: ``training.layout``."""

PADDED_NODES = 128
"""Graphs beyond this size are packed unless asked otherwise."""


def choose_layout(
    layouts: Sequence[Layout],
    sizes: np.ndarray,
    asked: AskedLayout = "auto",
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    traced: bool = False,
) -> Layout:
    """The layout of a batch of graphs of these ``sizes`` for a model that takes ``layouts``.

    What the user ``asked`` for, if the model takes it. Otherwise compressed, where the C kernels can run: on a CPU, in
    a ``dtype`` that they know, in a step that ``torch.compile`` has not ``traced``. Otherwise padded where padding
    wastes little (small graphs of similar sizes), but not if compiled for one thread of a CPU: there packed takes 0.4
    to 0.7 of the time. With two threads a step compiled for packed batches took 2 to 3.5 times as long as eager.

    >>> choose_layout(["packed", "padded"], np.array([4, 25])), choose_layout(["packed", "padded"], np.array([30, 620]))
    ('padded', 'packed')
    >>> choose_layout(["packed"], np.array([4, 25]), asked="padded")
    'packed'
    """
    if asked != "auto" and asked in layouts:
        return asked
    on_cpu = torch.device(device).type == "cpu"
    if "compressed" in layouts and on_cpu and not traced and library(dtype) is not None:
        return "compressed"
    one_thread = on_cpu and traced and torch.get_num_threads() == 1
    if "packed" in layouts and (one_thread or "padded" not in layouts or not _wastes_little(sizes)):
        return "packed"
    return "padded"


def has_stacked_layout(layouts: Sequence[Layout], sizes: np.ndarray) -> bool:
    """Whether K models can train at once on graphs of these ``sizes``: in one of the ``layouts``, and not padded to the
    size of a large graph."""
    return "packed" in layouts or ("padded" in layouts and bool(sizes.max() <= PADDED_NODES))


def _wastes_little(sizes: np.ndarray) -> bool:
    largest, mean = int(sizes.max()), float(sizes.mean())
    return largest <= PADDED_NODES and largest <= 2.5 * mean + 8
