"""Saliency as an algorithm of PyTorch Geometric, and every model under the explainers and metrics of that package."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.explain import (
    AttentionExplainer,
    CaptumExplainer,
    DummyExplainer,
    Explainer,
    Explanation,
    GNNExplainer,
    PGExplainer,
    fidelity,
    groundtruth_metrics,
    unfaithfulness,
)

import literal
from sargnn.errors import InputError
from sargnn.explain import SaliencyExplainer, metrics
from sargnn.explain.maps import RULES, node_saliency
from sargnn.explain.masking import masked_probabilities
from sargnn.nn import SARGNN, VARIANTS, ModelConfig
from sargnn.systems import SYSTEMS
from sargnn.training.settings import Settings

CLASSIFIER = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}
NODES, EDGES = {"node_mask_type": "object"}, {"edge_mask_type": "object"}
BOTH = {**NODES, **EDGES}
ALGORITHMS: dict[str, Any] = {
    "gnn": (lambda: GNNExplainer(epochs=2), "model", BOTH),
    "dummy": (DummyExplainer, "model", BOTH),
    "attention": (lambda: AttentionExplainer(reduce="mean"), "model", EDGES),
    "captum saliency": (lambda: CaptumExplainer("Saliency"), "model", {**EDGES, "node_mask_type": "attributes"}),
    "captum ig": (lambda: CaptumExplainer("IntegratedGradients", n_steps=3), "model", {"node_mask_type": "attributes"}),
    "pg": (lambda: PGExplainer(epochs=1), "phenomenon", EDGES),
}
GRAPH = literal.EXAMPLES[1]
WITHOUT_GRADIENTS = {"topological-forest", "fingerprint-forest"}
"""Systems that no explainer by gradients can explain."""


def model_of(backbone: str, variant: str = "sar-gnn-w") -> SARGNN:
    torch.manual_seed(0)
    config = ModelConfig(
        backbone=backbone, hidden=8, layers=2, heads=2 if backbone == "gat" else 1, **VARIANTS[variant]
    )
    return SARGNN(config, literal.INPUTS, literal.CLASSES).eval()


def explainer_of(model: SARGNN, algorithm: Any, kind: str = "model", **masks: str) -> Explainer:
    return Explainer(model, algorithm, kind, CLASSIFIER, **masks)


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
@pytest.mark.filterwarnings("ignore:Input Tensor .* did not already require gradients")
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("variant", ["base", "gnm-gnn", "sar-gnn-w", "sar-pooling-s"])
@pytest.mark.parametrize("backbone", literal.BACKBONES)
def test_every_model_works_with_every_explainer_of_pyg(backbone: str, variant: str, name: str) -> None:
    pytest.importorskip("captum", reason="needs captum (dev group)")
    make, kind, masks = ALGORITHMS[name]
    model = model_of(backbone, variant)
    x, edge_index, _ = literal.edge_arguments([GRAPH], torch.float32)
    torch.manual_seed(0)
    algorithm = make()
    explainer = explainer_of(model, algorithm, kind, **masks)
    plain = model(x, edge_index)
    arguments = {}
    if kind == "phenomenon":
        arguments["target"] = plain.argmax(1).detach()
        algorithm.train(0, model, x, edge_index, **arguments)
    explanation = explainer(x, edge_index, **arguments)
    assert explanation.validate()
    for mask, wanted in (("node_mask", "node_mask_type"), ("edge_mask", "edge_mask_type")):
        value = explanation.get(mask)
        assert (value is not None) == (wanted in masks)
        assert value is None or (value.isfinite().all() and value.any())
    assert torch.equal(model(x, edge_index), plain)  # no mask and no hook is left behind
    assert 0 <= sum(fidelity(explainer, explanation)) <= 2
    assert unfaithfulness(explainer, explanation) <= 1


@pytest.mark.filterwarnings("ignore:Input Tensor .* did not already require gradients")
@pytest.mark.parametrize("name", sorted(set(SYSTEMS) - WITHOUT_GRADIENTS))
def test_every_system_works_with_explainers_of_nodes(name: str) -> None:
    pytest.importorskip("captum", reason="needs captum (dev group)")
    torch.manual_seed(0)
    model = SYSTEMS[name].model.build(Settings.of(name).model, literal.INPUTS, literal.CLASSES).eval()
    x, edge_index, _ = literal.edge_arguments([GRAPH], torch.float32)
    for algorithm, mask in ((GNNExplainer(epochs=1), "object"), (CaptumExplainer("Saliency"), "attributes")):
        found = explainer_of(model, algorithm, node_mask_type=mask)(x, edge_index).node_mask
        assert found.isfinite().all()
        assert found.any()


def test_attention_of_a_gat_is_its_own_and_that_of_sar_is_the_fused_weights() -> None:
    g = literal.Graph(4, tuple(literal.both_ways((0, 1), (1, 2), (2, 3))), GRAPH.x[:4])
    for variant in ("base", "sar-gnn-w"):
        model = literal.make_model(ModelConfig(backbone="gat", hidden=8, layers=1, **VARIANTS[variant]))
        x, edge_index, _ = literal.edge_arguments([g])
        mask = explainer_of(model, AttentionExplainer(), **EDGES)(x, edge_index).edge_mask
        p = {name: value.numpy() for name, value in model.state_dict().items()}
        vector = np.concatenate([p["backbone.0.attend_target"][0, :, 0], p["backbone.0.attend_source"][0, :, 0]])
        weights = literal.graph_attention(g.x @ p["backbone.0.theta.weight"].T, vector, g.closed)
        if variant != "base":
            saliency = literal.encode(model, g).saliency[0]
            weights = literal.fuse(weights, saliency, g.closed, model.config)
        np.testing.assert_allclose(mask, [weights[b, a] for a, b in g.edges], rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_saliency_explainer_gives_the_map_with_one_at_the_top_of_each_graph(rule: str) -> None:
    model = literal.make_model(ModelConfig(hidden=8))
    x, edge_index, batch = literal.edge_arguments(literal.EXAMPLES)
    explanation = explainer_of(model, SaliencyExplainer(rule), **BOTH)(x, edge_index, batch=batch)
    assert explanation.validate()
    expected = node_saliency(model, literal.tensor_set(literal.EXAMPLES), rule=rule)
    for g in range(len(literal.EXAMPLES)):
        own = expected[batch == g]
        torch.testing.assert_close(explanation.node_mask[batch == g, 0], own / own.max(), rtol=1e-9, atol=1e-12)
    ends = explanation.node_mask[:, 0][edge_index]
    torch.testing.assert_close(explanation.edge_mask, (ends[0] + ends[1]) / 2)


def test_an_index_chooses_graphs() -> None:
    model = literal.make_model(ModelConfig(hidden=8))
    x, edge_index, batch = literal.edge_arguments(literal.EXAMPLES)
    explainer = explainer_of(model, SaliencyExplainer(), **NODES)
    whole = explainer(x, edge_index, batch=batch).node_mask
    chosen = explainer(x, edge_index, batch=batch, index=1).node_mask
    assert torch.equal(chosen[batch == 1], whole[batch == 1])
    assert not chosen[batch != 1].any()
    beyond = len(literal.EXAMPLES)
    with pytest.raises(InputError, match=rf"^index: got graph {beyond}, expected 0..{beyond - 1}$"):
        explainer(x, edge_index, batch=batch, index=beyond)


def test_fidelity_and_unfaithfulness_with_a_soft_mask_are_those_of_pyg() -> None:
    model = literal.make_model(ModelConfig(hidden=8, beta=3.0))
    x, edge_index, batch = literal.edge_arguments(literal.EXAMPLES)
    explainer = explainer_of(model, SaliencyExplainer(), **NODES)
    explanation = explainer(x, edge_index, batch=batch)
    mask = explanation.node_mask[:, 0].numpy()
    data, index = literal.tensor_set(literal.EXAMPLES), np.arange(len(literal.EXAMPLES))
    whole, kept, removed = (masked_probabilities(model, data, index, m) for m in (None, mask, 1 - mask))
    plus, minus = fidelity(explainer, explanation)
    assert metrics.changed(whole, removed).mean() == pytest.approx(plus)
    assert metrics.changed(whole, kept).mean() == pytest.approx(minus)
    # PyG swaps the arguments of the divergence and takes the mean inside the exponential.
    swapped = -np.log(1 - metrics.unfaithfulness(kept, whole)).mean()
    assert unfaithfulness(explainer, explanation) == pytest.approx(1 - np.exp(-swapped))


def test_the_mask_against_a_truth_by_pyg() -> None:
    pytest.importorskip("torchmetrics", reason="groundtruth_metrics of PyTorch Geometric needs torchmetrics")
    model = literal.make_model(ModelConfig(hidden=8))
    x, edge_index, _ = literal.edge_arguments([GRAPH])
    mask = explainer_of(model, SaliencyExplainer(), **NODES)(x, edge_index).node_mask[:, 0]
    truth = torch.arange(len(mask)) % 2
    expected = metrics.node_aucs(mask.numpy(), truth.numpy(), np.zeros(len(mask), int))[0]
    assert groundtruth_metrics(mask, truth, "auroc") == pytest.approx(expected)


def test_settings_that_saliency_does_not_support(caplog: pytest.LogCaptureFixture) -> None:
    model = model_of("gcn")
    caplog.set_level(logging.CRITICAL)
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        explainer_of(model, SaliencyExplainer(), node_mask_type="attributes")
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        Explainer(model, SaliencyExplainer(), "model", {**CLASSIFIER, "task_level": "node"}, **NODES)
    x, edge_index, _ = literal.edge_arguments([GRAPH], torch.float32)
    with pytest.raises(InputError, match=r"^got a model without saliency"):
        explainer_of(model_of("gcn", "base"), SaliencyExplainer(), **NODES)(x, edge_index)


def test_an_explanation_object_is_what_pyg_expects() -> None:
    x, edge_index, _ = literal.edge_arguments([GRAPH], torch.float32)
    explanation = explainer_of(model_of("sage"), SaliencyExplainer(), **BOTH)(x, edge_index)
    assert isinstance(explanation, Explanation)
    assert set(explanation.available_explanations) == {"node_mask", "edge_mask"}
