"""The weights of K models of one architecture as stacked tensors, and all of them called at once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_map

from sargnn.batching import Batch
from sargnn.batching.stacks import BatchStack, Fields
from sargnn.nn.ensemble import vote
from sargnn.nn.graph_model import GraphModel
from sargnn.training.loop import learning_blocks

__all__ = ["StackedWeights", "of_each"]

Outputs = tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]
"""Logits, the saliency of each layer, and an auxiliary loss or nothing."""


class StackedWeights:
    """All models' parameters as one matrix ``[K, P]`` and views into it, and their buffers stacked.

    Views and buffers are ``[K, M, *shape]`` for ensembles of M members, with M = 1 for single models; all K x M take
    their step at once. Parameters that learn in the same turn are contiguous in the matrix.
    """

    def __init__(self, models: list[GraphModel], policy: str) -> None:
        ensembles = [model.ensemble_members() for model in models]
        one = ensembles[0][0]
        self.link = models[0].link
        self.shape = len(ensembles), len(ensembles[0])
        self.template = _Logits(copy.deepcopy(one)).to("meta")
        stacked = stack_module_state([member for members in ensembles for member in members])
        named, buffers = ({n: v.detach().unflatten(0, self.shape) for n, v in state.items()} for state in stacked)
        name_of = {id(parameter): name for name, parameter in one.named_parameters()}
        self.memory = {name_of[id(parameter)] for parameter in one.memory_parameters()}
        self.turns = [[name_of[id(parameter)] for parameter in block] for block in learning_blocks(one, policy)]
        names = [name for turn in self.turns for name in turn]
        fixed = {name: values for name, values in named.items() if name not in names}
        self.flat = torch.cat([named[name].view(len(models), -1) for name in names], dim=1)
        shapes = [(name, named[name].shape[1:]) for name in names]
        self.views = _views(self.flat, shapes)
        ends = np.cumsum([0] + [sum(named[name][0].numel() for name in turn) for turn in self.turns]).tolist()
        self.columns = [slice(*pair) for pair in pairwise(ends)]
        for view in self.views.values():
            view.requires_grad_()
        self.buffers = list(buffers.values())
        self.state = {f"model.{name}": value for name, value in {**self.views, **fixed, **buffers}.items()}
        self.changing = [self.flat, *self.buffers]
        self.best = [value.clone() for value in self.changing]
        best_buffers = dict(zip(buffers, self.best[1:], strict=True))
        self.best_state = {**_views(self.best[0], shapes), **fixed, **best_buffers}

    def forward(self, batches: BatchStack, fields: Fields, graphs: int, train: bool) -> Outputs:
        """Logits of the first ``graphs`` graphs (``[K, M, B, C]`` of every member in training, ``[K, B, C]`` of their
        vote otherwise), the saliency of each layer, ``[K, *nodes]``, and the auxiliary loss ``[K]`` of models that have
        one; both are means over the members."""
        self.template.train(train)
        models, members = self.shape

        def ensemble(state: dict[str, Tensor], fields: Fields) -> Any:
            batch = batches.batch(fields, graphs)
            each = of_each(lambda own: functional_call(self.template, own, (batch,)), members)
            logits, *others = each(state)
            saliency, losses = (
                tuple(value.mean(0) if members > 1 else value[0] for value in values)  # of one without a kernel
                for values in others
            )
            return (logits if train else vote(logits, self.link)), saliency, losses

        logits, saliency, losses = of_each(ensemble, models)(self.state, fields)
        return logits[..., :graphs, :], saliency, losses

    def rate_fractions(self, memory: list[float]) -> Tensor | None:
        """``[K, P]``: the fraction of its model's learning rate at which a parameter learns; that of each model's
        ``memory`` is given, the others' is 1. None: all of them at 1."""
        if min(memory) == 1:
            return None
        of_memory = torch.cat([torch.full((v[0].numel(),), n in self.memory) for n, v in self.views.items()])
        own = torch.tensor(memory).unsqueeze(1)
        return torch.where(of_memory, own, torch.ones_like(own)).to(self.flat.device)

    def keep_best(self, better: np.ndarray) -> None:
        """Keep the present weights of the models that improved."""
        if better.any():
            which = torch.from_numpy(np.flatnonzero(better)).to(self.flat.device)
            for best, value in zip(self.best, self.changing, strict=True):
                best[which] = value[which]

    def load_best(self, k: int, model: GraphModel) -> None:
        """Give ``model`` the best weights of the k-th."""
        for m, member in enumerate(model.ensemble_members()):
            best = {name: self.best_state[_first_name(member, name)][k, m] for name in member.state_dict()}
            member.load_state_dict(best)


class _Logits(nn.Module):
    """A model as one call, which is what ``functional_call`` needs."""

    def __init__(self, model: GraphModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Outputs:
        encoding = self.model.encode(batch)
        return self.model.head(encoding.graph), encoding.saliency, () if encoding.loss is None else (encoding.loss,)


def of_each(one: Callable[..., Any], count: int) -> Callable[..., Any]:
    """``one`` for ``count`` at once: every tensor that it takes or gives has a leading axis of that length.

    A single one needs no ``vmap``, which takes more kernels for the same result.
    """
    if count > 1:
        return vmap(one, randomness="different")

    def alone(*inputs: Any) -> Any:
        return tree_map(lambda tensor: tensor.unsqueeze(0), one(*tree_map(lambda tensor: tensor.squeeze(0), inputs)))

    return alone


def _views(flat: Tensor, shapes: list[tuple[str, torch.Size]]) -> dict[str, Tensor]:
    """Parts of the matrix ``[K, P]`` as tensors ``[K, *shape]`` that share its memory."""
    views, start = {}, 0
    for name, shape in shapes:
        views[name] = flat[:, start : start + shape.numel()].view(len(flat), *shape).detach()
        start += shape.numel()
    return views


def _first_name(model: GraphModel, name: str) -> str:
    """The name under which a shared tensor is listed once."""
    tensor = model.state_dict(keep_vars=True)[name]
    named = [*model.named_parameters(), *model.named_buffers()]
    return next(found for found, value in named if value is tensor)
