"""A set of graphs with what the runs say of it, as the page shows it: a list of graphs and a map of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS, GraphSet
from sargnn.errors import InputError
from sargnn.serving.answers import answer_of
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome

__all__ = ["BrowsedSet", "map_of"]

MOST_NEIGHBOURS = 3_000
"""Graphs that t-SNE lays out; more are laid out by PCA."""


@dataclass(eq=False)
class BrowsedSet:
    """A set and what the runs say of it, by the name of the run."""

    name: str
    graphs: GraphSet
    left_out: tuple[str, ...] = ()
    private: bool = False
    """Whether it is known to those only who were told its name."""
    said: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """By run, then graph: its answer."""

    def card(self) -> dict[str, Any]:
        counts = {"graphs": len(self.graphs), "nodes": self.graphs.num_nodes}
        return {"name": self.name, "title": self.graphs.name, **counts, "notes": list(self.graphs.notes)}

    def rows(self, run: LoadedRun, start: int, stop: int) -> dict[str, list[Any]]:
        """The graphs from ``start`` to ``stop`` as columns: what they are, what is true, what the run says."""
        graphs, said = self.graphs, self.said.get(run.name, {})
        index = range(start, min(stop, len(graphs)))
        edges = np.diff(graphs.edge_ptr).tolist()
        columns: dict[str, list[Any]] = {
            "graph": list(index),
            "name": [graphs.graph_names[g] if graphs.graph_names else None for g in index],
            "nodes": [int(graphs.sizes[g]) for g in index],
            "edges": [edges[g] for g in index],
            "part": [None if graphs.part is None else PARTS[graphs.part[g]] for g in index],
        }
        for key in ("truth", "right", "prediction", "confidence", "values", "error"):
            columns[key] = [said.get(g, {}).get(key) for g in index]
        return columns

    def take(self, run: LoadedRun, start: int, outcomes: Sequence[Outcome | Exception]) -> None:
        """Keep what a run says of the graphs from ``start`` on."""
        truths = _truths(run, self.graphs, start, start + len(outcomes))
        said = self.said.setdefault(run.name, {})
        for position, outcome in enumerate(outcomes):
            if not isinstance(outcome, Outcome):
                said[start + position] = {"error": str(outcome)}
                continue
            target = None if truths is None else truths[position]
            known: dict[str, Any] = {}
            if target is not None:
                right = run.task.right(np.asarray([target]), outcome.values[None])
                known = {"truth": run.task.truth(target), "right": bool(np.all(right))}
            said[start + position] = answer_of(run, outcome) | known


def map_of(vectors: np.ndarray, method: str) -> np.ndarray:
    """float [K, 2]: the vectors on a plane, by their two main directions (``pca``) or so that neighbours stay
    neighbours (``tsne``).

    >>> map_of(np.array([[0.0, 0, 0], [2, 0, 0], [4, 0, 0]]), "pca")[:, 1].round(6).tolist()
    [0.0, 0.0, 0.0]
    """
    centred = vectors - vectors.mean(axis=0)
    left, scale, right = np.linalg.svd(centred, full_matrices=False)
    width = min(2, left.shape[1])
    plane = np.zeros((len(vectors), 2))
    signs = np.sign(right[np.arange(width), np.abs(right[:width]).argmax(axis=1)])  # one of the two mirror images
    plane[:, :width] = left[:, :width] * scale[:width] * signs
    if method == "pca" or not 4 <= len(vectors) <= MOST_NEIGHBOURS:
        return plane
    from sklearn.manifold import TSNE

    spread = np.linalg.norm(centred, axis=1).std() or 1.0
    start = plane / (plane[:, 0].std() or 1.0) * 1e-4
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    found = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0).fit_transform(centred / spread)
    return np.asarray(found, dtype=float)


def _truths(run: LoadedRun, graphs: GraphSet, start: int, stop: int) -> Any | None:
    """The targets of some graphs as the task of the run stores them, if they have any."""
    try:
        return run.task.targets(graphs.subset(np.arange(start, min(stop, len(graphs)))))
    except InputError:
        return None
