"""What holds of the whole model on any graph, and its place in PyTorch Geometric."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import Sequential

from literal import (
    BACKBONES,
    CLASSES,
    EXAMPLES,
    INPUTS,
    LAYOUTS,
    Graph,
    batch_of,
    edge_arguments,
    every_batch_of,
    graph,
    make_model,
    node_rows,
    random_graph,
    tensor_set,
    wild_graphs,
)
from sargnn.batching import Batch, PackedBatch
from sargnn.errors import InputError
from sargnn.nn import SARGNN, VARIANTS, GCNLayer, GraphNeuralMemory, InitialMemory, ModelConfig, NodeSaliency

SIZES: dict[str, Any] = {"layers": 2, "hidden": 4, "memory": 5, "attention": 6, "heads": 2}
SAR = ["sar-gnn-w", "sar-gnn-s"]

any_graph = settings(max_examples=12, deadline=None, derandomize=True, database=None)
every_backbone = pytest.mark.parametrize("backbone", BACKBONES)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_variant = pytest.mark.parametrize("variant", VARIANTS)


@cache
def model_of(backbone: str, variant: str = "sar-gnn-w") -> SARGNN:
    return make_model(ModelConfig(backbone=backbone, beta=3.0, gamma=2.0, **SIZES, **VARIANTS[variant]))


def close(got: Tensor, expected: Tensor, tolerance: float = 1e-11) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


def outputs(model: SARGNN, batch: Batch) -> list[Tensor]:
    """Graph vectors, logits, node features ``[N, d]`` and saliencies ``[N]``."""
    with torch.no_grad():
        out = model.encode(batch)
        return [out.graph, model.head(out.graph), node_rows(batch, out.nodes), *map(batch.per_node, out.saliency)]


# ---------------------------------------------------------------------------------------------------- what a model is


@every_backbone
@pytest.mark.parametrize(
    ("variant", "memory_reads", "saliencies"),
    [
        ("base", 0, 0), ("gnm-gnn", 3, 0), ("sar-pooling-w", 2, 2), ("sar-pooling-s", 2, 2), ("sar-gnn-w", 3, 2),
        ("sar-gnn-s", 3, 2),
    ],
)  # fmt: skip
def test_variants_have_the_parts_of_the_paper(variant: str, memory_reads: int, saliencies: int, backbone: str) -> None:
    """Two layers: L + 1 memory reads where the memory is classified, L where it only measures saliency."""
    model = model_of(backbone, variant)
    assert len(model.memory_layers) == memory_reads
    assert len(model.saliency_layers) == saliencies == len(model.encode(batch_of(EXAMPLES, "packed")).saliency)
    assert (model.initial_memory is None) == (memory_reads == 0)
    assert model.fusion.kind == ("scaling" if variant.endswith("-s") else "weighted")
    assert model.head[0].in_features == (5 if model.config.readout == "memory" else 4)


def test_defaults_are_the_equations() -> None:
    c = ModelConfig()
    assert (c.saliency, c.readout, c.normalize) == ("learned", "memory", "softmax")
    assert (c.beta, c.gamma, c.iterations, c.memory_heads, c.norm, c.input_norm, c.bias, c.dropout) == (
        1.0, 1.0, 1, 1, "none", False, False, 0.0,
    )  # fmt: skip
    assert not [name for name, _ in SARGNN(c, 3, 2).backbone.named_parameters() if name.endswith("bias")]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"layers": 0}, "layers"), ({"hidden": -3}, "hidden"), ({"iterations": 0}, "iterations"),
        ({"memory": 0}, "memory"), ({"attention": 0}, "attention"), ({"memory_heads": 0}, "memory_heads"),
        ({"heads": 0}, "heads"),
        ({"gamma": 0.0}, "gamma"), ({"dropout": 1.0}, "dropout"), ({"dropout": -0.1}, "dropout"),
        ({"backbone": "gat", "hidden": 10, "heads": 3}, "heads"), ({"attention": 9, "memory_heads": 2}, "memory_heads"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_name(values: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        ModelConfig(**values)
    message = str(caught.value)
    assert message.startswith(f"model.{field}: got {values[field]}, expected ")
    assert "\n" not in message


def test_heads_of_other_backbones_are_not_checked_against_hidden() -> None:
    assert ModelConfig(backbone="gcn", hidden=10, heads=3).heads == 3


@every_variant
def test_blocks_of_alternating_training_share_nothing_and_leave_nothing_out(variant: str) -> None:
    config = ModelConfig(norm="batch", input_norm=True, **SIZES, **VARIANTS[variant])
    model = make_model(config)
    names = {id(p): name for name, p in model.named_parameters()}
    backbone, memory = ([names[id(p)] for p in block] for block in model.parameter_blocks())
    assert sorted(backbone + memory) == sorted(names.values())
    assert {name.split(".")[0] for name in backbone} == {"backbone", "norms", "input_norm"}
    assert "head.0.weight" in memory


@every_layout
def test_dropout_acts_in_training_only(layout: str) -> None:
    torch.manual_seed(0)
    model = SARGNN(ModelConfig(dropout=0.5, hidden=16), INPUTS, CLASSES).double()
    batch = batch_of(EXAMPLES, layout)
    assert not torch.equal(model.encode(batch).nodes, model.encode(batch).nodes)
    dropped = (model.encode(batch).nodes == 0).double().mean()
    model.eval()
    assert torch.equal(model.encode(batch).nodes, model.encode(batch).nodes)
    assert (model.encode(batch).nodes == 0).double().mean() < dropped


# ----------------------------------------------------------------------------------------------- properties, any graph


@every_backbone
@every_layout
@any_graph
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_saliency_is_a_distribution_over_each_graph(layout: str, backbone: str, graphs: list[Graph]) -> None:
    batch = batch_of(graphs, layout)
    for s in model_of(backbone).encode(batch).saliency:
        assert s.min() >= 0
        totals = batch.sum(s.detach().unsqueeze(-1))
        close(totals, torch.ones_like(totals), 1e-13)
        for g, values in zip(graphs, batch.per_node(s).split([g.nodes for g in graphs]), strict=True):
            assert g.nodes > 1 or values.item() == 1


@every_backbone
@pytest.mark.parametrize("variant", SAR)
@any_graph
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_all_layouts_agree(variant: str, backbone: str, graphs: list[Graph]) -> None:
    assert_layouts_agree(model_of(backbone, variant), graphs)


def assert_layouts_agree(model: SARGNN, graphs: list[Graph], tolerance: float = 1e-11) -> None:
    first, *others = (outputs(model, batch) for batch in every_batch_of(graphs))
    assert all(values.isfinite().all() for values in first)
    for other in others:
        for got, expected in zip(other, first, strict=True):
            close(got, expected, tolerance)


def permuted(g: Graph, order: np.ndarray) -> Graph:
    """The same graph with node ``order[v]`` called ``v``."""
    place = np.argsort(order)
    return Graph(g.nodes, tuple((int(place[u]), int(place[v])) for u, v in g.edges), g.x[order])


def assert_permutation_is_harmless(model: SARGNN, g: Graph, order: np.ndarray, layout: str, tolerance: float) -> None:
    vector, logits, *nodes = outputs(model, batch_of([g], layout))
    vector_, logits_, *nodes_ = outputs(model, batch_of([permuted(g, order)], layout))
    close(vector_, vector, tolerance)
    close(logits_, logits, tolerance)
    for before, after in zip(nodes, nodes_, strict=True):
        close(after, before[torch.from_numpy(order)], tolerance)


@every_backbone
@every_layout
@any_graph
@given(g=wild_graphs(), data=st.data())
def test_a_permutation_of_nodes_permutes_saliency_and_nothing_else(
    layout: str, backbone: str, g: Graph, data: st.DataObject
) -> None:
    order = np.array(data.draw(st.permutations(range(g.nodes))))
    assert_permutation_is_harmless(model_of(backbone, data.draw(st.sampled_from(SAR))), g, order, layout, 1e-11)


@every_backbone
@every_layout
@any_graph
@given(graphs=st.lists(wild_graphs(), min_size=2, max_size=4))
def test_batch_mates_change_nothing(layout: str, backbone: str, graphs: list[Graph]) -> None:
    model = model_of(backbone, "sar-gnn-s")
    together = outputs(model, batch_of(graphs, layout))
    alone = [outputs(model, batch_of([g], layout)) for g in graphs]
    for position, got in enumerate(together):
        close(got, torch.cat([single[position] for single in alone]))


@every_backbone
@any_graph
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=3))
def test_repeated_edges_and_self_loops_are_the_clean_graph(backbone: str, graphs: list[Graph]) -> None:
    clean = [Graph(g.nodes, tuple({(u, v) for u, v in g.edges if u != v}), g.x) for g in graphs]
    wild = [Graph(g.nodes, (*g.edges, *g.edges[::-1], (0, 0)), g.x) for g in graphs]
    model = model_of(backbone)
    close(model(*edge_arguments(wild)), model(*edge_arguments(clean)))
    close(model(*edge_arguments(wild)), model.head(model.encode(batch_of(clean, "padded")).graph))


@every_backbone
@every_layout
@every_variant
def test_two_passes_are_equal_to_the_bit(variant: str, layout: str, backbone: str) -> None:
    model, batch = model_of(backbone, variant), batch_of(EXAMPLES, layout)
    for one, other in zip(outputs(model, batch), outputs(model, batch), strict=True):
        assert torch.equal(one, other)


@every_backbone
@every_layout
@every_variant
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_parameter_is_trained(variant: str, layout: str, backbone: str, dtype: type) -> None:
    torch.manual_seed(5)
    model = SARGNN(ModelConfig(backbone=backbone, layers=2, hidden=8, **VARIANTS[variant]), INPUTS, CLASSES)
    batch = batch_of([*EXAMPLES, random_graph(20, 30)], layout, dtype)
    model.to(batch.x.dtype)
    F.cross_entropy(model.head(model.encode(batch).graph), torch.arange(batch.num_graphs) % CLASSES).backward()
    untrained = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert untrained == []


def test_saliency_projections_are_parameters() -> None:
    names = dict(model_of("gcn").named_parameters())
    assert {f"saliency_layers.{l}.{side}.weight" for l in range(2) for side in ("query", "key")} <= names.keys()


@every_backbone
@pytest.mark.parametrize("size", [9, 14])
def test_padding_is_out_of_sight(size: int, backbone: str) -> None:
    """Neither the values in padding rows nor more of them reach an output; no gradient reaches the rows."""
    model = model_of(backbone)
    batch = tensor_set(EXAMPLES).padded(np.arange(len(EXAMPLES)), size)
    x = batch.x.masked_fill(~batch.mask.unsqueeze(-1), 1e3).requires_grad_()
    dirty = replace(batch, x=x)
    for one, other in zip(outputs(model, dirty), outputs(model, batch_of(EXAMPLES, "packed")), strict=True):
        close(one, other)
    model.encode(dirty).graph.square().sum().backward()
    assert x.grad is not None
    assert not x.grad[~batch.mask].any()


# ------------------------------------------------------------------------------------------------------------ extremes


@every_backbone
@every_layout
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturated_saliency_and_extreme_beta_stay_finite(layout: str, backbone: str, fusion: str, dtype: type) -> None:
    torch.manual_seed(0)
    config = ModelConfig(backbone=backbone, fusion=fusion, beta=200.0, gamma=6.0, layers=2, hidden=8)
    batch = batch_of(EXAMPLES, layout, dtype)
    model = SARGNN(config, INPUTS, CLASSES).to(batch.x.dtype)
    for layer in model.saliency_layers:
        layer.query.weight.data *= 1e3
        layer.key.weight.data *= 1e3
    batch.x.requires_grad_()
    out = model.encode(batch)
    assert torch.stack([batch.per_node(s).max() for s in out.saliency]).min() > 0.999
    logits = model.head(out.graph)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert batch.x.grad is not None
    for gradient in [batch.x.grad, *(p.grad for p in model.parameters())]:
        assert gradient is not None
        assert gradient.isfinite().all()


@every_backbone
def test_thousands_of_nodes(backbone: str) -> None:
    big, model = random_graph(3000, 9000), model_of(backbone, "sar-gnn-s")
    for s in outputs(model, batch_of([big, EXAMPLES[0]], "packed"))[3:]:
        assert s[:3000].sum().item() == pytest.approx(1, abs=1e-12)
        assert s[3000:].sum().item() == pytest.approx(1, abs=1e-12)
    order = np.random.default_rng(0).permutation(3000)
    assert_permutation_is_harmless(model, big, order, "packed", 1e-9)


def test_all_layouts_agree_on_hundreds_of_nodes() -> None:
    graphs = [random_graph(500, 2000), graph(2, []), random_graph(300, 300, seed=1)]
    assert_layouts_agree(model_of("gat"), graphs, 1e-9)


@pytest.mark.parametrize("saliency", ["learned", "uniform"])
def test_a_graph_without_nodes_is_finite_in_all_layouts(saliency: str) -> None:
    model = make_model(ModelConfig(saliency=saliency, **SIZES))
    assert_layouts_agree(model, [EXAMPLES[1], Graph(0, (), np.empty((0, INPUTS))), EXAMPLES[3]])


# ------------------------------------------------------------------------------------------------ PyTorch Geometric


def pyg_batch(graphs: list[Graph]) -> PyGBatch:
    data = []
    for g in graphs:
        x, edge_index, _ = edge_arguments([g])
        data.append(Data(x=x, edge_index=edge_index))
    return PyGBatch.from_data_list(data)


def test_layers_in_a_sequential_model() -> None:
    torch.manual_seed(0)
    initial, classify = InitialMemory(8), nn.Linear(8, 2)
    memory, again = GraphNeuralMemory(INPUTS, 8, 8), GraphNeuralMemory(6, 8, 8)
    saliency, layer = NodeSaliency(INPUTS, 8, 8), GCNLayer(INPUTS, 6)
    model = Sequential(
        "x, edge_index, batch",
        [
            (PackedBatch.from_edges, "x, edge_index, batch -> g"),
            (initial, "g -> m"),
            (memory, "x, m, g -> m"),
            (saliency, "m, x, g -> s"),
            (layer, "x, g, s -> x"),
            (again, "x, m, g -> m"),
            (classify, "m -> m"),
        ],
    ).double()
    data = pyg_batch(EXAMPLES)
    g = PackedBatch.from_edges(data.x, data.edge_index, data.batch)
    m = memory(data.x, initial(g), g)
    h = layer(data.x, g, saliency(m, data.x, g))
    assert torch.equal(model(data.x, data.edge_index, data.batch), classify(again(h, m, g)))


@every_backbone
def test_model_on_a_pyg_batch(backbone: str) -> None:
    data = pyg_batch(EXAMPLES)
    model = model_of(backbone)
    close(model(data.x, data.edge_index, data.batch), model.head(model.encode(batch_of(EXAMPLES, "packed")).graph))


@every_backbone
@pytest.mark.parametrize("variant", ["base", "sar-gnn-w", "sar-gnn-s"])
def test_gnn_explainer(variant: str, backbone: str) -> None:
    x, edge_index, batch = edge_arguments([EXAMPLES[1]])
    explainer = Explainer(
        model_of(backbone, variant),
        GNNExplainer(epochs=3),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )
    torch.manual_seed(0)
    explanation = explainer(x, edge_index, batch=batch)
    assert explanation.validate()
    assert explanation.node_mask.shape == x.shape
    assert explanation.edge_mask.shape == (edge_index.shape[1],)
    assert explanation.node_mask.any()
    assert explanation.edge_mask.any()


@every_backbone
def test_an_edge_mask_of_an_explainer_moves_the_logits(backbone: str) -> None:
    """Every edge has a gradient; a mask of ones gives the model itself; self-loops among the edges do no harm."""
    model = model_of(backbone)
    x, edge_index, batch = edge_arguments([EXAMPLES[1]])
    edge_index = torch.cat([torch.tensor([[4], [4]]), edge_index], dim=1)
    mask = nn.Parameter(torch.ones(edge_index.shape[1], dtype=torch.float64))
    plain = model(x, edge_index, batch)
    set_masks(model, mask, edge_index, apply_sigmoid=False)
    try:
        masked = model(x, edge_index, batch)
        masked[0, 0].backward()
    finally:
        clear_masks(model)
        model.zero_grad()
    close(masked, plain)
    assert mask.grad is not None
    assert mask.grad[0] == 0
    assert mask.grad[1:].all()


@pytest.mark.parametrize("place", ["last", "first"])
def test_an_edge_mask_stays_on_its_edges_wherever_self_loops_are_listed(place: str) -> None:
    """A loop at every node makes as many given edges as closed neighbourhoods have: sizes no longer tell them apart."""
    model = model_of("gcn")
    x, clean, _ = edge_arguments([EXAMPLES[1]])
    loops = torch.arange(len(x)).expand(2, -1)
    edge_index = torch.cat([clean, loops] if place == "last" else [loops, clean], dim=1)
    between = edge_index[0] != edge_index[1]
    gradients = []
    for edges in (clean, edge_index):
        mask = nn.Parameter(torch.ones(edges.shape[1], dtype=torch.float64))
        set_masks(model, mask, edges, apply_sigmoid=False)
        try:
            gradients += torch.autograd.grad(model(x, edges)[0, 0], mask)
        finally:
            clear_masks(model)
    close(gradients[1][between], gradients[0])
