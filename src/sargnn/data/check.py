"""Look at graphs before training on them: what they are like, and everything that is wrong with them, at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sargnn.data.duplicates import duplicates
from sargnn.data.features.base import check_each
from sargnn.data.features.given_encodings import MISSING
from sargnn.data.features.given_inputs import ELEMENTS, gap_problems, gaps_in
from sargnn.data.graphs import GraphSet
from sargnn.data.io.set_columns import undirected
from sargnn.data.problems import InputErrors, Problem, Problems
from sargnn.data.roles import USUAL, Roles
from sargnn.data.saved_sets import check_content
from sargnn.data.sources import Source, read, require_two_classes
from sargnn.data.twins import unavoidable_errors
from sargnn.errors import InputError

__all__ = ["CheckReport", "check", "summary", "target_summary"]

SHOWN = 10
"""Groups of equal graphs in different classes that are listed, and graphs of each."""


@dataclass(frozen=True)
class CheckReport:
    """What :func:`check` found."""

    graphs: GraphSet | None
    """The set, if it can be read."""
    problems: list[Problem]
    """What is wrong."""
    count: int
    """How many problems there are, if more than are listed."""
    left_out: list[Problem] = field(default_factory=list)
    """Why single graphs were left out; the others can be used."""


def check(source: Source, roles: Roles = USUAL, missing: str = "flag") -> CheckReport:
    """Read ``source`` as :func:`sargnn.load` does, but list all problems instead of raising the first. Gaps in
    attributes are problems where training would refuse them: ``missing`` is ``data.missing``.

    >>> from sargnn.data.graphs import pack
    >>> report = check(pack([(1, []), (2, [])], name="dots", y=[0, 0], classes=["a"]))
    >>> [str(problem) for problem in report.problems]
    ["dots: got class 'a' only, expected two or more classes"]
    """
    check_each((missing,), MISSING, "data.missing")
    problems = Problems()
    try:
        graphs = read(source, problems, roles)
    except InputErrors as error:
        others = [problem for problem in problems.left_out if problem not in error.problems]
        return CheckReport(None, list(error.problems), error.count, others)
    except InputError as error:
        return CheckReport(None, [Problem(str(error))], 1, problems.left_out)
    inside = Problems()
    with inside.caught():
        if isinstance(source, GraphSet):  # what was read from a file is checked already
            check_content(graphs)
    if inside.found:
        return CheckReport(None, inside.found, inside.count)
    with inside.caught():
        if graphs.targets is None:
            require_two_classes(graphs)
    for of in ELEMENTS if missing == "refuse" else ():
        inside.take(*gap_problems(graphs, of))
    return CheckReport(graphs, inside.found, inside.count, problems.left_out)


def summary(graphs: GraphSet) -> dict[str, Any]:
    """What the set is like, in plain values.

    >>> from sargnn.data.graphs import pack
    >>> found = summary(pack([(1, []), (1, [])], y=[0, 1], classes=["a", "b"]))
    >>> found["graphs"], found["classes"], found["duplicates_across_classes"]
    (2, {'a': 1, 'b': 1}, {'groups': 1, 'graphs': 2, 'positions': [[0, 1]]})
    >>> found["ceiling_accuracy"]  # the two graphs are isomorphic, and their classes differ
    0.5
    """
    y = graphs.y
    ends = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    source, target = ends
    counts = [] if y is None else np.bincount(y, minlength=len(graphs.classes)).tolist()
    return {
        "name": graphs.name,
        "graphs": len(graphs),
        "nodes": graphs.num_nodes,
        "edges": graphs.num_edges,
        "classes": dict(zip(graphs.classes, counts, strict=True)) if counts else {},
        **({} if graphs.targets is None else {"targets": target_summary(graphs)}),
        "nodes_per_graph": _spread(graphs.sizes),
        "edges_per_graph": _spread(np.diff(graphs.edge_ptr)),
        "degree": _spread(graphs.degrees),
        "node_labels": list(graphs.node_label_names[:100]),
        "node_attributes": _columns(graphs.node_attributes, graphs.node_attribute_names),
        "edge_labels": list(graphs.edge_label_names[:100]),
        "edge_attributes": _columns(graphs.edge_attributes, graphs.edge_attribute_names),
        "graph_attributes": _columns(graphs.graph_attributes, graphs.graph_attribute_names),
        **({"gaps": gaps} if (gaps := gaps_in(graphs)) else {}),
        "directed_graphs": int((~undirected(graphs)).sum()),
        "one_node_graphs": int((graphs.sizes == 1).sum()),
        "graphs_without_edges": int((np.diff(graphs.edge_ptr) == 0).sum()),
        "isolated_nodes": graphs.num_nodes - len(np.unique(ends[:, source != target])),
        "self_loops": int((source == target).sum()),
        **_equal_graphs(graphs),
        "fingerprint": graphs.fingerprint,
        "notes": list(graphs.notes),
    }


def target_summary(graphs: GraphSet) -> dict[str, dict[str, Any]]:
    """Of each target how many values there are, and how many of them are 1, or their range.

    >>> from sargnn.data.graphs import pack
    >>> dots = pack([(1, [])] * 3, targets=[[0, 1.5], [1, 2.5], [float("nan"), 5]], target_names=["toxic", "size"])
    >>> target_summary(dots)
    {'toxic': {'values': 2, 'ones': 1}, 'size': {'values': 3, 'least': 1.5, 'mean': 3.0, 'most': 5.0}}
    """
    found = {}
    for name, column in zip(graphs.target_names, [] if graphs.targets is None else graphs.targets.T, strict=True):
        values = column[~np.isnan(column)]
        about: dict[str, Any] = {"values": len(values)}
        if np.isin(values, (0, 1)).all():
            about["ones"] = int(values.sum())
        else:
            about |= {"least": float(values.min()), "mean": float(values.mean()), "most": float(values.max())}
        found[name] = about
    return found


def _equal_graphs(graphs: GraphSet) -> dict[str, Any]:
    """Duplicates, and where isomorphic ones differ in class, the accuracy that no function of the graph can exceed."""
    groups, y = duplicates(graphs), graphs.y
    across = [] if y is None else [group for group in groups if len(np.unique(y[group])) > 1]
    errors = unavoidable_errors(graphs.subset(np.concatenate(across))) if across else 0
    return {
        "duplicates": {"groups": len(groups), "graphs": sum(map(len, groups))},
        "duplicates_across_classes": {
            "groups": len(across),
            "graphs": sum(map(len, across)),
            "positions": [group[:SHOWN].tolist() for group in across[:SHOWN]],
        },
        **({"ceiling_accuracy": 1 - errors / len(graphs)} if errors else {}),
    }


def _spread(values: np.ndarray) -> dict[str, int | float]:
    if not len(values):
        return {}
    middle = {"median": float(np.median(values)), "mean": float(values.mean())}
    return {"least": int(values.min()), **middle, "most": int(values.max())}


def _columns(values: np.ndarray | None, names: tuple[str, ...]) -> list[str]:
    return [] if values is None else list(names) or [f"attribute_{i}" for i in range(values.shape[1])]
