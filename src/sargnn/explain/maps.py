r"""Saliency maps: from the saliency of every layer, s⁰ ... s^{L-1}, to one number per node, by a declared rule.

===========  ====================================================================================================
``first``    s⁰, which compares the inputs themselves
``last``     s^{L-1}
``mean``     (s⁰ + ... + s^{L-1}) / L
``rollout``  the same mean after s^l, which is about mixed features, is carried back to the nodes they came from:
             (s⁰ + ŵ¹ᵀ s¹ + ŵ¹ᵀ ŵ²ᵀ s² + ...) / L, ŵ the fused weights with rows that sum to 1
===========  ====================================================================================================

Every map is a distribution over the nodes of each graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data import graphs
from sargnn.errors import InputError
from sargnn.nn.graph_model import GraphModel

__all__ = ["RULES", "batch_saliency", "chunks", "combine", "inference", "message_weights", "node_saliency", "rollout"]

RULES = ("first", "last", "mean", "rollout")

GRAPHS_AT_ONCE = 512
NO_SALIENCY = "got a model without saliency, expected one that has it, such as sar-gcn"


def node_saliency(
    model: GraphModel, data: TensorSet, index: np.ndarray | None = None, rule: str = "mean"
) -> Float[Tensor, " N"]:
    """The map of every node of the graphs at ``index`` (default: all), graph after graph, in eval mode.

    Equal for a graph alone and in any batch, up to rounding.

    >>> from sargnn.data.graphs import pack
    >>> from sargnn.nn import SARGNN, ModelConfig
    >>> data = TensorSet(pack([(3, [(0, 1), (1, 0)]), (1, [])]), np.eye(4, 2, dtype=np.float32))
    >>> node_saliency(SARGNN(ModelConfig(), inputs=2, classes=2), data, rule="last")[3:].tolist()
    [1.0]
    """
    index = np.arange(len(data)) if index is None else index
    layouts = ("packed",) if rule == "rollout" else model.layouts
    with inference(model, data.device):
        batches = (data.batch(some, layouts) for some in chunks(data, index))
        parts = [batch.per_node(batch_saliency(model, batch, rule)) for batch in batches]
    return torch.cat([*parts, data.x.new_empty(0)])


def batch_saliency(model: GraphModel, batch: Batch, rule: str) -> Float[Tensor, "*nodes"]:
    """The map of the nodes of a batch, in its layout. ``rollout`` needs the packed layout; for an ensemble it is the
    mean over the members, each by its own weights."""
    if rule != "rollout":
        return combine(model.encode(batch).saliency, rule)
    assert isinstance(batch, PackedBatch)
    maps = []
    for member in model.ensemble_members():
        with message_weights(member) as weights:
            layers = member.encode(batch).saliency
        maps.append(rollout(layers, [torch.stack(heads).mean(0) for heads in weights], batch))
    return maps[0] if len(maps) == 1 else torch.stack(maps).mean(0)


@contextmanager
def inference(model: GraphModel, device: torch.device) -> Iterator[None]:
    """Eval mode and no gradients inside the block; a model that is random even then draws the same numbers every time.
    Afterwards model and generators are as they were."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(0)
            yield
    finally:
        model.train(was_training)


def chunks(data: TensorSet, index: np.ndarray) -> Iterator[np.ndarray]:
    """The graphs at ``index``, checked, at most :data:`GRAPHS_AT_ONCE` at a time, which bounds memory."""
    beyond = index[(index < 0) | (index >= len(data))]
    if len(beyond):
        raise InputError(f"got graph {beyond[0]}, expected 0..{len(data) - 1}")
    return graphs.chunks(index, GRAPHS_AT_ONCE)


def combine(layers: Sequence[Float[Tensor, "*nodes"]], rule: str) -> Float[Tensor, "*nodes"]:
    """One map from the saliency of every layer, by a rule other than rollout.

    >>> combine([torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])], "mean").tolist()
    [0.75, 0.25]
    """
    if rule not in RULES:
        raise InputError(f"rule: got {rule!r}, expected one of {', '.join(RULES)}")
    if rule == "rollout":
        raise InputError("rule: got 'rollout' for saliency alone, expected the fused weights too")
    if not layers:
        raise InputError(NO_SALIENCY)
    if rule == "mean":
        return torch.stack(tuple(layers)).mean(0)
    return layers[0 if rule == "first" else -1]


def rollout(
    layers: Sequence[Float[Tensor, " N"]], weights: Sequence[Float[Tensor, " E"]], batch: PackedBatch
) -> Float[Tensor, " N"]:
    r"""(1/L) Σ_l ŵ¹ᵀ ... ŵˡᵀ s^l, with ŵ_i(j) = |w_i(j)| / Σ_j |w_i(j)| over the closed neighbourhood of i.

    Computed from the last layer back: r ← s^l + ŵ^{l+1 ᵀ} r. The weights of the last layer are not needed: they lead to
    features that no saliency compares.
    """
    if not layers:
        raise InputError(NO_SALIENCY)
    if len(weights) < len(layers):
        raise InputError("rule: got 'rollout' for a model whose layers give no weights, expected first, last or mean")
    carried = layers[-1]
    for saliency, weight in reversed(list(zip(layers[:-1], weights, strict=False))):
        carried = saliency + _carry_back(weight.abs(), carried, batch)
    return carried / len(layers)


def _carry_back(weight: Tensor, score: Tensor, batch: PackedBatch) -> Tensor:
    """Every node's score, distributed over its closed neighbourhood in proportion to the weights."""
    total = torch.zeros_like(score).index_add(0, batch.target, weight)
    fraction = weight / batch.at_target(total.clamp(min=torch.finfo(weight.dtype).tiny))
    return torch.zeros_like(score).index_add(0, batch.source, fraction * batch.at_target(score))


@contextmanager
def message_weights(model: GraphModel) -> Iterator[list[list[Tensor]]]:
    """Collects the message weights of a model that is called on a packed batch inside the block: for each layer a list
    of edge tensors, one per head."""
    found: dict[int, list[Tensor]] = {}

    def keep(layer: nn.Module, arguments: Any, out: Any) -> None:
        if "alpha" in arguments[0]:
            found.setdefault(id(layer), []).append(arguments[0]["alpha"])

    layers: list[Any] = [module for module in model.modules() if isinstance(module, MessagePassing)]
    handles = [layer.register_message_forward_hook(keep) for layer in layers]
    collected: list[list[Tensor]] = []
    try:
        yield collected
    finally:
        for handle in handles:
            handle.remove()
        collected += found.values()
