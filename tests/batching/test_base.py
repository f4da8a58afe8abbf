"""The primitives of all layouts against loops over graphs, nodes and neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from literal import EXAMPLES, LAYOUTS, Graph, batch_of, both_ways, graph, node_values, wild_graphs
from sargnn.batching import Batch, PaddedBatch

any_graphs = settings(max_examples=25, deadline=None, derandomize=True, database=None)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def rows(batch: Batch, values: Tensor) -> list[np.ndarray]:
    """Node values ``[..., nodes, d]`` of a batch as one array a graph."""
    if isinstance(batch, PaddedBatch):
        return [values[..., b, : int(batch.mask[b].sum()), :].numpy() for b in range(batch.num_graphs)]
    return [values[..., batch.graph == b, :].numpy() for b in range(batch.num_graphs)]


def matrices(batch: Batch, values: Tensor, sizes: list[int]) -> list[np.ndarray]:
    """Edge values of a batch as one N x N matrix (target, source) a graph."""
    if isinstance(batch, PaddedBatch):
        dense = (values * batch.closed).numpy()
        return [dense[b, :n, :n] for b, n in enumerate(sizes)]
    whole = np.zeros((len(batch.x), len(batch.x)))
    whole[batch.target.numpy(), batch.source.numpy()] = values.numpy()
    starts = np.cumsum([0, *sizes])
    return [whole[a : a + n, a : a + n] for a, n in zip(starts, sizes, strict=False)]


def softmax(v: np.ndarray) -> np.ndarray:
    return np.exp(v) / np.exp(v).sum()


@every_layout
@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_node_primitives_are_loops_over_graphs(layout: str, graphs: list[Graph]) -> None:
    batch = batch_of(graphs, layout)
    scores, h, g = node_values(batch), node_values(batch, d=2), torch.randn(len(graphs), 2, dtype=torch.float64)
    vectors = g.numpy()
    soft = batch.softmax_nodes(scores)
    columns = [rows(batch, v.unsqueeze(-1)) for v in (scores, soft, batch.compare(g, h), batch.uniform)]
    features, alike = [rows(batch, v) for v in (h, batch.spread(g))], rows(batch, batch.resemblance(g, h).unsqueeze(-1))
    for b, graph_ in enumerate(graphs):
        score, softened, compared, uniform = (column[b][:, 0] for column in columns)
        feature, spread = (f[b] for f in features)
        np.testing.assert_allclose(softened, softmax(score), rtol=1e-12)
        np.testing.assert_allclose(compared, [vectors[b] @ row for row in feature], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(uniform, np.full(graph_.nodes, 1 / graph_.nodes))
        np.testing.assert_array_equal(spread, np.tile(vectors[b], (graph_.nodes, 1)))
        np.testing.assert_allclose(batch.sum(h)[b].numpy(), sum(feature), rtol=1e-12, atol=1e-12)
        pooled = sum(s * row for s, row in zip(softened, feature, strict=True))
        np.testing.assert_allclose(batch.pool(soft, h)[b].numpy(), pooled, rtol=1e-12, atol=1e-12)
        shares = softmax(compared)
        np.testing.assert_allclose(alike[b][:, 0], shares, rtol=1e-12)
        np.testing.assert_allclose(batch.read(g, h)[b].numpy(), shares @ feature, rtol=1e-12, atol=1e-12)


@every_layout
@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_edge_primitives_are_loops_over_neighbours(layout: str, graphs: list[Graph]) -> None:
    batch, sizes = batch_of(graphs, layout), [g.nodes for g in graphs]
    v, h = node_values(batch), node_values(batch, d=2)
    scores = batch.ones * (batch.at_target(v) + 2 * batch.at_source(v))
    by_graph = {
        name: matrices(batch, values, sizes)
        for name, values in {
            "scores": scores, "softmax": batch.softmax_neighbours(scores), "ones": batch.ones,
            "loops": batch.ones * batch.loops, "gcn": batch.renormalised, "gcn exp": batch.renormalised_exp,
        }.items()
    }  # fmt: skip
    values, features = rows(batch, v.unsqueeze(-1)), rows(batch, h)
    summed, degrees = rows(batch, batch.aggregate(scores, h)), rows(batch, batch.degrees.unsqueeze(-1))
    means = rows(batch, batch.weighted_mean(batch.renormalised, v.abs(), h))
    sums = rows(batch, batch.neighbour_sum(scores, v).unsqueeze(-1))
    for b, g in enumerate(graphs):
        got = {name: per_graph[b] for name, per_graph in by_graph.items()}
        np.testing.assert_array_equal(got["ones"], g.closed)
        np.testing.assert_array_equal(got["loops"], np.eye(g.nodes))
        for i in range(g.nodes):
            hears = np.flatnonzero(g.closed[i])
            score = values[b][i, 0] + 2 * values[b][hears, 0]
            weights = [1 / np.sqrt(g.closed[i].sum() * g.closed[j].sum()) for j in hears]
            np.testing.assert_allclose(got["scores"][i, hears], score, rtol=1e-12)
            np.testing.assert_allclose(got["softmax"][i, hears], softmax(score), rtol=1e-12)
            np.testing.assert_allclose(got["gcn"][i, hears], weights, rtol=1e-12)
            np.testing.assert_allclose(got["gcn exp"][i, hears], np.exp(weights), rtol=1e-12)
            np.testing.assert_allclose(summed[b][i], score @ features[b][hears], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(sums[b][i], score @ values[b][hears], rtol=1e-12, atol=1e-12)
            shares = weights * abs(values[b][hears, 0])
            np.testing.assert_allclose(means[b][i], shares @ features[b][hears] / shares.sum(), rtol=1e-11, atol=1e-12)
            assert degrees[b][i, 0] == len(hears)


@every_layout
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_are_a_leading_dimension(layout: str, heads: int) -> None:
    """Every primitive on a stack of heads is the stack of the primitive on each."""
    batch = batch_of(EXAMPLES, layout)
    v, h = node_values(batch, heads), node_values(batch, heads, d=2)
    g = torch.randn(heads, len(EXAMPLES), 2, dtype=torch.float64)
    edge = batch.ones * batch.at_source(v)
    shared = node_values(batch, d=2)
    calls: list[tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = [
        (batch.softmax_nodes, (v,)), (batch.pool, (v, h)), (batch.sum, (h,)), (batch.spread, (g,)),
        (batch.at_source, (v,)), (batch.at_target, (v,)), (batch.softmax_neighbours, (edge,)),
        (batch.aggregate, (edge, h)), (batch.per_node, (v,)),
        (lambda q: batch.compare(q, shared), (g,)), (lambda w: batch.pool(w, shared), (v,)),
    ]  # fmt: skip
    for primitive, arguments in calls:
        one_by_one = torch.stack([primitive(*(a[head] for a in arguments)) for head in range(heads)])
        torch.testing.assert_close(primitive(*arguments), one_by_one, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_largest_value_is_that_of_a_loop_over_the_nodes(layout: str) -> None:
    """Also where all values are negative, and 0 for a graph without nodes."""
    graphs = [*EXAMPLES, Graph(0, (), np.empty((0, 3)))]
    batch = batch_of(graphs, layout)
    h = node_values(batch, d=2) - 5
    rows = torch.stack([batch.per_node(column) for column in h.unbind(-1)], dim=-1)
    values = rows.split([graph.nodes for graph in graphs])
    expected = torch.stack([own.max(0).values if len(own) else torch.zeros(2, dtype=h.dtype) for own in values])
    torch.testing.assert_close(batch.max(h), expected)


@every_layout
def test_moments_are_those_of_all_nodes(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    mean, variance, count = batch.moments(node_values(batch, d=4))
    flat = node_values(batch_of(EXAMPLES, "packed"), d=4).numpy()
    np.testing.assert_allclose(mean.numpy(), flat.mean(axis=0))
    np.testing.assert_allclose(variance.numpy(), flat.var(axis=0))
    assert count.item() == len(flat)


@every_layout
@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_softmaxes_survive_any_size_of_score(layout: str, shift: float) -> None:
    batch = batch_of([graph(3, both_ways((0, 1)))], layout, np.float32)
    scores = torch.full(batch.x.shape[:-1], shift).requires_grad_()
    soft = batch.softmax_nodes(scores)
    assert batch.per_node(soft).tolist() == pytest.approx([1 / 3] * 3)
    near = batch.softmax_neighbours(batch.ones * batch.at_source(scores))
    torch.testing.assert_close(batch.aggregate(near, torch.ones_like(batch.x)), torch.ones_like(batch.x))
    (soft.square().sum() + near.square().sum()).backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@every_layout
def test_gradients_of_the_primitives(layout: str) -> None:
    batch = batch_of(EXAMPLES[2:5], layout)
    v, h = (node_values(batch, **kind).clamp(max=2).requires_grad_() for kind in ({}, {"d": 2}))
    edge = (batch.ones * batch.at_source(v) + batch.at_target(v).sin()).detach().requires_grad_()
    g = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradcheck
    assert check(batch.softmax_nodes, v)
    assert check(batch.pool, (v, h))
    assert check(batch.sum, h)
    assert check(batch.resemblance, (g, h))
    assert check(batch.read, (g, h))
    assert check(lambda t, z: batch.weighted_mean(batch.renormalised_exp, t.exp(), z), (v, h))
    assert check(batch.softmax_neighbours, edge)
    assert check(batch.aggregate, (edge, h))


@every_layout
def test_dtype_of_the_inputs_is_kept(layout: str) -> None:
    for dtype, expected in ((np.float32, torch.float32), (np.float64, torch.float64)):
        batch = batch_of(EXAMPLES, layout, dtype)
        made = [batch.x, batch.ones, batch.loops, batch.uniform, batch.degrees, batch.renormalised]
        assert {value.dtype for value in made} == {expected}
