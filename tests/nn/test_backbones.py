"""The four backbones: by hand, and without saliency against PyTorch Geometric's own layers."""

from __future__ import annotations

from math import e, log, sqrt

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import add_self_loops

from literal import BACKBONES, EXAMPLES, LAYOUTS, batch_of, both_ways, edge_arguments, every_batch_of, node_rows
from sargnn.batching import Batch, PackedBatch
from sargnn.nn import Fusion, GATLayer, GCNLayer, GINLayer, SAGELayer
from sargnn.nn.backbones import BACKBONES as CLASSES
from sargnn.nn.backbones import Backbone


def scalar_graph(values: list[float], *edges: tuple[int, int]) -> PackedBatch:
    """One feature a node."""
    x = torch.tensor(values, dtype=torch.float64).unsqueeze(1)
    return PackedBatch.from_edges(x, torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T)


def fill(layer: nn.Module, value: float = 1.0) -> Backbone:
    layer.double()
    for parameter in layer.parameters():
        parameter.data.fill_(value)
    return layer


def run(
    layer: Backbone, batch: PackedBatch, saliency: list[float] | None = None, fusion: Fusion | None = None
) -> list[float]:
    s = None if saliency is None else torch.tensor(saliency, dtype=torch.float64)
    return layer(batch.x, batch, s, fusion).squeeze(1).tolist()


PAIR = scalar_graph([2, 6], *both_ways((0, 1)))
PATH = scalar_graph([1, 2, 4], *both_ways((0, 1), (1, 2)))

# ---------------------------------------------------------------------------------------------------------------- GCN


def test_gcn_weights_of_a_pair_are_all_one_half() -> None:
    # both closed degrees are 2: 1 / √(2 · 2)
    assert PAIR.renormalised.tolist() == pytest.approx([0.5] * 4)
    # 0.5 · 2 + 0.5 · 6 = 4 at both nodes
    assert run(fill(GCNLayer(1, 1)), PAIR) == pytest.approx([4, 4])


def test_gcn_of_a_path() -> None:
    # closed degrees 2, 3, 2: ends 1/2 of themselves, 1/√6 of the middle; the middle 1/3 of itself, 1/√6 of the ends
    expected = [1 / 2 + 2 / sqrt(6), 1 / sqrt(6) + 2 / 3 + 4 / sqrt(6), 2 / sqrt(6) + 4 / 2]
    assert run(fill(GCNLayer(1, 1)), PATH) == pytest.approx(expected)


def test_gcn_of_a_directed_edge() -> None:
    # 0 -> 1: in-degrees with the loop 1 and 2; node 1 gets 2 / √(1 · 2) + 6 / 2; node 0 keeps itself
    assert run(fill(GCNLayer(1, 1)), scalar_graph([2, 6], (0, 1))) == pytest.approx([2, sqrt(2) + 3])


def test_gcn_with_fused_weights() -> None:
    # s = (3/4, 1/4), β = 2 ln 3: w = (3, 1) / 4 at both nodes (see test_fusion): 1.5 + 1.5 = 3, then θ = 2
    assert run(fill(GCNLayer(1, 1), 2.0), PAIR, [0.75, 0.25], Fusion(beta=2 * log(3))) == pytest.approx([6, 6])


def test_gcn_activation_and_bias() -> None:
    assert run(fill(GCNLayer(1, 1), -1.0), PAIR) == [0, 0]
    # θ = -1, bias = 5: relu(5 - 4)
    layer = fill(GCNLayer(1, 1, bias=True), -1.0)
    layer.bias.data.fill_(5)
    assert run(layer, PAIR) == pytest.approx([1, 1])


# --------------------------------------------------------------------------------------------------------------- SAGE


def test_sage_is_the_mean_of_the_closed_neighbourhood() -> None:
    # (1 + 2) / 2, (1 + 2 + 4) / 3, (2 + 4) / 2, times θ = 3
    assert run(fill(SAGELayer(1, 1), 3.0), PATH) == pytest.approx([4.5, 7, 9])


def test_sage_averages_weighted_features_once_more() -> None:
    # s uniform: softmax of equal scores gives 1/2, 1/3, 1/2; the mean divides by 2, 3, 2 again
    expected = [3 / 4, 7 / 9, 6 / 4]
    assert run(fill(SAGELayer(1, 1)), PATH, [1 / 3] * 3) == pytest.approx(expected)
    # s = (1, 0, 0), β = ln 2: node 0 weighs (2, 1) / 3, node 1 (2, 1, 1) / 4, node 2 (1, 1) / 2
    expected = [(2 * 1 + 2) / 3 / 2, (2 * 1 + 2 + 4) / 4 / 3, (2 + 4) / 2 / 2]
    assert run(fill(SAGELayer(1, 1)), PATH, [1, 0, 0], Fusion(beta=log(2))) == pytest.approx(expected)


