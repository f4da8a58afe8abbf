"""What each kind of fragment does over a whole set: how often it is there, its mean effect and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sargnn.explain.parts import Parts

__all__ = ["FragmentEffect", "fragment_effects"]


@dataclass(frozen=True)
class FragmentEffect:
    """The effect of one kind of fragment on one output."""

    name: str
    graphs: int
    """How many graphs have it."""
    count: int
    """How many there are in all."""
    mean: float
    """Of the graphs' own means, so that a graph with many counts once."""
    low: float
    high: float
    """The 95 % interval of the mean over graphs, by Student's t; without end for a fragment of one graph."""

    @property
    def weight(self) -> float:
        """How much it does over the set: the end of its interval that is nearer to zero (0 where zero is inside) times
        the number of graphs."""
        return max(self.low, -self.high, 0.0) * self.graphs


def fragment_effects(parts: Parts, effects: np.ndarray) -> list[FragmentEffect]:
    """Of each kind among the ``parts``, by their ``effects`` [P] on one output. First come those that do most over
    the set, by the end of the interval nearer to zero: a rare fragment does not come first by chance.

    >>> three = Parts("fragments", np.array([0, 0, 1]), np.arange(4), np.arange(3), ("nitro", "nitro", "nitro"))
    >>> nitro, = fragment_effects(three, np.array([1.0, 2.0, 2.5]))
    >>> nitro.graphs, nitro.count, nitro.mean, round(nitro.low, 2)
    (2, 3, 2.0, -4.35)
    """
    names, kind = np.unique(np.array(parts.names, np.str_), return_inverse=True)
    pairs, which, counts = np.unique(np.stack([kind, parts.graph]), axis=1, return_inverse=True, return_counts=True)
    own = np.bincount(which.ravel(), effects, minlength=len(counts)) / counts  # one number per kind and graph
    kinds = pairs[0]
    graphs, total = np.bincount(kinds, minlength=len(names)), np.bincount(kind, minlength=len(names))
    mean = np.bincount(kinds, own, minlength=len(names)) / np.maximum(graphs, 1)
    squares = np.bincount(kinds, (own - mean[kinds]) ** 2, minlength=len(names))
    free = np.maximum(graphs - 1, 1)
    half = np.where(graphs > 1, stdtrit(free, 0.975) * np.sqrt(squares / free / np.maximum(graphs, 1)), np.inf)
    columns = (graphs, total, mean, mean - half, mean + half)
    found = [FragmentEffect(str(name), *row) for name, *row in zip(names, *(c.tolist() for c in columns), strict=True)]
    return sorted(found, key=lambda one: (-one.weight, -one.graphs, one.name))
