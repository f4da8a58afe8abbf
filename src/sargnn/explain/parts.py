"""Parts of graphs whose effects can be found: single nodes, single edges, and fragments.

=============  ======================================================================================================
``nodes``      every node
``edges``      every two nodes that share an edge, in either direction; self-loops are no parts
``fragments``  of a molecule, its functional groups, ring systems and chains by name
               (:mod:`sargnn.explain.functional_groups`); of another graph, rings of up to six nodes without a chord,
               and around each node outside of them its closed neighbourhood
=============  ======================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

import numpy as np

from sargnn.data.graphs import GraphSet, pointers, ranges
from sargnn.data.io.molecules import load_rdkit
from sargnn.data.molecule import atom_symbols, molecules_in
from sargnn.errors import InputError

__all__ = ["KINDS", "Kind", "Parts", "find_parts", "node_parts"]

Kind = Literal["nodes", "edges", "fragments"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LARGEST_RING = 6
RINGS_PER_NODE = 4
"""A graph with more rings than that many per node, such as a clique, has neighbourhoods only."""

Named = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of the graphs of a set, graph after graph.

    >>> from sargnn.data.graphs import pack
    >>> parts = find_parts(pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])]), "edges")
    >>> len(parts), parts.of(1).tolist()
    (2, [1, 2])
    """

    kind: Kind
    graph: np.ndarray
    """int64 [P]: the graph of each part."""
    ptr: np.ndarray
    """int64 [P + 1]: where the nodes of each part start."""
    nodes: np.ndarray
    """int64 [M]: nodes, as positions in their graph; of an edge, its two ends."""
    names: tuple[str, ...] = ()
    """What each fragment is called; nodes and edges have no names."""

    def __len__(self) -> int:
        return len(self.graph)

    def of(self, part: int) -> np.ndarray:
        """The nodes of one part."""
        return self.nodes[self.ptr[part] : self.ptr[part + 1]]

    def of_graph(self, graph: int) -> slice:
        """Which parts are those of one graph."""
        first, last = np.searchsorted(self.graph, [graph, graph + 1]).tolist()
        return slice(first, last)

    def at(self, index: np.ndarray) -> Parts:
        """Some of the parts."""
        names = tuple(self.names[part] for part in index.tolist()) if self.names else ()
        ptr = pointers(self.ptr[index + 1] - self.ptr[index])
        return Parts(self.kind, self.graph[index], ptr, self.nodes[ranges(self.ptr, index)], names)

    def joined(self, members: Sequence[Sequence[int]]) -> Parts:
        """Several parts of one graph as one, for each of the ``members``."""
        flat = np.array([part for some in members for part in some], np.int64)
        counts = np.array([sum(self.ptr[part + 1] - self.ptr[part] for part in some) for some in members], np.int64)
        graph = np.array([self.graph[some[0]] for some in members], np.int64)
        return Parts(self.kind, graph, pointers(counts), self.nodes[ranges(self.ptr, flat)])


def find_parts(graphs: GraphSet, kind: str = "nodes") -> Parts:
    """All parts of that kind.

    >>> from sargnn.data.graphs import pack
    >>> square_with_tail = pack([(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])])
    >>> find_parts(square_with_tail, "fragments").names
    ('ring of 4', 'node with 1 neighbour')
    """
    if kind == "nodes":
        return node_parts(graphs.sizes)
    if kind == "edges":
        between = graphs.edges[0] != graphs.edges[1]
        ends = np.sort(graphs.edges[:, between].astype(np.int64), axis=0)
        graph, *pair = np.unique(np.stack([graphs.edge_graph[between], *ends]), axis=1)
        return Parts("edges", graph, np.arange(len(graph) + 1) * 2, np.stack(pair, axis=1).ravel())
    if kind != "fragments":
        raise InputError(f"parts: got {kind!r}, expected one of {', '.join(KINDS)}")
    found = [(g, name, atoms) for g, parts in enumerate(_fragments(graphs)) for name, atoms in parts]
    counts = [len(atoms) for _, _, atoms in found]
    graph = np.array([g for g, _, _ in found], np.int64)
    nodes = np.array([atom for _, _, atoms in found for atom in atoms], np.int64)
    return Parts("fragments", graph, pointers(counts), nodes, tuple(name for _, name, _ in found))


def node_parts(sizes: np.ndarray) -> Parts:
    """The nodes of graphs of these ``sizes``."""
    graph = np.repeat(np.arange(len(sizes)), sizes)
    nodes = np.arange(len(graph)) - (np.cumsum(sizes) - sizes)[graph]
    return Parts("nodes", graph, np.arange(len(graph) + 1), nodes)


def _fragments(graphs: GraphSet) -> Iterator[Iterable[Named]]:
    """Of each graph. A fragment that is the whole graph is none: without it nothing would be left to compare with."""
    from sargnn.explain.functional_groups import named_parts  # with NetworkX, which predictions do without

    if atom_symbols(graphs) is not None or graphs.smiles:
        load_rdkit()
    for g, molecule in enumerate(molecules_in(graphs, range(len(graphs)), lenient=True)):
        found = _motifs(graphs, g) if molecule is None else named_parts(molecule)
        yield [(name, atoms) for name, atoms in found if len(atoms) < graphs.sizes[g]]


def _motifs(graphs: GraphSet, g: int) -> Iterator[Named]:
    """Rings, which no order of the nodes can change, and neighbourhoods around the other nodes."""
    import networkx as nx

    from sargnn.data.chemistry import simple_graph

    graph = simple_graph(graphs, g)
    most = RINGS_PER_NODE * len(graph)
    rings = list(islice(nx.chordless_cycles(graph, LARGEST_RING), most + 1))
    rings = rings if len(rings) <= most else []
    yield from ((f"ring of {len(ring)}", tuple(sorted(ring))) for ring in rings)
    inside = {node for ring in rings for node in ring}
    titles = graphs.node_label_titles or graphs.node_label_names
    labels = None if graphs.node_labels is None or not titles else graphs.node_labels[graphs.nodes_of(g)]
    for node in graph:
        if node not in inside:
            count = graph.degree(node)
            label = "node" if labels is None else f"node {titles[labels[node]]}"
            yield f"{label} with {count} neighbour{'s' * (count != 1)}", tuple(sorted({node, *graph[node]}))
