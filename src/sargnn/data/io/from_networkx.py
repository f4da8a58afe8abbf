"""NetworkX graphs: node order and names are kept, an undirected edge leads both ways, parallel edges are merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import assemble_records
from sargnn.data.io.graph_records import Record
from sargnn.data.io.kinds import is_networkx
from sargnn.data.problems import Problems
from sargnn.data.roles import USUAL, Roles

__all__ = ["from_networkx"]


def from_networkx(
    graphs: Sequence[Any], problems: Problems, *, name: str = "graphs", roles: Roles = USUAL, labelled: bool = True
) -> GraphSet:
    """A set of NetworkX graphs of any kind; see :mod:`sargnn.data.io.assembler` for what attributes mean.

    The class is the graph attribute ``label``, ``y``, ``class`` or ``target``, unless the ``roles`` name other labels.

    >>> import networkx as nx
    >>> triangle, path = nx.cycle_graph(3), nx.path_graph(3)
    >>> triangle.graph["label"], path.graph["label"] = "closed", "open"
    >>> from_networkx([triangle, path], Problems()).classes
    ('closed', 'open')
    """
    return assemble_records(name, _records(graphs, problems), problems, roles=roles, labelled=labelled)


def _records(graphs: Sequence[Any], problems: Problems) -> Iterator[Record]:
    for position, graph in enumerate(graphs):
        if is_networkx(graph):
            yield _record(graph)
        else:
            problems.add(f"a {type(graph).__name__}", "a NetworkX graph like the others", graph=position)


def _record(graph: Any) -> Record:
    adjacency = dict(graph.adjacency())
    multiple = graph.is_multigraph()
    targets = [list(ends) for ends in adjacency.values()]
    rows: Any = [ends.values() for ends in adjacency.values()]
    if multiple:
        targets = [[end for end, keys in ends.items() for _ in keys] for ends in adjacency.values()]
        rows = [[row for keys in ends.values() for row in keys.values()] for ends in adjacency.values()]
    attributes = dict(graph.graph)
    return Record(
        nodes=list(adjacency),
        node_rows=[row for _, row in graph.nodes(data=True)],
        sources=list(chain.from_iterable(map(repeat, adjacency, map(len, targets)))),
        targets=list(chain.from_iterable(targets)),
        edge_rows=list(chain.from_iterable(rows)),
        name=attributes.pop("name", None) or None,
        attributes=attributes,
        directed=True,  # an undirected edge is in the adjacency of both its ends
    )
