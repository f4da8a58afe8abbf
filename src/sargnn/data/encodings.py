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

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from sargnn.data.cache import data_folder
from sargnn.data.graphs import CELLS, GraphSet, chunks, equal_size
from sargnn.data.substructures import PATTERNS, count_dense, count_sparse
from sargnn.data.topology import BETWEENNESS, COLUMNS, local_profile, passing_paths
from sargnn.errors import InputError
from sargnn.files import write_file

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ENCODINGS", "DataConfig", "Encoder", "Encoding"]

DENSE_NODES = 300
"""Connected parts up to this size are computed as batches of dense matrices, larger ones sparsely."""

KEPT_SECONDS = 1.0
"""Counts of substructures and profiles that took longer than this are kept on disk."""

Element = Literal["node", "edge", "graph"]
"""What labels and attributes belong to; also how the arrays of a :class:`GraphSet` that hold them begin."""


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
        _check_names(self.encodings, ("auto", *ENCODINGS), "data.encodings")
        _check_names(self.edge_encodings, ("auto", *OWN), "data.edge_encodings")
        if self.walk_steps < 1:
            raise InputError(f"data.walk_steps: got {self.walk_steps}, expected 1 or more")
        if not 1 <= self.laplacian_vectors < DENSE_NODES:
            raise InputError(f"data.laplacian_vectors: got {self.laplacian_vectors}, expected 1..{DENSE_NODES - 1}")
        if self.max_degree is not None and self.max_degree < 1:
            raise InputError(f"data.max_degree: got {self.max_degree}, expected 1 or more, or none")
        if not self.substructures:
            raise InputError("data.substructures: got none, expected at least one")
        for name in self.substructures:
            _check_name(name, PATTERNS, "data.substructures")


class Encoding(ABC):
    """One block of columns: a frozen record of what was fitted, in plain values that JSON can hold."""

    @classmethod
    @abstractmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Encoding:
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
    def fit(cls, config: DataConfig, graphs: GraphSet, of: Literal["node", "edge"] = "node") -> Labels:
        # All names of the set, seen in training or not: a rare label must not make a test graph unreadable.
        return cls(_label_codes(graphs, of)[1], of)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"label {name}" for name in self.names)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        own_codes, own_names = _label_codes(graphs, self.of)
        column = {name: i for i, name in enumerate(self.names)}
        codes = np.array([column.get(name, -1) for name in own_names], np.int64)[own_codes]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            got = f"got {self.of} label {own_names[own_codes[row]]!r} in {_place(graphs, row, self.of)}"
            raise InputError(f"{got}, expected one of {', '.join(self.names)}")
        return _one_hot(codes, len(self.names))


