"""Parts of graphs: all of them, each once, whatever the order of the nodes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError
from sargnn.explain.metrics import relabelled
from sargnn.explain.parts import find_parts
from tiny import labelled, shapes


def test_edges_are_pairs_in_either_direction_and_no_loops() -> None:
    graphs = pack([(3, [(0, 1), (1, 0), (2, 1), (2, 2)]), (1, []), (2, [(1, 0)])])
    parts = find_parts(graphs, "edges")
    found = [(g, *parts.of(p).tolist()) for p, g in enumerate(parts.graph.tolist())]
    assert found == [(0, 0, 1), (0, 1, 2), (2, 0, 1)]


def test_several_parts_as_one() -> None:
    parts = find_parts(pack([(5, [(0, 1), (0, 4), (1, 2)])]), "edges").joined([[0, 1], [2]])
    assert [parts.of(p).tolist() for p in range(2)] == [[0, 1, 0, 4], [1, 2]]
    assert parts.graph.tolist() == [0, 0]


def test_motifs_are_rings_without_a_chord_and_neighbourhoods_elsewhere() -> None:
    house = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (3, 5), (5, 6)]
    parts = find_parts(pack([(7, house)], node_labels=[0] * 6 + [1], node_label_names=["a", "b"]), "fragments")
    found = {(name, tuple(parts.of(p).tolist())) for p, name in enumerate(parts.names)}
    assert found == {
        ("ring of 4", (0, 1, 2, 3)), ("ring of 3", (0, 1, 4)),
        ("node a with 2 neighbours", (3, 5, 6)), ("node b with 1 neighbour", (5, 6)),
    }  # fmt: skip


def test_a_clique_has_neighbourhoods_alone_and_none_is_the_whole_graph() -> None:
    pairs = [(a, b) for a in range(12) for b in range(a)]
    tailed = pack([(13, [*pairs, (0, 12)]), (12, pairs)])
    parts = find_parts(tailed, "fragments")
    assert Counter(parts.names) == {"node with 11 neighbours": 11, "node with 1 neighbour": 1}
    assert set(parts.graph.tolist()) == {
        0
    }  # node 0 of the first has the whole graph around it, as have all in a clique


@pytest.mark.parametrize("kind", ["nodes", "edges", "fragments"])
def test_they_do_not_depend_on_the_order_of_nodes(kind: str) -> None:
    graphs = labelled(shapes(count=12))
    moved, order = relabelled(graphs, seed=3)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))

    def members(found: GraphSet, where: np.ndarray) -> set[tuple[str, frozenset[int]]]:
        parts = find_parts(found, kind)  # type: ignore[arg-type]
        names = parts.names or [""] * len(parts)
        starts = found.node_ptr[parts.graph]
        return {(name, frozenset(where[starts[p] + parts.of(p)].tolist())) for p, name in enumerate(names)}

    assert members(graphs, np.arange(graphs.num_nodes)) == members(moved, order)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="parts: got 'atoms', expected one of nodes, edges, fragments"):
        find_parts(shapes(count=1), "atoms")  # type: ignore[arg-type]
