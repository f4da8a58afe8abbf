"""Sets of graphs as tensors: the index arithmetic of every layout against slow constructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from literal import EXAMPLES, LAYOUTS, Graph, batch_of, both_ways, choices, kernels, slow_packed, tensor_set
from sargnn.batching import Batch, PaddedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack

any_graphs = settings(max_examples=25, deadline=None, derandomize=True, database=None)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@any_graphs
@given(choice=choices())
def test_packed_is_the_slow_construction(choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = choice
    batch = tensor_set(graphs).packed(np.array(index))
    x, edges, owner = slow_packed(graphs, index)
    np.testing.assert_array_equal(batch.x.numpy(), x)
    assert batch.graph.tolist() == owner
    pairs = list(zip(batch.source.tolist(), batch.target.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == edges
    assert pairs[len(pairs) - len(x) :] == [(v, v) for v in range(len(x))]
    assert batch.num_graphs == len(index)


@any_graphs
@given(choice=choices())
def test_compressed_is_the_slow_construction_target_after_target(choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = choice
    kernels(torch.float64)
    batch = tensor_set(graphs).compressed(np.array(index))
    x, edges, owner = slow_packed(graphs, index)
    np.testing.assert_array_equal(batch.x.numpy(), x)
    assert batch.graph.tolist() == owner
    pairs = list(zip(batch.source.tolist(), batch.target.tolist(), strict=True))
    assert sorted(pairs) == sorted(edges)
    assert batch.target.tolist() == sorted(batch.target.tolist())
    assert batch.num_graphs == len(index)


@any_graphs
@given(choice=choices(), spare=st.integers(0, 3))
def test_padded_is_the_slow_construction(choice: tuple[list[Graph], list[int]], spare: int) -> None:
    graphs, index = choice
    largest = max(graphs[g].nodes for g in index)
    batch = tensor_set(graphs).padded(np.array(index), largest + spare)
    assert batch.mask.shape == (len(index), largest + spare)
    for b, g in enumerate(graphs[i] for i in index):
        n = g.nodes
        np.testing.assert_array_equal(batch.x[b, :n].numpy(), g.x)
        assert not batch.x[b, n:].any()
        assert batch.mask[b].tolist() == [True] * n + [False] * (largest + spare - n)
        expected = np.eye(largest + spare)
        expected[:n, :n] = g.closed
        np.testing.assert_array_equal(batch.closed[b].numpy(), expected)


def test_padded_is_as_large_as_the_largest_chosen() -> None:
    graphs = tensor_set(EXAMPLES)
    assert graphs.padded(np.array([0, 5])).mask.shape == (2, 3)
    assert graphs.padded(np.array([2])).mask.shape == (1, 1)


@every_layout
def test_what_is_known_follows_the_order(layout: str) -> None:
    graphs = pack(
        [(2, both_ways((0, 1))), (1, []), (3, [])], y=[2, 0, 1], classes="abc", true_saliency=[1, 3, 5, 0, 0, 0]
    )
    if layout == "compressed":
        kernels(torch.float32)
    batch = getattr(TensorSet(graphs, np.ones((6, 1), np.float32)), layout)(np.array([2, 0]))
    assert batch.y.tolist() == [1, 2]
    # graph 2 has no true saliency at all, graph 0 has 1 : 3
    expected = [[0, 0, 0], [0.25, 0.75, 0]] if layout == "padded" else [0, 0, 0, 0.25, 0.75]
    assert batch.truth.tolist() == expected
    assert batch.truth.dtype == torch.float32


@every_layout
def test_nothing_known_is_nothing_given(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    assert batch.y is None
    assert batch.truth is None


@pytest.fixture
def every_warning() -> Iterator[None]:
    """PyTorch gives some warnings once a process; here every time."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("every_warning")
def test_set_of_a_memory_mapped_folder(tmp_path: Path) -> None:
    """Tensors over read-only maps: PyTorch warns that writing to them is undefined."""
    graphs = pack([(2, both_ways((0, 1)))], y=[0], classes=["a"], node_attributes=np.ones((2, 3)))
    graphs.save(tmp_path / "set")
    opened = GraphSet.open(tmp_path / "set")
    assert opened.node_attributes is not None
    assert TensorSet(opened, opened.node_attributes).packed(np.array([0])).x.tolist() == [[1.0] * 3] * 2


def with_inputs(graphs: list[Graph]) -> list[Graph]:
    """Each edge, self-loops too, and each graph with two numbers that say which it is."""
    filled = []
    for number, g in enumerate(graphs):
        i, j = np.indices((g.nodes, g.nodes))
        e = np.stack([1000 * (number + 1) + 10 * i + j, i - j + 0.5], axis=-1)
        filled.append(replace(g, e=e.astype(float), u=np.array([number, -number], float)))
    return filled


@every_layout
@any_graphs
@given(choice=choices())
def test_edge_inputs_follow_their_edges_in_every_layout(layout: str, choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = with_inputs(choice[0]), choice[1]
    data = tensor_set(graphs)
    if layout == "compressed":
        kernels(torch.float64)
    batch = getattr(data, layout)(np.array(index))
    expected = [np.moveaxis(g.e * (g.closed - np.eye(g.nodes))[..., None], -1, 0) for g in (graphs[i] for i in index)]
    for feature in range(2):
        got = dense_edges(batch, batch.edges[feature])
        np.testing.assert_array_equal(got, block_diagonal([e[feature] for e in expected]))
    np.testing.assert_array_equal(batch.graph_x.numpy(), np.stack([graphs[i].u for i in index]))


def dense_edges(batch: Batch, values: Tensor) -> np.ndarray:
    """An edge tensor as one matrix over all nodes, graph after graph."""
    if isinstance(batch, PaddedBatch):
        blocks = [row[mask][:, mask].numpy() for row, mask in zip(values, batch.mask, strict=True)]
        assert values.count_nonzero() == sum(np.count_nonzero(block) for block in blocks)
        return block_diagonal(blocks)
    out = np.zeros((len(batch.x), len(batch.x)))
    out[batch.target.numpy(), batch.source.numpy()] = values.numpy()
    return out


def block_diagonal(blocks: list[np.ndarray]) -> np.ndarray:
    ends = np.cumsum([len(block) for block in blocks])
    out = np.zeros((ends[-1], ends[-1]))
    for end, block in zip(ends, blocks, strict=True):
        out[end - len(block) : end, end - len(block) : end] = block
    return out
