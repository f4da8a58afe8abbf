"""What a model costs: its parameters, the floating-point operations and the time that one graph takes.

Operations are counted by formula for each part of the model, from the equations as the paper writes them: keys and
values of the memory are formed for every node, though this package finds the same result without them, so SAR is never
charged too little. A multiplication with its addition counts two; counted are matrix products and weighted sums over
nodes and neighbourhoods, not softmax, norms, activations or the fusion of weights. Time is measured.
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
from sargnn.nn.gates import GatedReadout
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
        predict_outputs(trained.model, data, index).outputs.cpu()  # a GPU is waited for
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


def _maps(part: nn.Module | None) -> int:
    """The linear maps of a part, each applied once."""
    modules = () if part is None else part.modules()
    return sum(m.in_features * m.out_features for m in modules if isinstance(m, nn.Linear))


_OPERATIONS: dict[type[nn.Module], Callable[[Any, float, float], float]] = {
    # The perceptron of the classifier, and Σ_j s_j h_j or Σ_j g_j h_j where that is what it reads.
    SARGNN: lambda m, n, e: (
        _maps(_head(m)) + (n * m.config.hidden if m.config.readout in ("salient", "gated") else 0.0)
    ),
    # The perceptron of the gates.
    GatedReadout: lambda m, n, e: n * _maps(m.mlp),
    # K and V of all nodes once; then in each iteration q_m, its product with K, the sum of V, and the perceptron.
    GraphNeuralMemory: lambda m, n, e: (
        n * (_maps(m.key) + _maps(m.value))
        + m.iterations * (_maps(m.query) + 2 * n * m.query.out_features + _maps(m.mlp))
    ),
    # q_s, K_s and their product.
    NodeSaliency: lambda m, n, e: _maps(m.query) + n * (_maps(m.key) + m.key.out_features),
    # H Θ and the sums over closed neighbourhoods, in the fewer dimensions.
    GCNLayer: lambda m, n, e: n * _maps(m.theta) + (n + e) * min(m.theta.in_features, m.theta.out_features),
    # The sums, then Θ or the perceptron.
    SAGELayer: lambda m, n, e: n * (_maps(m.theta) + _maps(m.theta_own)) + (n + e) * m.theta.in_features,
    GINLayer: lambda m, n, e: n * _maps(m.mlp) + (n + e) * m.mlp[0].in_features,
    # W h, the two halves of aᵀ[W h_i ‖ W h_j], a_eᵀ c_ij where there are edge channels, and the sums.
    GATLayer: lambda m, n, e: (
        n * _maps(m.theta) + 2 * n * m.theta.out_features + e * _maps(m.attend_edge) + (n + e) * m.theta.out_features
    ),
    # W_e e of every edge and W_x x of every node.
    EdgeChannels: lambda m, n, e: e * _maps(m.of_edges) + n * _maps(m.of_nodes),
    # A z, the sums over neighbours (a node is none of its own here), and V.
    EdgeNetwork: lambda m, n, e: n * (_maps(m.into) + _maps(m.out)) + e * m.out.in_features,
}
"""Multiplications of each kind of part m, for a graph with n nodes and e edges."""
