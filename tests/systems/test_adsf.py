"""ADSF: fingerprints and their likeness by hand, GAT without them, and what they can tell apart."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import GATConv

from expressive import PAIRS, constant_batch, gap, randomised
from literal import EXAMPLES, batch_of, edge_arguments, random_graph
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.systems.adsf import ADSF, ADSFConfig, FingerprintAttention, fingerprints, likeness

PATH = torch.tensor([[[1.0, 1, 0], [1, 1, 1], [0, 1, 1]]]).double()


def test_fingerprints_of_a_path_of_three() -> None:
    expected = [[0.58333, 0.33333, 0.08333], [0.16667, 0.66667, 0.16667], [0.08333, 0.33333, 0.58333]]
    assert fingerprints(PATH, 0.5, 2)[0].T.tolist() == [pytest.approx(column, abs=1e-5) for column in expected]
    cut = fingerprints(PATH, 0.5, 1)[0].T
    assert cut[0].tolist() == pytest.approx([7 / 11, 4 / 11, 0])


def test_likeness_on_a_path_of_three() -> None:
    batch = constant_batch([(3, [(0, 1), (1, 2)])])
    assert isinstance(batch, PackedBatch)
    s = likeness(batch, 0.5, 2)
    assert s.tolist() == pytest.approx([7 / 17] * 4 + [1.0] * 3)
    ends = fingerprints(PATH, 0.5, 2)[0][:, [0, 2]]
    assert (ends.amin(1).sum() / ends.amax(1).sum()).item() == pytest.approx(1 / 3)


def test_fingerprints_are_distributions_and_likeness_is_symmetric() -> None:
    g = random_graph(15, 20, seed=3)
    batch = batch_of([g], "packed")
    walks = fingerprints(torch.from_numpy(g.closed).unsqueeze(0), 0.3, 3)[0]
    torch.testing.assert_close(walks.sum(0), torch.ones(15).double())
    matrix = torch.zeros(15, 15).double()
    matrix[batch.target, batch.source] = likeness(batch, 0.3, 3)
    torch.testing.assert_close(matrix, matrix.T)
    assert ((matrix >= 0) & (matrix <= 1 + 1e-12)).all()
    for i, j in zip(batch.target.tolist(), batch.source.tolist(), strict=True):
        a, b = walks[:, i], walks[:, j]
        jaccard = torch.minimum(a, b).sum() / torch.maximum(a, b).sum()
        assert matrix[i, j].item() == pytest.approx(jaccard.item())


@pytest.mark.parametrize("heads", [1, 2])
def test_without_fingerprints_it_is_gat(heads: int) -> None:
    graphs = [EXAMPLES[i] for i in (0, 1, 3)]
    x, edge_index, index = edge_arguments(graphs)
    batch = PackedBatch.from_edges(x, edge_index, index)
    layer = randomised(FingerprintAttention(3, 8, heads, 0.0), 0)
    with torch.no_grad():
        layer.mixture.fill_(100)  # α / β without bound
    theirs = GATConv(3, 8 // heads, heads, bias=False).double()
    theirs.lin.weight = layer.theta.weight
    with torch.no_grad():
        theirs.att_dst.copy_(layer.attend_target.squeeze(-1).unsqueeze(0))
        theirs.att_src.copy_(layer.attend_source.squeeze(-1).unsqueeze(0))
    got = layer(x, likeness(batch, 0.5, 3), batch)
    torch.testing.assert_close(got, torch.nn.functional.elu(theirs(x, edge_index)))


def test_attention_sums_to_one() -> None:
    batch = batch_of(EXAMPLES, "packed")
    layer = randomised(FingerprintAttention(3, 8, 2, 0.0), 0)
    weights = layer.attention(torch.randn(2, len(batch.x), 4).double(), likeness(batch, 0.5, 3), batch)
    sums = torch.zeros(2, len(batch.x)).double().index_add(1, batch.target, weights)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_fingerprints_differ_between_a_hexagon_and_two_triangles() -> None:
    batch = constant_batch(list(PAIRS["triangles"]))
    assert isinstance(batch, PackedBatch)
    s = likeness(batch, 0.5, 3)
    of = batch.graph[batch.target]
    between = batch.source != batch.target
    one, other = s[between & (of == 0)], s[between & (of == 1)]
    torch.testing.assert_close(one, one[:1].expand_as(one))
    assert (one[0] - other[0]).abs() > 0.05


@pytest.mark.parametrize("pair", PAIRS)
def test_weights_of_equal_vectors_do_not_matter_so_constant_inputs_are_not_told_apart(pair: str) -> None:
    assert gap(ADSF(ADSFConfig(hidden=8, heads=2), 1, 2), pair) < 1e-6


def test_with_inputs_that_differ_the_pair_is_told_apart() -> None:
    """One marked node in each: GAT's weights are the same in both graphs, the fingerprints' are not."""
    batch = constant_batch(list(PAIRS["triangles"]))
    batch.x[[0, 6]] = 3.0
    one, other = randomised(ADSF(ADSFConfig(hidden=8, heads=2, layers=1), 1, 2), 0).encode(batch).graph.detach()
    assert (one - other).abs().max() > 1e-3


@pytest.mark.parametrize("values", [{"restart": 0.0}, {"restart": 1.0}, {"heads": 5}, {"hops": 0}])
def test_nonsense_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"^model.{next(iter(values))}: got "):
        ADSFConfig(**values)
