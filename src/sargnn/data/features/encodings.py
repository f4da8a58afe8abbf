"""Inputs: what a model sees of every node, edge and graph, fitted on the training graphs and on nothing else.

Encodings of nodes:

====================  ======================================================================================
``labels``            one-hot of the node label, matched by name
``attributes``        node attributes, each standardised by the mean and deviation of the training nodes
``degree``            one-hot of the degree 0..max; higher degrees share the last column
``degree-scalar``     the degree, standardised on the training nodes
``constant``          one
``random-walk``       the probability that a random walk is back at its node after 2, 3, ... k + 1 steps
``laplacian``         the first k non-trivial eigenvectors of the symmetric normalised Laplacian
``substructures``     how many rings of 3..6 nodes and cliques of 4 pass through the node
``topology``          degree, statistics of the neighbours' degrees, three measures of the node's edges
``auto``              attributes and labels where there are any, else degree
====================  ======================================================================================

Of edges there are ``labels``, ``attributes`` and ``auto`` (those of the two that the graphs bring, or none), of graphs
their attributes. The true saliency of a synthetic set is never an input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import Literal

import numpy as np

from sargnn.data.features.degree_profiles import COLUMNS
from sargnn.data.features.substructures import PATTERNS
from sargnn.data.features.walks_and_rings import (
    DENSE_NODES,
    connected_parts,
    fix_sign,
    node_profiles,
    return_probabilities,
    smallest_eigenvectors,
    substructure_counts,
)  # fmt: skip
from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import Element, SetChunks
from sargnn.errors import InputError

__all__ = ["ENCODINGS", "DataConfig", "Encoding"]

FARTHEST = 1e4
"""Deviations from the mean up to which an attribute is read: far beyond, networks overflow."""


@dataclass(frozen=True)
class DataConfig:
    """Which inputs to make of a graph.

    >>> DataConfig(encodings=("degree", "random-walk"), walk_steps=4).walk_steps
    4
    """

    encodings: tuple[str, ...] = ("auto",)
    """Names of encodings, side by side in this order; ``auto`` takes what the graphs bring."""
    walk_steps: int = 8
    """Columns of ``random-walk``: return probabilities after 2..walk_steps + 1 steps."""
    laplacian_vectors: int = 8
    """Columns of ``laplacian``; graphs with fewer eigenvectors are padded with zeros."""
    max_degree: int | None = None
    """Last column of ``degree``; by default the largest degree of the training graphs."""
    substructures: tuple[str, ...] = PATTERNS
    """Columns of ``substructures``: ring3 to ring6, clique4."""
    edge_encodings: tuple[str, ...] = ()
    """Edge inputs, side by side: ``labels``, ``attributes``, or ``auto`` for those of the two that the graphs bring."""
    graph_inputs: bool = False
    """Whether the attributes of a whole graph are inputs too."""

    def __post_init__(self) -> None:
        if not self.encodings:
            raise InputError("data.encodings: got none, expected at least one")
        check_names(self.encodings, ("auto", *ENCODINGS), "data.encodings")
        check_names(self.edge_encodings, ("auto", *OWN), "data.edge_encodings")
        if self.walk_steps < 1:
            raise InputError(f"data.walk_steps: got {self.walk_steps}, expected 1 or more")
        if not 1 <= self.laplacian_vectors < DENSE_NODES:
            raise InputError(f"data.laplacian_vectors: got {self.laplacian_vectors}, expected 1..{DENSE_NODES - 1}")
        if self.max_degree is not None and self.max_degree < 1:
            raise InputError(f"data.max_degree: got {self.max_degree}, expected 1 or more, or none")
        if not self.substructures:
            raise InputError("data.substructures: got none, expected at least one")
        for name in self.substructures:
            check_name(name, PATTERNS, "data.substructures")


class Encoding(ABC):
    """One block of columns: a frozen record of what was fitted, in plain values that JSON can hold."""

    @classmethod
    @abstractmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Encoding:
        """Learn from the training graphs what :meth:`encode` needs."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """One name a column."""

    @abstractmethod
    def encode(self, graphs: GraphSet) -> np.ndarray:
        """[N, F]: the columns for every node (edge, graph)."""


@dataclass(frozen=True)
class Labels(Encoding):
    """One-hot of the label, matched by name: another file may number its labels differently."""

    names: tuple[str, ...]
    of: Literal["node", "edge"] = "node"

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"names: got {list(self.names)}, expected one or more, each once")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks, of: Literal["node", "edge"] = "node") -> Labels:
        # All names of the set, seen in training or not: a rare label must not make a test graph unreadable.
        return cls(max((_label_codes(training.graphs, of, rows)[1] for rows in training.rows(of)), key=len), of)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"label {name}" for name in self.names)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        columns, own_codes, own_names = self._columns(graphs)
        if (columns < 0).any():
            row = int(np.argmax(columns < 0))
            got = f"got {self.of} label {own_names[own_codes[row]]!r} in {_place(graphs, row, self.of)}"
            raise InputError(f"{got}, expected one of {', '.join(self.names)}")
        return _one_hot(columns, len(self.names))

    def strange(self, graphs: GraphSet) -> tuple[np.ndarray, list[str]]:
        """bool [G], which graphs have labels without a column and would be refused, and these labels."""
        names = getattr(graphs, f"{self.of}_label_names")
        known = names and set(names) <= set(self.names)  # as it nearly always is: then no row need be looked at
        if known or not (graphs.num_edges if self.of == "edge" else graphs.num_nodes):
            return np.zeros(len(graphs), bool), []
        columns, own_codes, own_names = self._columns(graphs)
        rows = np.flatnonzero(columns < 0)
        owner = graphs.edge_graph[rows] if self.of == "edge" else np.searchsorted(graphs.node_ptr, rows, "right") - 1
        return np.isin(np.arange(len(graphs)), owner), [own_names[code] for code in np.unique(own_codes[rows])]

    def _columns(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """int64: the column of every node or edge, -1 where its label has none; its own code, and what codes mean."""
        own_codes, own_names = _label_codes(graphs, self.of)
        column = {name: i for i, name in enumerate(self.names)}
        return np.array([column.get(name, -1) for name in own_names], np.int64)[own_codes], own_codes, own_names


@dataclass(frozen=True)
class Attributes(Encoding):
    """Attributes, each less its mean over its deviation on the training nodes (edges, graphs). What is
    farther from the mean than :data:`FARTHEST` deviations, as none of a hundred million training nodes can be, is read
    as that far."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    of: Element = "node"

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected as many")
        if min(self.std) < 0:
            raise InputError(f"std: got {min(self.std)}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks, of: Element = "node") -> Attributes:
        return cls(*_moments(_attributes(training.graphs, of, rows) for rows in training.rows(of)), of)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"attribute {i}" for i in range(len(self.mean)))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        values = _attributes(graphs, self.of)
        if values.shape[1] != len(self.mean):
            raise InputError(f"got {values.shape[1]} {self.of} attributes, expected {len(self.mean)}, in {graphs.name}")
        return np.clip(_over(values - self.mean, self.std), -FARTHEST, FARTHEST)


