"""The model against the paper's formulas as ``literal`` writes them down, and its gradients against differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from literal import (
    BACKBONES,
    CLASSES,
    EXAMPLES,
    INPUTS,
    LAYOUTS,
    batch_of,
    edge_arguments,
    encode,
    graph,
    make_model,
    node_rows,
    random_graph,
)
from sargnn.nn import SARGNN, VARIANTS, ModelConfig
from sargnn.systems.as_published import AsPublishedConfig

SIZES: dict[str, Any] = {"layers": 2, "hidden": 4, "memory": 5, "attention": 6}
"""All different, so that no product of matrices fits by accident."""

SETTINGS: dict[str, dict[str, Any]] = {
    "one layer": {"layers": 1},
    "four layers": {"layers": 4},
    "k = 2": {"iterations": 2},
    "k = 3": {"iterations": 3},
    "two memory heads": {"memory_heads": 2},
    "six memory heads": {"memory_heads": 6, "iterations": 2},
    "two GAT heads": {"heads": 2},
    "four GAT heads": {"heads": 4},
    "no softmax": {"normalize": "none", "beta": 0.7, "gamma": 1.5},
    "strong": {"beta": 3.5, "gamma": 2.5},
    "weak": {"beta": -0.4, "gamma": 0.3},
    "uniform": {"saliency": "uniform", "beta": 2.0, "gamma": 2.0},
    "random": {"saliency": "random"},
    "bias": {"bias": True},
    "batch norm": {"norm": "batch", "input_norm": True},
    "layer norm": {"norm": "layer"},
    "activation": {"norm": "layer", "activate": True},
    "memory, sum and maximum": {"readout": "all"},
    "salient nodes": {"readout": "salient"},
    "gated nodes": {"readout": "gated"},
    "gated nodes alone": {"readout": "gated", "saliency": "none", "norm": "batch", "input_norm": True},
    "all nodes are salient": {"readout": "salient", "saliency": "uniform"},
    "as published": {
        "memory_block": "as-published", "normalize": "as-published", "saliency": "learned", "memory_heads": 8,
        "norm": "batch", "input_norm": True, "bias": True, "beta": 0.6, "gamma": 3.0, "iterations": 2,
    },
}  # fmt: skip


def assert_is_literal(model: SARGNN, layout: str) -> None:
    """Graph vectors, node features, every layer's saliency and logits of the example graphs, to 1e-10."""
    batch = batch_of(EXAMPLES, layout)
    with torch.no_grad():
        ours = model.encode(batch)
        logits = model.head(ours.graph)
    theirs = [encode(model, g) for g in EXAMPLES]
    assert len(ours.saliency) == len(theirs[0].saliency)
    pairs = [
        (ours.graph, np.stack([t.graph for t in theirs])),
        (node_rows(batch, ours.nodes), np.concatenate([t.nodes for t in theirs])),
        (logits, np.stack([t.logits for t in theirs])),
        *((batch.per_node(s), np.concatenate([t.saliency[l] for t in theirs])) for l, s in enumerate(ours.saliency)),
    ]
    for got, expected in pairs:
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_the_paper(variant: str, backbone: str, layout: str) -> None:
    assert_is_literal(make_model(ModelConfig(backbone=backbone, **SIZES, **VARIANTS[variant])), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_its_formula(setting: str, backbone: str, fusion: str, layout: str) -> None:
    values = {**SIZES, **SETTINGS[setting]}
    kind = AsPublishedConfig if "memory_block" in values else ModelConfig
    assert_is_literal(make_model(kind(backbone=backbone, fusion=fusion, **values), seed=1), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_uniform_saliency_needs_no_memory(backbone: str, layout: str) -> None:
    model = make_model(ModelConfig(backbone=backbone, saliency="uniform", readout="sum", beta=2.0, **SIZES))
    assert model.initial_memory is None
    assert_is_literal(model, layout)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("variant", ["base", "gnm-gnn"])
def test_fusion_is_nothing_without_saliency(variant: str, backbone: str) -> None:
    values: dict[str, Any] = {"backbone": backbone, **SIZES, **VARIANTS[variant]}
    one = make_model(ModelConfig(fusion="weighted", **values))
    other = make_model(ModelConfig(fusion="scaling", beta=9.0, gamma=9.0, normalize="none", **values))
    batch = batch_of(EXAMPLES, "packed")
    assert torch.equal(one.encode(batch).graph, other.encode(batch).graph)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_forward_is_the_paper(backbone: str) -> None:
    model = make_model(ModelConfig(backbone=backbone, **SIZES))
    expected = np.stack([encode(model, g).logits for g in EXAMPLES])
    got = model(*edge_arguments(EXAMPLES)).detach().numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_float32_is_the_paper_to_its_precision(backbone: str, layout: str) -> None:
    model = make_model(ModelConfig(backbone=backbone, **SIZES), dtype=torch.float32)
    out = model.encode(batch_of(EXAMPLES, layout, np.float32))
    assert {out.graph.dtype, out.nodes.dtype, *(s.dtype for s in out.saliency)} == {torch.float32}
    expected = np.stack([encode(model, g).graph for g in EXAMPLES])
    np.testing.assert_allclose(out.graph.detach().numpy(), expected, rtol=1e-4, atol=1e-4)


def test_a_larger_graph_is_the_paper() -> None:
    big = random_graph(120, 400)
    model = make_model(ModelConfig(backbone="gat", heads=2, fusion="scaling", **SIZES))
    got = model.encode(batch_of([big], "packed")).graph.detach().numpy()
    np.testing.assert_allclose(got[0], encode(model, big).graph, rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------------------------------------------------ gradients

TINY: dict[str, Any] = {"layers": 2, "hidden": 4, "memory": 3, "attention": 2, "heads": 2, "beta": 1.7, "gamma": 1.4}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_gradients(backbone: str, fusion: str, layout: str) -> None:
    """Analytic against numerical derivatives of the logits, by the inputs (every entry) and by all parameters."""
    model = make_model(ModelConfig(backbone=backbone, fusion=fusion, **TINY), seed=3)
    batch = batch_of([graph(3, [(0, 1), (1, 0), (2, 1)]), graph(1, []), graph(2, [])], layout)
    names, values = zip(*model.named_parameters(), strict=True)

    def by_inputs(x: torch.Tensor) -> torch.Tensor:
        return model.head(model.encode(replace(batch, x=x)).graph)

    def by_parameters(*parameters: torch.Tensor) -> torch.Tensor:
        named = {f"model.{name}": p for name, p in zip(names, parameters, strict=True)}
        return torch.func.functional_call(_Logits(model), named, (batch,))

    assert torch.autograd.gradcheck(by_inputs, batch.x.clone().requires_grad_())
    copies = tuple(value.detach().clone().requires_grad_() for value in values)
    assert torch.autograd.gradcheck(by_parameters, copies, fast_mode=True)


class _Logits(torch.nn.Module):
    """The model as a function of a batch."""

    def __init__(self, model: SARGNN) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> torch.Tensor:
        return self.model.head(self.model.encode(batch).graph)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_the_published_block(layout: str) -> None:
    config = AsPublishedConfig(saliency="learned", memory_heads=1, **TINY)
    model = make_model(config, seed=4).train()
    model.get_submodule("memory_layers").eval()  # the fixed dropout of its feed-forward network is noise
    batch = batch_of([graph(3, [(0, 1), (1, 0), (2, 1)]), graph(2, [])], layout)

    def by_inputs(x: torch.Tensor) -> torch.Tensor:
        return model.encode(replace(batch, x=x)).graph

    assert torch.autograd.gradcheck(by_inputs, batch.x.clone().requires_grad_())


def test_two_classes_and_other_inputs_are_as_wide_as_asked() -> None:
    model = SARGNN(ModelConfig(**SIZES), inputs=INPUTS, classes=CLASSES + 4)
    x, edge_index, batch = edge_arguments(EXAMPLES, torch.float32)
    assert model(x, edge_index, batch).shape == (len(EXAMPLES), CLASSES + 4)