@dataclass(frozen=True)
class Attributes(Encoding):
    """Attributes, each less its mean over its deviation on the training nodes (edges, graphs)."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    of: Element = "node"

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected as many")
        if min(self.std) <= 0:
            raise InputError(f"std: got {min(self.std)}, expected positive numbers")

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet, of: Element = "node") -> Attributes:
        return cls(*_moments(_attributes(graphs, of)), of)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"attribute {i}" for i in range(len(self.mean)))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        values = _attributes(graphs, self.of)
        if values.shape[1] != len(self.mean):
            raise InputError(f"got {values.shape[1]} {self.of} attributes, expected {len(self.mean)}, in {graphs.name}")
        return (values - self.mean) / self.std


@dataclass(frozen=True)
class Degree(Encoding):
    """One-hot of the degree; the last column takes every degree from ``max_degree`` on."""

    max_degree: int

    def __post_init__(self) -> None:
        if self.max_degree < 0:
            raise InputError(f"max_degree: got {self.max_degree}, expected 0 or more")

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Degree:
        return cls(config.max_degree or int(graphs.degrees.max()))

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
        if self.std <= 0:
            raise InputError(f"std: got {self.std}, expected a positive number")

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> DegreeScalar:
        (mean,), (std,) = _moments(graphs.degrees[:, None].astype(np.float64))
        return cls(mean, std)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("degree, standardised",)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return (graphs.degrees[:, None] - self.mean) / self.std


@dataclass(frozen=True)
class Constant(Encoding):
    """One for every node: the structure of the graph alone speaks."""

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Constant:
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
    def fit(cls, config: DataConfig, graphs: GraphSet) -> RandomWalk:
        return cls(config.walk_steps)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"back after {t} steps" for t in range(2, self.steps + 2))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        out = np.zeros((graphs.num_nodes, self.steps), np.float32)
        for nodes, walk in _connected_parts(graphs):
            n = nodes.shape[1]
            for columns in chunks(np.arange(n), n if isinstance(walk, np.ndarray) else CELLS // n):
                start = np.zeros((n, len(columns)))
                start[columns, np.arange(len(columns))] = 1
                out[nodes[:, columns]] = _return_probabilities(walk, start, self.steps)
        return out


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
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Laplacian:
        return cls(config.laplacian_vectors)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"eigenvector {i}" for i in range(1, self.vectors + 1))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        # The eigenvalues of a graph are those of its connected parts: solve each part, then merge.
        out = np.zeros((graphs.num_nodes, self.vectors), np.float32)
        solved = []
        for nodes, walk in _connected_parts(graphs):
            values, vectors = _smallest_eigenvectors(walk, self.vectors)
            solved.append((nodes, values, _fix_sign(vectors).astype(np.float32)))
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
            _check_name(name, PATTERNS, "patterns")
        if min(self.std) <= 0:
            raise InputError(f"std: got {min(self.std)}, expected positive numbers")

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Substructures:
        return cls(config.substructures, _moments(_substructure_counts(graphs, config.substructures))[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{pattern} count" for pattern in self.patterns)

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return _substructure_counts(graphs, self.patterns) / self.std


@dataclass(frozen=True)
class Topology(Encoding):
    """The local degree and topological profile of each node (see :mod:`sargnn.data.topology`), each column less its
    mean over its deviation on the training nodes. Profiles that took long are kept in the data cache."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(COLUMNS) or len(self.std) != len(COLUMNS):
            raise InputError(f"got {len(self.mean)} means and {len(self.std)} deviations, expected {len(COLUMNS)}")
        if min(self.std) <= 0:
            raise InputError(f"std: got {min(self.std)}, expected positive numbers")

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Topology:
        return cls(*_moments(_profiles(graphs)))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return COLUMNS

    def encode(self, graphs: GraphSet) -> np.ndarray:
        return (_profiles(graphs) - self.mean) / self.std


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


