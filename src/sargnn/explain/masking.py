"""Predictions for graphs of which only some nodes are kept, which is how explanations are tested.

A *hard* mask is boolean: the model sees the subgraph induced by the kept nodes. A *soft* mask has one number from 0 to
1 per node, by which its inputs are multiplied, as in PyTorch Geometric's metrics. Inputs that were computed from the
whole graph, such as random-walk return probabilities, do not change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import InputError
from sargnn.explain.maps import chunks, inference
from sargnn.nn.graph_model import GraphModel

__all__ = [
    "check_nodes",
    "hard_mask",
    "induced",
    "masked_outputs",
    "masked_probabilities",
    "soft_mask",
    "without_edges",
]


def hard_mask(scores: np.ndarray, node_graph: np.ndarray, sparsity: float, seed: int = 0) -> np.ndarray:
    """bool [N]: the nodes of highest score, a fraction 1 - ``sparsity`` of each graph, rounded. At least one is kept,
    and of two or more at least one is removed. Ties are broken at random, since the order of nodes must not matter.

    >>> hard_mask(np.array([0.1, 0.7, 0.2, 1.0]), np.array([0, 0, 0, 1]), sparsity=0.6).tolist()
    [False, True, False, True]
    """
    if not 0 <= sparsity <= 1:
        raise InputError(f"sparsity: got {sparsity}, expected a fraction from 0 to 1")
    check_nodes(scores, node_graph, "scores")
    order = np.lexsort((np.random.default_rng(seed).random(len(scores)), -scores, node_graph))
    sizes = np.bincount(node_graph)
    kept = np.clip(np.rint((1 - sparsity) * sizes), 1, np.maximum(sizes - 1, 1))
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[node_graph[order]]
    mask = np.zeros(len(scores), bool)
    mask[order] = place < kept[node_graph[order]]
    return mask


def soft_mask(scores: np.ndarray, node_graph: np.ndarray) -> np.ndarray:
    """float [N]: scores of 0 or more divided by the largest of their graph.

    >>> soft_mask(np.array([0.2, 0.4, 0.0]), np.array([0, 0, 1])).tolist()
    [0.5, 1.0, 0.0]
    """
    check_nodes(scores, node_graph, "scores")
    largest = np.full(int(node_graph.max(initial=-1)) + 1, np.finfo(float).tiny)
    np.maximum.at(largest, node_graph, scores)
    return np.asarray(scores / largest[node_graph])


def masked_probabilities(
    model: GraphModel, data: TensorSet, index: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """float64 [G, C]: class probabilities of the graphs at ``index``, masked as in :func:`masked_outputs`."""
    return masked_outputs(model, data, index, mask).double().softmax(1).cpu().numpy()


def masked_outputs(model: GraphModel, data: TensorSet, index: np.ndarray, mask: np.ndarray | None = None) -> Tensor:
    """``[G, O]``: what the model gives for the graphs at ``index``; ``mask`` is over their nodes, graph after graph,
    boolean (hard) or of numbers (soft)."""
    parts = list(chunks(data, index))
    ends = np.cumsum([data.sizes[some].sum() for some in parts])
    expected = (int(data.sizes[index].sum()),)
    if mask is not None and mask.shape != expected:
        raise InputError(f"got a mask of shape {mask.shape}, expected {expected}: one number per node")
    masks = [None] * len(parts) if mask is None else np.split(mask, ends[:-1])
    with inference(model, data.device):
        outputs = [
            model.head(model.encode(_masked(data.packed(some), own)).graph)
            for some, own in zip(parts, masks, strict=True)
        ]
    return torch.cat(outputs)


def check_nodes(values: np.ndarray, node_graph: np.ndarray, field: str) -> None:
    """Refuse values that are not one per node."""
    if values.shape != node_graph.shape:
        raise InputError(f"got {field} of shape {values.shape}, expected {node_graph.shape}: one per node")


def _masked(batch: PackedBatch, mask: np.ndarray | None) -> PackedBatch:
    if mask is None:
        return batch
    kept = torch.from_numpy(mask).to(batch.x.device)
    if mask.dtype == bool:
        return induced(batch, kept)
    return replace(batch, x=batch.x * kept.to(batch.x.dtype).unsqueeze(1))


def induced(batch: PackedBatch, kept: Tensor) -> PackedBatch:
    """The subgraph of the kept nodes; its self-loops still come last, in node order."""
    edges = kept[batch.source] & kept[batch.target]
    number = kept.cumsum(0) - 1
    return PackedBatch(
        batch.x[kept], number[batch.source[edges]], number[batch.target[edges]], batch.graph[kept], batch.num_graphs,
        edges=None if batch.edges is None else batch.edges[:, edges], graph_x=batch.graph_x,
    )  # fmt: skip


def without_edges(batch: PackedBatch, pairs: Int[Tensor, "M 2"]) -> PackedBatch:
    """The batch without the edges between the two nodes of each pair, in both directions."""
    number = len(batch.x)
    ends, (low, high) = torch.stack([batch.source, batch.target]).sort(0).values, pairs.sort(1).values.T
    kept = torch.isin(ends[0] * number + ends[1], low * number + high, invert=True)
    edges = None if batch.edges is None else batch.edges[:, kept]
    return replace(batch, source=batch.source[kept], target=batch.target[kept], edges=edges)
