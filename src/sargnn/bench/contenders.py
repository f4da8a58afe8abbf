"""The contenders: this project's models, and the same equations written in the ways one finds elsewhere.

Contenders of one family take their weights from one model, so they must give the same losses and the same gradient.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch as CollatedBatch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_add_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import scatter, softmax

from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.nn.backbones import GCNLayer
from sargnn.nn.memory import GraphNeuralMemory
from sargnn.nn.model import SARGNN, VARIANTS, ModelConfig
from sargnn.nn.saliency import NodeSaliency
from sargnn.tasks import task_of
from sargnn.training.loop import TrainingConfig, TrainingState, compiled_loss, fit, loss_of
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import Member, ModelStack

__all__ = ["CONTENDERS", "FAMILIES", "Contender", "Workload", "collating"]

GPU_WORKERS = 8
"""Processes of PyTorch Geometric's loader beside a GPU; on a CPU they would compete with the training."""


class Workload:
    """The graphs that all contenders see, in this project's arrays and as PyTorch Geometric's objects."""

    def __init__(self, graphs: GraphSet, x: np.ndarray, device: torch.device) -> None:
        self.graphs = graphs
        self.x = x
        self.device = device
        self.tensors = TensorSet(graphs, x, device=device)

    @cached_property
    def objects(self) -> list[Data]:
        """One ``Data`` per graph, with inputs, edges and class alone."""
        made = self.graphs.to_pyg()
        x = torch.from_numpy(self.x).split(self.graphs.sizes.tolist())
        return [Data(x=own, edge_index=one.edge_index, y=one.y) for own, one in zip(x, made, strict=True)]

    def model(self, family: str, hidden: int, seed: int = 0) -> SARGNN:
        """The model that all contenders of a family copy."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            config = ModelConfig(hidden=hidden, **FAMILIES[family])
            return SARGNN(config, self.x.shape[1], len(self.graphs.classes)).to(self.device)


class Contender(ABC):
    """A model on its way through the bench."""

    def __init__(self, work: Workload, model: SARGNN) -> None:
        self.work = work
        self.model = copy.deepcopy(model)

    @abstractmethod
    def batch(self, index: np.ndarray) -> Any:
        """The graphs at ``index``, as the model takes them."""

    @abstractmethod
    def loss(self, batch: Any) -> Tensor:
        """Mean cross-entropy of a batch."""

    @abstractmethod
    def epochs(self, batch_size: int) -> Iterator[Any]:
        """Trains one epoch over all graphs whenever it is asked for the next item."""

    def step(self, batch: Any) -> Tensor:
        """Forward and backward."""
        self.model.zero_grad(set_to_none=True)
        loss = self.loss(batch)
        loss.backward()
        return loss.detach()

    def gradient(self, batch: Any) -> Tensor:
        """Of all weights, as one vector."""
        self.step(batch)
        gradients = (p.grad if p.grad is not None else torch.zeros_like(p) for p in self.model.parameters())
        return torch.cat([gradient.flatten() for gradient in gradients])


class Ours(Contender):
    """This project's model and batches: trained step by step on a CPU, on a GPU by one CUDA graph per step."""

    def __init__(self, work: Workload, model: SARGNN, compiled: bool = False) -> None:
        super().__init__(work, model)
        self.compiled = compiled
        self.task = task_of(work.graphs)

    def batch(self, index: np.ndarray) -> Batch:
        return self.work.tensors.batch(index, self.model.layouts, traced=self.compiled)

    def loss(self, batch: Batch) -> Tensor:
        return (compiled_loss() if self.compiled else loss_of)(self.model, self.task, batch, TrainingConfig())

    def epochs(self, batch_size: int) -> Iterator[Any]:
        config = TrainingConfig(epochs=10**6, batch_size=batch_size, patience=0, compile=self.compiled)
        everything, nothing = np.arange(len(self.work.graphs)), np.empty(0, np.int64)
        # One graph is assessed after every epoch, so that the time is that of the training.
        fold = Fold(everything, everything[:1], nothing)
        if self.work.device.type == "cpu":
            return fit(TrainingState.start(self.model, self.task, config), self.work.tensors, fold, config)
        return iter(self.stack(fold, config))

    def stack(self, fold: Fold, config: TrainingConfig) -> ModelStack:
        """Of one member, with the config of the model and weights of its own."""
        settings = replace(Settings.of("sar-gcn"), model=self.model.config, training=config)
        return ModelStack(self.work.graphs, settings, [Member(fold, config)], self.work.device)


