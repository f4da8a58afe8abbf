"""GraphSet: all graphs of a data set in a few packed arrays with pointers.

Node ``v`` of graph ``g`` is row ``node_ptr[g] + v`` of every node array; the edges of graph ``g`` are the columns
``edge_ptr[g]:edge_ptr[g + 1]`` of ``edges``. Edges hold node positions *within their graph*, so that any choice of
graphs is index arithmetic and never a loop over Python objects. The arrays may be memory-mapped (see
:meth:`GraphSet.open`).
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from sargnn.data.origin import Origin
from sargnn.data.problems import shown
from sargnn.data.summary import summary
from sargnn.errors import InputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["CELLS", "PARTS", "GraphSet", "chunks", "equal_size", "pack", "pairs_of", "pointers", "ranges", "sort_edges"]

PARTS = ("train", "validation", "test", "test-large")
"""What a code of ``GraphSet.part`` means: the official split of a data set that has one."""

CELLS = 2**21
"""Numbers in one working array, which bounds memory whatever the size of a set."""

NODE_ARRAYS = ("node_labels", "node_attributes", "true_saliency", "node_names")
EDGE_ARRAYS = ("edge_labels", "edge_attributes")
GRAPH_ARRAYS = ("y", "targets", "part", "weights", "groups", "graph_attributes")
KINDS = {
    **dict.fromkeys(("node_ptr", "edge_ptr", "y", "part", "groups", "node_labels", "edge_labels"), ("i", 1)),
    **dict.fromkeys(("targets", "node_attributes", "edge_attributes", "graph_attributes"), ("f", 2)),
    **dict.fromkeys(("true_saliency", "weights"), ("f", 1)),
    "edges": ("i", 2),
    "node_names": ("U", 1),
}
"""NumPy's kind of type and the number of axes of each array."""
NAMES = (
    "name", "notes", "origin", "graph_names", "node_names", "smiles",
    "target_names", "graph_attribute_names", "node_attribute_names", "edge_attribute_names",
    "class_titles", "node_label_titles", "edge_label_titles",
)  # fmt: skip
"""Fields for people to read: not every form of file has them, so they are no part of the fingerprint."""


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Labelled graphs, packed.

    >>> graphs = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])], y=[0], classes=["path"])
    >>> len(graphs), graphs.num_nodes, graphs.num_edges
    (1, 3, 4)
    """

    name: str
    node_ptr: np.ndarray
    """int64 [G + 1]: where each graph's nodes start."""
    edge_ptr: np.ndarray
    """int64 [G + 1]: where each graph's edges start."""
    edges: np.ndarray
    """int32 [2, E]: (source, target) of every directed edge, positions within the graph, sorted by target then
    source in each graph, each pair once. An undirected edge is two columns."""
    y: np.ndarray | None = None
    """int64 [G]: class index."""
    classes: tuple[str, ...] = ()
    """Class names, in the order of the class index."""
    node_labels: np.ndarray | None = None
    """int64 [N]: category index."""
    node_label_names: tuple[str, ...] = ()
    node_attributes: np.ndarray | None = None
    """float32 [N, A]."""
    edge_labels: np.ndarray | None = None
    """int64 [E]: category index."""
    edge_label_names: tuple[str, ...] = ()
    edge_attributes: np.ndarray | None = None
    """float32 [E, A']."""
    true_saliency: np.ndarray | None = None
    """float32 [N]: how much each node truly matters, not normalised; known for synthetic sets only, never an input."""
    part: np.ndarray | None = None
    """int8 [G]: code into ``PARTS`` of the official split, where there is one."""
    notes: tuple[str, ...] = ()
    """What reading the set changed or found worth saying."""
    graph_attributes: np.ndarray | None = None
    """float32 [G, A'']."""
    graph_attribute_names: tuple[str, ...] = ()
    """One name per column, here and in the next two, where the names are known."""
    node_attribute_names: tuple[str, ...] = ()
    edge_attribute_names: tuple[str, ...] = ()
    graph_names: tuple[str, ...] = ()
    """One per graph, or none when they are called 0, 1, 2, ..."""
    node_names: np.ndarray | None = None
    """str [N]: what to call each node in tables and drawings; none when they are called 0, 1, 2, ... in each graph."""
    targets: np.ndarray | None = None
    """float64 [G, T]: several binary targets (0 or 1) or measured numbers, NaN where one is missing. A set has classes
    or targets, or neither."""
    target_names: tuple[str, ...] = ()
    """One per column of the targets."""
    weights: np.ndarray | None = None
    """float32 [G]: how much each graph counts in the loss; none when all count alike."""
    groups: np.ndarray | None = None
    """int64 [G]: graphs of one group belong in one part of a split."""
    smiles: tuple[str, ...] = ()
    """The molecule of each graph as it was written, or none where graphs are not molecules."""
    class_titles: tuple[str, ...] = ()
    """What people call the classes, where the file has numbers and their meaning is known; for drawings and pages."""
    node_label_titles: tuple[str, ...] = ()
    """The same of the node labels."""
    edge_label_titles: tuple[str, ...] = ()
    """The same of the edge labels."""

    origin: Origin | None = None
    """The rows that the graphs were read from, and what its columns are for; not saved, and no part of the content."""

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        """What a notebook shows. Drawings stand above the data: their module is looked up when it is asked for."""
        return str(import_module("sargnn.viz.notebook").html_of(self))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def num_nodes(self) -> int:
        return int(self.node_ptr[-1])

    @property
    def num_edges(self) -> int:
        """Directed edges: an undirected edge counts twice."""
        return int(self.edge_ptr[-1])

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64 [G]: nodes of each graph."""
        return np.diff(self.node_ptr)

    @cached_property
    def node_graph(self) -> np.ndarray:
        """int64 [N]: the graph of each node."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def edge_graph(self) -> np.ndarray:
        """int64 [E]: the graph of each edge."""
        return np.repeat(np.arange(len(self)), np.diff(self.edge_ptr))

    @cached_property
    def degrees(self) -> np.ndarray:
        """int64 [N]: edges that arrive at each node, self-loops left out."""
        source, target = self.edges
        arriving = (target + self.node_ptr[self.edge_graph])[source != target]
        return np.bincount(arriving, minlength=self.num_nodes)

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits that name the content: equal graphs read from any form have equal fingerprints."""
        digest = hashlib.sha256()
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in NAMES or value is None:
                continue
            digest.update(field.name.encode() + b"\0")
            for some in _row_by_row(value) if isinstance(value, np.ndarray) else [json.dumps(value).encode()]:
                digest.update(some)
        return digest.hexdigest()[:16]

    def nodes_of(self, graph: int) -> slice:
        """Where the nodes of graph number ``graph`` are in the arrays of nodes."""
        return slice(*self.node_ptr[graph : graph + 2].tolist())

    def called(self, graph: int) -> str:
        """A graph in words, by its number and, where it has one, its name."""
        return f"graph {graph}" + (f" {shown(self.graph_names[graph], 80)}" if self.graph_names else "")

    def subset(self, index: Sequence[int] | np.ndarray) -> GraphSet:
        """The graphs at ``index``, in that order; all of them in their own order are this set, and no copy.

        >>> graphs = pack([(1, []), (2, [(0, 1), (1, 0)])], y=[0, 1], classes=["dot", "edge"])
        >>> graphs.subset([1]).num_edges
        2
        """
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        if np.array_equal(index, np.arange(len(self))):
            return self
        nodes = ranges(self.node_ptr, index)
        edges = ranges(self.edge_ptr, index)
        picked: dict[str, Any] = {}
        for names, rows in ((NODE_ARRAYS, nodes), (EDGE_ARRAYS, edges), (GRAPH_ARRAYS, index)):
            for name in names:
                value = getattr(self, name)
                picked[name] = None if value is None else value[rows]
        return replace(
            self,
            node_ptr=pointers(self.node_ptr[index + 1] - self.node_ptr[index]),
            edge_ptr=pointers(self.edge_ptr[index + 1] - self.edge_ptr[index]),
            edges=self.edges[:, edges],
            graph_names=self.graph_names and tuple(self.graph_names[g] for g in index.tolist()),
            smiles=self.smiles and tuple(self.smiles[g] for g in index.tolist()),
            origin=self.origin and self.origin.subset(index),
            **picked,
        )

    def __getitem__(self, graph: SupportsIndex) -> GraphSet:
        position = operator.index(graph)
        if not -len(self) <= position < len(self):
            raise InputError(f"got graph {position}, expected 0..{len(self) - 1}, in {self.name}")
        return self.subset([position % len(self)])

    def __iter__(self) -> Iterator[GraphSet]:
        return (self[g] for g in range(len(self)))

    def to_pyg(self) -> list[Data]:
        """One PyTorch Geometric ``Data`` per graph, with what is known: ``edge_index``, ``y`` (the class, or the
        targets ``[1, T]``), ``node_label``, ``node_attr``, ``edge_label``, ``edge_attr``, ``graph_attr`` and
        ``true_saliency``."""
        import torch
        from torch_geometric.data import Data

        names = {
            "node_labels": "node_label", "node_attributes": "node_attr", "true_saliency": "true_saliency",
            "edge_labels": "edge_label", "edge_attributes": "edge_attr",
        }  # fmt: skip
        out = []
        for g in range(len(self)):
            nodes, edges = self.nodes_of(g), slice(*self.edge_ptr[g : g + 2].tolist())
            data = Data(edge_index=torch.from_numpy(self.edges[:, edges].astype(np.int64)))
            data.num_nodes = int(self.sizes[g])
            if self.y is not None:
                data.y = torch.tensor([int(self.y[g])])
            elif self.targets is not None:
                data.y = torch.from_numpy(np.array(self.targets[g : g + 1], np.float32))
            if self.graph_attributes is not None:
                data.graph_attr = torch.from_numpy(np.array(self.graph_attributes[g : g + 1]))
            for ours, theirs in names.items():
                value = getattr(self, ours)
                if value is not None:
                    data[theirs] = torch.from_numpy(np.array(value[edges if ours in EDGE_ARRAYS else nodes]))
            out.append(data)
        return out

    def save(self, folder: Path | str) -> None:
        """Write the set to a folder of ``.npy`` files that :meth:`open` maps into memory without copying them."""
        import_module("sargnn.data.saved_sets").save(self, Path(folder))

    @classmethod
    def open(cls, folder: Path | str) -> GraphSet:
        """Map a folder written by :meth:`save`, and refuse one that does not hold together."""
        opened: GraphSet = import_module("sargnn.data.saved_sets").open_set(Path(folder))
        return opened


def _row_by_row(values: np.ndarray) -> Iterator[memoryview]:
    """The numbers in the order of rows, some at a time: an array stored in another order is never copied as a whole."""
    flags: dict[str, Any] = {"flags": ["buffered", "external_loop", "zerosize_ok"], "op_flags": ["readonly", "contig"]}
    blocks: Any = np.nditer(values, **flags, order="C", buffersize=CELLS)
    return (block.data for block in blocks)


def ranges(starts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The rows ``starts[g]:starts[g + 1]`` of every ``g`` in ``index``, one after the other.

    >>> ranges(np.array([0, 2, 5]), np.array([1, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    lengths = starts[index + 1] - starts[index]
    shifts = starts[index] - (np.cumsum(lengths) - lengths)
    return np.repeat(shifts, lengths) + np.arange(lengths.sum())


def pack(graphs: Sequence[tuple[int, Any]], *, name: str = "graphs", **arrays: Any) -> GraphSet:
    """A set from ``(number of nodes, edges)`` pairs; any other field of :class:`GraphSet` by name.

    Edges are a list or array of (source, target), in any order; repeated ones are merged.

    >>> pack([(2, [(1, 0), (0, 1), (0, 1)])]).edges.tolist()
    [[1, 0], [0, 1]]
    """
    node_ptr = pointers([n for n, _ in graphs])
    lists = [np.asarray(e, dtype=np.int64).reshape(-1, 2) for _, e in graphs]
    graph = np.repeat(np.arange(len(graphs)), [len(e) for e in lists])
    source, target = np.concatenate([*lists, np.empty((0, 2), np.int64)]).T
    order, counts = sort_edges(graph, source, target, len(graphs))
    kinds = {"i": np.int64, "f": np.float32, "U": np.str_}
    for key, value in arrays.items():
        if value is not None:
            kind = {"part": np.int8, "targets": np.float64}.get(key, kinds.get(KINDS.get(key, ("",))[0]))
            arrays[key] = np.asarray(value, kind) if key in NODE_ARRAYS + GRAPH_ARRAYS else tuple(value)
    edges = np.stack([source, target])[:, order].astype(np.int32)
    return GraphSet(name=name, node_ptr=node_ptr, edge_ptr=pointers(counts), edges=edges, **arrays)


def sort_edges(graph: np.ndarray, source: np.ndarray, target: np.ndarray, graphs: int) -> tuple[np.ndarray, np.ndarray]:
    """The order that sorts edges by graph, target, source and keeps the first of equal ones; edges left per graph."""
    order = np.lexsort((source, target, graph))
    key = np.stack([graph[order], target[order], source[order]])
    first = np.ones(len(order), dtype=bool)
    first[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    order = order[first]
    return order, np.bincount(graph[order], minlength=graphs)


def pairs_of(one: GraphSet) -> np.ndarray:
    """int64 [M, 2]: every two nodes that share an edge, in either direction, once."""
    return np.unique(np.sort(one.edges.astype(np.int64), axis=0), axis=1).T


def equal_size(sizes: np.ndarray, cells: int = CELLS) -> Iterator[np.ndarray]:
    """Batches of indices of one size n: as many as have n x n matrices that fit into ``cells``, or one.

    >>> [batch.tolist() for batch in equal_size(np.array([2, 3, 2, 2]), cells=8)]
    [[0, 2], [3], [1]]
    """
    order = np.argsort(sizes, kind="stable")
    for batch in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        if len(batch):
            yield from chunks(batch, cells // max(int(sizes[batch[0]]), 1) ** 2)


def chunks(index: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """``index`` in chunks of at most ``length``, at least 1."""
    length = max(length, 1)
    return (index[start : start + length] for start in range(0, len(index), length))


def pointers(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """int64 [G + 1]: where the rows of each graph start, from the number of its rows."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
