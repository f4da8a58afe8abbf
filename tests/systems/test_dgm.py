"""DGM: PageRank, intervals and pooled graphs of a star by hand; what the code's complete graphs amount to."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from expressive import PAIRS, gap, randomised
from literal import EXAMPLES, batch_of
from sargnn.errors import InputError
from sargnn.systems.dgm import DGM, DGMConfig, mapper, pagerank

STAR = torch.tensor([[[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]]).double()
ONES = torch.ones(1, 4).double()


def test_a_star_with_three_leaves() -> None:
    lens = pagerank(STAR, ONES)
    assert lens[0].tolist() == pytest.approx([0.47973, 0.17342, 0.17342, 0.17342], abs=1e-5)
    pool = mapper(lens, ONES, 2, 0.25)
    torch.testing.assert_close(pool.sum(1), ONES)
    assert pool[0, :, 1].tolist() == pytest.approx([0.73106, 0.26894], abs=1e-5)
    assert pool[0, :, 0].tolist() == pytest.approx([0.26894, 0.73106], abs=1e-5)
    assert pool.sum(2)[0].tolist() == pytest.approx([2.46212, 1.53788], abs=1e-5)
    pooled = pool @ STAR @ pool.mT
    expected = torch.tensor([[1.17967, 1.82033], [1.82033, 1.17967]]).double()
    torch.testing.assert_close(pooled[0], expected, atol=1e-5, rtol=0)
    assert pooled.sum().item() == pytest.approx(6)


def test_pagerank_is_that_of_networkx() -> None:
    graph = nx.gnm_random_graph(20, 24, seed=1)  # with nodes that have no edge
    expected = nx.pagerank(graph, tol=1e-12)
    adjacency = torch.from_numpy(nx.to_numpy_array(graph)).unsqueeze(0)
    padded = torch.nn.functional.pad(adjacency, (0, 3, 0, 3))
    real = torch.cat([torch.ones(1, 20), torch.zeros(1, 3)], dim=1).double()
    got = pagerank(padded, real)[0]
    assert got[:20].tolist() == pytest.approx([expected[i] for i in range(20)], abs=1e-9)
    assert not got[20:].any()


def test_all_nodes_of_a_regular_graph_lie_in_the_first_interval() -> None:
    ring = torch.from_numpy(nx.to_numpy_array(nx.cycle_graph(7))).unsqueeze(0).float()
    pool = mapper(pagerank(ring, torch.ones(1, 7)), torch.ones(1, 7), 3, 0.1)
    torch.testing.assert_close(pool, pool[..., :1].expand_as(pool))
    assert (pool[0, 0] > pool[0, 1]).all()


def test_a_value_on_a_border_lies_in_both_intervals() -> None:
    lens = torch.tensor([[0.0, 0.5, 1.0]]).double()
    pool = mapper(lens, torch.ones(1, 3).double(), 2, 0.0)
    assert pool[0, :, 1].tolist() == [0.5, 0.5]


def test_the_codes_pooled_graphs_are_complete_so_its_second_pooling_makes_copies() -> None:
    """All clusters lie in the first interval: every later one holds the same."""
    model = randomised(DGM(DGMConfig(hidden=4, clusters=(6, 3), weighted=False), 3, 2), 0)
    adjacency = torch.ones(1, 6, 6).double()
    pool = mapper(pagerank(adjacency, torch.ones(1, 6).double()), torch.ones(1, 6).double(), 3, 0.1)
    torch.testing.assert_close(pool[0, 1], pool[0, 2])
    weighted = randomised(DGM(DGMConfig(hidden=4, clusters=(6, 3)), 3, 2), 0)
    batch = batch_of([EXAMPLES[1]], "packed")
    assert not np.allclose(model.encode(batch).graph.detach(), weighted.encode(batch).graph.detach())


def test_one_node_and_no_edges() -> None:
    model = randomised(DGM(DGMConfig(hidden=4), 3, 2), 0)
    out = model.encode(batch_of([EXAMPLES[2], EXAMPLES[0]], "packed"))
    assert out.graph.isfinite().all()
    assert out.nodes.shape == (4, 4)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_is_told_apart(pair: str, weighted: bool) -> None:
    assert gap(DGM(DGMConfig(hidden=8, clusters=(4, 2), weighted=weighted), 1, 2), pair) < 1e-6


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match=r"model.clusters: got 0, expected at least 1"):
        DGMConfig(clusters=(4, 0))
