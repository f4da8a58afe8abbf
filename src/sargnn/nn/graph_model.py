"""The contract of a model: ``encode`` gives every graph a vector, ``head`` makes logits of it.

Trainers, model folders, explanations and exports know a model by :class:`GraphModel` alone. What a model may do beyond
``encode`` and ``head`` (a loss of its own, fitting without gradients, a size found in the data, blocks that are trained
in turns) is stated here with a default, so that nobody has to probe for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.layouts import Layout
from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import InputError

__all__ = ["Encoding", "GraphModel", "Hyperparameters"]

OptionalInput = Literal["edge_inputs", "graph_inputs"]
_SETTING: dict[str, str] = {"edge_inputs": "data.edge_encodings", "graph_inputs": "data.graph_inputs"}


@dataclass(frozen=True)
class Hyperparameters:
    """Base of a model's config, a dataclass that checks its values: integers are at least 1, or what ``AT_LEAST`` says;
    dropout and other ``FRACTIONS`` lie in [0, 1).

    >>> from sargnn.nn import ModelConfig
    >>> ModelConfig(layers=0)
    Traceback (most recent call last):
    sargnn.errors.InputError: model.layers: got 0, expected at least 1
    """

    AT_LEAST: ClassVar[tuple[tuple[str, int], ...]] = ()
    FRACTIONS: ClassVar[tuple[str, ...]] = ("dropout",)

    def __post_init__(self) -> None:
        integers = {field.name: 1 for field in fields(self) if field.type in ("int", "int | None")}
        for name, least in {**integers, **dict(self.AT_LEAST)}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"model.{name}: got {value}, expected at least {least}")
        for name in self.FRACTIONS:
            if not 0 <= getattr(self, name, 0) < 1:
                raise InputError(f"model.{name}: got {getattr(self, name)}, expected 0 up to (not including) 1")


class Encoding(NamedTuple):
    """What a model makes of a batch."""

    graph: Float[Tensor, "B d"]
    """The vector that is classified."""
    nodes: Float[Tensor, "*nodes d"]
    """Node features of the last layer."""
    saliency: tuple[Tensor, ...] = ()
    """s⁰ ... s^{L-1}: one node tensor per layer, each a distribution over the nodes of each graph, or the one that the
    readout is made by; empty without saliency."""
    loss: Float[Tensor, ""] | None = None
    """An auxiliary loss, which is added to the loss of the task in training."""


class GraphModel(nn.Module):
    """A model of graphs, built as ``Class(config, inputs, classes)`` from a dataclass of hyperparameters, the number of
    features of a node, and the number of outputs.

    ``forward(x, edge_index, batch)`` has PyTorch Geometric's signature and returns logits alone; inputs of edges and of
    whole graphs may follow.
    """

    layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts that :meth:`encode` takes: all of them where the model knows a batch by its primitives alone."""
    stacked_layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts in which K models of this kind train at once; none: they train one after the other."""
    optional_inputs: ClassVar[tuple[OptionalInput, ...]] = ()
    """Which inputs beside those of the nodes it reads; the constructor takes their widths by these names."""
    fits_directly: ClassVar[bool] = False
    """Whether :meth:`fit_directly` takes the place of training by gradients."""
    head: Callable[[Tensor], Tensor]

    @classmethod
    def build(cls, config: Any, inputs: int, classes: int, **widths: int) -> GraphModel:
        """The model of ``config``; ``widths`` are those of the optional inputs, refused if it does not read them."""
        for name, width in widths.items():
            if width and name not in cls.optional_inputs:
                got = f"got {width} {name.replace('_', ' ')}"
                raise InputError(f"{_SETTING[name]}: {got}, expected none: {cls.__name__} reads none")
        return cls(config, inputs, classes, **{name: widths[name] for name in cls.optional_inputs if name in widths})

    def encode(self, batch: Batch) -> Encoding:
        """Graph vectors, node features and, where the model has them, node scores and a loss of its own."""
        raise NotImplementedError

    def fit_directly(self, data: TensorSet, graphs: np.ndarray, seed: int, balanced: bool) -> float:
        """Fit the whole model to the training ``graphs`` of ``data`` in one pass without gradients; the mean loss on
        them. ``balanced``: a class counts in inverse proportion to its graphs."""
        raise NotImplementedError

    def resize_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the sizes of saved ``tensors`` before they are copied in, where they depend on what was learnt."""

    def parameter_blocks(self) -> list[list[nn.Parameter]]:
        """The blocks that alternating training trains in turns."""
        return [list(self.parameters())]

    def ensemble_members(self) -> list[GraphModel]:
        """The models whose mean this one is: of an ensemble its members, else the model itself."""
        return [self]

    @property
    def draws_in_eval(self) -> bool:
        """Whether it draws random numbers even in eval mode, so that no two calls agree."""
        return False

    def forward(
        self,
        x: Float[Tensor, "N F"],
        edge_index: Int[Tensor, "2 E"],
        batch: Int[Tensor, " N"] | None = None,
        edge_attr: Float[Tensor, "E F_e"] | None = None,
        graph_attr: Float[Tensor, "B F_g"] | None = None,
    ) -> Float[Tensor, "*members B classes"]:
        return self.head(self.encode(PackedBatch.from_edges(x, edge_index, batch, edge_attr, graph_attr)).graph)