@dataclass(frozen=True)
class Degree(Encoding):
    """One-hot of the degree; the last column takes every degree from ``max_degree`` on."""

    max_degree: int

    def __post_init__(self) -> None:
        if self.max_degree < 0:
            raise InputError(f"max_degree: got {self.max_degree}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Degree:
        return cls(config.max_degree or max(int(graphs.degrees.max(initial=0)) for graphs in training))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (*(f"degree {d}" for d in range(self.max_degree)), f"degree {self.max_degree} or more")

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return _one_hot(np.minimum(graphs.degrees, self.max_degree), self.max_degree + 1)


@dataclass(frozen=True)
class DegreeScalar(Encoding):
    """The degree, less its mean over its deviation on the training nodes."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if self.std < 0:
            raise InputError(f"std: got {self.std}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> DegreeScalar:
        (mean,), (std,) = _moments(graphs.degrees[:, None].astype(np.float64) for graphs in training)
        return cls(mean, std)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("degree, standardised",)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return _over(graphs.degrees[:, None] - self.mean, self.std)


@dataclass(frozen=True)
class Constant(Encoding):
    """One for every node: the structure of the graph alone speaks."""

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Constant:
        return cls()

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("constant",)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return np.ones((graphs.num_nodes, 1), np.float32)


@dataclass(frozen=True)
class RandomWalk(Encoding):
    r"""Return probabilities :math:`(P^t)_{vv}`, :math:`t = 2, ..., k + 1`, of the walk :math:`P = D^{-1} A`.

    Self-loops and edge directions are left out of :math:`A`. One step can never return, so the first column
    is for two steps. A node without edges gets zeros.
    """

    steps: int

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"steps: got {self.steps}, expected 1 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> RandomWalk:
        return cls(config.walk_steps)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"back after {t} steps" for t in range(2, self.steps + 2))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return return_probabilities(graphs, self.steps)


@dataclass(frozen=True)
class Laplacian(Encoding):
    r"""Unit eigenvectors of :math:`L = I - D^{-1/2} A D^{-1/2}` for its smallest positive eigenvalues.

    Self-loops and edge directions are left out of :math:`A`. The eigenvalue 0 is trivial, once for every
    connected part: its vectors say only which part a node is in. A node without edges gets zeros, and so do
    columns beyond the last eigenvector.

    An eigenvector is known up to its sign. Taken is the sign that makes its sum of cubes positive and, where
    that sum vanishes (a symmetry of the graph turns the vector around), its absolute values: rules that
    commute with any renumbering of the nodes. What stays arbitrary is the basis for a *repeated* eigenvalue,
    as in a cycle, a star, or two equal parts: the columns are still made of eigenvectors, but renumbering the
    nodes may give others.
    """

    vectors: int

    def __post_init__(self) -> None:
        if not 1 <= self.vectors < DENSE_NODES:
            raise InputError(f"vectors: got {self.vectors}, expected 1..{DENSE_NODES - 1}")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Laplacian:
        return cls(config.laplacian_vectors)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"eigenvector {i}" for i in range(1, self.vectors + 1))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        # The eigenvalues of a graph are those of its connected parts: solve each part, then merge.
        out = np.zeros((graphs.num_nodes, self.vectors), np.float32)
        solved = []
        for nodes, walk in connected_parts(graphs):
            values, vectors = smallest_eigenvectors(walk, self.vectors)
            solved.append((nodes, values, fix_sign(vectors).astype(np.float32)))
        if not solved:
            return out
        owners = [np.repeat(graphs.node_graph[nodes[:, 0]], values.shape[1]) for nodes, values, _ in solved]
        every_value = np.concatenate([values.ravel() for _, values, _ in solved])
        rank = _rank_within(np.concatenate(owners), every_value)
        for nodes, values, vectors in solved:
            column, rank = rank[: values.size].reshape(values.shape), rank[values.size :]
            part, vector = np.nonzero(column < self.vectors)
            out[nodes[part], column[part, vector, None]] = vectors[part, :, vector]
        return out


@dataclass(frozen=True)
class Substructures(Encoding):
    """How many rings and cliques pass through each node, over the deviation of that number on the training nodes.

    Not centred: no ring is 0 whatever the training graphs were, and the sum over a graph is proportional to its number
    of rings. Counts that took long are kept in the data cache, by the fingerprint of the graphs.
    """

    patterns: tuple[str, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.patterns) != len(self.std) or not self.patterns:
            raise InputError(f"got {len(self.patterns)} patterns and {len(self.std)} deviations, expected as many")
        for name in self.patterns:
            check_name(name, PATTERNS, "patterns")
        if min(self.std) < 0:
            raise InputError(f"std: got {min(self.std)}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Substructures:
        counts = (substructure_counts(graphs, config.substructures) for graphs in training)
        return cls(config.substructures, _moments(counts)[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{pattern} count" for pattern in self.patterns)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return _over(substructure_counts(graphs, self.patterns), self.std)


@dataclass(frozen=True)
class Topology(Encoding):
    """The local degree and topological profile of each node (see :mod:`sargnn.data.features.degree_profiles`), each
    column less its mean over its deviation on the training nodes. Profiles that took long are kept in the data
    cache."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(COLUMNS) or len(self.std) != len(COLUMNS):
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected {len(COLUMNS)}")
        if min(self.std) < 0:
            raise InputError(f"std: got {min(self.std)}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Topology:
        return cls(*_moments(map(node_profiles, training)))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return COLUMNS

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return _over(node_profiles(graphs) - self.mean, self.std)


COSTLY = (RandomWalk, Laplacian, Substructures, Topology)
"""Encodings that take long to make, so that a set which is read batch by batch makes them once."""

OWN: dict[str, type[Attributes] | type[Labels]] = {"attributes": Attributes, "labels": Labels}
"""Encodings of what graphs bring themselves: of nodes and of edges."""

ENCODINGS: dict[str, type[Encoding]] = {
    "labels": Labels,
    "attributes": Attributes,
    "degree": Degree,
    "degree-scalar": DegreeScalar,
    "constant": Constant,
    "random-walk": RandomWalk,
    "laplacian": Laplacian,
    "substructures": Substructures,
    "topology": Topology,
}


def check_names(names: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    for name in names:
        check_name(name, known, where)
    if len(set(names)) < len(names):
        raise InputError(f"{where}: got {', '.join(names)}, expected each name once")


def check_name(name: str, known: tuple[str, ...], where: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{where}: got {name!r}, expected one of {', '.join(known)}{hint}")


def _own(graphs: GraphSet, what: str, rows: np.ndarray | None = None) -> np.ndarray | None:
    """Some rows, by default all, of an array that the graphs bring, if there is anything in them."""
    values = getattr(graphs, what)
    if values is not None and rows is not None:
        values = values[rows]
    return None if values is None or values.size == 0 else values


def own_inputs(graphs: GraphSet, of: Element, rows: np.ndarray) -> tuple[str, ...]:
    """The encodings of what the graphs bring themselves in those rows."""
    return tuple(name for name in OWN if _own(graphs, f"{of}_{name}", rows) is not None)


def _label_codes(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """int64 [N] and what each code means; without names the codes name themselves."""
    codes = _own(graphs, f"{of}_labels", rows)
    if codes is None:
        raise InputError(f"got no {of} labels, expected a label for every {of}, in {graphs.name}")
    return codes, getattr(graphs, f"{of}_label_names") or tuple(map(str, range(int(codes.max()) + 1)))


def _attributes(graphs: GraphSet, of: Element, rows: np.ndarray | None = None) -> np.ndarray:
    """float64 [N, A], all finite."""
    own = _own(graphs, f"{of}_attributes", rows)
    if own is None:
        raise InputError(f"got no {of} attributes, expected numbers for every {of}, in {graphs.name}")
    values = np.asarray(own, np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = map(int, bad[0])
        got = f"got {values[row, column]} as attribute {column}"
        place = _place(graphs, row if rows is None else int(rows[row]), of)
        raise InputError(f"{got} in {place}, expected a finite number")
    return values


def _place(graphs: GraphSet, row: int, of: Element) -> str:
    """Where a row of the node, edge or graph arrays is, in words."""
    graph, inside = row, ""
    if of == "node":
        graph = int(np.searchsorted(graphs.node_ptr, row, side="right")) - 1
        inside = f" (node {row - graphs.node_ptr[graph]})"
    if of == "edge":
        graph = int(graphs.edge_graph[row])
        inside = " (edge {} -> {})".format(*graphs.edges[:, row])
    return f"{graphs.called(graph)}{inside} of {graphs.name}"


def _over(values: np.ndarray, deviation: tuple[float, ...] | float) -> np.ndarray:
    """Columns over their deviations in training; one that was constant there is 0 wherever it is not, since no weight
    has learned what it means.

    >>> _over(np.array([[3.0, 1.1]]), (2.0, 0.0)).tolist()
    [[1.5, 0.0]]
    """
    return np.divide(values, deviation, out=np.zeros(values.shape), where=np.asarray(deviation) > 0)


def _moments(blocks: Iterable[np.ndarray]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each column over the rows of all blocks; the deviation of a constant column is 0."""
    found = reduce(_Moments.joined, map(_Moments.of, blocks))
    # Rounding can give a constant column a deviation of 1e-17, so the values themselves are asked.
    deviation = np.where(found.high > found.low, np.sqrt(found.variance), 0.0)
    return tuple(found.mean.tolist()), tuple(deviation.tolist())


@dataclass(frozen=True, eq=False)
class _Moments:
    """What is known of each column of some rows."""

    rows: int
    mean: np.ndarray
    variance: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> _Moments:
        return cls(len(values), values.mean(axis=0), values.var(axis=0), values.min(axis=0), values.max(axis=0))

    def joined(self, other: _Moments) -> _Moments:
        """Those of both together (Chan et al., 1979), without the cancellation of a difference of sums of squares."""
        rows = self.rows + other.rows
        share, apart = other.rows / rows, other.mean - self.mean
        return _Moments(
            rows,
            self.mean + share * apart,
            (1 - share) * self.variance + share * other.variance + share * (1 - share) * apart**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def _one_hot(codes: np.ndarray, width: int) -> np.ndarray:
    out = np.zeros((len(codes), width), np.float32)
    out[np.arange(len(codes)), codes] = 1
    return out


def _rank_within(graph: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Each value's place, from 0, among the values of its graph.

    >>> _rank_within(np.array([0, 1, 0]), np.array([0.5, 0.1, 0.2])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((value, graph))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(graph[order], graph[order])
    return rank
