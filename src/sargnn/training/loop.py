"""Fit one model: for epoch, for batch, evaluate, stop.

An epoch draws all its random numbers from the seed and its own number, and the learning rate is a function of the
history. So the state after an epoch is complete: resuming from it gives the same bits as an uninterrupted run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, log2
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import chunks
from sargnn.data.splits import Fold
from sargnn.errors import Diverged, InputError
from sargnn.nn.ensemble import vote
from sargnn.nn.graph_model import GraphModel
from sargnn.tasks import Task
from sargnn.training.monitor import validation_scores
from sargnn.training.progress import Progress, Row

__all__ = ["Outputs", "TrainingConfig", "TrainingState", "fit", "predict_outputs"]

CONSTRAINTS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("epochs batch_size schedule_epochs alternate_epochs", lambda value: value >= 1, "at least 1"),
    ("weight_decay clip saliency_weight patience seed", lambda value: 0 <= value < inf, "0 or more"),
    ("label_smoothing", lambda value: 0 <= value < 1, "0 up to (not including) 1"),
    ("learning_rate memory_rate", lambda value: 0 < value < inf, "more than 0"),
    ("seed", lambda value: value < 2**63, "less than 2^63"),
    ("saliency_layers", lambda value: min(value, default=0) >= 0, "0 or more"),
)
"""Fields of :class:`TrainingConfig` and the condition on their values, as code and in words."""


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is fitted.

    >>> TrainingConfig(epochs=0)
    Traceback (most recent call last):
    ...
    sargnn.errors.InputError: training.epochs: got 0, expected at least 1
    """

    epochs: int = 200
    """Passes over the training graphs at most."""
    batch_size: int | None = 64
    """Graphs per step; none: 32, more for thousands of training graphs, fewer for few."""
    learning_rate: float = 1e-3
    """Of Adam."""
    weight_decay: float = 0.0
    """L2 penalty of Adam."""
    memory_rate: float | None = None
    """The learning rate of the memory, where that is lower than `learning_rate`; none: the same. On Letter-high,
    at 0.005, its attention fell on single nodes within ten epochs; at 0.001 it did not."""
    clip: float = 0.0
    """The largest norm of a step's gradient; a larger one is scaled down to it. 0: none is."""
    schedule: Literal["constant", "step", "cosine", "plateau"] = "constant"
    """How the learning rate falls: never; by half every `schedule_epochs`; along a cosine to zero; by half when the
    monitored value has not improved for `schedule_epochs`."""
    schedule_epochs: int = 50
    """The period of the schedules step and plateau."""
    patience: int = 50
    """Epochs without improvement before training stops; 0: never."""
    monitor: Literal[
        "loss", "accuracy", "balanced_accuracy", "auroc", "average_precision", "f1", "mcc", "brier", "log_loss",
        "rmse", "mae", "r2", "spearman", "last",
    ] = "loss"  # fmt: skip
    """The validation score whose best epoch is kept: the loss or a metric of the task; last: none decides, the last
    epoch is kept."""
    policy: Literal["joint", "alternating"] = "joint"
    """Train all parameters at once, or the backbone and the memory in turns with the other frozen."""
    alternate_epochs: int = 1
    """Length of a turn of the alternating policy."""
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: a class counts in inverse proportion to its training graphs; of a binary target, the positives count as
    much as the negatives."""
    sampling: Literal["shuffled", "balanced"] = "shuffled"
    """shuffled: every training graph once per epoch; balanced: as many draws, equally many of every class."""
    number_loss: Literal["huber", "squared"] = "huber"
    """The loss of measured numbers. huber: beyond one standard deviation it grows linearly, so that single large errors
    count less."""
    label_smoothing: float = 0.0
    """Fraction of the target that is spread evenly over all classes."""
    saliency_weight: float = 0.0
    """Weight of the KL divergence from the true saliency to the model's (supervised saliency)."""
    saliency_layers: tuple[int, ...] = ()
    """Layers whose saliency is supervised, counted from 0; empty: all."""
    layout: Literal["auto", "packed", "padded"] = "auto"
    """How batches are laid out; auto: for the C kernels if there are any, else by the sizes of the graphs."""
    compile: bool = False
    """Compile the training step with `torch.compile` in the first epoch. On a GPU a step then takes less than half the
    time; on a CPU with a C compiler it gains nothing, and is slower for large batches."""
    seed: int = 0
    """Of the weights, the order of graphs and dropout."""

    def __post_init__(self) -> None:
        for names, allowed, expected in CONSTRAINTS:
            for name in names.split():
                value = getattr(self, name)
                if value is not None and not allowed(value):
                    raise InputError(f"training.{name}: got {value}, expected {expected}")

    @property
    def memory_fraction(self) -> float:
        """The learning rate of the memory as a fraction of that of the rest.

        >>> TrainingConfig(learning_rate=1e-2, memory_rate=1e-3).memory_fraction
        0.1
        """
        return min(1.0, (self.memory_rate or inf) / self.learning_rate)

    def graphs_per_step(self, train: int) -> int:
        """The batch size for ``train`` training graphs. By default the power of two from 32 to 512 that gives 48 to 96
        steps per epoch, or 8 where there are too few graphs for several steps of 32.

        >>> [TrainingConfig(batch_size=None).graphs_per_step(n) for n in (40, 150, 3000, 5000, 30_000)]
        [8, 32, 32, 64, 512]
        """
        least = 32 if train >= 128 else 8
        return self.batch_size or min(512, max(least, 2 ** int(log2(max(train, 48) / 48))))


