"""Predictions as a table: one row per graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.files import write_csv
from sargnn.tasks import Task

__all__ = ["write_predictions"]


def write_predictions(
    file: Path, task: Task, values: np.ndarray, graphs: GraphSet, index: np.ndarray, sets: np.ndarray | None = None
) -> None:
    """Write a CSV file of the graphs at ``index``: number, columns of the task, prediction set, name if there is one.

    ``values`` [K, ...]: the predictions for these graphs. ``sets`` bool [K, C]: their prediction sets, if wanted.

    >>> write_predictions(Path("out.csv"), said.task, said.values, graphs, np.arange(len(graphs)))  # doctest: +SKIP
    """
    names = graphs.graph_names  # of every graph or of none
    header = ["graph", *task.columns(), *([] if sets is None else task.set_columns())]
    header += ["graph_name"] if names else []
    members = np.empty((len(index), 0), int) if sets is None else sets.astype(int)
    rows = ([g, *task.cells(values[row]), *members[row], *names[g : g + 1]] for row, g in enumerate(index.tolist()))
    write_csv(file, header, rows)
