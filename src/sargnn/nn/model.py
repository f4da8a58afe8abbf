"""SARGNN: memory reads the nodes, saliency compares them, the backbone sums with fused weights, layer after layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.errors import InputError
from sargnn.nn.backbones import BACKBONES
from sargnn.nn.edges import EdgeChannels
from sargnn.nn.ensemble import Ensemble
from sargnn.nn.fusion import Fusion
from sargnn.nn.gates import GatedReadout
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.nn.memory import GraphNeuralMemory, InitialMemory, perceptron
from sargnn.nn.norm import make_norm
from sargnn.nn.readouts import READOUTS
from sargnn.nn.saliency import NodeSaliency, UniformSaliency
from sargnn.nn.slots import SlotHeads, TargetSlot

__all__ = ["SARGNN", "VARIANTS", "ModelConfig", "SARConfig"]


@dataclass(frozen=True)
class SARConfig(Hyperparameters):
    """Hyperparameters of SAR models; subclasses say which ``saliency``, ``normalize`` and ``norm`` they know."""

    AT_LEAST = (("edge_channels", 0),)
    backbone: Literal["gcn", "gin", "sage", "gat"] = "gcn"
    """Which layer sums the neighbourhoods."""
    layers: int = 3
    """L, feature-refining layers of the backbone."""
    hidden: int = 64
    """d_H, features of a node after each layer."""
    memory: int | None = None
    """d_M, features of the graph's memory; none: the same as hidden."""
    attention: int | None = None
    """d and d_s, features of queries and keys; none: the same as hidden."""
    saliency: str = "learned"
    """How node saliency is found."""
    readout: Literal["memory", "sum", "all", "salient", "gated"] = "memory"
    """What is classified: the last memory; the sum of the last node features; memory, sum and maximum; the mean
    weighted by one more saliency; or mean and sum of the nodes as far as their gates are open. Of the last two, the
    saliency or the gates are the only ones that are reported."""
    slots: Literal["shared", "target"] = "shared"
    """Whether the readout has one memory and saliency, or one gate, for all outputs, or one for every output; the
    latter with the salient and the gated readout."""
    fusion: Literal["weighted", "scaling"] = "weighted"
    """How saliency enters the weights: weighted sum (eq. regular1) or scaling (eq. regular2)."""
    beta: float = 1.0
    """β of the weighted sum."""
    gamma: float = 1.0
    """γ of the scaling."""
    normalize: str = "softmax"
    """How fused weights are normalised."""
    iterations: int = 1
    """k, memory reads in one layer."""
    memory_heads: int = 1
    """Attention heads of the memory."""
    heads: int = 1
    """Attention heads of GAT."""
    own_weight: bool = False
    """GraphSAGE: one more matrix for the node itself, as in the paper that it comes from."""
    norm: str = "none"
    """Normalisation after each layer of the backbone."""
    activate: bool = False
    """ReLU after the normalisation of each layer: GIN's perceptron ends in a linear map."""
    input_norm: bool = False
    """Batch normalisation of the node inputs."""
    bias: bool = False
    """A bias in the backbone's linear maps, which the equations do not have."""
    dropout: float = 0.0
    """Dropout after each layer of the backbone and inside the classifier."""
    edge_channels: int = 0
    """P, numbers computed per edge that multiply its message (GAT: that enter its attention); 0: none."""
    relative: bool = False
    """Whether edge channels also see the difference of the node inputs at an edge's two ends."""
    members: int = 1
    """Models in the ensemble (:class:`~sargnn.nn.ensemble.Ensemble`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relative and not self.edge_channels:
            raise InputError("model.relative: got true with model.edge_channels = 0, expected 1 or more channels")
        if self.readout == "salient" and self.saliency == "none":
            raise InputError("model.readout: got salient with model.saliency = none, expected learned or another one")
        own_salient = self.readout == "salient" and self.saliency != "uniform"
        if self.slots == "target" and not (own_salient or self.readout == "gated"):
            got = f"model.readout = {self.readout} and model.saliency = {self.saliency}"
            raise InputError(f"model.slots: got target with {got}, expected gated, or salient and learned")
        if self.gamma <= 0:
            raise InputError(f"model.gamma: got {self.gamma}, expected more than 0")
        if self.backbone == "gat" and self.hidden % self.heads:
            raise InputError(f"model.heads: got {self.heads}, expected a divisor of model.hidden = {self.hidden}")

    @property
    def memory_width(self) -> int:
        """d_M."""
        return self.memory or self.hidden

    @property
    def attention_width(self) -> int:
        """d and d_s."""
        return self.attention or self.hidden

    def check_memory_heads(self) -> None:
        """Refuse heads that do not divide the width of queries and keys."""
        if (width := self.attention_width) % self.memory_heads:
            raise InputError(
                f"model.memory_heads: got {self.memory_heads}, expected a divisor of model.attention = {width}"
            )


@dataclass(frozen=True)
class ModelConfig(SARConfig):
    """Hyperparameters of SARGNN. The defaults are the paper's equations.

    >>> ModelConfig(backbone="gin", layers=2).fusion
    'weighted'
    """

    saliency: Literal["learned", "uniform", "random", "none"] = "learned"
    """learned (eq. saliency); uniform or random: ablations; none: the backbone is not regularised."""
    normalize: Literal["softmax", "none"] = "softmax"
    """softmax over each closed neighbourhood (the equations), or none."""
    norm: Literal["none", "batch", "layer"] = "none"
    """Normalisation after each layer of the backbone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_memory_heads()


