"""Fused weights by numbers worked by hand, and what holds of them on any graph."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from literal import (
    BACKBONES,
    EXAMPLES,
    LAYOUTS,
    Graph,
    batch_of,
    both_ways,
    graph,
    make_model,
    random_graph,
    wild_graphs,
)
from sargnn.batching import Batch, PaddedBatch
from sargnn.nn import Fusion, ModelConfig

PAIR = [graph(2, both_ways((0, 1)))]
PATH = [graph(3, both_ways((0, 1), (1, 2)))]


def matrix(batch: Batch, edge_values: Tensor) -> list[list[float]]:
    """Edge values of a batch of one graph as an N x N matrix: row the target, column the source."""
    if isinstance(batch, PaddedBatch):
        return (edge_values * batch.closed)[0].tolist()
    dense = torch.zeros(2 * [len(batch.x)], dtype=edge_values.dtype)
    return dense.index_put((batch.target, batch.source), edge_values).tolist()


def fused(
    graphs: list[Graph], layout: str, saliency: list[float], local: str = "renormalised", **values: Any
) -> np.ndarray:
    """w as a matrix, for a batch of one graph."""
    batch = batch_of(graphs, layout)
    s = torch.tensor(saliency, dtype=torch.float64).reshape(batch.x.shape[:-1])
    return np.array(matrix(batch, Fusion(**values).weights(getattr(batch, local), s, batch)))


def softmax(*scores: float) -> list[float]:
    return [exp(v) / sum(exp(u) for u in scores) for v in scores]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weighted_sum_on_a_pair(layout: str) -> None:
    # a = 1/2 everywhere, s = (3/4, 1/4), β = 2 ln 3: a + βs differs by β/2 = ln 3, so w = (3, 1) / 4 for both nodes
    got = fused(PAIR, layout, [0.75, 0.25], beta=2 * log(3))
    np.testing.assert_allclose(got, [[0.75, 0.25], [0.75, 0.25]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weighted_sum_on_a_path(layout: str) -> None:
    # closed degrees 2, 3, 2: a_00 = 1/2, a_01 = 1/√6, a_11 = 1/3; s = (1/2, 1/4, 1/4), β = 4: βs = (2, 1, 1)
    end, side, middle = 1 / 2, 1 / sqrt(6), 1 / 3
    (first, first_) = softmax(end + 2, side + 1)
    (second_, second) = softmax(side + 1, end + 1)
    expected = [[first, first_, 0], softmax(side + 2, middle + 1, side + 1), [0, second_, second]]
    np.testing.assert_allclose(fused(PATH, layout, [0.5, 0.25, 0.25], beta=4.0), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scaling_on_a_path(layout: str) -> None:
    # s = (1/2, 1/4, 1/4), γ = 2: (1 + s)^γ = (2.25, 1.5625, 1.5625), times a = 1
    a, b = 2.25, 1.5625
    expected = [[*softmax(a, b), 0], softmax(a, b, b), [0, 0.5, 0.5]]
    got = fused(PATH, layout, [0.5, 0.25, 0.25], "ones", kind="scaling", gamma=2.0)
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scaling_of_the_renormalised_pair(layout: str) -> None:
    # a = 1/2, s = (1, 0), γ = 3: 2³ / 2 = 4 against 1³ / 2 = 0.5
    got = fused(PAIR, layout, [1.0, 0.0], kind="scaling", gamma=3.0)
    np.testing.assert_allclose(got, [softmax(4, 0.5)] * 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_softmax(layout: str) -> None:
    # a = 1/2, s = (0.8, 0.2), β = 3: 0.5 + 2.4 and 0.5 + 0.6
    np.testing.assert_allclose(fused(PAIR, layout, [0.8, 0.2], beta=3.0, normalize="none"), [[2.9, 1.1]] * 2)
    # γ = 2: 1.8² / 2 = 1.62 and 1.2² / 2 = 0.72
    got = fused(PAIR, layout, [0.8, 0.2], kind="scaling", gamma=2.0, normalize="none")
    np.testing.assert_allclose(got, [[1.62, 0.72]] * 2)


def test_saliency_counts_at_the_source_of_an_edge() -> None:
    # 0 -> 1 only: node 1 hears s(0) and s(1), node 0 hears itself alone
    got = fused([graph(2, [(0, 1)])], "packed", [0.9, 0.1], "ones", normalize="none")
    np.testing.assert_allclose(got, [[1.9, 0], [1.9, 1.1]])


def every_fusion(layout: str, graphs: list[Graph], backbone: str, fusion: Fusion) -> tuple[Batch, Tensor, Tensor]:
    """A batch, a backbone's local weights on it and the same after fusion with some saliency."""
    batch = batch_of(graphs, layout)
    layer = make_model(ModelConfig(backbone=backbone, hidden=4, heads=2)).backbone[0]
    z = layer.message_features(batch.x)
    s = batch.softmax_nodes(batch.x.sum(-1) * 2)
    local = layer.local_weights(z, batch)
    return batch, local, fusion.weights(local, s, batch)


