"""Edge channels and inputs of whole graphs: by hand, against the formulas message by message, in every layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

import literal
from literal import (
    BACKBONES,
    EXAMPLES,
    Graph,
    both_ways,
    edge_arguments,
    encode,
    graph,
    kernels,
    make_model,
    tensor_set,
    wild_graphs,
)
from sargnn.batching import Batch, PackedBatch, PaddedBatch
from sargnn.errors import InputError
from sargnn.nn import SARGNN, ModelConfig
from sargnn.nn.edges import EdgeChannels
from sargnn.nn.model import SARConfig
from sargnn.systems.as_published import AsPublishedConfig

LAYOUTS = literal.LAYOUTS
SIZES: dict[str, Any] = {"layers": 2, "hidden": 4, "memory": 5, "attention": 6, "edge_channels": 3}
"""All different; the first layer of GCN sums inputs, the second transformed features."""
EDGE_INPUTS, GRAPH_INPUTS = 2, 3

SOURCES: dict[str, tuple[bool, bool]] = {"edges": (True, False), "relative": (False, True), "both": (True, True)}
"""Whether the channels see edge inputs, and differences of node inputs."""


def with_inputs(g: Graph, seed: int = 0) -> Graph:
    """The graph with normal random edge inputs, those of self-loops too, and inputs of its own."""
    rng = np.random.default_rng([seed, g.nodes])
    return replace(g, e=rng.normal(size=(g.nodes, g.nodes, EDGE_INPUTS)), u=rng.normal(size=GRAPH_INPUTS))


GRAPHS = [with_inputs(g) for g in EXAMPLES]


def model_of(
    backbone: str, source: str = "both", seed: int = 0, kind: type[SARConfig] = ModelConfig, **values: Any
) -> SARGNN:
    edges, relative = SOURCES[source]
    config = kind(backbone=backbone, relative=relative, **(SIZES | values))
    return make_model(config, seed, edge_inputs=EDGE_INPUTS * edges, graph_inputs=GRAPH_INPUTS)


def seen_by(source: str, graphs: list[Graph]) -> list[Graph]:
    return [g if SOURCES[source][0] else replace(g, e=None) for g in graphs]


def batch_of(graphs: list[Graph], layout: str) -> Batch:
    """All the graphs in one batch."""
    data = tensor_set(graphs)
    if layout == "compressed":
        kernels(data.x.dtype)
    return getattr(data, layout)(np.arange(len(graphs)))


def edge_attr(graphs: list[Graph]) -> Tensor:
    return torch.from_numpy(
        np.stack([g.e[target, source] for g in graphs if g.e is not None for source, target in g.edges])
    )


def graph_attr(graphs: list[Graph]) -> Tensor:
    return torch.from_numpy(np.stack([g.u for g in graphs if g.u is not None]))


# ------------------------------------------------------------------------------------------------------------- by hand


def test_channels_by_hand() -> None:
    """Nodes 1 and 4, an edge each way; W_e = (2, -2), W_x = (1, 1), b = (0, 1)."""
    channels = EdgeChannels(2, edge_inputs=1, inputs=1)
    with torch.no_grad():
        channels.of_edges.weight.copy_(torch.tensor([[2.0], [-2.0]]))
        channels.of_nodes.weight.fill_(1)
        channels.bias.copy_(torch.tensor([0.0, 1.0]))
    edges = torch.tensor([[0, 1], [1, 0]])  # 0 -> 1 has e = 0.5, 1 -> 0 has e = 3
    batch = PackedBatch.from_edges(torch.tensor([[1.0], [4.0]]), edges, edge_attr=torch.tensor([[0.5], [3.0]]))
    # 0 -> 1: 2 · 0.5 + (4 - 1) = 4 and -1 + 3 + 1 = 3; 1 -> 0: 6 - 3 = 3 and -6 - 3 + 1 < 0; loops 0
    assert channels(batch).tolist() == [[4, 3, 0, 0], [3, 0, 0, 0]]


def test_a_layer_by_hand() -> None:
    """A base GIN of one feature: the first node hears 1 · 2 + (1 + ε) · 5 and, by one channel of 3, A = 5 and
    V = (10, 100)."""
    layer = make_model(ModelConfig(backbone="gin", edge_channels=1, hidden=1), edge_inputs=1).backbone[1]
    with torch.no_grad():
        layer.epsilon.zero_()
        layer.edge_network.into.weight.fill_(5)
        layer.edge_network.out.weight.copy_(torch.tensor([[10.0, 100.0]]))
    layer.transform = lambda summed, h, batch: summed
    batch = PackedBatch.from_edges(torch.tensor([[5.0], [2.0]]).double(), torch.tensor([[1], [0]]))
    got = layer(batch.x, batch, channels=torch.tensor([[3.0, 0.0, 0.0]]).double())
    assert got.squeeze(1).tolist() == [7 + 10 * (3 * 5 * 2) + 100 * 3, 2]


# -------------------------------------------------------------------------------------------------------- the formulas


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("fusion", ["weighted", "scaling", "none"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_edge_channels_are_their_formula(backbone: str, fusion: str, source: str, layout: str) -> None:
    saliency = {"saliency": "none", "readout": "sum"} if fusion == "none" else {"fusion": fusion}
    heads = {"heads": 2} if backbone == "gat" else {}
    model = model_of(backbone, source, beta=1.7, gamma=1.4, **saliency, **heads)
    batch = batch_of(seen_by(source, GRAPHS), layout)
    with torch.no_grad():
        ours = model.encode(batch)
        logits = model.head(ours.graph)
    theirs = [encode(model, g) for g in seen_by(source, GRAPHS)]
    nodes = ours.nodes[batch.mask] if isinstance(batch, PaddedBatch) else ours.nodes
    pairs = [
        (ours.graph, np.stack([t.graph for t in theirs])), (nodes, np.concatenate([t.nodes for t in theirs])),
        (logits, np.stack([t.logits for t in theirs])),
        *((batch.per_node(s), np.concatenate([t.saliency[l] for t in theirs])) for l, s in enumerate(ours.saliency)),
    ]  # fmt: skip
    for got, expected in pairs:
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("normalize", ["none", "as-published"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_so_they_are_without_the_softmax(layout: str, normalize: str) -> None:
    values: dict[str, Any] = {"normalize": normalize, "norm": "batch", "input_norm": True, "bias": True}
    if normalize == "as-published":
        values |= {"kind": AsPublishedConfig, "saliency": "learned", "memory_block": "equation", "memory_heads": 1}
    model = model_of("gcn", **values)
    batch = batch_of(GRAPHS, layout)
    expected = np.stack([encode(model, g).logits for g in GRAPHS])
    np.testing.assert_allclose(model.head(model.encode(batch).graph).detach().numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_order_of_nodes_does_not_matter(backbone: str, layout: str) -> None:
    model, g = model_of(backbone), GRAPHS[1]
    order = np.random.default_rng(0).permutation(g.nodes)
    place = np.argsort(order)
    edges = tuple((int(place[u]), int(place[v])) for u, v in g.edges)
    assert g.e is not None
    turned = replace(g, edges=edges, x=g.x[order], e=g.e[np.ix_(order, order)])
    one, other = (model.encode(batch_of([graph], layout)).graph for graph in (g, turned))
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=25)
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=5), seed=st.integers(0, 9))
def test_any_graphs_together_are_as_each_alone(layout: str, graphs: list[Graph], seed: int) -> None:
    """Self-loops with inputs, repeated and directed edges, lonely nodes."""
    model = model_of(BACKBONES[seed % 4], seed=seed)
    filled = [with_inputs(g, seed) for g in graphs]
    batch = batch_of(filled, layout)
    together = model.encode(batch).graph
    alone = torch.cat([model.encode(tensor_set([g]).packed(np.array([0]))).graph for g in filled])
    torch.testing.assert_close(together, alone, rtol=1e-9, atol=1e-9)


def ring_of(labels: list[int]) -> Graph:
    """A ring of nodes all alike whose edges have these labels."""
    n = len(labels)
    e = np.zeros((n, n, EDGE_INPUTS))
    for i, label in enumerate(labels):
        e[i, (i + 1) % n, label] = e[(i + 1) % n, i, label] = 1
    ring = both_ways(*((i, (i + 1) % n) for i in range(n)))
    return Graph(n, tuple(ring), np.ones((n, 3)), e, np.zeros(GRAPH_INPUTS))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", ["gcn", "gin", "sage"])
def test_edge_labels_alone_tell_graphs_apart(backbone: str, layout: str) -> None:
    """Three single and three double bonds: alternating, or each kind in a row."""
    graphs = [ring_of([0, 1, 0, 1, 0, 1]), ring_of([0, 0, 0, 1, 1, 1]), ring_of([1, 0, 1, 0, 1, 0])]
    gaps = []
    for seed in range(3):
        model = model_of(backbone, "edges", seed, layers=3)
        alternating, in_a_row, turned = (model.encode(batch_of([g], layout)).graph for g in graphs)
        torch.testing.assert_close(alternating, turned)
        gaps.append((alternating - in_a_row).abs().max().item())
    assert max(gaps) > 1e-3


# ------------------------------------------------------------------------------------------------------------ training


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_gradient_reaches_every_parameter(backbone: str, layout: str) -> None:
    torch.manual_seed(0)
    config = ModelConfig(backbone=backbone, relative=True, **SIZES)
    model = SARGNN(config, 3, 3, edge_inputs=EDGE_INPUTS, graph_inputs=GRAPH_INPUTS).double()
    graphs = [with_inputs(graph(n, both_ways(*((i, (i * i + 1) % n) for i in range(n))), n)) for n in range(6, 14)]
    logits = model.head(model.encode(batch_of(graphs, layout)).graph)
    nn.functional.cross_entropy(logits, torch.arange(len(graphs)) % 3).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_gradients(backbone: str, layout: str) -> None:
    """Analytic against numerical derivatives of the logits by edge inputs."""
    model = model_of(backbone, hidden=2, layers=1)
    batch = batch_of([with_inputs(graph(3, [(0, 1), (1, 0), (2, 1)])), GRAPHS[5]], layout)

    def by_edges(edges: Tensor) -> Tensor:
        return model.head(model.encode(replace(batch, edges=edges)).graph)

    assert batch.edges is not None
    assert torch.autograd.gradcheck(by_edges, batch.edges.clone().requires_grad_())


@pytest.mark.parametrize("layout", literal.COMMON)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_models_in_one_vmap_are_as_each_alone(backbone: str, layout: str) -> None:
    models = [model_of(backbone, seed=seed) for seed in range(3)]
    batch = batch_of(GRAPHS, layout)
    state, _ = torch.func.stack_module_state(models)

    class Vectors(nn.Module):
        def __init__(self, model: SARGNN) -> None:
            super().__init__()
            self.model = model

        def forward(self, edges: Tensor) -> Tensor:
            return self.model.encode(replace(batch, edges=edges)).graph

    template = Vectors(models[0])

    def one(weights: dict[str, Tensor], edges: Tensor) -> Tensor:
        return torch.func.functional_call(template, {f"model.{k}": v for k, v in weights.items()}, (edges,))

    assert batch.edges is not None
    inputs = torch.stack([batch.edges * scale for scale in (1.0, 2.0, 3.0)])
    together = torch.func.vmap(one)(state, inputs)
    for model, edges, got in zip(models, inputs, together, strict=True):
        torch.testing.assert_close(got, model.encode(replace(batch, edges=edges)).graph)


def test_channels_learn_with_the_backbone_in_turns() -> None:
    model = model_of("gcn")
    backbone, rest = ({id(p) for p in block} for block in model.parameter_blocks())
    assert {id(p) for p in model.edge_channels.parameters()} <= backbone
    assert backbone | rest == {id(p) for p in model.parameters()}


# --------------------------------------------------------------------------------------------------- PyTorch Geometric


@pytest.mark.parametrize("backbone", BACKBONES)
def test_forward_takes_edge_attr_and_graph_attr(backbone: str) -> None:
    model = model_of(backbone)
    x, edge_index, batch = edge_arguments(GRAPHS)
    got = model(x, edge_index, batch, edge_attr(GRAPHS), graph_attr(GRAPHS))
    torch.testing.assert_close(got, model.head(model.encode(batch_of(GRAPHS, "packed")).graph))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_an_edge_mask_of_an_explainer_moves_the_logits(backbone: str) -> None:
    """Every edge has a gradient; a mask of ones gives the model itself; of zeros, the model without those edges'
    messages."""
    model = model_of(backbone, hidden=16, memory=16)
    x, edge_index, batch = edge_arguments([GRAPHS[1]])
    given = (x, edge_index, batch, edge_attr([GRAPHS[1]]), graph_attr([GRAPHS[1]]))
    mask = nn.Parameter(torch.ones(edge_index.shape[1], dtype=torch.float64))
    plain = model(*given)
    set_masks(model, mask, edge_index, apply_sigmoid=False)
    try:
        masked = model(*given)
        (gradient,) = torch.autograd.grad(masked[0, 0], mask)
    finally:
        clear_masks(model)
    torch.testing.assert_close(masked, plain)
    assert gradient.all()


# ---------------------------------------------------------------------------------------------- without, and in error


def test_without_channels_nothing_is_added() -> None:
    torch.manual_seed(0)
    model = SARGNN(ModelConfig(), 3, 2)
    assert not [name for name in model.state_dict() if "edge" in name]
    batch = batch_of(EXAMPLES, "packed")
    assert batch.edges is None
    assert batch.graph_x is None


def test_graph_inputs_end_the_graph_vector() -> None:
    batch = batch_of(GRAPHS, "padded")
    vector = model_of("gcn").encode(batch).graph
    assert vector.shape[1] == SIZES["memory"] + GRAPH_INPUTS
    torch.testing.assert_close(vector[:, -GRAPH_INPUTS:], graph_attr(GRAPHS))


@pytest.mark.parametrize(
    ("values", "widths", "message"),
    [
        (
            {},
            {"edge_inputs": 4},
            r"model\.edge_channels: got 0 with 4 edge inputs \(data\.edge_encodings\), expected 1",
        ),
        ({"edge_channels": 4}, {}, r"model\.edge_channels: got 4 without edge inputs, expected data\.edge_encodings"),
        ({"edge_channels": -1}, {}, r"model\.edge_channels: got -1, expected at least 0"),
        ({"relative": True}, {}, r"model\.relative: got true with model\.edge_channels = 0, expected 1 or more"),
    ],
)
def test_what_would_not_be_used_is_refused(values: dict[str, Any], widths: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        SARGNN(ModelConfig(**values), 3, 2, **widths)
    assert "\n" not in str(caught.value)


def test_missing_inputs_are_named() -> None:
    model = model_of("gcn")
    x, edge_index, batch = edge_arguments(GRAPHS)
    with pytest.raises(InputError, match=r"got 0 edge inputs, expected 2 numbers per edge \(edge_attr\)"):
        model(x, edge_index, batch)
    with pytest.raises(InputError, match="got 1 edge inputs, expected 2 numbers per edge"):
        model(x, edge_index, batch, edge_attr(GRAPHS)[:, :1])
    with pytest.raises(InputError, match=r"got 0 graph inputs, expected 3 numbers per graph \(graph_attr\)"):
        model(x, edge_index, batch, edge_attr(GRAPHS))
    with pytest.raises(InputError, match="got 2 graph inputs, expected 3"):
        model(x, edge_index, batch, edge_attr(GRAPHS), graph_attr(GRAPHS)[:, :2])
