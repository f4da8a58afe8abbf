"""The models that are compared: this project's, and the same equations written in the ways one finds elsewhere.

Each takes its weights from a :class:`SARGNN`, so that two contenders of one model must give the same logits and the
same gradient of every weight.
"""

from __future__ import annotations

import copy
from math import sqrt

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import scatter, softmax

from sargnn.nn.memory import GraphNeuralMemory
from sargnn.nn.model import SARGNN
from sargnn.nn.saliency import NodeSaliency

__all__ = ["MaskSAR", "PyGGCN", "PyGSAR"]


class PyGGCN(nn.Module):
    """PyTorch Geometric's GCN: ``GCNConv``, ReLU, sum pooling and a perceptron."""

    def __init__(self, model: SARGNN) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        self.convolutions = nn.ModuleList()
        for layer in self.model.backbone:
            convolution = GCNConv(layer.theta.in_features, layer.theta.out_features, bias=False)
            convolution.lin.weight = layer.theta.weight
            self.convolutions.append(convolution)

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        for convolution in self.convolutions:
            x = convolution(x, edge_index).relu()
        return self.model.head(global_add_pool(x, graph, graphs))


class PyGSAR(nn.Module):
    """SAR-GCN (weighted sum) as one would write it with PyTorch Geometric: keys and values of every node, ``softmax``
    over segments, ``scatter``."""

    def __init__(self, model: SARGNN) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        model = self.model
        edges, local = gcn_norm(edge_index, num_nodes=len(x), dtype=x.dtype)
        memory = model.initial_memory.vector.expand(graphs, -1)
        for read, salience, layer in zip(model.memory_layers, model.saliency_layers, model.backbone, strict=False):
            memory = self.read(read, x, memory, graph)
            saliency = self.saliency(salience, x, memory, graph)
            fused = local + model.fusion.beta * saliency.index_select(0, edges[0])
            weights = softmax(fused, edges[1], num_nodes=len(x))
            messages = weights.unsqueeze(-1) * layer.theta(x).index_select(0, edges[0])
            x = scatter(messages, edges[1], dim_size=len(x)).relu()
        return model.head(self.read(model.memory_layers[-1], x, memory, graph))

    def read(self, layer: GraphNeuralMemory, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        """M^l = M^{l-1} + F_MLP(softmax(q_m Kᵀ / √d) V)."""
        query, key, value = layer.query(memory), layer.key(h), layer.value(h)
        scores = (query.index_select(0, graph) * key).sum(-1) / sqrt(key.shape[-1])
        weights = softmax(scores, graph, num_nodes=len(memory))
        return memory + layer.mlp(scatter(weights.unsqueeze(-1) * value, graph, dim_size=len(memory)))

    def saliency(self, layer: NodeSaliency, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        """s = softmax(q_s K_sᵀ / √d_s)."""
        query, key = layer.query(memory), layer.key(h)
        scores = (query.index_select(0, graph) * key).sum(-1) / sqrt(key.shape[-1])
        return softmax(scores, graph, num_nodes=len(memory))


class MaskSAR(PyGSAR):
    """The same, but every graph attends to the nodes of the whole batch, and a mask of graphs x nodes leaves those of
    the others out: the formulation of the authors' released code, whose cost grows with the square of the batch."""

    def read(self, layer: GraphNeuralMemory, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        query, key, value = layer.query(memory), layer.key(h), layer.value(h)
        scores = (query @ key.mT / sqrt(key.shape[-1])).masked_fill(~self.mask, float("-inf"))
        return memory + layer.mlp(scores.softmax(-1) @ value)

    def saliency(self, layer: NodeSaliency, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        query, key = layer.query(memory), layer.key(h)
        scores = (query @ key.mT / sqrt(key.shape[-1])).masked_fill(~self.mask, float("-inf"))
        return scores.softmax(-1).sum(0)  # one graph's distribution in each row, zeros elsewhere

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        # Graph after graph, as there: a row of ones at its own nodes.
        self.mask = torch.cat([(graph == number).unsqueeze(0) for number in range(graphs)])
        return super().forward(x, edge_index, graph, graphs)
