"""The labels and attributes that graphs come with, checked before they are encoded."""

from __future__ import annotations

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import Element
from sargnn.errors import InputError

__all__ = ["given_attributes", "given_inputs", "given_labels", "place_of"]


def _given(graphs: GraphSet, what: str, rows: np.ndarray | None = None) -> np.ndarray | None:
    """Some rows, by default all, of an array of the graphs, if there is anything in them."""
    values = getattr(graphs, what)
    values = values if values is None or rows is None else values[rows]
    return None if values is None or values.size == 0 else values


def given_inputs(graphs: GraphSet, of: Element, rows: np.ndarray) -> tuple[str, ...]:
    """Which of ``attributes`` and ``labels`` the graphs have in those rows."""
    return tuple(name for name in ("attributes", "labels") if _given(graphs, f"{of}_{name}", rows) is not None)


def given_labels(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """int64 [N] and what each code means; without names the codes name themselves."""
    codes = _given(graphs, f"{of}_labels", rows)
    if codes is None:
        raise InputError(f"got no {of} labels, expected a label for every {of}, in {graphs.name}")
    return codes, getattr(graphs, f"{of}_label_names") or tuple(map(str, range(int(codes.max()) + 1)))


def given_attributes(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> np.ndarray:
    """float64 [N, A], all finite."""
    given = _given(graphs, f"{of}_attributes", rows)
    if given is None:
        raise InputError(f"got no {of} attributes, expected numbers for every {of}, in {graphs.name}")
    values = np.asarray(given, np.float64)
    for row, column in np.argwhere(~np.isfinite(values))[:1].tolist():
        place = place_of(graphs, row if rows is None else int(rows[row]), of)
        raise InputError(f"got {values[row, column]} as attribute {column} in {place}, expected a finite number")
    return values


def place_of(graphs: GraphSet, row: int, of: Element) -> str:
    """Where a row of the node, edge or graph arrays is, in words."""
    if of == "graph":
        return f"{graphs.called(row)} of {graphs.name}"
    graph = int(np.searchsorted(getattr(graphs, f"{of}_ptr"), row, side="right")) - 1
    inside = row - graphs.node_ptr[graph] if of == "node" else "{} -> {}".format(*graphs.edges[:, row])
    return f"{graphs.called(graph)} ({of} {inside}) of {graphs.name}"
