"""Saliency maps: their rules against dense matrices, and what must not change them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import literal
from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError
from sargnn.explain.maps import RULES, combine, message_weights, node_saliency, rollout
from sargnn.explain.metrics import relabelled, relabelling_error
from sargnn.nn import SARGNN, Ensemble, ModelConfig
from sargnn.systems.as_published import AsPublishedConfig
from sargnn.training.run import TrainingRun
from tiny import FOLD, shapes, tiny

every_rule = pytest.mark.parametrize("rule", RULES)
every_backbone = pytest.mark.parametrize("backbone", literal.BACKBONES)


def model_of(backbone: str = "gcn", **values: Any) -> SARGNN:
    heads = 2 if backbone == "gat" else 1
    kind = AsPublishedConfig if values.get("saliency") == "redrawn" else ModelConfig
    return literal.make_model(kind(backbone=backbone, hidden=8, heads=heads, **values))


def dense_weights(model: SARGNN, g: literal.Graph) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Saliency of every layer of a GCN, and its fused weights as matrices (row: target)."""
    c, p = model.config, {name: value.detach().numpy() for name, value in model.state_dict().items()}
    A, H, M = g.closed, g.x, p["initial_memory.vector"]
    D = np.diag(A.sum(axis=1) ** -0.5)
    saliency, weights = [], []
    for l in range(c.layers):
        M = literal.memory(literal.within(p, f"memory_layers.{l}"), H, M, c)
        saliency.append(literal.node_saliency(literal.within(p, f"saliency_layers.{l}"), M, H))
        weights.append(literal.fuse(D @ A @ D, saliency[-1], A, c))
        H = literal.backbone(literal.within(p, f"backbone.{l}"), H, A, saliency[-1], c)
    return saliency, weights


