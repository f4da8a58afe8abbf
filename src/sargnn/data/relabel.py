"""What a set is asked to predict, changed after it was read: values given by hand, or some of its own, read anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.graph_fields import CLASS_NAMES, no_column
from sargnn.data.io.targets import TargetColumns
from sargnn.data.problems import Problem, Problems
from sargnn.data.roles import Roles
from sargnn.errors import InputError

__all__ = ["chosen_again", "require_every_class", "with_values"]


def with_values(graphs: GraphSet, values: Any, task: str | None = None) -> GraphSet:
    """The classes or targets that were given, one row for each graph, in place of those that were read.

    >>> from sargnn.data.graphs import pack
    >>> dots = pack([(1, [])] * 3)
    >>> with_values(dots, [[0, 1], [1, None], [0, 0]]).targets.tolist()
    [[0.0, 1.0], [1.0, nan], [0.0, 0.0]]
    """
    if isinstance(values, Mapping | Set):
        raise InputError(f"labels: got a {type(values).__name__}, expected a list with a class for every graph")
    names = [str(name) for name in getattr(values, "columns", ())]  # of a table
    rows = np.asarray(values).tolist() if hasattr(values, "shape") else list(values)
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    if len(rows) != len(graphs):
        raise InputError(f"labels: got {len(rows)} classes, expected {len(graphs)}, in {graphs.name}")
    if names and len(names) == len(rows[0]) > 1:
        return _read_anew(graphs, dict(zip(names, zip(*rows, strict=True), strict=True)), task, "labels")
    return _read_anew(graphs, {"target": rows}, task, "labels")


def chosen_again(graphs: GraphSet, roles: Roles, labelled: bool | None = True) -> GraphSet:
    """Those targets of the set that the ``roles`` name, as the task that they say, of the graphs that have one; without
    any name, or where none is to be ``labelled``, the set as it is."""
    if labelled is False:
        return graphs
    if not roles.labels and (roles.labels == () or roles.task in (None, _kind(graphs))):
        return graphs
    own: dict[str, Sequence[Any]] = {}
    if graphs.y is not None:
        own = {"label": [graphs.classes[code] for code in graphs.y.tolist()]}
    elif graphs.targets is not None:
        own = dict(zip(graphs.target_names, graphs.targets.T.tolist(), strict=True))
    if "labels" in roles.assumed:
        roles = replace(roles, labels=tuple(name for name in roles.labels or () if name in own) or None)
    if roles.labels is None and roles.task in (None, _kind(graphs)):
        return graphs
    for name in roles.labels or ():
        if name not in own and not (graphs.y is not None and name in CLASS_NAMES):
            got, expected = no_column(name, list(own))
            raise InputError(f"{graphs.name}: got {got}, expected {expected if own else 'none: it has no labels'}")
    wanted = own if graphs.y is not None else {name: own[name] for name in roles.labels or own}
    if not wanted and "task" in roles.assumed:
        return graphs
    if not wanted:
        raise InputError(f"{graphs.name}: got no labels, expected some for task {roles.task}")
    given = np.array([any(value == value for value in row) for row in zip(*wanted.values(), strict=True)], bool)
    if given.any() and not given.all():
        note = f"left out {int((~given).sum())} graphs without a value of {', '.join(wanted)}"
        graphs = replace(graphs, notes=(*graphs.notes, note)).subset(given)
        wanted = {
            name: [v for v, is_given in zip(values, given, strict=True) if is_given] for name, values in wanted.items()
        }
    return _read_anew(graphs, wanted, roles.task, graphs.name)


def _kind(graphs: GraphSet) -> str | None:
    """The task that a set poses, as far as one need not look at its numbers."""
    if graphs.y is not None:
        return "classification"
    binary = graphs.targets is not None and bool((np.isin(graphs.targets, (0, 1)) | np.isnan(graphs.targets)).all())
    return None if graphs.targets is None else "multilabel" if binary else "regression"


def _read_anew(graphs: GraphSet, columns: Mapping[str, Sequence[Any]], task: str | None, where: str) -> GraphSet:
    problems = Problems()
    targets = TargetColumns(problems, task)

    def tell(column: str, row: int, got: str, expected: str) -> Problem:
        place = f" in {column!r}" if len(columns) > 1 or column not in columns else ""
        return Problem(f"got {got}{place}, expected {expected}", where, graph=row, field=column)

    targets.add(columns, len(graphs), tell)
    found = targets.finish(labelled=True)
    problems.stop()
    nothing: dict[str, Any] = {"y": None, "classes": (), "class_titles": (), "targets": None, "target_names": ()}
    return replace(graphs, **{**nothing, **found, "notes": (*graphs.notes, *targets.notes)})


def require_every_class(classes: Iterable[Any], where: str) -> None:
    """Refuse classes of which one is None or NaN, which would become a class of that name."""
    for graph, value in enumerate(classes):
        if value is None or value != value:
            raise InputError(f"{where}: got {value}, expected a class for every graph, in graph {graph}")
