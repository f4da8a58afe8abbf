"""Predictions as a table with one row for every row of the input, in its order, also where there is no prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.io.graph_fields import no_column
from sargnn.errors import InputError
from sargnn.files import write_table
from sargnn.training.open_run import OpenRun

__all__ = ["kept_columns", "write_predictions", "write_rows"]

PREDICTED, LEFT_OUT = "predicted", "left out"


def write_predictions(
    file: Path | None,
    opened: OpenRun,
    values: np.ndarray,
    more: Mapping[str, Sequence[Any]] | None = None,
    keep: Sequence[str] | None = None,
) -> int:
    """Write CSV, Parquet or JSON lines by the ending of ``file``, or CSV to standard output; gives the number of rows.

    The columns: the graph's number, those of the task, ``more``, its name if there is one, ``status``, ``reason``, and
    those of the input. ``values`` [K, ...]: the predictions for the graphs of ``opened.index``. ``more``: further
    columns [K] by name. ``keep``: the columns of the input to keep, by default all.
    """
    task, more = opened.trained.task, more or {}
    others = zip(*more.values(), strict=True) if more else repeat(())
    cells = [[*task.cells(value), *other] for value, other in zip(values, others, strict=False)]
    return write_rows(file, opened, [*task.columns(), *more], cells, keep)


def write_rows(
    file: Path | None,
    opened: OpenRun,
    own: Sequence[str],
    cells: Sequence[Sequence[Any]],
    keep: Sequence[str] | None = None,
) -> int:
    """The same of ``cells`` [K], what is known of each graph of ``opened.index``, under the names ``own``."""
    names, kept = opened.graphs.graph_names, kept_columns(opened, keep)
    predicted = dict(zip(opened.index.tolist(), cells, strict=True))
    taken = {"graph", *own, "graph_name", "status", "reason"}
    header = ["graph", *own, *(["graph_name"] if names else []), "status", "reason"]
    header += [f"input_{name}" if name in taken else name for name in kept]
    table = []
    for row, graph in _rows(opened):
        reason = _reason(opened, row, graph)
        found = predicted.get(graph, [None] * len(own))
        named = [_name(opened, row, graph)] if names else []
        status = PREDICTED if graph in predicted else LEFT_OUT
        inputs = (column[row] for column in kept.values()) if row is not None else repeat(None, len(kept))
        table.append([None if graph < 0 else graph, *found, *named, status, reason, *inputs])
    write_table(file, header, table)
    return len(table)


def _rows(opened: OpenRun) -> list[tuple[int | None, int]]:
    """The row and the graph, or -1, of all that was asked for."""
    wanted, rows = np.union1d(opened.index, list(opened.reasons)).astype(np.int64), opened.rows
    if rows is None:
        return [(None, graph) for graph in wanted.tolist()]
    asked = np.isin(rows.graph, wanted)
    if opened.all_graphs:
        asked |= rows.graph < 0
    return [(row, int(rows.graph[row])) for row in np.flatnonzero(asked).tolist()]


def _reason(opened: OpenRun, row: int | None, graph: int) -> str:
    if graph >= 0:
        return opened.reasons.get(graph, "")
    assert opened.rows is not None
    return str(opened.rows.reasons.get(row or 0, "not read"))


def _name(opened: OpenRun, row: int | None, graph: int) -> Any:
    """What a graph is called; where none could be read, what its row calls it."""
    if graph >= 0:
        return opened.graphs.graph_names[graph]
    origin = opened.graphs.origin
    assert origin is not None
    assert origin.rows is not None
    column = origin.roles.id or origin.roles.smiles or ""
    return origin.rows.columns[column][row or 0] if column in origin.rows.columns else None


def kept_columns(opened: OpenRun, keep: Sequence[str] | None) -> dict[str, Sequence[Any]]:
    """The columns of the input to keep."""
    known = {} if opened.rows is None else dict(opened.rows.columns)
    if keep is None or list(keep) == ["all"]:
        return known
    if list(keep) == ["none"] and "none" not in known:
        return {}
    for name in keep:
        if name not in known:
            got, expected = no_column(name, list(known))
            raise InputError(f"--keep: got {got}, expected {expected if known else 'none: the input has no columns'}")
    return {name: known[name] for name in keep}