def test_sage_without_softmax() -> None:
    # w = 1 + s = (2, 1, 1): means (2 + 2) / 2, (2 + 2 + 4) / 3, (2 + 4) / 2
    assert run(fill(SAGELayer(1, 1)), PATH, [1, 0, 0], Fusion(normalize="none")) == pytest.approx([2, 8 / 3, 3])


# ---------------------------------------------------------------------------------------------------------------- GIN


def gin(epsilon: float) -> GINLayer:
    """F_MLP(v) = relu(v) · 1 + 0."""
    layer = fill(GINLayer(1, 1))
    for parameter in (layer.mlp[0].bias, layer.mlp[2].bias):
        parameter.data.zero_()
    layer.epsilon.data.fill_(epsilon)
    return layer


def test_gin_sums_with_one_and_epsilon() -> None:
    # ε = 0.5: 1.5 · 1 + 2, 1 + 1.5 · 2 + 4, 2 + 1.5 · 4
    assert run(gin(0.5), PATH) == pytest.approx([3.5, 8, 8])


def test_gin_epsilon_inside_the_softmax() -> None:
    # a = (1 + ε) for the node itself, 1 for others; ε = ln 3, s uniform: itself 3 times a neighbour
    # node 0: (3 · 1 + 2) / 4; node 1: (1 + 3 · 2 + 4) / 5; node 2: (2 + 3 · 4) / 4
    assert run(gin(log(3)), PATH, [1 / 3] * 3) == pytest.approx([5 / 4, 11 / 5, 14 / 4])


def test_gin_epsilon_is_scaled_with_its_weight() -> None:
    # scaling, no softmax, γ = 1, s = (1, 0, 0), ε = 0.5: w_0 = (2 · 1.5, 1), w_1 = (2 · 1, 1.5, 1), w_2 = (1, 1.5)
    fusion = Fusion("scaling", normalize="none")
    assert run(gin(0.5), PATH, [1, 0, 0], fusion) == pytest.approx([3 + 2, 2 + 3 + 4, 2 + 6])


# ---------------------------------------------------------------------------------------------------------------- GAT


def gat(target: float, source: float, theta: float = 1.0) -> GATLayer:
    layer = fill(GATLayer(1, 1), theta)
    layer.attend_target.data.fill_(target)
    layer.attend_source.data.fill_(source)
    return layer


LOGS = scalar_graph([0, log(2), log(4)], *both_ways((0, 1), (1, 2)))


def test_gat_attention_of_a_path() -> None:
    # scores h_j: exp gives 1, 2, 4. Node 0: (1, 2) / 3; node 1: (1, 2, 4) / 7; node 2: (2, 4) / 6
    one, two = log(2), log(4)
    expected = [2 / 3 * one, 2 / 7 * one + 4 / 7 * two, 2 / 6 * one + 4 / 6 * two]
    assert run(gat(target=0, source=1), LOGS) == pytest.approx(expected)
    # a positive score of the target is the same for all its neighbours and cancels
    assert run(gat(target=5, source=1), LOGS) == pytest.approx(expected)


def test_gat_negative_scores_leak_a_fifth() -> None:
    # scores -5 h_j, after LeakyReLU -h_j: exp gives 1, 1/2, 1/4
    # node 0: (2, 1) / 3; node 1: (4, 2, 1) / 7; node 2: (2, 1) / 3
    one, two = log(2), log(4)
    expected = [1 / 3 * one, 2 / 7 * one + 1 / 7 * two, 2 / 3 * one + 1 / 3 * two]
    assert run(gat(target=0, source=-5), LOGS) == pytest.approx(expected)


def test_gat_target_matters_through_the_leak() -> None:
    # θ = 1, features 2 and 6: scores at node 1: 6 t + h_j; with t = -1/2: -3 + (2, 6) = (-1, 3) -> (-0.2, 3)
    low, high = e**-0.2, e**3
    expected = (2 * low + 6 * high) / (low + high)
    assert run(gat(target=-0.5, source=1), PAIR)[1] == pytest.approx(expected)