@dataclass(frozen=True)
class Encoder:
    """Inputs as fitted on the training graphs, saved with the model: new graphs get the same columns.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])], name="paths")
    >>> encoder = Encoder.fit(DataConfig(), path)
    >>> encoder.notes
    ('paths has no node inputs: using one-hot degree, 0..2',)
    >>> encoder.encode(path).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """

    encodings: tuple[Encoding, ...]
    """The blocks of columns of the node inputs, side by side."""
    notes: tuple[str, ...] = ()
    """What was chosen for the user, in plain sentences."""
    edge_encodings: tuple[Encoding, ...] = ()
    """The blocks of the edge inputs."""
    graph_encodings: tuple[Encoding, ...] = ()
    """The blocks of the inputs of whole graphs."""

    @classmethod
    def fit(cls, config: DataConfig, graphs: GraphSet) -> Encoder:
        """Fit on the training graphs: label names, means and deviations, the largest degree."""
        if graphs.num_nodes == 0:
            raise InputError(f"got no nodes, expected training graphs, in {graphs.name}")
        found = _own_inputs(graphs, "node") or ("degree",)
        names = _chosen(config.encodings, found)
        encodings = tuple(ENCODINGS[name].fit(config, graphs) for name in names)
        notes: tuple[str, ...] = ()
        if "auto" in config.encodings and found == ("degree",):
            last = Degree.fit(config, graphs).max_degree
            notes = (f"{graphs.name} has no node inputs: using one-hot degree, 0..{last}",)
        edge_names = _chosen(config.edge_encodings, _own_inputs(graphs, "edge"))
        of_edges = tuple(OWN[name].fit(config, graphs, "edge") for name in edge_names)
        of_graphs = (Attributes.fit(config, graphs, "graph"),) if config.graph_inputs else ()
        return cls(encodings, notes, of_edges, of_graphs)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """One name a column of the node inputs."""
        return _feature_names(self.encodings)

    @cached_property
    def edge_feature_names(self) -> tuple[str, ...]:
        """One name a column of the edge inputs."""
        return _feature_names(self.edge_encodings)

    @property
    def width(self) -> int:
        """Columns of the node inputs, F."""
        return len(self.feature_names)

    @property
    def edge_width(self) -> int:
        """Columns of the edge inputs, F_e."""
        return len(self.edge_feature_names)

    @property
    def graph_width(self) -> int:
        """Columns of the inputs of whole graphs, F_g."""
        return len(_feature_names(self.graph_encodings))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        """float32 [N, F]: the inputs of every node; refuses graphs whose inputs are not those fitted."""
        return _side_by_side(self.encodings, graphs, graphs.num_nodes)

    def encode_edges(self, graphs: GraphSet) -> np.ndarray:
        """float32 [E, F_e]: the inputs of every edge, in the order of ``graphs.edges``."""
        return _side_by_side(self.edge_encodings, graphs, graphs.num_edges)

    def encode_graphs(self, graphs: GraphSet) -> np.ndarray:
        """float32 [G, F_g]: the inputs of every graph."""
        return _side_by_side(self.graph_encodings, graphs, len(graphs))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON that :meth:`from_json` reads back.

        >>> Encoder((RandomWalk(4),)).to_json()["encodings"]
        [{'encoding': 'random-walk', 'steps': 4}]
        """
        return {
            "encodings": _blocks_to_json(self.encodings),
            "notes": list(self.notes),
            "edge_encodings": _blocks_to_json(self.edge_encodings),
            "graph_encodings": _blocks_to_json(self.graph_encodings),
        }

    @classmethod
    def from_json(cls, content: Any) -> Encoder:
        """The encoder that :meth:`to_json` wrote; an :class:`InputError` when it is not one."""
        if not isinstance(content, dict) or not content.get("encodings"):
            raise InputError("encoder: got no encodings, expected {'encodings': [...], 'notes': [...]}")
        return cls(
            _blocks_from_json(content, "encodings", "node"),
            _parsed(tuple[str, ...], content.get("notes", []), "encoder.notes"),
            _blocks_from_json(content, "edge_encodings", "edge"),
            _blocks_from_json(content, "graph_encodings", "graph"),
        )


def _chosen(names: tuple[str, ...], found: tuple[str, ...]) -> list[str]:
    """The names, each once, with what was found in the place of ``auto``."""
    return list(dict.fromkeys(n for name in names for n in (found if name == "auto" else (name,))))


def _feature_names(encodings: tuple[Encoding, ...]) -> tuple[str, ...]:
    return tuple(name for encoding in encodings for name in encoding.feature_names)


def _side_by_side(encodings: tuple[Encoding, ...], graphs: GraphSet, rows: int) -> np.ndarray:
    if rows == 0:  # what is missing is not missed
        return np.empty((0, len(_feature_names(encodings))), np.float32)
    blocks = [encoding.encode(graphs).astype(np.float32, copy=False) for encoding in encodings]
    return np.concatenate([*blocks, np.empty((rows, 0), np.float32)], axis=1)


def _blocks_to_json(encodings: tuple[Encoding, ...]) -> list[dict[str, Any]]:
    name_of = {kind: name for name, kind in ENCODINGS.items()}
    blocks = [{"encoding": name_of[type(encoding)], **vars(encoding)} for encoding in encodings]
    return [{k: list(v) if isinstance(v, tuple) else v for k, v in b.items()} for b in blocks]


def _blocks_from_json(content: dict[str, Any], field: str, of: Element) -> tuple[Encoding, ...]:
    blocks = content.get(field, [])
    if not isinstance(blocks, list):
        raise InputError(f"encoder.{field}: got {blocks!r}, expected a list")
    encodings = tuple(_encoding_from_json(block, f"encoder.{field}[{i}]") for i, block in enumerate(blocks))
    for i, encoding in enumerate(encodings):
        if getattr(encoding, "of", "node") != of:
            raise InputError(f"encoder.{field}[{i}]: got {blocks[i]['encoding']!r} of another kind, expected of {of}s")
    return encodings


def _encoding_from_json(block: Any, where: str) -> Encoding:
    if not isinstance(block, dict) or not isinstance(block.get("encoding"), str):
        raise InputError(f"{where}: got {block!r}, expected {{'encoding': NAME, ...}}")
    _check_name(block["encoding"], tuple(ENCODINGS), where)
    kind = ENCODINGS[block["encoding"]]
    values = {key: value for key, value in block.items() if key != "encoding"}
    hints = get_type_hints(kind)
    needed = {name for name in hints if not hasattr(kind, name)}  # a default is an attribute of the class
    if not needed <= set(values) <= set(hints):
        raise InputError(f"{where}: got fields {sorted(values)}, expected {sorted(needed)}")
    parsed = {key: _parsed(hints[key], value, f"{where}.{key}") for key, value in values.items()}
    try:
        return kind(**parsed)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _parsed(hint: Any, value: Any, where: str) -> Any:
    """A JSON value as the type of a field: str, int, float, a choice of words, or a tuple of one of them."""
    if get_origin(hint) is Literal:
        _check_name(str(value), get_args(hint), where)
        return value
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_parsed(get_args(hint)[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if hint is float and type(value) in (int, float) and -1e300 < value < 1e300:  # so not NaN
        return float(value)
    if hint in (int, str) and type(value) is hint:
        return value
    expected = {str: "a text", int: "a whole number", float: "a finite number"}.get(hint, "a list")
    raise InputError(f"{where}: got {value!r}, expected {expected}")


def _check_names(names: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    for name in names:
        _check_name(name, known, where)
    if len(set(names)) < len(names):
        raise InputError(f"{where}: got {', '.join(names)}, expected each name once")


def _check_name(name: str, known: tuple[str, ...], where: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{where}: got {name!r}, expected one of {', '.join(known)}{hint}")


def _own(graphs: GraphSet, what: str) -> np.ndarray | None:
    """An array that the graphs bring, if there is anything in it."""
    values = getattr(graphs, what)
    return None if values is None or values.size == 0 else values


def _own_inputs(graphs: GraphSet, of: Element) -> tuple[str, ...]:
    """The encodings of what the graphs bring themselves."""
    return tuple(name for name in OWN if _own(graphs, f"{of}_{name}") is not None)


def _label_codes(graphs: GraphSet, of: Element) -> tuple[np.ndarray, tuple[str, ...]]:
    """int64 [N] and what each code means; without names the codes name themselves."""
    codes = _own(graphs, f"{of}_labels")
    if codes is None:
        raise InputError(f"got no {of} labels, expected a label for every {of}, in {graphs.name}")
    return codes, getattr(graphs, f"{of}_label_names") or tuple(map(str, range(int(codes.max()) + 1)))


def _attributes(graphs: GraphSet, of: Element) -> np.ndarray:
    """float64 [N, A], all finite."""
    own = _own(graphs, f"{of}_attributes")
    if own is None:
        raise InputError(f"got no {of} attributes, expected numbers for every {of}, in {graphs.name}")
    values = np.asarray(own, np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = map(int, bad[0])
        got = f"got {values[row, column]} as attribute {column}"
        raise InputError(f"{got} in {_place(graphs, row, of)}, expected a finite number")
    return values


def _place(graphs: GraphSet, row: int, of: Element) -> str:
    """Where a row of the node, edge or graph arrays is, in words."""
    if of == "graph":
        return f"graph {row} of {graphs.name}"
    if of == "edge":
        graph, (source, target) = int(graphs.edge_graph[row]), graphs.edges[:, row]
        return f"graph {graph} (edge {source} -> {target}) of {graphs.name}"
    graph = int(graphs.node_graph[row])
    return f"graph {graph} (node {row - graphs.node_ptr[graph]}) of {graphs.name}"


def _moments(values: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each column; the deviation of a constant column is 1, so that it becomes 0."""
    # Rounding can give a constant column a deviation of 1e-17, so the values themselves are asked.
    deviation = np.where(np.ptp(values, axis=0) > 0, values.std(axis=0), 1.0)
    return tuple(values.mean(axis=0).tolist()), tuple(deviation.tolist())


