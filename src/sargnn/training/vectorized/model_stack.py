"""K models at once: folds, repeats and grid points of one architecture train together on a device.

Every weight gets a leading model dimension and a step is one vectorised call for all K, so on a GPU the extra models
are nearly free: there a step, optimiser included, is one CUDA graph, and stacks of other architectures run beside it on
streams of their own. Each member has its own weights, encoder, batches, learning rate, early stopping and best epoch,
and equals a model trained alone, up to rounding (dropout draws other masks).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
import torch
from torch import Tensor

from sargnn.batching.layouts import choose_layout
from sargnn.batching.stacks import BatchStack, Fields, Room, make_stack
from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.tasks import Task, task_of
from sargnn.tasks.task import per_graph
from sargnn.training.loop import (
    TrainingConfig,
    check_supervision,
    class_balance,
    epoch_order,
    saliency_divergence,
)
from sargnn.training.monitor import check_monitor
from sargnn.training.progress import Progress, Row
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel
from sargnn.training.vectorized.assessment import Assessment, captured, cut
from sargnn.training.vectorized.compiling import compiled
from sargnn.training.vectorized.stacked_weights import Outputs, StackedWeights, of_each

__all__ = ["Fitted", "Member", "ModelStack", "fit_together"]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Of Adam: PyTorch's defaults."""
CLIP_EPSILON = 1e-6
"""Of ``clip_grad_norm_``."""
OWN = ("seed", "learning_rate", "weight_decay")
"""Fields of the training config in which members may differ."""


@dataclass(frozen=True, eq=False)
class Member:
    """One model to train: on which graphs, and with which seed, learning rate and weight decay."""

    fold: Fold
    training: TrainingConfig


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained member: the model with its best weights, and its history."""

    trained: TrainedModel
    progress: Progress
    diverged: str | None
    """The loss in words, if it stopped being finite."""


class ModelStack:
    """Members of one architecture, from untrained to fitted: iterate for one list of rows per epoch.

    >>> stack = ModelStack(graphs, settings, members)  # doctest: +SKIP
    >>> for rows in stack: ...  # doctest: +SKIP
    >>> fitted = stack.results()  # doctest: +SKIP
    """

    def __init__(
        self,
        graphs: GraphSet,
        settings: Settings,
        members: Sequence[Member],
        device: torch.device | str = "cpu",
        task: Task | None = None,
    ) -> None:
        self.members = list(members)
        self.config = _common_config(members)
        self.device = torch.device(device)
        task = task or task_of(graphs)
        check_monitor(task, self.config)
        targets = task.targets(graphs)
        self.models = _untrained(graphs, settings, members, task, targets)
        used = np.unique(np.concatenate([part for m in members for part in (m.fold.train, m.fold.validation)]))
        layout = choose_layout(self.models[0].model.stacked_layouts, graphs.sizes[used], self.config.layout)
        self.task = self.models[0].task
        self.strata = task.strata(targets)
        encoded = [trained.task.encode(targets) for trained in self.models]
        encoders = [trained.encoder for trained in self.models]
        self.batches = make_stack(graphs, encoded, encoders, used, layout, self.device)
        self.weights = StackedWeights([trained.model.to(self.device) for trained in self.models], self.config.policy)
        self.progress = [Progress() for _ in members]
        self.diverged: list[str | None] = [None] * len(members)
        self.epoch = 0
        self.stream = torch.cuda.Stream() if self.device.type == "cuda" else None
        self.size = _common_size(members)
        self.step = _TrainStep(self.weights, self.task, self.batches, self.config, members, self.size)
        tasks, folds = [trained.task for trained in self.models], [member.fold for member in members]
        self.assess = Assessment(self.weights, tasks, self.batches, folds, self.config)
        check_supervision(self.models[0].model, self.batches.data, self.config)

    def __iter__(self) -> Iterator[list[Row]]:
        """Train until every member's epochs or patience have run out."""
        while not self.finished:
            self.launch()
            yield self.collect()

    @property
    def finished(self) -> bool:
        return all(map(self._done, range(len(self.members))))

    def launch(self) -> None:
        """Start an epoch of every member. On a GPU this does not wait for it: :meth:`collect` does."""
        self.epoch += 1
        self.started = time.perf_counter()
        self.rates = [p.learning_rate(m.training) for p, m in zip(self.progress, self.members, strict=True)]
        with torch.cuda.stream(self.stream):
            self._train_epoch()
            self.assess()

    def collect(self) -> list[Row]:
        """The rows of the epoch, one for each member that still trains; keeps the weights of those that improved."""
        with torch.cuda.stream(self.stream):
            losses, scores = self.step.losses(), self.assess.scores()
            seconds = (time.perf_counter() - self.started) / len(self.members)
            return self._record(losses, scores, seconds)

    def results(self) -> list[Fitted]:
        """Every member with its best weights, in the order they were given."""
        for k, trained in enumerate(self.models):
            self.weights.load_best(k, trained.model)
            trained.model.eval()
        return [Fitted(*each) for each in zip(self.models, self.progress, self.diverged, strict=True)]

    def _done(self, k: int) -> bool:
        return self.diverged[k] is not None or self.progress[k].finished(self.members[k].training)

    def _train_epoch(self) -> None:
        """One pass of every member over its own training graphs in its own order."""
        orders = []
        for member in self.members:
            train = member.fold.train
            strata = self.strata[train] if self.config.sampling == "balanced" else None
            orders.append(epoch_order(train, member.training.seed, self.epoch, strata))
        parts = cut(orders, self.size)
        self.step.start_epoch(self.rates, self.epoch, self.batches.room(parts))
        for rows in self.batches.rows(parts):
            self.step(rows)

    def _record(self, losses: np.ndarray, scores: list[Row], seconds: float) -> list[Row]:
        rows, better = [], np.zeros(len(self.members), bool)
        for k, member in enumerate(self.members):
            loss = scores[k]["validation_loss"]
            if self._done(k):
                continue
            if not (isfinite(loss) and isfinite(losses[k])):
                self.diverged[k] = f"loss is {losses[k]}, validation loss {loss} in epoch {self.epoch}"
                continue
            row = {
                "epoch": self.epoch, "train_loss": float(losses[k]), **scores[k],
                "learning_rate": self.rates[k], "seconds": seconds,
            }  # fmt: skip
            better[k] = self.progress[k].record(row, member.training)
            rows.append(row)
        self.weights.keep_best(better)
        return rows


