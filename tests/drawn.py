"""Small graphs to draw, and where their nodes came to stand."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from sargnn.data.graphs import GraphSet, pack

Edges = list[tuple[int, int]]


def both_ways(edges: Edges) -> Edges:
    return edges + [(b, a) for a, b in edges]


def one_graph(nodes: int, edges: Edges, **fields: object) -> GraphSet:
    return pack([(nodes, both_ways(edges))], name="awkward", **fields)


def ring(nodes: int, start: int = 0) -> Edges:
    return [(start + i, start + (i + 1) % nodes) for i in range(nodes)]


def node_points(figure: Figure, panel: int = 0) -> np.ndarray:
    """Centres of the drawn nodes, in points, in no particular order."""
    drawn = [c for c in figure.axes[panel].collections if isinstance(c, PathCollection)]
    return np.concatenate([np.asarray(c.get_offsets()) for c in drawn])
