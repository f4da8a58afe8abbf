"""What every block of inputs is: columns, fitted on the training graphs, in plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import SetChunks
from sargnn.errors import InputError
from sargnn.limits import over

if TYPE_CHECKING:
    from sargnn.data.features.encodings import DataConfig

__all__ = ["Encoding", "check_columns", "check_each", "check_number"]


class Encoding(ABC):
    """One block of columns: what was fitted, in plain values that JSON can hold."""

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Encoding:
        """Learn from the training graphs what :meth:`encode` needs, by default nothing."""
        return cls()

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """One name per column."""

    @abstractmethod
    def encode(self, graphs: GraphSet) -> np.ndarray:
        """[N, F]: the columns for every node (edge, graph)."""


def check_each(names: tuple[str, ...], known: tuple[str, ...], where: str, *, once: bool = False) -> None:
    """Refuse names that are not known, and, with ``once``, one that comes twice."""
    for name in names:
        if name not in known:
            hint = "".join(f"; did you mean {near!r}?" for near in get_close_matches(name, known, n=1))
            raise InputError(f"{where}: got {name!r}, expected one of {', '.join(known)}{hint}")
    if once and len(set(names)) < len(names):
        raise InputError(f"{where}: got {', '.join(names)}, expected each name once")


def check_columns(field: str, value: int) -> None:
    """Refuse more columns in one block of inputs than are allowed."""
    if problem := over("inputs", value, "columns of inputs"):
        raise InputError(f"{field}: {problem}")


def check_number(field: str, value: int | float, least: int, most: int | None = None) -> None:
    """Refuse a number below ``least`` or above ``most``."""
    if value < least or (most is not None and value > most):
        expected = f"{least} or more" if most is None else f"{least}..{most}"
        raise InputError(f"{field}: got {value}, expected {expected}")