VARIANTS: dict[str, dict[str, Any]] = {
    "base": {"saliency": "none", "readout": "sum"},
    "gnm-gnn": {"saliency": "none", "readout": "memory"},
    "sar-pooling-w": {"saliency": "learned", "readout": "sum", "fusion": "weighted"},
    "sar-pooling-s": {"saliency": "learned", "readout": "sum", "fusion": "scaling"},
    "sar-gnn-w": {"saliency": "learned", "readout": "memory", "fusion": "weighted"},
    "sar-gnn-s": {"saliency": "learned", "readout": "memory", "fusion": "scaling"},
}
"""The six variants of the paper's Table 1 as values of the config."""


class SARGNN(GraphModel):
    """The Saliency-Aware Regularized Graph Neural Network and, by its config, its variants and base models.

    For layer l = 1..L: ``M = F_M(H, M)`` (eq. fm), ``s = F_S(M, H)`` (eq. compat), ``H = F_B(H, s)`` (eq. backbone).
    One more memory read gives the graph's vector M^{L+1} (see :mod:`~sargnn.nn.readouts` for others); a perceptron
    gives the logits. Edge inputs enter by the edge channels of the config; graph inputs join the graph's vector.

    >>> model = SARGNN(ModelConfig(layers=2, hidden=16), inputs=4, classes=3)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 3])
    """

    layouts = ("compressed", "packed", "padded")
    optional_inputs = ("edge_inputs", "graph_inputs")

    @classmethod
    def build(cls, config: SARConfig, inputs: int, classes: int, **widths: int) -> GraphModel:
        """The model, or the ensemble of ``config.members`` of them."""
        one = super().build
        models = [one(config, inputs, classes, **widths) for _ in range(config.members)]
        return models[0] if config.members == 1 else Ensemble(models)

    def __init__(
        self, config: SARConfig, inputs: int, classes: int, edge_inputs: int = 0, graph_inputs: int = 0
    ) -> None:
        super().__init__()
        self.config = config
        self.graph_inputs = graph_inputs
        c = config
        self.readout = READOUTS[c.readout]
        widths = [inputs] + [c.hidden] * c.layers
        self.fusion = self.make_fusion()
        self.input_norm = make_norm("batch" if c.input_norm else "none", inputs)
        self.backbone = nn.ModuleList(
            BACKBONES[c.backbone](width, c.hidden, c.heads, c.bias, c.edge_channels, c.own_weight)
            for width in widths[:-1]
        )
        self.norms = nn.ModuleList(self.make_norm() for _ in range(c.layers))
        layers = [] if c.saliency == "none" else widths[:-1]
        self.saliency_layers = nn.ModuleList(self.make_saliency(width) for width in layers)
        reads = self._memory_reads()
        self.initial_memory = InitialMemory(c.memory_width) if reads else None
        self.memory_layers = nn.ModuleList(self.make_memory(widths[:reads]))
        own = self.readout.reads_saliency and c.slots == "shared"
        self.readout_saliency = self.make_saliency(c.hidden) if own else None
        self.edge_channels = _edge_channels(c, inputs, edge_inputs)
        slots = classes if c.slots == "target" else 0
        self.gates = nn.ModuleList(
            GatedReadout(inputs, c.hidden, c.layers) for _ in range(slots or 1) if self.readout.reads_gates
        )
        self.slots = nn.ModuleList(
            TargetSlot(self.make_memory([c.hidden])[0], self.make_saliency(c.hidden))
            for _ in range(slots)
            if self.readout.reads_saliency
        )
        vector = self.readout.width(c.hidden, c.memory_width) + graph_inputs
        hidden = self.readout.classifier_width(c.hidden, c.memory_width)
        heads = (self.make_head(vector, hidden, 1) for _ in range(slots))
        self.head = SlotHeads(heads) if slots else self.make_head(vector, hidden, classes)

    def make_fusion(self) -> Fusion:
        """How saliency enters the weights of every layer."""
        c = self.config
        return Fusion(c.fusion, c.beta, c.gamma, "softmax" if c.normalize == "softmax" else "none")

    def make_norm(self) -> nn.Module:
        """The normalisation after a layer of the backbone."""
        return make_norm(self.config.norm, self.config.hidden)

    def make_saliency(self, width: int) -> nn.Module:
        """F_S for node features of ``width``."""
        c = self.config
        if c.saliency == "uniform":
            return UniformSaliency()
        return NodeSaliency(width, c.memory_width, c.attention_width, learned=c.saliency == "learned")

    def make_memory(self, widths: list[int]) -> list[nn.Module]:
        """F_M of each read, for node features of these ``widths``."""
        c = self.config
        sizes = (c.memory_width, c.attention_width, c.iterations, c.memory_heads)
        return [GraphNeuralMemory(width, *sizes) for width in widths]

    def make_head(self, width: int, hidden: int, classes: int) -> nn.Sequential:
        """The classifier of vectors of ``width``."""
        return perceptron(width, hidden, classes, self.config.dropout)

    def _memory_reads(self) -> int:
        """Reads of the memory: L if the saliency compares with it, L + 1 if the readout or its saliency reads it."""
        compared = self.config.saliency not in ("none", "uniform")
        one = self.config.slots == "shared"  # else each slot has the last read for itself
        last = self.readout.of_memory or (self.readout.reads_saliency and compared and one)
        return self.config.layers + 1 if last else self.config.layers if compared else 0

    def encode(self, batch: Batch) -> Encoding:
        """Graph vectors, node features and the saliency of every layer."""
        h = self.input_norm(batch.x, batch)
        channels = None if self.edge_channels is None else self.edge_channels(batch)
        memory = self.initial_memory(batch) if self.initial_memory is not None else None
        saliency: list[Tensor] = []
        features = [h]
        for l, layer in enumerate(self.backbone):
            if l < len(self.memory_layers):
                memory = self.memory_layers[l](h, memory, batch)  # M^l = F_M(H^{l-1}, M^{l-1})
            s = None
            if self.saliency_layers:
                s = self.saliency_layers[l](memory, h, batch)  # s^{l-1} = F_S(M^l, H^{l-1})
                saliency.append(s)
            h = self.norms[l](layer(h, batch, s, self.fusion, channels), batch)  # H^l = F_B(H^{l-1}, s^{l-1})
            h = F.relu(h) if self.config.activate else h
            h = batch.dropout(h, self.config.dropout) if self.training and self.config.dropout else h
            features.append(h)
        if self.gates:
            vectors, gated = zip(*(gate(features, batch) for gate in self.gates), strict=True)
            joined = torch.cat([self._with_graph_inputs(vector, batch) for vector in vectors], dim=-1)
            return Encoding(joined, h, gated)
        if len(self.memory_layers) > len(self.backbone):
            memory = self.memory_layers[-1](h, memory, batch)  # M^{L+1}
        if self.slots:
            saliency = [slot(h, memory, batch) for slot in self.slots]
            vector = torch.cat([self._vector(h, memory, s, batch) for s in saliency], dim=-1)
            return Encoding(vector, h, tuple(saliency))
        s = None
        if self.readout_saliency is not None:
            s = self.readout_saliency(memory, h, batch)
            saliency = [s]
        return Encoding(self._vector(h, memory, s, batch), h, tuple(saliency))

    def _vector(self, h: Tensor, memory: Tensor | None, s: Tensor | None, batch: Batch) -> Tensor:
        """What the readout makes of the nodes, and the inputs of the graph."""
        return self._with_graph_inputs(self.readout.vector(h, memory, s, batch), batch)

    def _with_graph_inputs(self, vector: Tensor, batch: Batch) -> Tensor:
        if not self.graph_inputs:
            return vector
        got = 0 if batch.graph_x is None else batch.graph_x.shape[-1]
        if batch.graph_x is None or got != self.graph_inputs:
            raise InputError(f"got {got} graph inputs, expected {self.graph_inputs} numbers per graph (graph_attr)")
        return torch.cat([vector, batch.graph_x], dim=-1)

    @property
    def saliency_per_output(self) -> bool:
        return self.config.slots == "target"

    def parameter_blocks(self) -> list[list[nn.Parameter]]:
        """The two blocks of alternating training: the backbone, and the memory with saliency and classifier."""
        backbone = [p for part in self.backbone_parts() for p in part.parameters()]
        held = {id(p) for p in backbone}
        return [backbone, [p for p in self.parameters() if id(p) not in held]]

    def backbone_parts(self) -> list[nn.Module]:
        parts = (self.backbone, self.norms, self.input_norm, self.edge_channels)
        return [part for part in parts if part is not None]

    def memory_parameters(self) -> list[nn.Parameter]:
        """M⁰ and all of F_M."""
        parts = (self.initial_memory, self.memory_layers, *(slot.memory for slot in self.slots))
        return [p for part in parts if isinstance(part, nn.Module) for p in part.parameters()]


def _edge_channels(c: SARConfig, inputs: int, edge_inputs: int) -> EdgeChannels | None:
    """The edge channels of the config; refuses channels without inputs, and edge inputs that nothing would read."""
    if edge_inputs and not c.edge_channels:
        raise InputError(
            f"model.edge_channels: got 0 with {edge_inputs} edge inputs (data.edge_encodings), expected 1 or more"
        )
    if c.edge_channels and not (edge_inputs or c.relative):
        raise InputError(
            f"model.edge_channels: got {c.edge_channels} without edge inputs, expected data.edge_encodings that find "
            "some, or model.relative = true"
        )
    return EdgeChannels(c.edge_channels, edge_inputs, inputs if c.relative else 0) if c.edge_channels else None
