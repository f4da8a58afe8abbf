"""DGCNN: the convolution by hand, SortPooling as PyTorch Geometric has it, and what it cannot tell apart."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.nn import SortAggregation

from expressive import PAIRS, constant_batch, gap, randomised
from literal import COMMON, EXAMPLES, batch_of, graph
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.systems import dgcnn
from sargnn.systems.dgcnn import DGCNN, DGCNNConfig, sort_pool

every_layout = pytest.mark.parametrize("layout", COMMON)


@every_layout
def test_convolution_of_a_path_of_three(layout: str) -> None:
    model = DGCNN(DGCNNConfig(layers=1, hidden=1, nodes=10), 1, 2).double()
    with torch.no_grad():
        for layer in model.layers:
            layer.weight.fill_(1)
            layer.bias.fill_(0)
    batch = constant_batch([(3, [(0, 1), (1, 2)])], layout)
    batch.x[:] = torch.tensor([[1.0], [2.0], [3.0]])
    first = model.encode(batch).nodes.view(3, 2)[:, 0]
    torch.testing.assert_close(first.atanh(), torch.tensor([1.5, 2, 2.5]).double())


@every_layout
@pytest.mark.parametrize("k", [2, 5, 12])
def test_sort_pooling_is_that_of_pytorch_geometric(layout: str, k: int) -> None:
    packed, batch = batch_of(EXAMPLES, "packed"), batch_of(EXAMPLES, layout)
    theirs = SortAggregation(k)(packed.x, packed.graph).view(len(EXAMPLES), k, -1)
    mine = sort_pool(batch.x, k, batch)
    torch.testing.assert_close(mine, theirs)
    assert not mine[2, 1:].any()  # the graph of one node
    assert (mine[1, :-1, -1] >= mine[1, 1:, -1])[: min(k, 9) - 1].all()


@pytest.mark.parametrize("k", [10, 11, 30])
def test_length_of_the_vector(k: int) -> None:
    model = DGCNN(DGCNNConfig(nodes=k), 3, 2).double()
    out = model.encode(batch_of([graph(1, []), EXAMPLES[1]], "packed"))
    assert out.graph.shape == (2, 32 * ((k - 2) // 2 + 1 - 4))
    assert out.nodes.shape == (10, 97)


def test_fewer_than_ten_rows_are_refused() -> None:
    with pytest.raises(InputError, match=r"model.nodes: got 9, expected at least 10"):
        DGCNNConfig(nodes=9)


@pytest.mark.parametrize(
    ("name", "share"), [("MUTAG", 0.6), ("ENZYMES", 0.6), ("PROTEINS", 0.6), ("Letter-high", 0.6), ("IMDB-MULTI", 0.9)]
)
def test_the_published_rule_gives_the_k_that_is_written_down(mirror: Path, name: str, share: float) -> None:
    sizes = np.sort(load(mirror / f"{name}.zip").sizes)
    k = max(10, int(sizes[ceil(share * len(sizes)) - 1]))
    assert f"{k} for {name}" in " ".join((dgcnn.__doc__ or "").split())


def test_rows_of_like_nodes_are_equal_so_ties_are_harmless() -> None:
    """A ring with constant inputs, cut at k < n: all rows the same, whichever are kept."""
    model = randomised(DGCNN(DGCNNConfig(nodes=10), 1, 2), 0)
    out = model.encode(constant_batch([(12, [(i, (i + 1) % 12) for i in range(12)])]))
    torch.testing.assert_close(out.nodes, out.nodes[:1].expand_as(out.nodes))
    assert np.isfinite(out.graph.detach().numpy()).all()


@pytest.mark.parametrize("pair", PAIRS)
@every_layout
def test_no_pair_is_told_apart(pair: str, layout: str) -> None:
    assert gap(DGCNN(DGCNNConfig(nodes=10), 1, 2), pair, layout) < 1e-6
