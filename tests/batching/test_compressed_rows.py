"""Compressed rows: weights kept for a set, and structures that never reach the C kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from literal import Graph, choices, kernels, tensor_set
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import pack
from sargnn.errors import InputError

any_graphs = settings(max_examples=25, deadline=None, derandomize=True, database=None)


@any_graphs
@given(choice=choices())
def test_stored_weights_are_those_of_the_structure(choice: tuple[list[Graph], list[int]]) -> None:
    """The set keeps the local weights of the compressed layout; made from the batch alone they are the same."""
    graphs, index = choice
    kernels(torch.float64)
    batch = tensor_set(graphs).compressed(np.array(index))
    alone = replace(batch, rows=None)
    assert torch.equal(batch.renormalised, alone.renormalised)
    assert torch.equal(batch.renormalised_exp, alone.renormalised_exp)


@pytest.mark.parametrize("edge", [(0, 3), (-1, 1), (2, 2**31 - 1)])
def test_edges_that_leave_their_graph_never_reach_the_kernels(edge: tuple[int, int]) -> None:
    """Opening a folder checks it once; what changes under an open set is caught here."""
    kernels(torch.float32)
    graphs = pack([(2, [(0, 1)]), (3, [(0, 1), (1, 0)])])
    graphs.edges[:, 1] = edge
    data = TensorSet(graphs, np.ones((5, 1), np.float32))
    with pytest.raises(InputError, match=r"in graph 1, expected nodes 0\.\.2"):
        data.compressed(np.arange(2))


@pytest.mark.parametrize("pointers", [[0, 50, 5], [1, 2, 5], [0, -3, 5]])
def test_pointers_that_go_back_never_reach_the_kernels(pointers: list[int]) -> None:
    kernels(torch.float32)
    graphs = pack([(2, []), (3, [])])
    graphs.node_ptr[:] = pointers
    data = TensorSet(graphs, np.ones((5, 1), np.float32))
    with pytest.raises(InputError, match="pointers do not divide 5 nodes"):
        data.compressed(np.arange(1))