@pytest.mark.parametrize("normalize", ["softmax", "none"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_rollout_is_the_product_of_the_matrices(layers: int, normalize: str) -> None:
    model = model_of(layers=layers, normalize=normalize, beta=3.0)
    expected = []
    for g in literal.EXAMPLES:
        saliency, weights = dense_weights(model, g)
        total, product = saliency[0].copy(), np.eye(g.nodes)
        for s, w in zip(saliency[1:], weights, strict=False):
            product = product @ (np.abs(w) / np.abs(w).sum(axis=1, keepdims=True)).T  # ŵ¹ᵀ ... ŵˡᵀ
            total += product @ s
        expected.append(total / layers)
    found = node_saliency(model, literal.tensor_set(literal.EXAMPLES), rule="rollout")
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-9)


def test_rollout_of_an_ensemble_is_the_mean_over_its_members() -> None:
    """Each member's saliency is carried back by its own weights."""
    members = [literal.make_model(ModelConfig(hidden=8, normalize="none", beta=3.0), seed=seed) for seed in range(3)]
    data = literal.tensor_set(literal.EXAMPLES)
    own = [node_saliency(member, data, rule="rollout") for member in members]
    assert not torch.allclose(own[0], own[1], rtol=1e-3)
    torch.testing.assert_close(node_saliency(Ensemble(members), data, rule="rollout"), torch.stack(own).mean(0))


@pytest.mark.parametrize("backbone", ["gcn", "gin", "sage"])
def test_edge_channels_are_no_weights_of_a_rollout(backbone: str) -> None:
    """Channels multiply messages beside the fused weights; the weights that are collected are those alone."""
    model = literal.make_model(ModelConfig(backbone=backbone, hidden=8, edge_channels=3, relative=True))
    batch = literal.batch_of(literal.EXAMPLES, "packed")
    with message_weights(model) as weights:
        layers = model.encode(batch).saliency
    for layer, s, found in zip(model.backbone, layers, weights, strict=True):
        fused = model.fusion.weights(layer.local_weights(batch.x, batch), s, batch)
        for each in found:
            torch.testing.assert_close(each, fused)


def test_rollout_by_hand() -> None:
    """Two nodes; node 1 hears nothing but itself, node 0 hears 1 three times as well as itself."""
    batch = PackedBatch.from_edges(torch.ones(2, 1), torch.tensor([[1], [0]]))  # edges: 1 -> 0, then the self-loops
    weights = torch.tensor([3.0, -1.0, 5.0])
    found = rollout([torch.tensor([0.5, 0.5]), torch.tensor([0.8, 0.2])], [weights, weights], batch)
    assert found.tolist() == pytest.approx([(0.5 + 0.2) / 2, (0.5 + 0.6 + 0.2) / 2])


@every_rule
@every_backbone
def test_a_map_is_a_distribution_and_equal_in_all_layouts_and_one_by_one(backbone: str, rule: str) -> None:
    model, data = model_of(backbone), literal.tensor_set(literal.EXAMPLES)
    maps = []
    for layout in (*literal.COMMON, "auto"):
        data.layout = layout  # type: ignore[assignment]
        maps.append(node_saliency(model, data, rule=rule))
        one_by_one = [node_saliency(model, data, np.array([g]), rule) for g in range(len(data))]
        torch.testing.assert_close(torch.cat(one_by_one), maps[-1], rtol=1e-9, atol=1e-12)
    for other in maps[1:]:
        torch.testing.assert_close(other, maps[0], rtol=1e-9, atol=1e-12)
    sums = [part.sum().item() for part in maps[0].split([g.nodes for g in literal.EXAMPLES])]
    assert sums == pytest.approx([1] * len(sums))


def test_first_last_and_mean_are_of_the_layers_and_of_one_layer_all_rules_agree() -> None:
    data = literal.tensor_set(literal.EXAMPLES)
    model = model_of(layers=3)
    layers = torch.stack(model.encode(data.packed(np.arange(len(data)))).saliency).detach()
    for rule, expected in (("first", layers[0]), ("last", layers[2]), ("mean", layers.mean(0))):
        torch.testing.assert_close(node_saliency(model, data, rule=rule), expected, rtol=1e-9, atol=1e-12)
    single = model_of(layers=1)
    one = [node_saliency(single, data, rule=rule) for rule in RULES]
    for other in one[1:]:
        torch.testing.assert_close(other, one[0], rtol=1e-9, atol=1e-12)


@every_rule
@settings(max_examples=15)
@given(g=literal.wild_graphs(), seed=st.integers(0, 9))
def test_a_map_follows_its_nodes_when_they_are_renamed(rule: str, g: literal.Graph, seed: int) -> None:
    graphs = pack([(g.nodes, g.edges)], node_attributes=g.x)
    renamed, order = relabelled(graphs, seed)
    model = model_of("gat")

    def scores(one: GraphSet) -> np.ndarray:
        assert one.node_attributes is not None
        return node_saliency(model, TensorSet(one, one.node_attributes.astype(np.float64)), rule=rule).numpy()

    assert relabelling_error(scores(graphs), scores(renamed), order) < 1e-9


@every_rule
@pytest.mark.parametrize("saliency", ["learned", "redrawn"])
def test_maps_are_the_same_every_time_and_leave_the_model_as_it_was(rule: str, saliency: str) -> None:
    model = model_of(saliency=saliency, dropout=0.5).train()
    data = literal.tensor_set(literal.EXAMPLES)
    state = torch.get_rng_state()
    first, second = node_saliency(model, data, rule=rule), node_saliency(model, data, rule=rule)
    assert torch.equal(first, second)
    assert model.training
    assert torch.equal(state, torch.get_rng_state())
    assert not any(layer.watched for layer in model.backbone)


def test_message_weights_has_a_list_for_each_layer_and_a_tensor_for_each_head() -> None:
    model, batch = model_of("gat"), literal.batch_of(literal.EXAMPLES, "packed")
    with message_weights(model) as weights:
        model.encode(batch)
    assert [len(heads) for heads in weights] == [2, 2, 2]
    assert all(w.shape == batch.ones.shape for heads in weights for w in heads)


def test_a_trained_model_gives_the_map_of_a_whole_set() -> None:
    graphs = shapes()
    trained = TrainingRun.start(graphs, tiny(), fold=FOLD).trained
    prediction = trained.predict(graphs)
    assert trained.saliency(graphs).dtype == np.float64
    assert prediction.mean_saliency is not None
    np.testing.assert_allclose(trained.saliency(graphs), prediction.mean_saliency, rtol=1e-5)
    np.testing.assert_allclose(trained.saliency(graphs, "last"), prediction.saliency[-1], rtol=1e-5)


def test_what_cannot_be_mapped_is_said_in_one_line() -> None:
    data = literal.tensor_set(literal.EXAMPLES)
    for rule in RULES:
        with pytest.raises(InputError, match=r"^got a model without saliency, expected one that has it"):
            node_saliency(model_of(saliency="none", readout="sum"), data, rule=rule)
    with pytest.raises(InputError, match=r"^rule: got 'sum', expected one of first, last, mean, rollout$"):
        node_saliency(model_of(), data, rule="sum")
    with pytest.raises(InputError, match=r"^rule: got 'rollout' for saliency alone"):
        combine([torch.ones(1)], "rollout")
    for beyond in (-1, len(data)):
        with pytest.raises(InputError, match=rf"^got graph {beyond}, expected 0..{len(data) - 1}$"):
            node_saliency(model_of(), data, np.array([0, beyond]))
    batch = data.packed(np.arange(1))
    with pytest.raises(InputError, match=r"^rule: got 'rollout' for a model whose layers give no weights"):
        rollout([torch.ones(3), torch.ones(3)], [], batch)
