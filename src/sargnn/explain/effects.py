r"""Effects: how much each part of a graph raises or lowers each output, found by removing it.

The effect of part p on output t is :math:`z_t(G) - z_t(G \setminus p)`: positive where the prediction falls without the
part. It is signed, it differs from target to target, and any model has it; saliency has no sign and is the same for all
targets. All outputs are found in the same passes, one per part, thousands of masked graphs in a batch. Inputs that were
computed from the whole graph do not change (:mod:`sargnn.explain.masking`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from sargnn.batching import CompressedBatch, PackedBatch
from sargnn.batching.layouts import choose_layout
from sargnn.batching.tensor_set import TensorSet
from sargnn.explain.maps import chunks, inference
from sargnn.explain.masking import induced, without_edges
from sargnn.explain.parts import Parts
from sargnn.nn.graph_model import GraphModel

__all__ = ["outputs_of", "outputs_without"]

NODES_AT_ONCE = 2**14
"""Nodes in one batch, which bounds memory: a graph is seen once for each of its parts."""


def outputs_of(model: GraphModel, data: TensorSet) -> Float[Tensor, "G O"]:
    """The outputs for every graph."""
    with inference(model, data.device):
        found = [model.head(model.encode(data.packed(some)).graph) for some in chunks(data, np.arange(len(data)))]
    return torch.cat(found)


def outputs_without(model: GraphModel, data: TensorSet, parts: Parts) -> Float[Tensor, "P O"]:
    """The outputs for the graph of each part, without that part. A graph of which nothing would be left stays whole.

    >>> from sargnn.data.graphs import pack
    >>> from sargnn.explain.parts import find_parts
    >>> from sargnn.nn import SARGNN, ModelConfig
    >>> graphs = pack([(3, [(0, 1), (1, 0)]), (1, [])])
    >>> data, model = TensorSet(graphs, np.eye(4, 2, dtype=np.float32)), SARGNN(ModelConfig(), inputs=2, classes=2)
    >>> without = outputs_without(model, data, find_parts(graphs))
    >>> tuple(without.shape), torch.allclose(without[3], outputs_of(model, data)[1])
    ((4, 2), True)
    """
    found = []
    with inference(model, data.device):
        for some in _batches(data.sizes[parts.graph]):
            packed = _without(data, parts, some)
            layout = choose_layout(model.layouts, data.sizes, data.layout, device=data.device, dtype=data.x.dtype)
            batch = CompressedBatch.of(packed) if layout == "compressed" else packed
            found.append(model.head(model.encode(batch).graph))
    return torch.cat(found) if found else outputs_of(model, data)[:0]


def _without(data: TensorSet, parts: Parts, some: slice) -> PackedBatch:
    """The graph of each of ``some`` of the parts, without that part."""
    batch, sizes = data.packed(parts.graph[some]), data.sizes[parts.graph[some]]
    first, last = parts.ptr[some.start], parts.ptr[some.stop]
    starts = np.cumsum(sizes) - sizes
    own = np.repeat(starts, np.diff(parts.ptr[some.start : some.stop + 1])) + parts.nodes[first:last]
    removed = torch.from_numpy(own).to(batch.x.device)
    if parts.kind == "edges":
        return without_edges(batch, removed.view(-1, 2))
    kept = torch.ones(len(batch.x), dtype=torch.bool, device=batch.x.device)
    kept[removed] = False
    left = torch.zeros(batch.num_graphs, device=batch.x.device).index_add(0, batch.graph, kept.float())
    return induced(batch, kept | (left == 0)[batch.graph])


def _batches(sizes: np.ndarray) -> Iterator[slice]:
    """Copies of graphs of these ``sizes``, as many at a time as have :data:`NODES_AT_ONCE` nodes, at least one.

    >>> [(some.start, some.stop) for some in _batches(np.array([2**13, 2**13, 7, 2**17, 1]))]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    start, nodes = 0, 0
    for copy, size in enumerate(sizes.tolist()):
        if copy > start and nodes + size > NODES_AT_ONCE:
            yield slice(start, copy)
            start, nodes = copy, 0
        nodes += size
    if len(sizes):
        yield slice(start, len(sizes))
