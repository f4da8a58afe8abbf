"""Pairs of graphs that simple message passing cannot tell apart, and how to ask a model whether it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from literal import kernels
from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import pack
from sargnn.systems import base

Edges = list[tuple[int, int]]


def ring(*nodes: int) -> Edges:
    return list(zip(nodes, (*nodes[1:], nodes[0]), strict=True))


def cayley(steps: list[tuple[int, int]]) -> Edges:
    """Nodes of Z4 x Z4, each joined to those that a step leads to."""
    return [(4 * a + b, (a + da) % 4 * 4 + (b + db) % 4) for a in range(4) for b in range(4) for da, db in steps]


PAIRS: dict[str, tuple[tuple[int, Edges], tuple[int, Edges]]] = {
    "triangles": ((6, ring(*range(6))), (6, ring(0, 1, 2) + ring(3, 4, 5))),
    "molecules": (
        (10, [*ring(0, 1, 2, 3, 4, 5), (4, 6), (6, 7), (7, 8), (8, 9), (9, 5)]),
        (10, ring(0, 1, 2, 3, 4) + ring(5, 6, 7, 8, 9) + [(4, 5)]),
    ),
    "regular": ((16, cayley([(0, 1), (0, 2), (1, 0), (2, 0)])), (16, cayley([(0, 1), (1, 0), (1, 1)]))),
}
"""A hexagon and two triangles; decalin and bicyclopentyl; the 4 x 4 rook's graph and the Shrikhande graph."""


def undirected(edges: Edges) -> Edges:
    return [pair for u, v in edges for pair in ((u, v), (v, u))]


def constant_batch(graphs: list[tuple[int, Edges]], layout: str = "packed", inputs: int = 1) -> Batch:
    """The graphs with 1 for every input of every node, float64."""
    packed = pack([(n, undirected(edges)) for n, edges in graphs])
    if layout == "compressed":
        kernels(torch.float64)
    return getattr(TensorSet(packed, np.ones((packed.num_nodes, inputs))), layout)(np.arange(len(graphs)))


def randomised(model: nn.Module, seed: int) -> Any:
    """The model in float64 and eval mode with every weight and statistic random: no zero that could hide a
    difference."""
    torch.manual_seed(seed)
    for name, value in model.double().eval().state_dict().items():
        if value.is_floating_point():
            value.uniform_(0.5, 2) if name.endswith(("running_variance", "running_var")) else value.normal_(0, 0.5)
    return model


def gap(model: nn.Module, pair: str, layout: str = "packed", seeds: int = 3) -> float:
    """The largest difference between the graph vectors of a pair, relative to their size, over random weights."""
    largest = 0.0
    for seed in range(seeds):
        with torch.no_grad():
            one, other = randomised(model, seed).encode(constant_batch(list(PAIRS[pair]), layout)).graph
        largest = max(largest, ((one - other).abs().max() / one.abs().max().clamp(min=1e-9)).item())
    return largest


def with_and_without_kernels(
    model: nn.Module, batch: Batch, weights: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[torch.Tensor, ...]]:
    """Graph vectors of a system and the gradient of ``weights``, by the C kernels and by PyTorch's operations."""
    results = []
    for found in (base.library, lambda _: None):
        monkeypatch.setattr(base, "library", found)
        out = model.encode(batch).graph  # type: ignore[operator]
        results.append((out, *torch.autograd.grad(out.square().sum(), list(weights.parameters()))))
    return results