def test_gat_takes_the_softmax_of_its_attention() -> None:
    # node 0: a = (1, 2) / 3, s uniform: w = softmax(1/3, 2/3)
    heavy = e ** (2 / 3) / (e ** (1 / 3) + e ** (2 / 3))
    assert run(gat(target=0, source=1), LOGS, [1 / 3] * 3)[0] == pytest.approx(heavy * log(2))


def test_gat_heads_are_concatenated() -> None:
    torch.manual_seed(0)
    batch = batch_of(EXAMPLES, "packed")
    both = GATLayer(3, 4, heads=2).double()
    halves = []
    for h in range(2):
        one = GATLayer(3, 2).double()
        one.theta.weight.data = both.theta.weight.data[2 * h : 2 * h + 2]
        one.attend_target.data = both.attend_target.data[h : h + 1]
        one.attend_source.data = both.attend_source.data[h : h + 1]
        halves.append(one(batch.x, batch, batch.uniform))
    torch.testing.assert_close(both(batch.x, batch, batch.uniform), torch.cat(halves, dim=1))


# ---------------------------------------------------------------------------- without saliency: the ordinary layers


def assert_is_conv(layer: Backbone, conv: nn.Module, activation: nn.Module, loops: bool = False) -> None:
    """Equal to a layer of PyTorch Geometric on graphs of all kinds, directed ones included, in all layouts."""
    x, edge_index, _ = edge_arguments(EXAMPLES)
    if loops:
        edge_index, _ = add_self_loops(edge_index, num_nodes=len(x))
    expected = activation(conv(x, edge_index))
    for batch in every_batch_of(EXAMPLES):
        torch.testing.assert_close(node_rows(batch, layer(batch.x, batch)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_gcn_is_gcn_conv(bias: bool) -> None:
    layer, conv = GCNLayer(3, 5, bias=bias).double(), GCNConv(3, 5, bias=bias).double()
    conv.lin.weight.data = layer.theta.weight.data
    if bias:
        conv.bias.data = layer.bias.data.normal_()
    assert_is_conv(layer, conv, nn.ReLU())


def test_gin_is_gin_conv() -> None:
    layer = GINLayer(3, 5).double()
    layer.epsilon.data.fill_(0.375)
    assert_is_conv(layer, GINConv(layer.mlp, eps=0.375, train_eps=True).double(), nn.Identity())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
def test_gat_is_gat_conv(heads: int, bias: bool) -> None:
    layer = GATLayer(3, 6, heads=heads, bias=bias).double()
    conv = GATConv(3, 6 // heads, heads=heads, bias=bias).double()
    conv.lin.weight.data = layer.theta.weight.data
    conv.att_src.data = layer.attend_source.data.view(1, heads, -1)
    conv.att_dst.data = layer.attend_target.data.view(1, heads, -1)
    if bias:
        conv.bias.data = layer.bias.data.normal_()
    assert_is_conv(layer, conv, nn.ReLU())


@pytest.mark.parametrize("bias", [False, True])
def test_sage_is_sage_conv_over_closed_neighbourhoods(bias: bool) -> None:
    layer, conv = SAGELayer(3, 5, bias=bias).double(), SAGEConv(3, 5, root_weight=False, bias=bias).double()
    conv.lin_l.load_state_dict(layer.theta.state_dict())
    assert_is_conv(layer, conv, nn.ReLU(), loops=True)


def test_sage_with_a_weight_for_the_node_itself_is_sage_conv_with_its_root_weight() -> None:
    layer, conv = SAGELayer(3, 5, own_weight=True).double(), SAGEConv(3, 5, bias=False).double()
    conv.lin_l.load_state_dict(layer.theta.state_dict())
    conv.lin_r.load_state_dict(layer.theta_own.state_dict())
    assert_is_conv(layer, conv, nn.ReLU(), loops=True)


# ------------------------------------------------------------------------------------------------------ any backbone


@pytest.mark.parametrize("backbone", BACKBONES)
def test_message_passing_gives_what_the_fast_sum_gives(backbone: str) -> None:
    """Under an explainer the sum goes edge by edge: a mask of ones changes nothing, zeros cut the neighbours off."""
    torch.manual_seed(0)
    layer = CLASSES[backbone](3, 4, heads=2, bias=True).double()
    x, edge_index, graph = edge_arguments(EXAMPLES)
    batch = PackedBatch.from_edges(x, edge_index, graph)
    alone = PackedBatch.from_edges(x, torch.empty(2, 0, dtype=torch.long), graph)
    plain = layer(x, batch, batch.uniform)
    z = layer.message_features(x)
    weights = Fusion().weights(layer.local_weights(z, batch), batch.uniform, batch)
    own_share = weights[..., -len(x) :]  # self-loops come last
    with_mask = {}
    for name, value in (("ones", 1.0), ("zeros", 0.0)):
        layer.explain, layer._edge_mask, layer._apply_sigmoid = True, torch.full((edge_index.shape[1],), value), False
        layer._loop_mask = edge_index[0] != edge_index[1]
        with_mask[name] = layer(x, batch, batch.uniform)
        layer.explain, layer._edge_mask = False, None
    torch.testing.assert_close(with_mask["ones"], plain)
    torch.testing.assert_close(with_mask["zeros"], layer.transform(alone.aggregate(own_share, z), x, batch))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_default_fusion_is_the_weighted_sum_with_beta_one(backbone: str) -> None:
    torch.manual_seed(0)
    layer = CLASSES[backbone](3, 4).double()
    batch = batch_of(EXAMPLES, "packed")
    s = batch.softmax_nodes(torch.randn(len(batch.x), dtype=torch.float64))
    assert torch.equal(layer(batch.x, batch, s), layer(batch.x, batch, s, Fusion("weighted", beta=1.0)))
    assert not torch.allclose(layer(batch.x, batch, s), layer(batch.x, batch))


def test_constant_features_hide_degrees_after_the_softmax() -> None:
    """What the softmax costs a sum: of equal inputs a SAR-GIN layer makes equal nodes, whatever their degrees."""
    alike = scalar_graph([3, 3, 3], *both_ways((0, 1), (1, 2)))
    assert run(gin(0.5), alike, [0.2, 0.3, 0.5]) == pytest.approx([3, 3, 3])
    # the ordinary layer counts: 3 · 2.5, 3 · 3.5, 3 · 2.5
    assert run(gin(0.5), alike) == pytest.approx([7.5, 10.5, 7.5])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_all_layouts_give_the_same_nodes(backbone: str) -> None:
    torch.manual_seed(0)
    layer = CLASSES[backbone](3, 6, heads=3).double()
    first, *others = (node_rows(b, layer(b.x, b, b.uniform)) for b in every_batch_of(EXAMPLES))
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------- the softmax without its edges


def edge_by_edge(layer: Backbone, batch: Batch, s: Tensor, fusion: Fusion) -> Tensor:
    """The layer with its fused weights formed one by one."""
    z = layer.message_features(batch.x)
    summed = batch.aggregate(fusion.weights(layer.local_weights(z, batch), s, batch), z)
    return layer.transform(summed, batch.x, batch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sharpness", [1, 60], ids=["soft", "one node holds all"])
@pytest.mark.parametrize("fusion", [
    *(Fusion("weighted", beta=beta) for beta in (-41.0, -40.0, -1.0, 0.0, 1.0, 40.0, 41.0, 500.0)),
    *(Fusion("scaling", gamma=gamma) for gamma in (0.2, 1.0, 5.0, 5.4, 12.0)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_sum_is_that_of_weights_formed_one_by_one(
    backbone: str, fusion: Fusion, sharpness: int, layout: str, dtype: type
) -> None:
    """On both sides of the bound up to which exponentials are taken node by node, values and gradients agree."""
    torch.manual_seed(0)
    batch = batch_of(EXAMPLES, layout, dtype)
    layer = CLASSES[backbone](3, 4, heads=2).to(batch.x.dtype)
    scores = (sharpness * batch.x.sum(-1)).requires_grad_()
    results = []
    for run_layer in (lambda s: layer(batch.x, batch, s, fusion), lambda s: edge_by_edge(layer, batch, s, fusion)):
        out = node_rows(batch, run_layer(batch.softmax_nodes(scores)))
        results.append((out, *torch.autograd.grad(out.square().sum(), (scores, *layer.parameters()))))
    tolerance = 1e-4 if dtype is np.float32 else 1e-9
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epsilon", [-30.0, -10.0, 10.0, 100.0])
def test_gin_epsilon_of_any_size(epsilon: float, layout: str) -> None:
    """ε is learned, so nothing bounds it: a lonely node keeps its own features whatever its own weight."""
    torch.manual_seed(0)
    batch = batch_of(EXAMPLES, layout, np.float32)
    layer = GINLayer(3, 4)
    layer.epsilon.data.fill_(epsilon)
    expected = edge_by_edge(layer, batch, batch.uniform, Fusion())
    got = layer(batch.x, batch, batch.uniform, Fusion())
    torch.testing.assert_close(node_rows(batch, got), node_rows(batch, expected), rtol=1e-4, atol=1e-4)