def _one_hot(codes: np.ndarray, width: int) -> np.ndarray:
    out = np.zeros((len(codes), width), np.float32)
    out[np.arange(len(codes)), codes] = 1
    return out


def _symmetric_walk(graphs: GraphSet) -> csr_array:
    r"""[N, N]: :math:`S = D^{-1/2} A D^{-1/2}`, block-diagonal over graphs; A has no loops, no directions."""
    from scipy.sparse import csr_array

    source, target = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    source, target = source[source != target], target[source != target]
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    walk = csr_array((np.ones(len(ends[0])), ends), shape=(graphs.num_nodes, graphs.num_nodes))
    degree = np.diff(walk.indptr)
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    walk.data = np.repeat(scale, degree) * scale[walk.indices]
    return walk


def _connected_parts(graphs: GraphSet) -> Iterator[tuple[np.ndarray, Any]]:
    """Connected parts of more than one node: the nodes [C, n] of C parts of one size, and their S.

    S is float64 [C, n, n] for small parts; for a large one C = 1 and S is sparse [n, n]. Parts rather than
    graphs, because no walk leaves its part and every eigenvector is one of a part.
    """
    from scipy.sparse.csgraph import connected_components

    walk = _symmetric_walk(graphs)
    _, part = connected_components(walk, directed=False)
    sizes = np.bincount(part)
    order = np.argsort(part, kind="stable")
    start = np.cumsum(sizes) - sizes
    position = np.empty_like(order)
    position[order] = np.arange(len(order)) - start[part[order]]
    for batch in equal_size(sizes):
        n = int(sizes[batch[0]])
        nodes = order[start[batch, None] + np.arange(n)]
        if n > DENSE_NODES:
            yield from ((own[None], walk[own][:, own]) for own in nodes)
        elif n > 1:
            rows = walk[nodes.ravel()].tocoo()
            dense = np.zeros((nodes.size, n))
            dense[rows.row, position[rows.col]] = rows.data
            yield nodes, dense.reshape(-1, n, n)