def fit_together(stacks: Sequence[ModelStack], progress: Callable[[int], None] = lambda epoch: None) -> None:
    """Train stacks side by side: launch an epoch of each, then collect them."""
    while running := [stack for stack in stacks if not stack.finished]:
        for stack in running:
            stack.launch()
        for stack in running:
            stack.collect()
        progress(max(stack.epoch for stack in running))


class _TrainStep:
    """Forward, backward and Adam for all members; on a GPU, captured once and replayed."""

    def __init__(
        self, weights: StackedWeights, task: Task, batches: BatchStack, config: TrainingConfig,
        members: Sequence[Member], size: int,
    ) -> None:  # fmt: skip
        self.weights, self.task, self.batches, self.config, self.size = weights, task, batches, config, size
        device = batches.device
        self.first, self.second = torch.zeros_like(weights.flat), torch.zeros_like(weights.flat)
        self.decay = torch.tensor([[m.training.weight_decay] for m in members], device=device)
        self.decays = any(m.training.weight_decay for m in members)
        self.rate = torch.zeros_like(self.decay)
        self.fractions = weights.rate_fractions([m.training.memory_fraction for m in members])
        self.total = torch.zeros(len(members), device=device)
        self.drawn = np.array([len(m.fold.train) for m in members])
        self.balance = [class_balance(task, batches.data, m.fold, m.training) for m in members]
        self.rows = torch.full((len(members), size), -1, device=device)
        self.counts = torch.zeros(len(weights.turns), len(members), 1, device=device)
        """Steps of each member in each turn."""
        self.betas = torch.tensor([BETA1, BETA2], device=device).view(2, 1, 1)
        self.one_each = torch.ones(len(members), device=device)
        self.uneven = len({-(-len(m.fold.train) // size) for m in members}) > 1
        self.replays: dict[int, Callable[[], None]] = {}
        self.room = Room()
        made = compiled if config.compile else lambda function: function
        self.losses_of, self.update = made(self._losses), made(self._update)

    def start_epoch(self, rates: list[float], epoch: int, room: Room) -> None:
        if not self.room.holds(room):
            self.room = self.room.grown(room)
            self.replays.clear()
        self.turn = (epoch - 1) // self.config.alternate_epochs % len(self.weights.turns)
        self.rate.copy_(torch.tensor(rates).unsqueeze(1))
        self.total.zero_()

    def losses(self) -> np.ndarray:
        """``[K]``: mean loss of every member over the epoch."""
        return np.asarray(self.total.cpu().numpy() / self.drawn)

    def __call__(self, rows: Tensor) -> None:
        """One step with the graphs at ``rows [K, B]`` of the batches; -1: none."""
        turn = self.turn
        self.rows.copy_(rows)
        if self.batches.device.type != "cuda":
            return self._compute(turn)
        if turn not in self.replays:
            mutable = [*self.weights.changing, self.first, self.second, self.counts, self.total]
            self.replays[turn] = captured(lambda: self._compute(turn), mutable)
        return self.replays[turn]()

    def _compute(self, turn: int) -> None:
        losses, graphs = self.losses_of(self.rows)
        views = [self.weights.views[name] for name in self.weights.turns[turn]]
        gradients = torch.autograd.grad(losses, views, self.one_each)
        with torch.no_grad():  # concatenated out here, in one kernel: a compiler takes one for each
            self.update(torch.cat([g.reshape(len(g), -1) for g in gradients], dim=1), losses, graphs, turn)

    def _losses(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """``[K]``: the loss of every member, and its number of graphs in this step."""
        fields = self.batches.fields(rows, self.room)
        y, real = self.batches.targets(rows)
        graphs = real.sum(1)
        logits, saliency, own = self._forward(fields, graphs > 0)
        weights = per_graph(self._loss_weights(y), self.batches.graph_weights(rows))
        losses = self.task.losses(logits, y.unsqueeze(1), self.config.label_smoothing).mean(1)
        total = weights.flatten(1).sum(1).clamp(min=torch.finfo(weights.dtype).tiny)
        loss: Tensor = (losses * weights).flatten(1).sum(1) / total
        if self.config.saliency_weight:
            loss = loss + self.config.saliency_weight * self._divergence(fields, saliency)
        return sum(own, loss), graphs

    def _loss_weights(self, y: Tensor) -> Tensor:
        """``[K, B]`` or ``[K, B, T]``: how much each loss counts for each member."""
        if self.config.class_weights == "none":
            return self.task.weights(y, None)
        return torch.stack([self.task.weights(own, balance) for own, balance in zip(y, self.balance, strict=True)])

    def _forward(self, fields: Fields, active: Tensor) -> Outputs:
        """Forward in training mode; the running statistics of members without graphs in this step stay."""
        before = [buffer.clone() for buffer in self.weights.buffers] if self.uneven else []
        outputs = self.weights.forward(self.batches, fields, self.rows.shape[1], train=True)
        for buffer, old in zip(self.weights.buffers, before, strict=False):
            buffer.copy_(torch.where(active.view(-1, *[1] * (buffer.ndim - 1)), buffer, old))
        return outputs

    def _divergence(self, fields: Fields, saliency: tuple[Tensor, ...]) -> Tensor:
        def one(fields: Fields, saliency: tuple[Tensor, ...]) -> Tensor:
            batch = self.batches.batch(fields, self.size)
            return saliency_divergence(batch, saliency, self.config.saliency_layers)

        divergence: Tensor = of_each(one, len(self.total))(fields, saliency)
        return divergence

    def _update(self, gradient: Tensor, losses: Tensor, graphs: Tensor, turn: int) -> None:
        """Adds up the losses and makes a step of Adam; members without graphs in this step stay."""
        rate: Tensor = self.rate
        active: Tensor | int = 1
        if self.uneven:
            moves = (graphs > 0).unsqueeze(1)
            losses, gradient = torch.where(moves.squeeze(1), losses, 0), torch.where(moves, gradient, 0)
            rate, active = rate * moves, moves
        self.total += losses * graphs
        columns, count = self.weights.columns[turn], self.counts[turn]
        if self.config.clip:  # as torch.nn.utils.clip_grad_norm_ does, member by member
            norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient = gradient * (self.config.clip / (norm + CLIP_EPSILON)).clamp(max=1)
        first, second, flat = (tensor[:, columns] for tensor in (self.first, self.second, self.weights.flat))
        if self.decays:
            gradient = torch.addcmul(gradient, self.decay, flat)
        count += active
        first.lerp_(gradient, (1 - BETA1) * active)
        second.lerp_(gradient.square(), (1 - BETA2) * active)
        # m / (1 - β1^t) over √(v / (1 - β2^t)) + ε, with the factors of t alone taken out of the large tensors.
        missing, missing_square = 1 - self.betas**count
        spread = missing_square.sqrt()
        rate = rate * spread / missing.clamp(min=EPSILON)
        rate = rate if self.fractions is None else rate * self.fractions[:, columns]
        flat.addcdiv_(rate * first, second.sqrt() + EPSILON * spread, value=-1)


def _common_config(members: Sequence[Member]) -> TrainingConfig:
    """The training config of all members, which may differ only in ``OWN``."""
    first = members[0].training
    for member in members:
        if replace(member.training, **{name: getattr(first, name) for name in OWN}) != first:
            raise ValueError(f"members of a stack may differ in {', '.join(OWN)} alone")
    return first


def _common_size(members: Sequence[Member]) -> int:
    sizes = {m.training.graphs_per_step(len(m.fold.train)) for m in members}
    if len(sizes) > 1:
        raise ValueError(f"members of a stack must have one batch size, not {sorted(sizes)}: set it")
    return sizes.pop()


def _untrained(
    graphs: GraphSet, settings: Settings, members: Sequence[Member], task: Task, targets: np.ndarray
) -> list[TrainedModel]:
    """Every member's model with weights drawn from its seed, its encoder and task fitted on its training graphs."""
    encoders: dict[bytes, Encoder] = {}
    models = []
    for member in members:
        key = member.fold.train.tobytes()
        if key not in encoders:
            encoders[key] = Encoder.fit(settings.data, graphs, member.fold.train)
        own = replace(settings, training=member.training)
        fitted = task.fitted(targets[member.fold.train], member.training.number_loss)
        models.append(TrainedModel.untrained(own, encoders[key], fitted))
    if len({m.encoder.width for m in models}) > 1:
        raise ValueError("members of a stack must have inputs of equal width: set data.max_degree")
    return models
