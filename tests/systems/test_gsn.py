"""GSN: GIN with counts. With the right structures it tells the pairs apart; without them it is GIN."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GINConv

from expressive import PAIRS, gap, randomised, undirected
from literal import COMMON, EXAMPLES, batch_of, edge_arguments
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.graphs import pack
from sargnn.data.synthetic import triangles
from sargnn.systems import SYSTEMS
from sargnn.systems.gsn import GSN, GSNConfig, NormalisedGIN


def told_apart(pair: str, *patterns: str, readout: str = "sum") -> float:
    """The largest relative difference between the vectors of a pair whose inputs are 1 and the counts."""
    graphs = pack([(n, undirected(edges)) for n, edges in PAIRS[pair]])
    inputs = Encoder.fit(DataConfig(("constant", "substructures"), substructures=patterns), graphs).encode(graphs)
    batch = TensorSet(graphs, inputs.astype(np.float64)).packed(np.arange(2))
    model = randomised(GSN(GSNConfig(hidden=8, readout=readout), inputs.shape[1], 2), 0)
    one, other = model.encode(batch).graph.detach()
    return ((one - other).abs().max() / one.abs().max()).item()


@pytest.mark.parametrize(
    ("pair", "patterns", "apart"),
    [
        ("triangles", ("ring3",), True),
        ("triangles", ("ring6",), True),
        ("triangles", ("ring4", "clique4"), False),
        ("molecules", ("ring3", "ring4", "clique4"), False),
        ("molecules", ("ring5",), True),
        ("molecules", ("ring6",), True),
        ("regular", ("ring3", "ring4", "ring5", "ring6"), False),
        ("regular", ("clique4",), True),
    ],
)
def test_the_right_structures_tell_pairs_apart(pair: str, patterns: tuple[str, ...], apart: bool) -> None:
    difference = told_apart(pair, *patterns)
    assert difference > 1e-3 if apart else difference < 1e-6


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("layout", COMMON)
def test_without_counts_it_is_gin_and_tells_none_apart(pair: str, layout: str) -> None:
    assert gap(GSN(GSNConfig(hidden=8), 1, 2), pair, layout) < 1e-6


def test_a_layer_is_that_of_pytorch_geometric() -> None:
    x, edge_index, _ = edge_arguments(EXAMPLES)
    layer = randomised(NormalisedGIN(3, 5), 0)
    norms = [nn.BatchNorm1d(5), nn.BatchNorm1d(5)]
    mlp = nn.Sequential(nn.Linear(3, 5, False), norms[0], nn.ReLU(), nn.Linear(5, 5, False), norms[1], nn.ReLU())
    conv = GINConv(mlp, eps=layer.epsilon.item()).double().eval()  # it draws the weights of its perceptron anew
    for mine, norm in zip(layer.norms, norms, strict=True):
        norm.weight, norm.bias = mine.weight, mine.bias
        norm.running_mean, norm.running_var = mine.running_mean, mine.running_variance
    mlp[0].weight, mlp[3].weight = (linear.weight for linear in layer.maps)
    torch.testing.assert_close(layer(x, batch_of(EXAMPLES, "packed")), conv(x, edge_index))


def test_every_level_is_read_out() -> None:
    batch = batch_of(EXAMPLES, "packed")
    out = randomised(GSN(GSNConfig(layers=2, hidden=4), 3, 2), 0).encode(batch)
    assert out.graph.shape == (len(EXAMPLES), 3 + 4 + 4)
    torch.testing.assert_close(out.graph[:, :3], batch.sum(batch.x))


def test_its_inputs_are_part_of_what_it_is() -> None:
    assert SYSTEMS["gsn"].data == {"encodings": ("auto", "substructures")}


def test_its_vector_holds_the_number_of_triangles() -> None:
    graphs = triangles(train=100, validation=0, test=0, test_large=0)
    encoder = Encoder.fit(DataConfig(("substructures",), substructures=("ring3",)), graphs)
    batch = TensorSet(graphs, encoder.encode(graphs)).packed(np.arange(100))
    (counts,) = encoder.encodings
    vector = GSN(GSNConfig(hidden=8), 1, 10).eval().encode(batch).graph[:, 0]
    torch.testing.assert_close(vector * counts.std[0] / 3, batch.y + 1.0)
