"""What a model says of graphs of which only some nodes are left, which is how explanations are put to the test.

A *hard* mask is boolean: nodes outside it are gone, with their edges, and the model sees the induced subgraph. A *soft*
mask is a number from 0 to 1 a node that its inputs are multiplied by, as PyTorch Geometric's metrics do. Inputs that
were computed from the whole graph, such as random-walk return probabilities, stay as they were.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from sargnn.data.batch import PackedBatch
from sargnn.data.tensor_set import TensorSet
from sargnn.errors import InputError

__all__ = ["check_nodes", "hard_mask", "masked_probabilities", "soft_mask"]

GRAPHS_AT_ONCE = 512


def hard_mask(scores: np.ndarray, node_graph: np.ndarray, sparsity: float, seed: int = 0) -> np.ndarray:
    """bool [N]: the nodes of highest score, a share 1 - ``sparsity`` of each graph, rounded; at least one node is in,
    and of two or more nodes one is out. Ties are broken at random, since the order of nodes must not matter.

    >>> hard_mask(np.array([0.1, 0.7, 0.2, 1.0]), np.array([0, 0, 0, 1]), sparsity=0.6).tolist()
    [False, True, False, True]
    """
    if not 0 <= sparsity <= 1:
        raise InputError(f"sparsity: got {sparsity}, expected a share from 0 to 1")
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
    largest = np.zeros(int(node_graph.max(initial=-1)) + 1)
    np.maximum.at(largest, node_graph, scores)
    return scores / np.maximum(largest, np.finfo(float).tiny)[node_graph]


def masked_probabilities(
    model: nn.Module, data: TensorSet, index: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """float64 [G, C]: class probabilities of the graphs at ``index``; ``mask`` is over their nodes, graph after graph,
    boolean (hard) or of numbers (soft)."""
    sizes = data.sizes[index]
    if mask is not None and mask.shape != (int(sizes.sum()),):
        raise InputError(f"got a mask of shape {mask.shape}, expected {(int(sizes.sum()),)}: one number a node")
    ends = np.concatenate([[0], np.cumsum(sizes)])
    model.eval()
    found: list[Tensor] = []
    with torch.inference_mode(), torch.random.fork_rng([data.device] if data.device.type == "cuda" else []):
        torch.manual_seed(0)  # for models that draw numbers even now
        for start in range(0, len(index), GRAPHS_AT_ONCE):
            end = min(start + GRAPHS_AT_ONCE, len(index))
            batch = data.packed(index[start:end])
            if mask is not None:
                own = torch.from_numpy(mask[ends[start] : ends[end]]).to(data.device)
                batch = _induced(batch, own) if mask.dtype == bool else _scaled(batch, own)
            found.append(model.head(model.encode(batch).graph).double().softmax(1))  # type: ignore[operator]
    return torch.cat(found).cpu().numpy()


def check_nodes(values: np.ndarray, node_graph: np.ndarray, field: str) -> None:
    """Refuse values that are not one a node."""
    if values.shape != node_graph.shape:
        raise InputError(f"got {field} of shape {values.shape}, expected {node_graph.shape}: one a node")


def _scaled(batch: PackedBatch, mask: Tensor) -> PackedBatch:
    return replace(batch, x=batch.x * mask.to(batch.x.dtype).unsqueeze(1))


def _induced(batch: PackedBatch, kept: Tensor) -> PackedBatch:
    """The subgraph of the kept nodes; its self-loops still come last, in node order."""
    edges = kept[batch.source] & kept[batch.target]
    number = kept.cumsum(0) - 1
    return PackedBatch(
        batch.x[kept], number[batch.source[edges]], number[batch.target[edges]], batch.graph[kept], batch.num_graphs
    )
