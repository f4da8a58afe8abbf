"""What a model costs: its parameters, the floating-point operations and the time that one graph takes.

Operations are counted part by part of the model, by formula, from the equations as the paper writes them: keys and
values of the memory are formed for every node, though this package finds the same result without them. So SAR is never
charged too little. A multiplication with its addition counts two; counted are matrix products and weighted sums over
nodes and neighbourhoods, not softmax, norms, activations or the fusion of weights. Time is
measured, on whatever device the row names.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.nn.backbones import GATLayer, GCNLayer, GINLayer, SAGELayer
from sargnn.nn.edges import EdgeChannels, EdgeNetwork
from sargnn.nn.memory import GraphNeuralMemory
from sargnn.nn.model import SARGNN
from sargnn.nn.saliency import NodeSaliency
from sargnn.studies.protocol import Cell, planned_graphs
from sargnn.studies.store import Job, Row
from sargnn.tasks import task_of
from sargnn.training.hardware import find_device, hardware
from sargnn.training.loop import predict_outputs
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel

__all__ = ["WORK", "Cost", "CostJob", "cost_job", "flops", "work"]

WORK = "sargnn.reproduction.costs:work"
TIMED = 1024
"""Graphs that are timed at once."""
ROUNDS = 5
"""Times that they are timed; the median counts."""


@dataclass(frozen=True)
class CostJob(Job):
    """The model of some settings, measured on the test graphs of the first fold of a data set."""

    data: str
    fingerprint: str
    settings: Settings

    def to_json(self) -> Row:
        return {
            "stage": "cost", "data": self.data, "fingerprint": self.fingerprint, "fold": 0,
            "system": self.settings.name, "settings": self.settings.changes(),
        }  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What a model costs."""

    parameters: int
    flops: float
    """Of one forward pass over the mean test graph."""
    nodes: float
    """Of that graph, as its edges."""
    edges: float
    seconds_per_graph: float
    device: str
    torch: str

    @classmethod
    def from_json(cls, content: Row) -> Cost:
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})


def cost_job(cell: Cell) -> CostJob:
    """The job that measures the model of a cell, all of whose settings have the same one."""
    model = Settings(cell.system, cell.grid[0].model, cell.grid[0].data, Settings.of(cell.system).training)
    return CostJob(cell.data, cell.fingerprint, model)


def work(jobs: list[CostJob], device: str) -> Iterator[tuple[CostJob, Row]]:
    """Weights do not matter, so none are trained."""
    for job in jobs:
        yield job, asdict(_measured(job, find_device(device)))


def _measured(job: CostJob, device: torch.device) -> Cost:
    graphs, (fold, *_) = planned_graphs(job.data, job.fingerprint)
    encoder = Encoder.fit(job.settings.data, graphs, fold.train)
    trained = TrainedModel.untrained(job.settings, encoder, task_of(graphs))
    trained.model.to(device)
    tested = graphs.subset(fold.test)
    nodes, edges = tested.num_nodes / len(tested), tested.num_edges / len(tested)
    return Cost(
        sum(p.numel() for p in trained.model.parameters()), flops(trained.model, nodes, edges), nodes, edges,
        _seconds_per_graph(trained, tested, device), hardware(device), torch.__version__,
    )  # fmt: skip


def _seconds_per_graph(trained: TrainedModel, graphs: GraphSet, device: torch.device) -> float:
    """Of a forward pass over a batch of test graphs, batch making included, once the device is warm."""
    data = trained.tensors(graphs, device)
    index = np.resize(np.arange(len(graphs)), TIMED)  # a small set is gone through more than once
    seconds = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        predict_outputs(trained.model, data, index)[0].cpu()  # a GPU is waited for
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:]) / TIMED


