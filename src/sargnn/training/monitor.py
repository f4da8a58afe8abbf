"""What is seen of the validation graphs after every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import InputError
from sargnn.tasks import Task
from sargnn.training.progress import Row

if TYPE_CHECKING:
    from sargnn.training.loop import TrainingConfig

__all__ = ["check_monitor", "has_extra_metric", "monitored_metric", "validation_scores"]


def validation_scores(task: Task, data: TensorSet, watched: np.ndarray, outputs: Tensor, config: TrainingConfig) -> Row:
    """The loss, the score of the task, and the monitored metric."""
    assert data.y is not None
    at = torch.as_tensor(watched, device=data.device)
    y, graphs = data.y[at], None if data.weights is None else data.weights[at]
    there, score = task.weights(y, None), task.graph_scores(outputs, y)
    mean = (score * there).sum() / there.double().sum().clamp(min=1)
    return {
        "validation_loss": task.loss(outputs, y, graphs=graphs).item(),
        f"validation_{task.score_name}": mean.item(),
        **monitored_metric(task, y, outputs, config),
    }


def monitored_metric(task: Task, y: Tensor, outputs: Tensor, config: TrainingConfig) -> Row:
    """The metric that decides, if neither the loss nor the score of every epoch does; none where it is not defined."""
    if not has_extra_metric(task, config):
        return {}
    found = task.scores(task.decode(y.cpu().numpy()), task.predict(outputs))
    return {f"validation_{config.monitor}": found[config.monitor]}


def has_extra_metric(task: Task, config: TrainingConfig) -> bool:
    """Whether a metric decides that is neither the loss nor the score of every epoch."""
    return config.monitor not in ("loss", "last", task.score_name)


def check_monitor(task: Task, config: TrainingConfig) -> None:
    """Refuse a metric that the task does not have."""
    known = ["loss", "last", *(metric.key for metric in task.metrics)]
    if config.monitor not in known:
        expected = f"one of {', '.join(known)} for {task.kind}"
        raise InputError(f"training.monitor: got {config.monitor}, expected {expected}")
