"""Inputs: what a model sees of every node, edge and graph, fitted on the training graphs and on nothing else.

Encodings of nodes:

====================  ======================================================================================
``labels``            one-hot of the node label, matched by name
``attributes``        node attributes, each standardised by the mean and deviation of the training nodes; gaps are the
                      mean, and have a column that says where
``degree``            one-hot of the degree 0..max; higher degrees share the last column
``degree-scalar``     the degree, standardised on the training nodes
``constant``          one
``random-walk``       the probability that a random walk is back at its node after 2, 3, ... k + 1 steps
``laplacian``         the first k non-trivial eigenvectors of the symmetric normalised Laplacian
``substructures``     the number of rings of 3..6 nodes and cliques of 4 through the node
``topology``          degree, statistics of the neighbours' degrees, three measures of the node's edges
``auto``              attributes and labels where there are any, else degree
====================  ======================================================================================

Edges have ``labels``, ``attributes`` and ``auto`` (those of the two that there are), whole graphs ``attributes``, and
molecules :mod:`sargnn.data.features.molecule_encodings`. The true saliency of a synthetic set is never an input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sargnn.data.features.base import Encoding, check_columns, check_each, check_number
from sargnn.data.features.component_features import (
    DENSE_NODES,
    laplacian_vectors,
    node_profiles,
    return_probabilities,
    substructure_counts,
)  # fmt: skip
from sargnn.data.features.degree_profiles import COLUMNS
from sargnn.data.features.given_encodings import MISSING, Attributes, Labels, Missing
from sargnn.data.features.molecule_encodings import Descriptors, Morgan
from sargnn.data.features.standardisation import moments, over_deviation
from sargnn.data.features.substructures import PATTERNS
from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import SetChunks
from sargnn.errors import InputError

__all__ = ["ENCODINGS", "GRAPH_ENCODINGS", "DataConfig"]


@dataclass(frozen=True)
class DataConfig:
    """Which inputs to make of a graph.

    >>> DataConfig(encodings=("degree", "random-walk"), walk_steps=4).walk_steps
    4
    """

    encodings: tuple[str, ...] = ("auto",)
    """Names of encodings, side by side in this order; ``auto`` takes what the graphs have."""
    rare_labels: int = 0
    """Node and edge labels of fewer training graphs share a column ``unknown``, where labels that come up later go too;
    0: no such column, and graphs with labels that come up later are left out."""
    missing: Missing = "flag"
    """What to make of gaps in attributes: ``refuse`` them, read the ``mean`` of the training graphs, or the mean with a
    column, ``flag``, of 0 and 1 for each attribute that has gaps in the training graphs."""
    walk_steps: int = 8
    """Columns of ``random-walk``: return probabilities after 2..walk_steps + 1 steps."""
    laplacian_vectors: int = 8
    """Columns of ``laplacian``; graphs with fewer eigenvectors are padded with zeros."""
    max_degree: int | None = None
    """Last column of ``degree``; by default the largest degree of the training graphs."""
    substructures: tuple[str, ...] = PATTERNS
    """Columns of ``substructures``: ring3 to ring6, clique4."""
    edge_encodings: tuple[str, ...] = ()
    """Edge inputs, side by side: ``labels``, ``attributes``, or ``auto`` for those of the two that the graphs have."""
    graph_encodings: tuple[str, ...] = ()
    """Inputs of whole graphs, side by side: their ``attributes``; of molecules with SMILES also RDKit's ``descriptors``
    and counts of circular substructures, ``morgan``."""

    def __post_init__(self) -> None:
        if not self.encodings:
            raise InputError("data.encodings: got none, expected at least one")
        check_each(self.encodings, ("auto", *ENCODINGS), "data.encodings", once=True)
        check_each(self.edge_encodings, ("auto", *GIVEN), "data.edge_encodings", once=True)
        check_each(self.graph_encodings, tuple(GRAPH_ENCODINGS), "data.graph_encodings", once=True)
        check_number("data.rare_labels", self.rare_labels, 0)
        check_each((self.missing,), MISSING, "data.missing")
        check_number("data.walk_steps", self.walk_steps, 1)
        check_columns("data.walk_steps", self.walk_steps)
        check_columns("data.max_degree", self.max_degree or 0)
        check_number("data.laplacian_vectors", self.laplacian_vectors, 1, DENSE_NODES - 1)
        if self.max_degree is not None and self.max_degree < 1:
            raise InputError(f"data.max_degree: got {self.max_degree}, expected 1 or more, or none")
        if not self.substructures:
            raise InputError("data.substructures: got none, expected at least one")
        check_each(self.substructures, PATTERNS, "data.substructures")


@dataclass(frozen=True)
class Degree(Encoding):
    """One-hot of the degree; degrees above ``max_degree`` share the last column."""

    max_degree: int

    def __post_init__(self) -> None:
        check_number("max_degree", self.max_degree, 0)
        check_columns("data.max_degree", self.max_degree)

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
    feature_names = ("degree, standardised",)

    def __post_init__(self) -> None:
        check_number("std", self.std, 0)

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> DegreeScalar:
        (mean,), (std,) = moments(graphs.degrees[:, None].astype(np.float64) for graphs in training)
        return cls(mean, std)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return over_deviation(graphs.degrees[:, None] - self.mean, self.std)


@dataclass(frozen=True)
class Constant(Encoding):
    """One for every node: only the structure of the graph tells nodes apart."""

    feature_names = ("constant",)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return np.ones((graphs.num_nodes, 1), np.float32)


@dataclass(frozen=True)
class RandomWalk(Encoding):
    r"""Return probabilities :math:`(P^t)_{vv}`, :math:`t = 2, ..., k + 1`, of the walk :math:`P = D^{-1} A`.

    Self-loops and edge directions are left out of :math:`A`, so that no walk is back after one step. A node without
    edges gets zeros.
    """

    steps: int

    def __post_init__(self) -> None:
        check_number("steps", self.steps, 1)
        check_columns("data.walk_steps", self.steps)

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

    Self-loops and edge directions are left out of :math:`A`. The eigenvalue 0, once per connected component, is left
    out: its vectors only name the component. A node without edges gets zeros, and so do columns beyond the last
    eigenvector.

    An eigenvector is known up to its sign. Its sign makes its sum of cubes positive; where that sum vanishes (a
    symmetry of the graph turns the vector around), its absolute values are taken. Both rules commute with any
    renumbering of the nodes. The basis for a *repeated* eigenvalue stays arbitrary, as in a cycle, a star, or two
    equal components: renumbering the nodes may give other eigenvectors.
    """

    vectors: int

    def __post_init__(self) -> None:
        check_number("vectors", self.vectors, 1, DENSE_NODES - 1)

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Laplacian:
        return cls(config.laplacian_vectors)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"eigenvector {i}" for i in range(1, self.vectors + 1))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return laplacian_vectors(graphs, self.vectors)


