"""What can be predicted of a graph: one file for each kind of task, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.tasks.classification import Classification
from sargnn.tasks.multilabel import Multilabel
from sargnn.tasks.regression import Regression
from sargnn.tasks.target_columns import are_binary
from sargnn.tasks.task import Metric, Task, Verdict

__all__ = [
    "TASKS", "Classification", "Metric", "Multilabel", "Regression", "Task", "Verdict", "task_from_json", "task_of",
]  # fmt: skip

TASKS: dict[str, type[Task]] = {kind.kind: kind for kind in (Classification, Multilabel, Regression)}


def task_of(graphs: GraphSet, kind: str | None = None) -> Task:
    """The task that the targets of ``graphs`` pose: of classes, classification; of targets that are all 0 or 1,
    multilabel; of other targets, regression. ``kind`` says it instead, where the targets allow it.

    >>> from sargnn.data.synthetic import motifs
    >>> task_of(motifs(4)).names
    ('cycle', 'house')
    """
    if kind is None and graphs.targets is not None and graphs.origin is not None:
        kind = graphs.origin.roles.task
    if kind is not None:
        _check_kind(graphs, kind)
        return TASKS[kind].of(graphs)
    if graphs.targets is None:
        return Classification.of(graphs)
    return (Multilabel if are_binary(graphs.targets) else Regression).of(graphs)


def _check_kind(graphs: GraphSet, kind: str) -> None:
    """Refuse a kind that is not known, or that the targets are not of."""
    if kind not in TASKS:
        raise InputError(f"--task: got {kind!r}, expected one of {', '.join(TASKS)}")
    if graphs.targets is not None and kind == Classification.kind:
        names = ", ".join(graphs.target_names[:3])
        raise InputError(f"--task: got classification for targets ({names}), expected multilabel or regression")
    if graphs.targets is None and graphs.y is not None and kind in (Multilabel.kind, Regression.kind):
        raise InputError(f"--task: got {kind} for classes ({', '.join(graphs.classes[:3])}), expected classification")


def task_from_json(content: Mapping[str, Any]) -> Task:
    """The task of a model folder; one that names none was written when there was one kind only.

    >>> task_from_json({"classes": ["a", "b"]})
    Classification(classes=('a', 'b'))
    """
    kind = content.get("task", Classification.kind)
    if kind not in TASKS:
        raise InputError(f"task: got {kind!r}, expected one of {', '.join(TASKS)}")
    return TASKS[kind].from_json(content)
