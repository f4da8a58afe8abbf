"""What can be predicted of a graph: one file for each kind of task, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.tasks.classification import Classification
from sargnn.tasks.task import Metric, Task, Verdict

__all__ = ["TASKS", "Classification", "Metric", "Task", "Verdict", "task_from_json", "task_of"]

TASKS: dict[str, type[Task]] = {Classification.kind: Classification}


def task_of(graphs: GraphSet) -> Task:
    """The task that the targets of ``graphs`` pose.

    >>> from sargnn.data.synthetic import motifs
    >>> task_of(motifs(4)).names
    ('cycle', 'house')
    """
    return Classification.of(graphs)


def task_from_json(content: Mapping[str, Any]) -> Task:
    """The task of a model folder; one that names none was written when there was one kind only.

    >>> task_from_json({"classes": ["a", "b"]})
    Classification(classes=('a', 'b'))
    """
    kind = content.get("task", Classification.kind)
    if kind not in TASKS:
        raise InputError(f"task: got {kind!r}, expected one of {', '.join(TASKS)}")
    return TASKS[kind].from_json(content)