def _substructure_counts(graphs: GraphSet, patterns: tuple[str, ...]) -> np.ndarray:
    """float64 [N, patterns]: how many of each pass through every node."""

    def count() -> np.ndarray:
        counts = np.zeros((graphs.num_nodes, len(patterns)))
        for nodes, walk in _connected_parts(graphs):
            for column, pattern in enumerate(patterns):
                dense = isinstance(walk, np.ndarray)
                counts[nodes, column] = count_dense(walk > 0, pattern) if dense else count_sparse(walk, pattern)
        return counts

    return _kept(
        "substructures", f"{graphs.fingerprint}-{'-'.join(patterns)}", (graphs.num_nodes, len(patterns)), count
    )


def _profiles(graphs: GraphSet) -> np.ndarray:
    """float64 [N, 8]: the profile of every node."""

    def measure() -> np.ndarray:
        profile = local_profile(_symmetric_walk(graphs))
        for nodes, walk in _connected_parts(graphs):
            n = nodes.shape[1]
            adjacency = walk.astype(bool).astype(np.float64)
            for columns in chunks(np.arange(n), n if isinstance(walk, np.ndarray) else max(CELLS // n, 1)):
                start = np.zeros((n, len(columns)))
                start[columns, np.arange(len(columns))] = 1
                profile[nodes, BETWEENNESS] += passing_paths(adjacency, start)
        profile[:, BETWEENNESS] /= 2 * np.maximum(profile[:, 0], 1)  # every pair of nodes was met from both ends
        return profile

    return _kept("topology", graphs.fingerprint, (graphs.num_nodes, len(COLUMNS)), measure)


def _kept(kind: str, name: str, shape: tuple[int, int], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """float64 of that shape: computed once, then read from the data cache if computing took long."""
    kept = data_folder() / kind / f"{name}.npy"
    with suppress(OSError, ValueError, EOFError):  # not there, or damaged
        values = np.load(kept)
        if values.shape == shape and values.dtype == np.float64:
            return values
    start = time.perf_counter()
    values = compute()
    if time.perf_counter() - start > KEPT_SECONDS:
        content = BytesIO()
        np.save(content, values)
        with suppress(InputError):  # a cache that cannot be written is done without
            write_file(kept, content.getvalue())
    return values


def _return_probabilities(walk: Any, start: np.ndarray, steps: int) -> np.ndarray:
    r"""[..., c, steps]: :math:`(P^t)_{vv}`, t = 2, ..., steps + 1; ``start`` [n, c] are unit vectors of the v.

    P and S are similar by a diagonal matrix, so their powers have one diagonal; S is symmetric, so that
    :math:`(S^{a+b})_{vv} = \sum_u (S^a)_{uv} (S^b)_{uv}` and half the products suffice.
    """
    found: list[np.ndarray] = []
    walked = walk @ start
    while len(found) < steps:
        further = walk @ walked
        found += [(walked * walked).sum(-2), (walked * further).sum(-2)]
        walked = further
    return np.stack(found[:steps], axis=-1)


def _smallest_eigenvectors(walk: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues [C, k] of L = I - S, increasing, and their vectors [C, n, k], k <= count."""
    if isinstance(walk, np.ndarray):
        values, vectors = np.linalg.eigh(np.eye(walk.shape[1]) - walk)
    else:
        values, vectors = _sparse_eigenvectors(walk, count + 1)
    return values[:, 1 : count + 1], vectors[:, :, 1 : count + 1]


def _sparse_eigenvectors(walk: csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` smallest eigenvalues [1, count] of L = I - S and their vectors [1, n, count]."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = walk.shape[0]
    start = np.random.default_rng(0).random(n)  # fixed, so that equal graphs get equal inputs
    try:  # quick for graphs that mix well, whose factors would fill up
        memory = min(n, max(40, 2 * count))
        values, vectors = eigsh(walk, count, which="LA", v0=start, ncv=memory, maxiter=100)
        values = 1 - values
    except ArpackNoConvergence:  # long thin graphs mix badly, and their factors stay sparse
        laplacian = eye_array(n, format="csc") - walk.tocsc()
        values, vectors = eigsh(laplacian, count, sigma=-1e-6, v0=start)
    order = np.argsort(values)
    return values[None, order], vectors[None, :, order]


def _fix_sign(vectors: np.ndarray) -> np.ndarray:
    """[C, n, k]: each vector with a positive sum of cubes, or its absolute values where that sum vanishes."""
    cubes = (vectors**3).sum(axis=1, keepdims=True)
    return np.where(np.abs(cubes) < 1e-8, np.abs(vectors), vectors * np.sign(cubes))


def _rank_within(graph: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Each value's place, from 0, among the values of its graph.

    >>> _rank_within(np.array([0, 1, 0]), np.array([0.5, 0.1, 0.2])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((value, graph))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(graph[order], graph[order])
    return rank
