"""Saliency as an algorithm of ``torch_geometric.explain``: one forward pass, no training, nothing random."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelTaskLevel

from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.explain.maps import batch_saliency, inference
from sargnn.nn.graph_model import GraphModel

__all__ = ["SaliencyExplainer"]


class SaliencyExplainer(ExplainerAlgorithm):
    r"""Explains a graph-level prediction by the model's own node saliency.

    The node mask is :math:`s_j / \max_k s_k` over the nodes of each graph, so that the most salient node has 1; the
    mask of an edge is the mean of its two nodes. Neither depends on the target: saliency says where the model looked,
    not for which class.

    Args:
        rule: how the layers become one map (see :mod:`sargnn.explain.maps`).

    >>> from torch_geometric.explain import Explainer
    >>> from sargnn.nn import SARGNN, ModelConfig
    >>> explainer = Explainer(
    ...     SARGNN(ModelConfig(), inputs=4, classes=3), SaliencyExplainer(), "model",
    ...     {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}, node_mask_type="object",
    ... )
    >>> explainer(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]])).node_mask.shape
    torch.Size([5, 1])
    """

    def __init__(self, rule: str = "mean") -> None:
        super().__init__()
        self.rule = rule

    def forward(
        self, model: GraphModel, x: Any, edge_index: Any, *, target: Tensor, index: Any = None,
        batch: Tensor | None = None, edge_attr: Tensor | None = None, graph_attr: Tensor | None = None, **kwargs: Any,
    ) -> Explanation:  # fmt: skip
        packed = PackedBatch.from_edges(x, edge_index, batch, edge_attr, graph_attr)
        with inference(model, x.device):
            mask = _largest_to_one(batch_saliency(model, packed, self.rule), packed)
        mask = mask.clone()  # an ordinary tensor, which may take part in gradients
        if index is not None:  # it chooses graphs: nothing in the others explains them
            mask = mask * torch.isin(packed.graph, _checked(index, packed))
        config = self.explainer_config
        return Explanation(
            node_mask=None if config.node_mask_type is None else mask.unsqueeze(1),
            edge_mask=None if config.edge_mask_type is None else mask[edge_index].mean(0),
        )

    def supports(self) -> bool:
        if self.model_config.task_level != ModelTaskLevel.graph:
            logging.error(f"'SaliencyExplainer' explains graphs (got '{self.model_config.task_level.value}')")
            return False
        for name in ("node_mask_type", "edge_mask_type"):
            kind = getattr(self.explainer_config, name)
            if kind not in (None, MaskType.object):
                logging.error(f"'SaliencyExplainer' gives one number per node or edge (got {name}={kind.value!r})")
                return False
        return True


def _largest_to_one(saliency: Tensor, packed: PackedBatch) -> Tensor:
    """Divided by the largest value of each graph."""
    largest = saliency.new_zeros(packed.num_graphs).scatter_reduce(0, packed.graph, saliency, "amax")
    return saliency / largest.clamp(min=torch.finfo(saliency.dtype).tiny)[packed.graph]


def _checked(index: Any, packed: PackedBatch) -> Tensor:
    """The graphs that ``index`` (a number, or a tensor of them) names."""
    chosen = torch.as_tensor(index, device=packed.graph.device)
    beyond = chosen[(chosen < 0) | (chosen >= packed.num_graphs)]
    if len(beyond):
        raise InputError(f"index: got graph {beyond[0].item()}, expected 0..{packed.num_graphs - 1}")
    return chosen