def flops(model: nn.Module, nodes: float, edges: float) -> float:
    """Operations of one forward pass over a graph, of a SAR model, its backbone alone or an ensemble of them. Of
    ``edges`` each direction counts, self-loops do not.

    >>> from sargnn.nn.model import ModelConfig
    >>> gcn = SARGNN(ModelConfig(layers=1, hidden=4, saliency="none", readout="sum"), inputs=3, classes=2)
    >>> flops(gcn, nodes=5.0, edges=8.0)  # 2 (5·3·4 + 13·3) + 2 (4·4 + 4·2)
    246.0
    """
    parts = [part for part in model.modules() if type(part) in _OPERATIONS]
    counted = {module for part in parts for module in (_head(part) if isinstance(part, SARGNN) else part).modules()}
    for module in model.modules():
        if isinstance(module, nn.Linear) and module not in counted:
            raise InputError(f"got a {type(model).__name__} with parts of other systems, expected a SAR model")
    return 2.0 * sum(_OPERATIONS[type(part)](part, nodes, edges) for part in parts)


def _head(model: SARGNN) -> nn.Module:
    assert isinstance(model.head, nn.Module)
    return model.head


def _maps(part: nn.Module) -> int:
    """The linear maps of a part, each applied once."""
    return sum(m.in_features * m.out_features for m in part.modules() if isinstance(m, nn.Linear))


def _readout(model: SARGNN, nodes: float, edges: float) -> float:
    """The perceptron of the classifier, and Σ_j s_j h_j where that is what it reads."""
    return _maps(_head(model)) + (nodes * model.config.hidden if model.config.readout == "salient" else 0.0)


def _memory(read: GraphNeuralMemory, nodes: float, edges: float) -> float:
    """K and V of all nodes once; then in each iteration q_m, its product with K, the sum of V, and the perceptron."""
    again = _maps(read.query) + 2 * nodes * read.query.out_features + _maps(read.mlp)
    return nodes * (_maps(read.key) + _maps(read.value)) + read.iterations * again


def _saliency(saliency: NodeSaliency, nodes: float, edges: float) -> float:
    """q_s, K_s and their product."""
    return _maps(saliency.query) + nodes * (_maps(saliency.key) + saliency.key.out_features)


def _gcn(layer: GCNLayer, nodes: float, edges: float) -> float:
    """H Θ and the sums over closed neighbourhoods, in the fewer dimensions."""
    fewer = min(layer.theta.in_features, layer.theta.out_features)
    return nodes * _maps(layer.theta) + (nodes + edges) * fewer


def _sage(layer: SAGELayer, nodes: float, edges: float) -> float:
    """The sums, then Θ."""
    return nodes * _maps(layer.theta) + (nodes + edges) * layer.theta.in_features


def _gin(layer: GINLayer, nodes: float, edges: float) -> float:
    """The sums, then the perceptron."""
    first = layer.mlp[0]
    assert isinstance(first, nn.Linear)
    return nodes * _maps(layer.mlp) + (nodes + edges) * first.in_features


def _gat(layer: GATLayer, nodes: float, edges: float) -> float:
    """W h, the two halves of aᵀ[W h_i ‖ W h_j], a_eᵀ c_ij where there are edge channels, and the sums."""
    out = layer.theta.out_features
    of_edges = 0 if layer.attend_edge is None else edges * _maps(layer.attend_edge)
    return nodes * _maps(layer.theta) + 2 * nodes * out + of_edges + (nodes + edges) * out


def _edge_channels(channels: EdgeChannels, nodes: float, edges: float) -> float:
    """W_e e of every edge and W_x x of every node."""
    of_edges, of_nodes = (0 if map is None else _maps(map) for map in (channels.of_edges, channels.of_nodes))
    return edges * of_edges + nodes * of_nodes


def _edge_network(network: EdgeNetwork, nodes: float, edges: float) -> float:
    """A z, the sums over neighbours (a node is none of its own here), and V."""
    return nodes * (_maps(network.into) + _maps(network.out)) + edges * network.out.in_features


_OPERATIONS: dict[type[nn.Module], Callable[[Any, float, float], float]] = {
    SARGNN: _readout, GraphNeuralMemory: _memory, NodeSaliency: _saliency, GCNLayer: _gcn, SAGELayer: _sage,
    GINLayer: _gin, GATLayer: _gat, EdgeChannels: _edge_channels, EdgeNetwork: _edge_network,
}  # fmt: skip
"""Multiplications of each kind of part, given the mean numbers of nodes and edges of a graph."""