@dataclass(kw_only=True)
class TrainingState(Progress):
    """Everything that training needs between two epochs."""

    model: GraphModel
    task: Task
    optimizer: torch.optim.Adam
    best_weights: dict[str, Tensor]

    @classmethod
    def start(cls, model: GraphModel, task: Task, config: TrainingConfig) -> TrainingState:
        groups = rate_groups(model, config)
        optimizer = torch.optim.Adam(groups, lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
        return cls(model=model, task=task, optimizer=optimizer, best_weights=snapshot(model))


def fit(state: TrainingState, data: TensorSet, fold: Fold, config: TrainingConfig) -> Iterator[Row]:
    """Train ``state.model`` until the epochs or the patience run out; yields one row per epoch.

    At each row ``state`` is complete. When the iterator ends or training diverges, the model has its best weights.
    :func:`check_supervision` comes before.

    >>> rows = list(fit(state, data, fold, TrainingConfig(epochs=3)))  # doctest: +SKIP
    >>> [row["epoch"] for row in rows]  # doctest: +SKIP
    [1, 2, 3]
    """
    balance = class_balance(state.task, data, fold, config)
    blocks = learning_blocks(state.model, config.policy)
    try:
        while not (state.finished(config) or (state.history and state.model.fits_directly)):
            epoch = len(state.history) + 1
            _unfreeze(blocks, turn=(epoch - 1) // config.alternate_epochs % len(blocks))
            row = _epoch(state, data, fold, config, balance, epoch)
            if state.record(row, config):
                state.best_weights = snapshot(state.model)
            yield row
    except Diverged:
        state.model.load_state_dict(state.best_weights)
        raise
    finally:
        _unfreeze(blocks)
    state.model.load_state_dict(state.best_weights)


class Outputs(NamedTuple):
    """What a model gives for some graphs."""

    outputs: Tensor
    """``[G, O]``, of an ensemble by its vote."""
    saliency: list[Tensor]
    """Of each layer, ``[N]`` over the nodes of the graphs."""
    members: Tensor
    """``[M, G, O]``: the outputs of each member of an ensemble, else those of the model itself."""


def predict_outputs(model: GraphModel, data: TensorSet, index: np.ndarray, batch_size: int = 512) -> Outputs:
    """The outputs for the graphs at ``index``, in eval mode. A model that is random even then (``model.saliency =
    redrawn``) draws the same numbers every time."""
    model.eval()
    outputs: list[Tensor] = []
    members: list[Tensor] = []
    saliency: list[tuple[Tensor, ...]] = []
    with torch.inference_mode(), _seeded(0, data.device):
        for some in chunks(index, batch_size):
            batch = data.batch(some, model.layouts)
            encoding = model.encode(batch)
            members.append(model.member_outputs(encoding.graph))
            outputs.append(vote(members[-1], model.link))
            saliency.append(tuple(batch.per_node(s) for s in encoding.saliency))
    layers = [torch.cat(layer) for layer in zip(*saliency, strict=True)]
    return Outputs(torch.cat(outputs), layers, torch.cat(members, dim=1))


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the weights."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def epoch_order(train: np.ndarray, seed: int, epoch: int, y: np.ndarray | None = None) -> np.ndarray:
    """The training graphs in the order of that epoch: a function of the seed and the epoch alone.

    With their classes ``y [train graphs]`` the draws are balanced: each class gets the same number of them, up to one,
    spread as evenly as possible over its graphs.

    >>> sorted(epoch_order(np.array([7, 8, 9, 5]), seed=0, epoch=1, y=np.array([0, 0, 0, 1])).tolist())[:2]
    [5, 5]
    """
    rng = np.random.default_rng([seed, epoch])
    if y is None:
        return rng.permutation(train)
    classes = rng.permutation(np.unique(y))
    draws = len(train) // len(classes) + (np.arange(len(classes)) < len(train) % len(classes))
    return rng.permutation(
        np.concatenate([_draw(train[y == c], n, rng) for c, n in zip(classes, draws.tolist(), strict=True)])
    )


def _draw(graphs: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` draws, spread as evenly as possible over the graphs."""
    rounds = -(-count // len(graphs))
    return np.concatenate([rng.permutation(graphs) for _ in range(rounds)] or [graphs[:0]])[:count]


def _epoch(
    state: TrainingState, data: TensorSet, fold: Fold, config: TrainingConfig, balance: Tensor | None, epoch: int
) -> Row:
    """Train on the training graphs, score the validation graphs."""
    start = time.perf_counter()
    rate = state.learning_rate(config)
    train_loss = _train_epoch(state, data, fold.train, config, balance, epoch, rate)
    # Without validation graphs, the training graphs select the epoch.
    watched = fold.validation if len(fold.validation) else fold.train
    outputs = predict_outputs(state.model, data, watched).outputs
    scores = validation_scores(state.task, data, watched, outputs, config)
    if not isfinite(loss := scores["validation_loss"]):
        raise _diverged(f"validation loss is {loss} after epoch {epoch}", state)
    seconds = time.perf_counter() - start
    return {"epoch": epoch, "train_loss": train_loss, **scores, "learning_rate": rate, "seconds": seconds}


def _diverged(what: str, state: TrainingState) -> Diverged:
    kept = f"the weights of epoch {state.best_epoch} are kept" if state.best_epoch else "no epoch was completed"
    return Diverged(f"{what}; lower training.learning_rate, or look for extreme values in the node inputs; {kept}")


def _train_epoch(
    state: TrainingState, data: TensorSet, train: np.ndarray, config: TrainingConfig, balance: Tensor | None,
    epoch: int, rate: float,
) -> float:  # fmt: skip
    """One pass over the training graphs; the mean loss."""
    model, optimizer = state.model, state.optimizer
    model.train()
    model.begin_epoch(epoch)
    for group in optimizer.param_groups:
        group["lr"] = rate * group["fraction"]
    assert data.y is not None
    strata = state.task.strata(data.y.cpu().numpy()[train]) if config.sampling == "balanced" else None
    order = epoch_order(train, config.seed, epoch, strata)
    if model.fits_directly:
        return model.fit_directly(data, order, config.seed, config.class_weights == "balanced")
    compute_loss = compiled_loss() if config.compile else loss_of
    total = 0.0
    with _seeded(_mix(config.seed, epoch), data.device):
        for number, some in enumerate(chunks(order, config.graphs_per_step(len(train))), 1):
            batch = data.batch(some, model.layouts, traced=config.compile)
            optimizer.zero_grad(set_to_none=True)
            loss = compute_loss(model, state.task, batch, config, balance)
            value = loss.item()
            if not isfinite(value):
                raise _diverged(f"loss is {value} in epoch {epoch}, batch {number}", state)
            loss.backward()
            if config.clip:
                nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.step()
            total += value * batch.num_graphs
    return total / len(order)


def loss_of(
    model: GraphModel, task: Task, batch: Batch, config: TrainingConfig, balance: Tensor | None = None
) -> Tensor:
    """The loss of the task, plus the weighted divergence of supervised saliency, plus the model's auxiliary loss."""
    assert batch.y is not None
    encoding = model.encode(batch)
    outputs = model.head(encoding.graph)  # [B, O], or of each member of an ensemble [M, B, O]
    loss = task.loss(outputs, batch.y, balance, config.label_smoothing, batch.weights)
    if config.saliency_weight:
        loss = loss + config.saliency_weight * saliency_divergence(batch, encoding.saliency, config.saliency_layers)
    return loss if encoding.loss is None else loss + encoding.loss


@cache
def compiled_loss() -> Callable[..., Tensor]:
    """:func:`loss_of` as compiled code, the same for batches of all sizes."""
    return torch.compile(loss_of, dynamic=True)


def saliency_divergence(batch: Batch, saliency: tuple[Tensor, ...], layers: tuple[int, ...]) -> Tensor:
    """KL(truth ‖ s) = Σ_j t_j log(t_j / s_j), the mean over the layers and over the graphs that have a truth."""
    assert batch.truth is not None
    chosen = torch.stack([saliency[l] for l in layers or range(len(saliency))])
    tiny = torch.finfo(chosen.dtype).tiny
    terms = torch.xlogy(batch.truth, batch.truth) - batch.truth * chosen.clamp(min=tiny).log()
    known = batch.sum(batch.truth.unsqueeze(-1)).sum()  # every graph with a truth sums to 1
    return terms.sum() / (known.clamp(min=1) * len(chosen))


def check_supervision(model: GraphModel, data: TensorSet, config: TrainingConfig) -> None:
    """Refuse to supervise saliency that the data or the model does not have; layers also where they have no weight."""
    if not config.saliency_weight and not config.saliency_layers:
        return
    if config.saliency_weight and data.truth is None:
        raise InputError("training.saliency_weight: got data without true saliency, expected a set that has it")
    saliency = predict_outputs(model, data, np.arange(1)).saliency
    if not saliency:
        named = "saliency_weight" if config.saliency_weight else "saliency_layers"
        raise InputError(f"training.{named}: got a model without saliency, expected model.saliency = learned")
    if max(config.saliency_layers, default=0) >= len(saliency):
        raise InputError(
            f"training.saliency_layers: got {max(config.saliency_layers)}, expected 0..{len(saliency) - 1}"
        )


def rate_groups(model: GraphModel, config: TrainingConfig) -> list[dict[str, Any]]:
    """The parameters as groups of the optimiser, each with its fraction of the learning rate."""
    memory = {id(p) for p in model.memory_parameters()} if config.memory_fraction < 1 else set()
    kinds = ((False, 1.0), (True, config.memory_fraction))
    groups = ([p for p in model.parameters() if (id(p) in memory) is own] for own, _ in kinds)
    return [{"params": group, "fraction": f} for group, (_, f) in zip(groups, kinds, strict=True) if group]


def learning_blocks(model: GraphModel, policy: str) -> list[list[nn.Parameter]]:
    """The parameters that learn together: all, or backbone and memory in turns (block coordinate descent)."""
    blocks = [list(model.parameters())] if policy == "joint" else model.parameter_blocks()
    if policy == "alternating" and len(blocks) == 1:
        raise InputError("training.policy: got alternating for a model of a single block, expected joint")
    return [[p for p in block if p.requires_grad] for block in blocks]


def _unfreeze(blocks: list[list[nn.Parameter]], turn: int | None = None) -> None:
    """Let all blocks learn, or only the one whose turn it is."""
    for number, block in enumerate(blocks):
        for parameter in block:
            parameter.requires_grad_(turn in (None, number))


def class_balance(task: Task, data: TensorSet, fold: Fold, config: TrainingConfig) -> Tensor | None:
    """The weight of each class; none: all alike."""
    if config.class_weights == "none":
        return None
    assert data.y is not None
    return task.balance(data.y[torch.as_tensor(fold.train, device=data.device)]).to(data.x.dtype)


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Draw from ``seed`` inside the block; the global generators are restored afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _mix(seed: int, epoch: int) -> int:
    """One 63-bit seed out of two numbers."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> np.uint64(1))
