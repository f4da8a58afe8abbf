"""Graphs of which some nodes are left: which nodes stay, and what the model sees of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import literal
from sargnn.data.features.encoder import Encoder
from sargnn.errors import InputError
from sargnn.explain.masking import hard_mask, masked_probabilities, soft_mask
from sargnn.nn import ModelConfig
from sargnn.tasks import Classification
from sargnn.training.trained_model import TrainedModel
from tiny import labelled, shapes, tiny

NODE_GRAPH = np.repeat(np.arange(len(literal.EXAMPLES)), [g.nodes for g in literal.EXAMPLES])


@settings(max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.floats(0, 1), st.integers(0, 99))
def test_a_hard_mask_keeps_the_highest_scores_of_each_graph(sizes: list[int], sparsity: float, seed: int) -> None:
    node_graph = np.repeat(np.arange(len(sizes)), sizes)
    scores = np.random.default_rng(seed).integers(0, 4, len(node_graph)).astype(float)  # with many ties
    mask = hard_mask(scores, node_graph, sparsity)
    for g, size in enumerate(sizes):
        own, values = mask[node_graph == g], scores[node_graph == g]
        assert own.sum() == min(max(round((1 - sparsity) * size), 1), max(size - 1, 1))
        assert values[own].min() >= values[~own].max(initial=0)


def test_ties_are_broken_at_random_but_the_same_way_every_time() -> None:
    tied, graph = np.ones(200), np.zeros(200, int)
    first = hard_mask(tied, graph, 0.5)
    assert np.array_equal(first, hard_mask(tied, graph, 0.5))
    assert not np.array_equal(first, hard_mask(tied, graph, 0.5, seed=1))
    assert 30 < first[:100].sum() < 70  # not simply the first nodes


def test_a_soft_mask_ends_at_one_in_every_graph() -> None:
    assert soft_mask(np.array([0.1, 0.4, 0.0, 0.0]), np.array([0, 0, 1, 1])).tolist() == [0.25, 1, 0, 0]


def test_a_hard_mask_is_the_induced_subgraph_and_a_soft_one_scales_the_inputs() -> None:
    model = literal.make_model(ModelConfig(hidden=8, beta=3.0))
    data, index = literal.tensor_set(literal.EXAMPLES), np.arange(len(literal.EXAMPLES))
    rng = np.random.default_rng(0)
    hard = hard_mask(rng.random(len(NODE_GRAPH)), NODE_GRAPH, 0.5)
    soft = rng.random(len(NODE_GRAPH))
    found = masked_probabilities(model, data, index, hard), masked_probabilities(model, data, index, soft)
    for g, graph in enumerate(literal.EXAMPLES):
        kept = np.flatnonzero(hard[g == NODE_GRAPH])
        place = {node: i for i, node in enumerate(kept.tolist())}
        edges = tuple((place[a], place[b]) for a, b in graph.edges if a in place and b in place)
        part = literal.Graph(len(kept), edges, graph.x[kept])
        scaled = literal.Graph(graph.nodes, graph.edges, graph.x * soft[g == NODE_GRAPH][:, None])
        for probabilities, seen in zip(found, (part, scaled), strict=True):
            expected = literal.softmax(literal.encode(model, seen).logits)
            np.testing.assert_allclose(probabilities[g], expected, rtol=1e-9)


def test_a_hard_mask_keeps_the_inputs_of_edges_and_of_graphs() -> None:
    graphs = labelled(shapes())
    settings = tiny(
        "sar-gin", model__edge_channels=2, data__edge_encodings=("auto",), data__graph_encodings="attributes"
    )
    trained = TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs), Classification(graphs.classes))
    data, index = trained.tensors(graphs), np.arange(len(graphs))
    kept = np.arange(graphs.num_nodes) - graphs.node_ptr[graphs.node_graph] < 3  # the first three nodes of every graph
    found = masked_probabilities(trained.model, data, index, kept)
    for g, graph in enumerate(graphs):
        few = (graph.edges < 3).all(axis=0)
        x = torch.from_numpy(trained.encoder.encode(graph)[:3])
        edge_attr = torch.from_numpy(trained.encoder.encode_edges(graph)[few])
        graph_attr = torch.from_numpy(trained.encoder.encode_graphs(graph))
        edges = torch.from_numpy(graph.edges[:, few].astype(np.int64))
        logits = trained.model(x, edges, edge_attr=edge_attr, graph_attr=graph_attr)
        np.testing.assert_allclose(found[g], logits.softmax(1).detach()[0], rtol=1e-5)


def test_all_nodes_kept_is_the_whole_graph_and_graphs_may_lose_all() -> None:
    model = literal.make_model(ModelConfig(hidden=8))
    data, index = literal.tensor_set(literal.EXAMPLES), np.arange(len(literal.EXAMPLES))
    whole = masked_probabilities(model, data, index)
    every = np.ones(len(NODE_GRAPH), bool)
    np.testing.assert_allclose(masked_probabilities(model, data, index, every), whole)
    np.testing.assert_allclose(masked_probabilities(model, data, index, every.astype(float)), whole)
    assert np.isfinite(masked_probabilities(model, data, index, ~every)).all()


def test_masks_of_the_wrong_size_and_shares_beyond_one_are_refused_in_one_line() -> None:
    model, data = literal.make_model(ModelConfig(hidden=8)), literal.tensor_set(literal.EXAMPLES)
    with pytest.raises(InputError, match=r"^got a mask of shape \(2,\), expected \(3,\): one number per node$"):
        masked_probabilities(model, data, np.array([0]), np.ones(2))
    with pytest.raises(InputError, match=r"^got graph 99, expected 0..\d+$"):
        masked_probabilities(model, data, np.array([99]))
    with pytest.raises(InputError, match=r"^got scores of shape \(2,\), expected \(3,\): one per node$"):
        soft_mask(np.ones(2), np.zeros(3, int))
    with pytest.raises(InputError, match=r"^sparsity: got 1.5, expected a fraction from 0 to 1$"):
        hard_mask(np.ones(3), np.zeros(3, int), 1.5)
