"""All inputs of a model together, as fitted on the training graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from sargnn.data.features.base import Encoding, check_each
from sargnn.data.features.encodings import (
    COSTLY,
    ENCODINGS,
    GIVEN,
    GRAPH_ENCODINGS,
    DataConfig,
    Degree,
)  # fmt: skip
from sargnn.data.features.given_encodings import Attributes, Labels
from sargnn.data.features.given_inputs import ELEMENTS, attribute_called, given_inputs
from sargnn.data.graphs import GraphSet
from sargnn.data.problems import shown
from sargnn.data.set_chunks import Element, SetChunks
from sargnn.errors import InputError

__all__ = ["Encoder", "gaps_in_words"]

LISTED = 5
"""Attributes that a note names."""

EVERY: dict[str, type[Encoding]] = {**ENCODINGS, **GRAPH_ENCODINGS}


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
    def fit(cls, config: DataConfig, graphs: GraphSet, index: np.ndarray | None = None) -> Encoder:
        """Fit label names, means, deviations and the largest degree on the training graphs at ``index`` (default: all).
        The set is read in chunks, so it may be larger than memory."""
        training = SetChunks(graphs, index)
        nodes, edges = next(training.rows("node")), next(training.rows("edge"))
        if not len(nodes):
            raise InputError(f"got no nodes, expected training graphs, in {graphs.name}")
        found = given_inputs(graphs, "node", nodes) or ("degree",)
        names = _chosen(config.encodings, found)
        encodings = tuple(ENCODINGS[name].fit(config, training) for name in names)
        notes: tuple[str, ...] = ()
        if "auto" in config.encodings and found == ("degree",):
            [last] = [encoding.max_degree for encoding in encodings if isinstance(encoding, Degree)]
            notes = (f"{graphs.name} has no node inputs: using one-hot degree, 0..{last}",)
        of_each_edge = given_inputs(graphs, "edge", edges)
        if of_each_edge and not config.edge_encodings:
            what = f"{graphs.name} has {' and '.join(of_each_edge)} of edges"
            notes += (f"{what}, which are not used: see data.edge_encodings, or sargnn-plus",)
        edge_names = _chosen(config.edge_encodings, of_each_edge)
        of_edges = tuple(GIVEN[name].fit(config, training, "edge") for name in edge_names)
        of_graphs = tuple(_fit_graphs(GRAPH_ENCODINGS[name], config, training) for name in config.graph_encodings)
        filled = _filled_in_words(graphs, (*encodings, *of_edges, *of_graphs))
        return cls(encodings, notes + filled, of_edges, of_graphs)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the node inputs."""
        return _feature_names(self.encodings)

    @cached_property
    def edge_feature_names(self) -> tuple[str, ...]:
        """One name per column of the edge inputs."""
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

    @property
    def graphs_cost(self) -> bool:
        """Whether inputs of whole graphs are slow to make."""
        return any(isinstance(encoding, COSTLY) for encoding in self.graph_encodings)

    @cached_property
    def costly(self) -> np.ndarray:
        """int64: the slow columns of the node inputs."""
        kinds = [isinstance(encoding, COSTLY) for encoding in self.encodings for _ in encoding.feature_names]
        return np.flatnonzero(kinds)

    def encode(self, graphs: GraphSet, costly: np.ndarray | None = None) -> np.ndarray:
        """float32 [N, F]: the inputs of every node; refuses graphs whose inputs are not those fitted. The ``costly``
        columns are taken as they are, if given."""
        if costly is None:
            return _side_by_side(self.encodings, graphs, graphs.num_nodes)
        x = np.empty((graphs.num_nodes, self.width), np.float32)
        quick = tuple(encoding for encoding in self.encodings if not isinstance(encoding, COSTLY))
        x[:, np.delete(np.arange(self.width), self.costly)] = _side_by_side(quick, graphs, graphs.num_nodes)
        x[:, self.costly] = costly
        return x

    def encode_costly(self, graphs: GraphSet) -> np.ndarray:
        """float32 [N, costly]: the slow columns of the node inputs."""
        encodings = tuple(encoding for encoding in self.encodings if isinstance(encoding, COSTLY))
        return _side_by_side(encodings, graphs, graphs.num_nodes)

    @property
    def has_unknown(self) -> bool:
        """Whether labels without a column of their own have one together, which was learned from rare labels."""
        return all(encoding.rare for encoding in self._labels)

    @property
    def _labels(self) -> list[Labels]:
        return [encoding for encoding in (*self.encodings, *self.edge_encodings) if isinstance(encoding, Labels)]

    @property
    def label_names(self) -> list[str]:
        """Labels that have a column, of nodes, then of edges."""
        return [name for encoding in self._labels for name in encoding.names]

    def strange(self, graphs: GraphSet) -> tuple[np.ndarray, list[str]]:
        """bool [G], which graphs have labels without a column of their own; these labels."""
        which = np.zeros(len(graphs), bool)
        labels: list[str] = []
        for encoding in self._labels:
            found, names = encoding.strange(graphs)
            which, labels = which | found, [*labels, *names]
        return which, labels

    @property
    def refuses_gaps(self) -> bool:
        """Whether graphs with gaps in their attributes cannot be read."""
        return any(encoding.missing == "refuse" for encoding in self._attributes)

    @property
    def _attributes(self) -> list[Attributes]:
        return _attributes_in((*self.encodings, *self.edge_encodings, *self.graph_encodings))

    def new_gaps(self, graphs: GraphSet) -> tuple[np.ndarray, list[str]]:
        """bool [G], which graphs have gaps in attributes that had none in the training graphs; these attributes."""
        which = np.zeros(len(graphs), bool)
        attributes: list[str] = []
        for encoding in self._attributes:
            found, names = encoding.new_gaps(graphs)
            which, attributes = which | found, [*attributes, *names]
        return which, attributes

    def encode_edges(self, graphs: GraphSet) -> np.ndarray:
        """float32 [E, F_e]: the inputs of every edge, in the order of ``graphs.edges``."""
        return _side_by_side(self.edge_encodings, graphs, graphs.num_edges)

    def encode_graphs(self, graphs: GraphSet) -> np.ndarray:
        """float32 [G, F_g]: the inputs of every graph."""
        return _side_by_side(self.graph_encodings, graphs, len(graphs))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON that :meth:`from_json` reads back."""
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


def _fit_graphs(kind: type[Encoding], config: DataConfig, training: SetChunks) -> Encoding:
    return kind.fit(config, training, "graph") if issubclass(kind, Attributes) else kind.fit(config, training)


def gaps_in_words(config: DataConfig, graphs: GraphSet) -> tuple[str, ...]:
    """What becomes of gaps in the attributes that are inputs, if there are any; refused if that is the rule."""
    training = SetChunks(graphs)
    wanted = config.encodings, config.edge_encodings, config.graph_encodings
    used = [
        Attributes.fit(config, training, of)
        for of, names in zip(ELEMENTS, wanted, strict=True)
        if {"auto", "attributes"} & {*names} and "attributes" in given_inputs(graphs, of)
    ]
    return _filled_in_words(graphs, used)


def _filled_in_words(graphs: GraphSet, encodings: Sequence[Encoding]) -> tuple[str, ...]:
    """One line on the attributes that have gaps in the training graphs, if any."""
    found = [encoding for encoding in _attributes_in(encodings) if encoding.gaps]
    names = [attribute_called(graphs, encoding.of, column) for encoding in found for column in encoding.gaps]
    if not names:
        return ()
    some = ", ".join(names[:LISTED]) + (f", ... {len(names)} in all" if len(names) > LISTED else "")
    missing = found[0].missing
    flags = ", each with a column that says where" if missing == "flag" else ""
    return (f"{graphs.name} has gaps in {some}: they are read as the mean{flags} (data.missing={missing})",)


def _attributes_in(encodings: Sequence[Encoding]) -> list[Attributes]:
    return [encoding for encoding in encodings if isinstance(encoding, Attributes)]


def _chosen(names: tuple[str, ...], found: tuple[str, ...]) -> list[str]:
    """The names, each once, with what was found in the place of ``auto``."""
    return list(dict.fromkeys(n for name in names for n in (found if name == "auto" else (name,))))


def _feature_names(encodings: tuple[Encoding, ...]) -> tuple[str, ...]:
    return tuple(name for encoding in encodings for name in encoding.feature_names)


def _side_by_side(encodings: tuple[Encoding, ...], graphs: GraphSet, rows: int) -> np.ndarray:
    if rows == 0:  # then no input can be missing
        return np.empty((0, len(_feature_names(encodings))), np.float32)
    blocks = [encoding.encode(graphs).astype(np.float32, copy=False) for encoding in encodings]
    return np.concatenate([*blocks, np.empty((rows, 0), np.float32)], axis=1)


def _blocks_to_json(encodings: tuple[Encoding, ...]) -> list[dict[str, Any]]:
    name_of = {kind: name for name, kind in EVERY.items()}
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
    check_each((block["encoding"],), tuple(EVERY), where)
    kind = EVERY[block["encoding"]]
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
        check_each((str(value),), get_args(hint), where)
        return value
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_parsed(get_args(hint)[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if hint is float and type(value) in (int, float) and -1e300 < value < 1e300:  # so not NaN
        return float(value)
    if hint in (int, str) and type(value) is hint:
        return value
    expected = {str: "a text", int: "a whole number", float: "a finite number"}.get(hint, "a list")
    raise InputError(f"{where}: got {shown(value, 80)}, expected {expected}")
