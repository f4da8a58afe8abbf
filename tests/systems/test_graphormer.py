"""Graphormer: distances by hand and by NetworkX, a plain Transformer without biases, and what distances tell apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn

from expressive import gap, randomised
from literal import COMMON, EXAMPLES, batch_of, both_ways, graph
from sargnn.errors import InputError
from sargnn.systems.graphormer import Block, Graphormer, GraphormerConfig, path_means, shortest_paths

CONFIG = GraphormerConfig(layers=2, hidden=8, heads=2, max_degree=6)


def test_distances_of_a_path_of_three() -> None:
    closed = torch.tensor([[[1.0, 1, 0], [1, 1, 1], [0, 1, 1]]])
    assert shortest_paths(closed, 20)[0].tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize("longest", [3, 20])
def test_distances_are_those_of_networkx(longest: int) -> None:
    drawn = nx.gnm_random_graph(30, 32, seed=1)
    closed = torch.from_numpy(nx.to_numpy_array(drawn) + np.eye(30)).unsqueeze(0)
    expected = np.full((30, 30), longest)
    for source, lengths in nx.all_pairs_shortest_path_length(drawn):
        for target, length in lengths.items():
            expected[target, source] = min(length, longest)
    assert np.array_equal(shortest_paths(closed, longest)[0].numpy(), expected)


def test_without_biases_a_block_is_that_of_pytorch() -> None:
    block = randomised(Block(8, 2, 0.0), 0)
    theirs = nn.TransformerEncoderLayer(8, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True).double()
    attention, linear = theirs.self_attn, block.query_key_value
    attention.in_proj_weight, attention.in_proj_bias = linear.weight, linear.bias
    attention.out_proj.weight, attention.out_proj.bias = block.out.weight, block.out.bias
    theirs.norm1, theirs.norm2 = block.norms
    theirs.linear1, theirs.linear2 = block.feed_forward[0], block.feed_forward[2]
    h = torch.randn(3, 5, 8).double()
    torch.testing.assert_close(block(h, torch.zeros(3, 2, 5, 5).double())[0], theirs(h))


def test_far_nodes_and_other_parts_are_not_attended_to_but_the_token_is() -> None:
    """A path of four and a lone node; distances of three and more are too far."""
    model = randomised(Graphormer(GraphormerConfig(hidden=8, heads=2, max_distance=3), 3, 2), 0)
    batch = batch_of([graph(5, both_ways((0, 1), (1, 2), (2, 3)))], "padded")
    seen = (model._bias(batch)[0, 0] > -1e20).int().tolist()
    assert seen == [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 0, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 1],
    ]


def test_a_large_graph_in_a_packed_batch_is_a_group_of_its_own_and_all_come_back_in_order() -> None:
    model = randomised(Graphormer(CONFIG, 3, 2), 0)
    graphs = [EXAMPLES[1], graph(60, both_ways((0, 1))), EXAMPLES[2], EXAMPLES[4]]
    packed, padded = (batch_of(graphs, layout) for layout in ("packed", "padded"))
    one, other = model.encode(packed), model.encode(padded)
    torch.testing.assert_close(one.graph, other.graph)
    torch.testing.assert_close(one.nodes, other.nodes[padded.mask])
    for a, b in zip(one.saliency, other.saliency, strict=True):
        torch.testing.assert_close(a, padded.per_node(b))


@pytest.mark.parametrize("layout", COMMON)
@pytest.mark.parametrize(("pair", "apart"), [("triangles", True), ("molecules", True), ("regular", False)])
def test_distances_tell_pairs_apart_unless_they_are_the_same(pair: str, apart: bool, layout: str) -> None:
    difference = gap(Graphormer(CONFIG, 1, 2), pair, layout)
    assert difference > 1e-3 if apart else difference < 1e-6


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match=r"model.heads: got 3, expected a divisor of model.hidden = 8"):
        GraphormerConfig(hidden=8, heads=3)


def test_the_bias_of_paths_is_the_mean_over_all_of_them() -> None:
    """Against a list of all shortest paths of a directed graph, two parts of which cannot be reached."""
    drawn = nx.gnm_random_graph(14, 40, seed=2, directed=True)
    n, rng = len(drawn), np.random.default_rng(0)
    e, weights = rng.normal(size=(n, n, 3)), rng.normal(size=(3, 2, 3))  # at most three edges
    expected = np.zeros((2, n, n))
    for source, targets in nx.all_pairs_all_shortest_paths(drawn):
        for target, paths in targets.items():
            if 1 <= len(paths[0]) - 1 <= 3:
                steps = [list(pairwise(path)) for path in paths]
                values = [sum(weights[l] @ e[v, u] for l, (u, v) in enumerate(path)) / len(path) for path in steps]
                expected[:, target, source] = np.mean(values, axis=0)
    between = torch.from_numpy(nx.to_numpy_array(drawn).T).unsqueeze(0)
    distance = shortest_paths(between + torch.eye(n).double(), 4)
    edges = torch.from_numpy(e).permute(2, 0, 1).unsqueeze(1) * between
    got = path_means(torch.from_numpy(weights), edges, distance, between)
    np.testing.assert_allclose(got[:, 0].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("layout", COMMON)
def test_edge_inputs_alone_tell_graphs_apart(layout: str) -> None:
    """The same path; only the middle edge differs."""
    chain = graph(4, both_ways((0, 1), (1, 2), (2, 3)))
    e = np.zeros((2, 4, 4, 1))
    e[1, 1, 2] = e[1, 2, 1] = 1
    graphs = [replace(chain, e=values) for values in e] + [replace(EXAMPLES[1], e=np.ones((9, 9, 1)))]
    model = randomised(Graphormer(CONFIG, 3, 2, edge_inputs=1), 0)
    together = model.encode(batch_of(graphs, layout)).graph
    assert (together[0] - together[1]).abs().max() > 1e-3
    alone = torch.cat([model.encode(batch_of([g], "padded")).graph for g in graphs])
    torch.testing.assert_close(together, alone)
    with pytest.raises(InputError, match="got 0 edge inputs, expected 1 numbers per edge"):
        model.encode(batch_of(EXAMPLES, layout))
