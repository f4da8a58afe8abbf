"""The pairs that expressivity is tested on are what the briefs say they are."""

from __future__ import annotations

import networkx as nx

from expressive import PAIRS


def test_the_pairs_are_what_they_are_called() -> None:
    graphs = {name: [nx.Graph(edges) for _, edges in pair] for name, pair in PAIRS.items()}
    assert [sum(nx.triangles(g).values()) // 3 for g in graphs["triangles"]] == [0, 2]
    assert [sorted(map(len, nx.minimum_cycle_basis(g))) for g in graphs["molecules"]] == [[6, 6], [5, 5]]
    for g in graphs["regular"]:
        assert nx.is_strongly_regular(g)
        assert (len(g), g.number_of_edges()) == (16, 48)
    assert [sum(len(c) == 4 for c in nx.find_cliques(g)) for g in graphs["regular"]] == [8, 0]
