"""Packed batches from PyTorch Geometric's edges: what is merged, and in which order."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import Graph, edge_arguments, slow_packed, wild_graphs
from sargnn.batching import PackedBatch

any_graphs = settings(max_examples=25, deadline=None, derandomize=True, database=None)


@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_from_edges_merges_what_is_repeated(graphs: list[Graph]) -> None:
    x, edges, owner = slow_packed(graphs, list(range(len(graphs))))
    batch = PackedBatch.from_edges(*edge_arguments(graphs))
    pairs = list(zip(*batch.edge_index.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == edges
    assert pairs[len(pairs) - len(x) :] == [(v, v) for v in range(len(x))]
    assert batch.graph.tolist() == owner
    assert batch.num_graphs == len(graphs)


def test_from_edges_keeps_the_order_of_clean_edges() -> None:
    """Explainers put their mask on the edges in the order in which they were given."""
    edge_index = torch.tensor([[3, 0, 2, 1], [1, 2, 0, 3]])
    assert torch.equal(PackedBatch.from_edges(torch.ones(4, 1), edge_index).edge_index[:, :4], edge_index)


def test_from_edges_without_batch_is_one_graph() -> None:
    batch = PackedBatch.from_edges(torch.ones(3, 1), torch.empty(2, 0, dtype=torch.long))
    assert batch.num_graphs == 1
    assert batch.graph.tolist() == [0, 0, 0]


def test_gradients_reach_the_inputs_of_from_edges() -> None:
    x = torch.ones(2, 1, requires_grad=True)
    PackedBatch.from_edges(x, torch.tensor([[0], [1]])).x.sum().backward()
    assert x.grad is not None


def test_from_edges_gives_merged_edges_the_inputs_of_the_first() -> None:
    edge_index = torch.tensor([[0, 2, 0, 1, 0, 1], [1, 1, 1, 1, 1, 0]])  # 0 -> 1 three times, a loop at 1
    edge_attr = torch.tensor([[1.0], [2], [3], [4], [5], [6]])
    batch = PackedBatch.from_edges(torch.ones(3, 1), edge_index, edge_attr=edge_attr, graph_attr=torch.ones(1, 2))
    assert batch.edges is not None
    found = zip(batch.source.tolist(), batch.target.tolist(), batch.edges[0].tolist(), strict=True)
    assert sorted(found) == [(0, 0, 0), (0, 1, 1), (1, 0, 6), (1, 1, 0), (2, 1, 2), (2, 2, 0)]
    assert batch.graph_x is not None
    assert batch.graph_x.tolist() == [[1, 1]]