def neighbourhood_sums(batch: Batch, weights: Tensor) -> Tensor:
    heads = weights.shape[:1] if weights.dim() > batch.ones.dim() else ()
    return batch.aggregate(weights, torch.ones(*heads, *batch.x.shape[:-1], 1, dtype=weights.dtype))


FUSIONS = st.builds(
    Fusion, st.sampled_from(["weighted", "scaling"]), st.floats(-300, 300), st.floats(0.01, 6), st.just("softmax")
)


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=3), fusion=FUSIONS)
def test_weights_of_a_closed_neighbourhood_sum_to_one(
    layout: str, backbone: str, graphs: list[Graph], fusion: Fusion
) -> None:
    batch, _, w = every_fusion(layout, graphs, backbone, fusion)
    sums = neighbourhood_sums(batch, w)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=1e-12, atol=1e-12)
    assert w.min() >= 0


@pytest.mark.parametrize("kind", ["weighted", "scaling"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_weights_sum_to_one_in_a_large_graph(backbone: str, kind: str) -> None:
    graphs = [random_graph(3000, 9000), graph(1, [])]
    batch, _, w = every_fusion("packed", graphs, backbone, Fusion(kind, beta=40.0, gamma=4.0))
    sums = neighbourhood_sums(batch, w)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_no_beta_is_the_softmax_of_local_weights(backbone: str, layout: str) -> None:
    batch, local, w = every_fusion(layout, EXAMPLES, backbone, Fusion(beta=0.0))
    torch.testing.assert_close(w, batch.softmax_neighbours(local), rtol=0, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_uniform_saliency_is_the_softmax_of_local_weights(backbone: str, layout: str) -> None:
    batch, local, _ = every_fusion(layout, EXAMPLES, backbone, Fusion())
    torch.testing.assert_close(Fusion(beta=7.0).weights(local, batch.uniform, batch), batch.softmax_neighbours(local))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("beta", [-200.0, 200.0, 1e4])
def test_saliency_of_one_node_and_a_huge_beta(beta: float, layout: str, dtype: type) -> None:
    """softmax(a + βs) where one node holds all the saliency: exp(β) overflows, the weights do not."""
    batch = batch_of(PATH, layout, dtype)
    s = torch.tensor([1.0, 0.0, 0.0], dtype=batch.x.dtype).reshape(batch.x.shape[:-1]).requires_grad_()
    w = Fusion(beta=beta).weights(batch.renormalised, s, batch)
    got = np.array(matrix(batch, w))
    favoured = [1, 0] if beta > 0 else [0, 1]
    np.testing.assert_allclose(got[0, :2], favoured, atol=1e-30)
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-6)
    w.square().sum().backward()
    assert s.grad is not None
    assert s.grad.isfinite().all()
