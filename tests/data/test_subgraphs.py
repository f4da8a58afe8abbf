"""Graphs of which some nodes and edges are left: against building them anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.subgraphs import subgraphs
from tiny import labelled, shapes


@given(st.integers(0, 99))
def test_they_are_built_from_what_is_kept(seed: int) -> None:
    graphs, rng = labelled(shapes(count=6)), np.random.default_rng(seed)
    nodes, edges = rng.random(graphs.num_nodes) < 0.7, rng.random(graphs.num_edges) < 0.7
    found = subgraphs(graphs, nodes, edges)
    assert graphs.edge_labels is not None
    assert graphs.node_attributes is not None
    for g in range(len(graphs)):
        start = int(graphs.node_ptr[g])
        kept = [v for v in range(int(graphs.sizes[g])) if nodes[start + v]]
        rows = [e for e in np.flatnonzero(graphs.edge_graph == g).tolist() if edges[e]]
        rows = [e for e in rows if set(graphs.edges[:, e].tolist()) <= set(kept)]
        one = found[g]
        assert one.edges.T.tolist() == [[kept.index(v) for v in graphs.edges[:, e].tolist()] for e in rows]
        assert one.edge_labels is not None
        assert one.edge_labels.tolist() == graphs.edge_labels[rows].tolist()
        assert one.node_attributes is not None
        assert np.array_equal(one.node_attributes, graphs.node_attributes[[start + v for v in kept]])
