"""The labels and attributes that graphs come with, checked before they are encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sargnn.data.graphs import CELLS, GraphSet
from sargnn.data.problems import MOST, Problem, shown
from sargnn.data.set_chunks import Element
from sargnn.errors import InputError

__all__ = [
    "ELEMENTS", "attribute_called", "gap_problems", "gaps_in", "gaps_of", "given_attributes", "given_inputs",
    "given_labels", "place_of", "require_no_gaps",
]  # fmt: skip

ELEMENTS: tuple[Element, ...] = ("node", "edge", "graph")


def _given(graphs: GraphSet, what: str, rows: np.ndarray | None = None) -> np.ndarray | None:
    """Some rows, by default all, of an array of the graphs, if there is anything in them."""
    values = getattr(graphs, what)
    values = values if values is None or rows is None else values[rows]
    return None if values is None or values.size == 0 else values


def given_inputs(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> tuple[str, ...]:
    """Which of ``attributes`` and ``labels`` the graphs have in some rows, by default all."""
    return tuple(name for name in ("attributes", "labels") if _given(graphs, f"{of}_{name}", rows) is not None)


def given_labels(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """int64 [N] and what each code means; without names the codes name themselves."""
    codes = _given(graphs, f"{of}_labels", rows)
    if codes is None:
        raise InputError(f"got no {of} labels, expected a label for every {of}, in {graphs.name}")
    return codes, getattr(graphs, f"{of}_label_names") or tuple(map(str, range(int(codes.max()) + 1)))


def given_attributes(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> np.ndarray:
    """float64 [N, A], NaN for gaps, otherwise finite."""
    given = _given(graphs, f"{of}_attributes", rows)
    if given is None:
        raise InputError(f"got no {of} attributes, expected numbers for every {of}, in {graphs.name}")
    values = np.asarray(given, np.float64)
    for row, column in np.argwhere(np.isinf(values))[:1].tolist():
        place = place_of(graphs, row if rows is None else int(rows[row]), of)
        raise InputError(f"got {values[row, column]} as attribute {column} in {place}, expected a finite number")
    return values


def attribute_called(graphs: GraphSet, of: Element, column: int) -> str:
    """A column of attributes in words, by its name if it has one."""
    names = getattr(graphs, f"{of}_attribute_names")
    return f"{of} attribute {shown(names[column]) if names else column}"


def gaps_of(
    graphs: GraphSet, of: Element, columns: list[int] | slice = slice(None)
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of the gaps in some columns, by default all, block by block: a set may be larger than memory."""
    values = getattr(graphs, f"{of}_attributes")
    if values is None or not values.size:
        return
    chosen, step = np.arange(values.shape[1])[columns], max(CELLS // values.shape[1], 1)
    for start in range(0, len(values), step):
        rows, places = np.nonzero(np.isnan(values[start : start + step, columns]))
        yield rows + start, chosen[places]


def gaps_in(graphs: GraphSet) -> dict[str, int]:
    """How many values each attribute lacks, of those that lack some.

    >>> from sargnn.data.graphs import pack
    >>> gaps_in(pack([(3, [])], node_attributes=[[1, 2], [float("nan"), 3], [float("nan"), 4]]))
    {'node attribute 0': 2}
    """
    found: Counter[str] = Counter()
    for of in ELEMENTS:
        for _, columns in gaps_of(graphs, of):
            for column, count in zip(*np.unique(columns, return_counts=True), strict=True):
                found[attribute_called(graphs, of, int(column))] += int(count)
    return dict(found)


def gap_problems(graphs: GraphSet, of: Element, columns: list[int] | slice = slice(None)) -> tuple[list[Problem], int]:
    """The first gaps in some columns, by default all, each with its place; and how many there are."""
    found: list[Problem] = []
    count = 0
    expected = f"expected one for every {of} (data.missing=refuse)"
    for rows, places in gaps_of(graphs, of, columns):
        for row, place in zip(rows[: MOST - len(found)].tolist(), places.tolist(), strict=False):
            got = f"got no value of {attribute_called(graphs, of, place)} in {place_of(graphs, row, of)}"
            found.append(Problem(f"{got}, {expected}"))
        count += len(rows)
    return found, count


def require_no_gaps(graphs: GraphSet, of: Element, columns: list[int] | slice = slice(None)) -> None:
    """Refuse gaps in some columns, by default all, with the place of the first."""
    found, count = gap_problems(graphs, of, columns)
    if found:
        more = f"; `sargnn data check --missing refuse` lists all {count}" if count > 1 else ""
        raise InputError(f"{found[0]}{more}")


def place_of(graphs: GraphSet, row: int, of: Element) -> str:
    """Where a row of the node, edge or graph arrays is, in words."""
    if of == "graph":
        return f"{graphs.called(row)} of {graphs.name}"
    graph = int(np.searchsorted(getattr(graphs, f"{of}_ptr"), row, side="right")) - 1
    inside = row - graphs.node_ptr[graph] if of == "node" else "{} -> {}".format(*graphs.edges[:, row])
    return f"{graphs.called(graph)} ({of} {inside}) of {graphs.name}"
