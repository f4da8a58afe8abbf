"""The validation scores of all members of a stack, and what a stack needs to run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from sargnn.batching.stacks import BatchStack
from sargnn.data.splits import Fold
from sargnn.tasks import Task
from sargnn.tasks.task import per_graph
from sargnn.training.loop import TrainingConfig
from sargnn.training.monitor import has_extra_metric, monitored_metric
from sargnn.training.progress import Row
from sargnn.training.vectorized.stacked_weights import StackedWeights

__all__ = ["Assessment", "captured", "cut"]

ASSESSED = 8192
"""Graphs, over all members and the models in them, that are evaluated at once."""


class Assessment:
    """Validation loss and scores of all members, in eval mode."""

    def __init__(
        self, weights: StackedWeights, tasks: Sequence[Task], batches: BatchStack, folds: Sequence[Fold],
        config: TrainingConfig,
    ) -> None:  # fmt: skip
        self.weights, self.tasks, self.batches, self.config = weights, tasks, batches, config
        # Without validation graphs, the training graphs select the epoch.
        self.watched = [fold.validation if len(fold.validation) else fold.train for fold in folds]
        longest = max(map(len, self.watched))
        parts = cut(self.watched, -(-longest // -(-longest * prod(weights.shape) // ASSESSED)))
        self.chunks, self.room = batches.rows(parts), batches.room(parts)
        self.sums = torch.zeros(4, len(folds), device=batches.device, dtype=torch.float64)
        self.rows = self.chunks[0].clone()
        self.outputs = torch.zeros(*self.rows.shape, tasks[0].outputs, device=batches.device)
        self.kept: list[Tensor] = []
        """The outputs of each chunk, where a metric needs them all."""
        self.replay: Callable[[], None] | None = None

    def scores(self) -> list[Row]:
        """The validation part of each member's row."""
        loss, weight, score, there = self.sums.cpu().numpy()
        loss, score = loss / np.maximum(weight, np.finfo(float).tiny), score / np.maximum(there, 1)
        name = f"validation_{self.tasks[0].score_name}"
        rows: list[Row] = [{"validation_loss": a, name: b} for a, b in zip(loss.tolist(), score.tolist(), strict=True)]
        if has_extra_metric(self.tasks[0], self.config):
            outputs = torch.cat(self.kept, dim=1)
            for k, (row, graphs) in enumerate(zip(rows, self.watched, strict=True)):
                y, _ = self.batches.targets(self.batches.rows(np.tile(graphs, (len(rows), 1))))
                row |= monitored_metric(self.tasks[k], y[k], outputs[k, : len(graphs)], self.config)
        return rows

    def __call__(self) -> None:
        self.sums.zero_()
        self.kept.clear()
        for rows in self.chunks:
            self.rows.copy_(rows)
            if self.batches.device.type != "cuda":
                self._compute()
            else:
                if self.replay is None:
                    self.replay = captured(self._compute, [self.sums])
                self.replay()
            if has_extra_metric(self.tasks[0], self.config):
                self.kept.append(self.outputs.clone())

    @torch.no_grad()
    def _compute(self) -> None:
        fields = self.batches.fields(self.rows, self.room)
        y, real = self.batches.targets(self.rows)
        logits, _, _ = self.weights.forward(self.batches, fields, self.rows.shape[1], train=False)
        self.outputs.copy_(logits)
        there = self.tasks[0].weights(y, None)
        weights = per_graph(there, self.batches.graph_weights(self.rows))
        scores = torch.stack([task.graph_scores(*each) for task, *each in zip(self.tasks, logits, y, strict=True)])
        losses, there = self.tasks[0].losses(logits, y), per_graph(there, real)
        sums = torch.where(weights > 0, losses * weights, 0), weights, torch.where(there > 0, scores * there, 0), there
        for total, values in zip(self.sums, sums, strict=True):
            total += values.flatten(1).sum(1)


def cut(graphs: list[np.ndarray], width: int) -> np.ndarray:
    """``[parts, K, width]``: the graphs of each member in parts, filled up with -1.

    >>> cut([np.array([5, 6, 7]), np.array([8])], 2).tolist()
    [[[5, 6], [8, -1]], [[7, -1], [-1, -1]]]
    """
    longest = max(map(len, graphs))
    rows = np.full((len(graphs), longest + -longest % width), -1)
    for row, own in zip(rows, graphs, strict=True):
        row[: len(own)] = own
    return rows.reshape(len(graphs), -1, width).swapaxes(0, 1)


def captured(compute: Callable[[], None], mutable: list[Tensor]) -> Callable[[], None]:
    """``compute`` as a CUDA graph. Warming up runs it for real, so the ``mutable`` tensors are restored afterwards."""
    before = [tensor.detach().clone() for tensor in mutable]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            compute()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compute()
    with torch.no_grad():
        for tensor, value in zip(mutable, before, strict=True):
            tensor.copy_(value)
    return graph.replay