class PyG(Contender):
    """PyTorch Geometric's objects, collation and loader, around a model that takes ``x, edge_index, graph, graphs``."""

    def batch(self, index: np.ndarray) -> CollatedBatch:
        return CollatedBatch.from_data_list([self.work.objects[g] for g in index.tolist()]).to(self.work.device)

    def loss(self, batch: CollatedBatch) -> Tensor:
        return F.cross_entropy(self.logits(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y)

    @abstractmethod
    def logits(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        """The model."""

    def epochs(self, batch_size: int) -> Iterator[Any]:
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)
        loader = collating(self.work.objects, batch_size, GPU_WORKERS if self.work.device.type == "cuda" else 0)
        while True:
            total = 0.0
            for batch in loader:
                optimizer.zero_grad(set_to_none=True)
                loss = self.loss(batch.to(self.work.device))
                loss.backward()
                optimizer.step()
                total += loss.item() * batch.num_graphs
            yield total


def collating(objects: list[Data], batch_size: int, workers: int) -> DataLoader:
    """PyTorch Geometric's loader of shuffled batches; with ``workers`` as one has it beside a GPU."""
    if not workers:
        return DataLoader(objects, batch_size, shuffle=True)
    # Forked, as is usual: spawned workers would open a file for every tensor of a graph.
    return DataLoader(
        objects, batch_size, shuffle=True, num_workers=workers, persistent_workers=True,
        pin_memory=torch.cuda.is_available(), multiprocessing_context="fork",
    )  # fmt: skip


class PyGGCN(PyG):
    """Plain GCN: ``GCNConv``, ReLU, sum pooling and a perceptron."""

    def __init__(self, work: Workload, model: SARGNN) -> None:
        super().__init__(work, model)
        self.convolutions = []
        for layer in self.model.backbone:
            assert isinstance(layer, GCNLayer)
            convolution = GCNConv(layer.theta.in_features, layer.theta.out_features, bias=False)
            convolution.lin.weight = layer.theta.weight
            self.convolutions.append(convolution)

    def logits(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        for convolution in self.convolutions:
            x = convolution(x, edge_index).relu()
        return self.model.head(global_add_pool(x, graph, graphs))


class PyGSAR(PyG):
    """SAR-GCN as one would write it with PyTorch Geometric: keys and values of every node, ``softmax``, ``scatter``."""

    def logits(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        model = self.model
        edges, local = gcn_norm(edge_index, num_nodes=len(x), dtype=x.dtype)
        assert model.initial_memory is not None
        memory = model.initial_memory.vector.expand(graphs, -1)
        layers: Any = zip(model.memory_layers, model.saliency_layers, model.backbone, strict=False)
        for read, compare, layer in layers:
            memory = self.read(read, x, memory, graph)
            saliency = self.saliency(compare, x, memory, graph)
            fused = local + model.fusion.beta * saliency.index_select(0, edges[0])
            weights = softmax(fused, edges[1], num_nodes=len(x))
            messages = weights.unsqueeze(-1) * layer.theta(x).index_select(0, edges[0])
            x = scatter(messages, edges[1], dim_size=len(x)).relu()
        last: Any = model.memory_layers[-1]
        return model.head(self.read(last, x, memory, graph))

    def read(self, layer: GraphNeuralMemory, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        """M^l = M^{l-1} + F_MLP(softmax(q_m Kᵀ / √d) V)."""
        weights = self.attention(layer.query(memory), layer.key(h), graph)
        read: Tensor = layer.mlp(scatter(weights.unsqueeze(-1) * layer.value(h), graph, dim_size=len(memory)))
        return memory + read

    def saliency(self, layer: NodeSaliency, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        """s = softmax(q_s K_sᵀ / √d_s)."""
        return self.attention(layer.query(memory), layer.key(h), graph)

    def attention(self, query: Tensor, key: Tensor, graph: Tensor) -> Tensor:
        scores = (query.index_select(0, graph) * key).sum(-1) / sqrt(key.shape[-1])
        weights: Tensor = softmax(scores, graph, num_nodes=len(query))
        return weights


class MaskSAR(PyGSAR):
    """The same, but every graph attends to the nodes of the whole batch and a mask of graphs x nodes leaves out those
    of the others, as in the authors' released code: the cost grows with the square of the batch."""

    def logits(self, x: Tensor, edge_index: Tensor, graph: Tensor, graphs: int) -> Tensor:
        # A row of the mask for each graph, one after the other, as is done there.
        self.mask = torch.cat([(graph == number).unsqueeze(0) for number in range(graphs)])
        return super().logits(x, edge_index, graph, graphs)

    def read(self, layer: GraphNeuralMemory, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        read: Tensor = layer.mlp(self.over_all(layer.query(memory), layer.key(h)) @ layer.value(h))
        return memory + read

    def saliency(self, layer: NodeSaliency, h: Tensor, memory: Tensor, graph: Tensor) -> Tensor:
        return self.over_all(layer.query(memory), layer.key(h)).sum(0)  # a node has one entry that is not zero

    def over_all(self, query: Tensor, key: Tensor) -> Tensor:
        scores = query @ key.mT / sqrt(key.shape[-1])
        return scores.masked_fill(~self.mask, float("-inf")).softmax(-1)


FAMILIES: dict[str, dict[str, Any]] = {
    **{b: {"backbone": b, **VARIANTS["base"]} for b in ("gcn", "gin", "sage", "gat")},
    **{f"sar-{b}": {"backbone": b} for b in ("gcn", "gin", "sage", "gat")},
    **{f"sar-{b}-scaling": {"backbone": b, "fusion": "scaling"} for b in ("gcn", "gin", "sage", "gat")},
}
"""Models that are compared, as values of the config."""

CONTENDERS: dict[str, tuple[str, Callable[[Workload, SARGNN], Contender]]] = {
    **{family: (family, Ours) for family in FAMILIES},
    **{f"{family}-compiled": (family, partial(Ours, compiled=True)) for family in ("gcn", "sar-gcn")},
    "pyg-gcn": ("gcn", PyGGCN),
    "pyg-sar-gcn": ("sar-gcn", PyGSAR),
    "mask-sar-gcn": ("sar-gcn", MaskSAR),
}
"""Name -> the family it computes, and how it is built."""
