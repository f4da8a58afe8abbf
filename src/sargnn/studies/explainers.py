"""Explainers with one interface: each takes a trained model and graphs and gives one score of 0 or more per node.

Saliency and gradients take all graphs in one batched call, explainers of PyTorch Geometric one graph at a time. A mask
over edges becomes a node score by its mean over the edges that touch the node.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.explain import AttentionExplainer, Explainer, Explanation, GNNExplainer, ModelConfig, PGExplainer

from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.explain.maps import node_saliency
from sargnn.explain.metrics import random_scores
from sargnn.nn.graph_model import GraphModel

__all__ = ["EXPLAINERS", "Explained", "Subject", "explain"]

CLASSIFIER = ModelConfig(mode="multiclass_classification", task_level="graph", return_type="raw")
INTEGRATION_STEPS = 20
GNN_EPOCHS = 100
"""PyTorch Geometric's default."""
PG_EPOCHS = 30


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, graphs to explain, and graphs to learn from for explainers that learn."""

    model: GraphModel
    data: TensorSet
    index: np.ndarray
    """Graphs to explain."""
    train: np.ndarray
    """Graphs to learn from."""
    seed: int = 0

    def batches(self, index: np.ndarray) -> Iterator[PackedBatch]:
        """One graph at a time."""
        return (self.data.packed(index[i : i + 1]) for i in range(len(index)))


class Explained(NamedTuple):
    """The scores of an explainer, and how long it took."""

    scores: np.ndarray
    """float64 [N] over the nodes of the graphs, graph after graph."""
    seconds: float
    """For all graphs."""
    cpu_seconds: float
    """CPU time of this process for all graphs."""
    setup_seconds: float
    """Before the first graph: the training of an explainer that learns."""


def explain(name: str, subject: Subject) -> Explained:
    """The graphs of the subject by the explainer of that name; equal seeds give equal scores."""
    devices = [subject.data.device] if subject.data.device.type == "cuda" else []
    subject.model.eval()
    with torch.random.fork_rng(devices):
        torch.manual_seed(subject.seed)
        begin = time.perf_counter()
        work = EXPLAINERS[name](subject)
        ready, cpu_ready = time.perf_counter(), time.process_time()
        scores = work().detach().double().cpu().numpy()
        end, cpu_end = time.perf_counter(), time.process_time()
    return Explained(scores, end - ready, cpu_end - cpu_ready, ready - begin)


Work = Callable[[], Tensor]
"""The scores of all graphs, once the explainer is ready."""


def _saliency(rule: str, subject: Subject) -> Work:
    return lambda: node_saliency(subject.model, subject.data, subject.index, rule)


def _saliency_one_by_one(subject: Subject) -> Work:
    """The scores of ``saliency-mean``, as fast as they are when graphs come one at a time."""
    graphs = np.split(subject.index, len(subject.index))
    return lambda: torch.cat([node_saliency(subject.model, subject.data, one) for one in graphs])


def _random(subject: Subject) -> Work:
    nodes = int(subject.data.sizes[subject.index].sum())
    return lambda: torch.from_numpy(random_scores(nodes, subject.seed))


def _gradient(subject: Subject) -> Work:
    r"""Σ_f |∂z_ŷ / ∂x_f|."""
    return lambda: _input_gradient(subject.model, subject.data.packed(subject.index), 1.0).abs().sum(1)


def _integrated_gradients(subject: Subject) -> Work:
    r"""Σ_f |x_f (1/m) Σ_k ∂z_ŷ(x k/m) / ∂x_f|, from a baseline of zeros, by the midpoints of m steps."""

    def work() -> Tensor:
        batch = subject.data.packed(subject.index)
        at = [(k + 0.5) / INTEGRATION_STEPS for k in range(INTEGRATION_STEPS)]
        mean = torch.stack([_input_gradient(subject.model, batch, fraction) for fraction in at]).mean(0)
        return (batch.x * mean).abs().sum(1)

    return work


def _input_gradient(model: GraphModel, batch: PackedBatch, fraction: float) -> Tensor:
    """Of the logit of the class predicted for each whole graph, at ``fraction`` of the node inputs."""
    predicted = _predicted(model, batch)
    x = (fraction * batch.x).requires_grad_()
    logits = _logits(model, replace(batch, x=x))
    return torch.autograd.grad(logits.gather(1, predicted.unsqueeze(1)).sum(), x)[0]


def _gnn_explainer(subject: Subject) -> Work:
    explainer = Explainer(
        subject.model, GNNExplainer(epochs=GNN_EPOCHS), "model", CLASSIFIER,
        node_mask_type="object", edge_mask_type="object",
    )  # fmt: skip
    return lambda: torch.cat([_call(explainer, batch).node_mask[:, 0] for batch in subject.batches(subject.index)])


def _pg_explainer(subject: Subject) -> Work:
    algorithm = PGExplainer(epochs=PG_EPOCHS).to(subject.data.device)
    explainer = Explainer(subject.model, algorithm, "phenomenon", CLASSIFIER, edge_mask_type="object")
    learned = [batch for batch in subject.batches(subject.train) if _edges(batch).shape[1]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Converting a tensor with requires_grad", UserWarning)  # PyG's own
        for epoch, batch in product(range(PG_EPOCHS), learned):
            target = _predicted(subject.model, batch)
            algorithm.train(epoch, subject.model, batch.x, _edges(batch), target=target, **_further_inputs(batch))

    def scores(batch: PackedBatch) -> Tensor:
        return _of_nodes(_call(explainer, batch, target=_predicted(subject.model, batch)).edge_mask, batch)

    return lambda: torch.cat([scores(batch) for batch in subject.batches(subject.index)])


def _attention(subject: Subject) -> Work:
    attention = AttentionExplainer(reduce="mean")
    explainer = Explainer(subject.model, attention, "model", CLASSIFIER, edge_mask_type="object")
    return lambda: torch.cat([_of_nodes(_call(explainer, b).edge_mask, b) for b in subject.batches(subject.index)])


def _call(explainer: Explainer, batch: PackedBatch, **arguments: Any) -> Explanation:
    return explainer(batch.x, _edges(batch), **_further_inputs(batch), **arguments)


def _edges(batch: PackedBatch) -> Tensor:
    """Edges between different nodes, which are the ones that a mask is put on."""
    return batch.edge_index[:, : len(batch.source) - len(batch.x)]


def _further_inputs(batch: PackedBatch) -> dict[str, Tensor]:
    """What a model is called with besides node inputs and :func:`_edges`: inputs of these edges and of the graph."""
    edges = None if batch.edges is None else batch.edges[:, : _edges(batch).shape[1]].T
    given = {"edge_attr": edges, "graph_attr": batch.graph_x}
    return {name: value for name, value in given.items() if value is not None}


def _logits(model: GraphModel, batch: PackedBatch) -> Tensor:
    return model.head(model.encode(batch).graph)


def _predicted(model: GraphModel, batch: PackedBatch) -> Tensor:
    with torch.no_grad():
        return _logits(model, batch).argmax(1)


def _of_nodes(mask: Tensor, batch: PackedBatch) -> Tensor:
    """The mean over the edges that touch a node, 0 where none does."""
    ends = _edges(batch).flatten()
    total = mask.new_zeros(len(batch.x)).index_add(0, ends, mask.detach().repeat(2).abs())
    return total / torch.bincount(ends, minlength=len(batch.x)).clamp(min=1)


EXPLAINERS: dict[str, Callable[[Subject], Work]] = {
    "saliency-mean": partial(_saliency, "mean"),
    "saliency-first": partial(_saliency, "first"),
    "saliency-last": partial(_saliency, "last"),
    "saliency-rollout": partial(_saliency, "rollout"),
    "saliency-one-by-one": _saliency_one_by_one,
    "gradient": _gradient,
    "integrated-gradients": _integrated_gradients,
    "gnn-explainer": _gnn_explainer,
    "pg-explainer": _pg_explainer,
    "attention": _attention,
    "random": _random,
}
