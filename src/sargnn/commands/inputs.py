"""What every command is given: the name of a data set, and one of a few words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sargnn.console import note
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.errors import InputError

__all__ = ["Answer", "check_choice", "load_noted"]

Answer = dict[str, Any]


def check_choice(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse a ``value`` of the option ``name`` that is not one of the known words."""
    if value not in known:
        raise InputError(f"{name}: got {value!r}, expected one of {', '.join(known)}")


def load_noted(data: str, labelled: bool | None = True) -> GraphSet:
    """The graphs of ``data``, with what was noticed while reading them told on standard error."""
    graphs = load(data, labelled=labelled)
    for text in graphs.notes:
        note(f"{graphs.name}: {text}")
    return graphs
