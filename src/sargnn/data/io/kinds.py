"""What an object is, without importing the packages of those who have none."""

from __future__ import annotations

from typing import Any

__all__ = ["is_dataset", "is_frame", "is_networkx", "is_rdkit"]


def is_networkx(value: Any) -> bool:
    """Whether ``value`` is a NetworkX graph."""
    return _is_a(value, "networkx", "Graph")


def is_dataset(value: Any) -> bool:
    """Whether it is a data set of PyTorch Geometric."""
    return _is_a(value, "torch_geometric", "Dataset")


def is_rdkit(value: Any) -> bool:
    """Whether it is a molecule of RDKit."""
    return _is_a(value, "rdkit", "Mol")


def is_frame(value: Any) -> bool:
    """Whether it is a data frame of pandas."""
    return _is_a(value, "pandas", "DataFrame")


def _is_a(value: Any, package: str, name: str) -> bool:
    kinds = type(value).__mro__
    return any(kind.__module__.partition(".")[0] == package and kind.__name__ == name for kind in kinds)
