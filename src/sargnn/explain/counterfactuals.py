"""Counterfactuals: a smallest removal of parts after which the model decides otherwise.

Parts are removed one after the other, each time the one that brings the decision nearest to changing, for all graphs
in the same batches. When it has changed, every removed part that can be put back without changing it again is put
back. So no removed part is idle, and no single part does alone what two or more do; that no other choice of fewer
parts does it is not certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sargnn.explain.parts import Parts

__all__ = ["MOST_REMOVED", "Judge", "smallest_removals"]

MOST_REMOVED = 12
"""Parts removed at most: a decision that outlives so many has no single cause."""

Judge = Callable[[Parts], tuple[np.ndarray, np.ndarray]]
"""Says of removals, float [R] and bool [R]: how far the decision is from changing, and whether it has changed."""

Removal = tuple[int, ...]
"""Numbers of parts of one graph."""


def smallest_removals(judge: Judge, parts: Parts, most: int = MOST_REMOVED) -> dict[int, Removal]:
    """By graph, the numbers of the parts without which the decision changes; graphs where none do are not there.

    >>> from sargnn.explain.parts import node_parts
    >>> def judge(removals):  # changes when nodes 1 and 2 are both gone
    ...     left = np.array([2 - np.isin([1, 2], removals.of(r)).sum() for r in range(len(removals))])
    ...     return left, left == 0
    >>> smallest_removals(judge, node_parts(np.array([4])))
    {0: (1, 2)}
    """
    own: dict[int, list[int]] = {}
    for part, graph in enumerate(parts.graph.tolist()):
        own.setdefault(graph, []).append(part)
    chosen: dict[int, Removal] = dict.fromkeys(own, ())
    found: dict[int, Removal] = {}
    for _ in range(most):
        tried = [(*before, part) for g, before in chosen.items() for part in own[g] if part not in before]
        chosen = {}
        for graph, removal, changed in _best(judge, parts, tried):
            (found if changed else chosen)[graph] = removal
    return dict(sorted(_without_idle(judge, parts, found).items()))


def _without_idle(judge: Judge, parts: Parts, found: dict[int, Removal]) -> dict[int, Removal]:
    """Without parts that can be put back, one after the other."""
    open_, done = found, dict[int, Removal]()
    while open_:
        long = [removal for removal in open_.values() if len(removal) > 1]
        tried = [removal[:i] + removal[i + 1 :] for removal in long for i in range(len(removal))]
        shorter = {graph: removal for graph, removal, changed in _best(judge, parts, tried) if changed}
        done |= {graph: removal for graph, removal in open_.items() if graph not in shorter}
        open_ = shorter
    return {graph: tuple(sorted(removal)) for graph, removal in done.items()}


def _best(judge: Judge, parts: Parts, tried: list[Removal]) -> Iterable[tuple[int, Removal, bool]]:
    """Of the removals of each graph the one nearest to a change, and whether it makes one."""
    if not tried:
        return
    removals = parts.joined(tried)
    distance, changed = judge(removals)
    order = np.lexsort((distance, ~changed, removals.graph))
    _, first = np.unique(removals.graph[order], return_index=True)
    for row in order[first].tolist():
        yield int(removals.graph[row]), tried[row], bool(changed[row])
