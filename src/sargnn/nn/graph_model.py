"""The contract of a model: ``encode`` gives every graph a vector, ``head`` makes logits of it.

Trainers, model folders, explanations and exports know a model by :class:`GraphModel` alone. What it may do beyond (an
auxiliary loss, fitting without gradients, sizes found in the data, alternating training) has a default here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.layouts import Layout
from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import InputError

__all__ = ["Encoding", "GraphModel", "Hyperparameters", "Link"]

Link = Literal["softmax", "sigmoid", "identity"]
"""How outputs become what is predicted: probabilities of one class, of several targets each, or numbers."""
MOST = 1_000_000
"""The largest whole number among hyperparameters; what a model may be in all is in :mod:`sargnn.limits`."""
_SETTING = {"edge_inputs": "data.edge_encodings", "graph_inputs": "data.graph_encodings"}


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
            if value is not None and value > MOST:
                raise InputError(f"model.{name}: got {value}, expected at most {MOST}")
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
    """s⁰ ... s^{L-1}, or that of the readout: distributions over the nodes of each graph; may be empty."""
    loss: Float[Tensor, ""] | None = None
    """An auxiliary loss, added to that of the task in training."""


class GraphModel(nn.Module):
    """A model of graphs: ``Class(config, inputs, classes)`` takes hyperparameters, the number of features per node, and
    the number of outputs. ``forward`` has PyTorch Geometric's signature and returns logits.
    """

    layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts that :meth:`encode` takes."""
    stacked_layouts: ClassVar[tuple[Layout, ...]] = ("packed", "padded")
    """The layouts in which K such models can train at once; empty: they train one after the other."""
    reads_inputs_first: ClassVar[bool] = True
    """Whether node inputs stand in front where a layer reads them beside other numbers."""
    optional_inputs: ClassVar[tuple[Literal["edge_inputs", "graph_inputs"], ...]] = ()
    """Inputs beside those of the nodes; the constructor takes their widths by these names."""
    link: Link = "softmax"
    """What the outputs mean, which an ensemble must know to average them; set by the task."""
    fits_directly: ClassVar[bool] = False
    """Whether :meth:`fit_directly` takes the place of training by gradients."""
    head: Callable[[Tensor], Tensor]
    frozen: Sequence[nn.Module] = ()
    """Parts whose weights and running statistics training leaves alone."""

    @classmethod
    def build(cls, config: Any, inputs: int, classes: int, **widths: int) -> GraphModel:
        """The model of ``config``; ``widths`` of optional inputs that it does not read are refused."""
        for name, width in widths.items():
            if width and name not in cls.optional_inputs:
                got = f"got {width} {name.replace('_', ' ')}"
                raise InputError(f"{_SETTING[name]}: {got}, expected none: {cls.__name__} reads none")
        return cls(config, inputs, classes, **{name: widths[name] for name in cls.optional_inputs if name in widths})

    def encode(self, batch: Batch) -> Encoding:
        """Graph vectors, node features and, where the model has them, saliency and an auxiliary loss."""
        raise NotImplementedError

    def begin_epoch(self, epoch: int) -> None:
        """Called in training before each epoch, counted from 1: for what changes while a model trains."""

    def fit_directly(self, data: TensorSet, graphs: np.ndarray, seed: int, balanced: bool) -> float:
        """Fit the model to the training ``graphs`` of ``data`` without gradients; return the mean loss on them.
        ``balanced``: classes have weights in inverse proportion to their graphs."""
        raise NotImplementedError

    def resize_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the sizes of saved ``tensors`` before they are loaded, where sizes depend on the training data."""

    def parameter_blocks(self) -> list[list[nn.Parameter]]:
        """The blocks that alternating training trains in turns."""
        return [list(self.parameters())]

    def backbone_parts(self) -> list[nn.Module]:
        """What computes node features, where the model keeps it apart from the rest."""
        return []

    def freeze_backbone(self) -> None:
        """Leave the backbone as it is in training, its running statistics too."""
        self.frozen = self.backbone_parts()
        if not self.frozen:
            raise InputError(f"--freeze: got {type(self).__name__}, expected a model whose backbone stands apart")
        for part in self.frozen:
            part.requires_grad_(False)

    def train(self, mode: bool = True) -> GraphModel:
        super().train(mode)
        for part in self.frozen:
            part.eval()
        return self

    def memory_parameters(self) -> list[nn.Parameter]:
        """What may learn at a rate of its own, ``training.memory_rate``."""
        return []

    def ensemble_members(self) -> list[GraphModel]:
        """The members of an ensemble, else the model itself."""
        return [self]

    def member_outputs(self, vectors: Float[Tensor, "B d"]) -> Float[Tensor, "M B outputs"]:
        """The outputs of each member of an ensemble, else those of the model itself, of the graphs' vectors."""
        return self.head(vectors).unsqueeze(0)

    @property
    def saliency_per_output(self) -> bool:
        """Whether its saliency is one map for each output, not one for each layer."""
        return False

    @property
    def draws_in_eval(self) -> bool:
        """Whether it draws random numbers in eval mode too."""
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
