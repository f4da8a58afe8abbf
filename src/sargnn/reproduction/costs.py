"""What a model costs: its parameters, the floating-point operations and the time that one graph takes.

Operations are counted by formula, from the equations as the paper writes them: keys and values of the memory are
formed for every node, though this package finds the same result without them. So SAR is never charged too little. A
multiplication with its addition counts two; counted are matrix products and sums over neighbourhoods, not softmax,
norms, activations or the fusion of weights. Time is measured, on whatever device the row names.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.nn.model import ModelConfig
from sargnn.studies.protocol import Cell, planned_graphs
from sargnn.studies.store import Job, Row
from sargnn.tasks import task_of
from sargnn.training.hardware import find_device, hardware
from sargnn.training.loop import predict_outputs
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel

__all__ = ["WORK", "cost_job", "flops", "work"]

WORK = "sargnn.reproduction.costs:work"
TIMED = 1024
"""Graphs that are timed at once."""
ROUNDS = 5
"""Times that they are timed; the median counts."""


def cost_job(cell: Cell) -> Job:
    """The job that measures the model of a cell, all of whose settings have the same one."""
    model = Settings(cell.system, cell.grid[0].model, cell.grid[0].data, Settings.of(cell.system).training)
    return {
        "stage": "cost", "data": cell.data, "fingerprint": cell.fingerprint, "fold": 0, "system": cell.system,
        "settings": model.changes(),
    }  # fmt: skip


def work(jobs: list[Job]) -> Iterator[tuple[Job, Row]]:
    """Measure the models on the test graphs of the first fold. Weights do not matter, so none are trained."""
    device = find_device(os.environ.get("SARGNN_DEVICE", "cpu"))
    for job in jobs:
        graphs, (fold, *_) = planned_graphs(job["data"], job["fingerprint"])
        settings = Settings.from_json(job["settings"])
        encoder = Encoder.fit(settings.data, graphs, fold.train)
        trained = TrainedModel.untrained(settings, encoder, task_of(graphs))
        trained.model.to(device)
        tested = graphs.subset(fold.test)
        nodes, edges = tested.num_nodes / len(tested), tested.num_edges / len(tested)
        yield job, {
            "parameters": sum(p.numel() for p in trained.model.parameters()),
            "flops": flops(settings.model, encoder.width, len(graphs.classes), nodes, edges),
            "nodes": nodes, "edges": edges, "seconds_per_graph": _seconds_per_graph(trained, tested, device),
            "device": hardware(device), "torch": torch.__version__,
        }  # fmt: skip


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


def flops(config: ModelConfig, inputs: int, classes: int, nodes: float, edges: float) -> float:
    """Operations of one forward pass over a graph, for GCN and GAT with or without memory and saliency. Of ``edges``
    each direction counts, self-loops do not.

    >>> gcn = ModelConfig(layers=1, hidden=4, saliency="none", readout="sum")
    >>> flops(gcn, inputs=3, classes=2, nodes=5.0, edges=8.0)  # 2 (5·3·4 + 13·3) + 2 (4·4 + 4·2)
    246.0
    """
    c = config
    memory, attention = c.memory or c.hidden, c.attention or c.hidden
    widths = [inputs] + [c.hidden] * (c.layers - 1)
    reads = [*widths, c.hidden] if c.readout == "memory" else widths if c.saliency == "learned" else []
    total = sum(_LAYERS[c.backbone](width, c.hidden, nodes, nodes + edges) for width in widths)
    total += sum(_read(width, memory, attention, nodes, c.iterations) for width in reads)
    if c.saliency == "learned":  # q_s, K_s and their product
        total += sum(memory * attention + nodes * (width + 1) * attention for width in widths)
    out = memory if c.readout == "memory" else c.hidden
    return 2 * (total + out * out + out * classes)


def _read(width: int, memory: int, attention: int, nodes: float, iterations: int) -> float:
    """K and V of all nodes once; then in each iteration q_m, its product with K, the sum of V, and the perceptron."""
    again = memory * attention + 2 * nodes * attention + attention * attention + attention * memory
    return 2 * nodes * width * attention + iterations * again


def _gcn(width: int, hidden: int, nodes: float, sums: float) -> float:
    """H Θ and the sums over closed neighbourhoods, in the fewer dimensions."""
    return nodes * width * hidden + sums * min(width, hidden)


def _gat(width: int, hidden: int, nodes: float, sums: float) -> float:
    """W h, the two halves of aᵀ[W h_i ‖ W h_j], and the sums."""
    return nodes * width * hidden + 2 * nodes * hidden + sums * hidden


_LAYERS: dict[str, Callable[[int, int, float, float], float]] = {"gcn": _gcn, "gat": _gat}
