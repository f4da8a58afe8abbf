r"""Effects: how much each node raises or lowers each output, found by removing it.

The effect of node j on output t is :math:`z_t(G) - z_t(G \setminus j)`: positive where the prediction falls without the
node. It is signed, it differs from target to target, and any model has it; saliency has no sign and is the same for all
targets. All outputs are found in the same passes, one per node, many graphs in a batch. Inputs that were computed from
the whole graph do not change (:mod:`sargnn.explain.masking`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from sargnn.batching.tensor_set import TensorSet
from sargnn.explain.maps import chunks, inference
from sargnn.explain.masking import induced
from sargnn.nn.graph_model import GraphModel

__all__ = ["outputs_without_each_node"]

NODES_AT_ONCE = 2**16
"""Nodes in one batch, which bounds memory: a graph of n nodes is seen n times."""


def outputs_without_each_node(
    model: GraphModel, data: TensorSet, index: np.ndarray
) -> tuple[Float[Tensor, "G O"], Float[Tensor, "N O"]]:
    """The outputs for the graphs at ``index``, and for each of their nodes the outputs without it, graph after graph.
    A graph of one node has nothing left: its outputs are given again.

    >>> from sargnn.data.graphs import pack
    >>> from sargnn.nn import SARGNN, ModelConfig
    >>> data = TensorSet(pack([(3, [(0, 1), (1, 0)]), (1, [])]), np.eye(4, 2, dtype=np.float32))
    >>> whole, without = outputs_without_each_node(SARGNN(ModelConfig(), inputs=2, classes=2), data, np.arange(2))
    >>> tuple(without.shape), torch.allclose(without[3], whole[1])
    ((4, 2), True)
    """
    with inference(model, data.device):
        whole = [model.head(model.encode(data.packed(some)).graph) for some in chunks(data, index)]
        parts = []
        for graphs, nodes in _copies(data.sizes, index):
            batch, sizes = data.packed(graphs), data.sizes[graphs]
            kept = torch.ones(len(batch.x), dtype=torch.bool, device=data.device)
            removed = (np.cumsum(sizes) - sizes + nodes)[sizes > 1]
            kept[torch.from_numpy(removed).to(data.device)] = False
            parts.append(model.head(model.encode(induced(batch, kept)).graph))
    return torch.cat(whole), torch.cat(parts)


def _copies(sizes: np.ndarray, index: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every node of the graphs at ``index`` with its graph, some at a time: a graph once for each of its nodes.

    >>> [[part.tolist() for part in pair] for pair in _copies(np.array([2, 1]), np.array([1, 0]))]
    [[[1, 0, 0], [0, 0, 1]]]
    """
    counts = sizes[index]
    graphs = np.repeat(index, counts)
    nodes = np.arange(len(graphs)) - np.repeat(np.cumsum(counts) - counts, counts)
    batch = np.cumsum(sizes[graphs]) // NODES_AT_ONCE
    starts = np.flatnonzero(np.diff(batch)) + 1
    return zip(np.split(graphs, starts), np.split(nodes, starts), strict=True)