@dataclass(frozen=True)
class Substructures(Encoding):
    """The number of rings and cliques through each node, over its deviation on the training nodes.

    Not centred: no ring is always 0, and the sum over a graph is proportional to its number of rings. Slow counts are
    kept in the data cache, by the fingerprint of the graphs.
    """

    patterns: tuple[str, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.patterns) != len(self.std) or not self.patterns:
            raise InputError(f"got {len(self.patterns)} patterns and {len(self.std)} deviations, expected as many")
        check_each(self.patterns, PATTERNS, "patterns")
        check_number("std", min(self.std), 0)

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Substructures:
        counts = (substructure_counts(graphs, config.substructures) for graphs in training)
        return cls(config.substructures, moments(counts)[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{pattern} count" for pattern in self.patterns)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return over_deviation(substructure_counts(graphs, self.patterns), self.std)


@dataclass(frozen=True)
class Topology(Encoding):
    """The local degree and topological profile of each node (:mod:`sargnn.data.features.degree_profiles`), each column
    less its mean over its deviation on the training nodes. Slow ones are kept in the data cache."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    feature_names = COLUMNS

    def __post_init__(self) -> None:
        if len(self.mean) != len(COLUMNS) or len(self.std) != len(COLUMNS):
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected {len(COLUMNS)}")
        check_number("std", min(self.std), 0)

    @classmethod
    def fit(cls, config: DataConfig, training: SetChunks) -> Topology:
        return cls(*moments(map(node_profiles, training)))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return over_deviation(node_profiles(graphs) - self.mean, self.std)


COSTLY = (RandomWalk, Laplacian, Substructures, Topology, Descriptors, Morgan)
"""Slow encodings, which a set that is read batch by batch computes only once."""

GIVEN: dict[str, type[Attributes] | type[Labels]] = {"attributes": Attributes, "labels": Labels}
"""Encodings of what graphs come with, of nodes and of edges."""

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

GRAPH_ENCODINGS: dict[str, type[Attributes] | type[Descriptors] | type[Morgan]] = {
    "attributes": Attributes, "descriptors": Descriptors, "morgan": Morgan,
}  # fmt: skip
"""Encodings of whole graphs."""


def _one_hot(codes: np.ndarray, width: int) -> np.ndarray:
    out = np.zeros((len(codes), width), np.float32)
    out[np.arange(len(codes)), codes] = 1
    return out
