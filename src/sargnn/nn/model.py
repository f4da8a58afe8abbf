"""SARGNN: memory reads the nodes, saliency compares them, the backbone sums with fused weights, layer after layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.errors import InputError
from sargnn.nn.backbones import BACKBONES
from sargnn.nn.edges import EdgeChannels
from sargnn.nn.fusion import Fusion
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.memory import GraphNeuralMemory, InitialMemory, perceptron
from sargnn.nn.norm import make_norm
from sargnn.nn.published import PublishedMemory, SharedBlock
from sargnn.nn.saliency import NodeSaliency, UniformSaliency

__all__ = ["SARGNN", "VARIANTS", "ModelConfig"]


@dataclass(frozen=True)
class ModelConfig:
    """What a model is. The defaults are the paper's equations.

    >>> ModelConfig(backbone="gin", layers=2).fusion
    'weighted'
    """

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
    saliency: Literal["learned", "uniform", "random", "redrawn", "none"] = "learned"
    """learned (eq. saliency); uniform, random or redrawn: ablations; none: the backbone is not regularised."""
    readout: Literal["memory", "sum", "all", "salient"] = "memory"
    """What is classified: the last memory; the sum of the last node features; the memory with their sum and their
    maximum beside it; or their mean weighted by one more saliency, which is then the only one that is reported."""
    fusion: Literal["weighted", "scaling"] = "weighted"
    """How saliency enters the weights: weighted sum (eq. regular1) or scaling (eq. regular2)."""
    beta: float = 1.0
    """β of the weighted sum."""
    gamma: float = 1.0
    """γ of the scaling."""
    normalize: Literal["softmax", "none", "as-published"] = "softmax"
    """softmax over each closed neighbourhood (the equations), none, or the arithmetic of the authors' code."""
    iterations: int = 1
    """k, memory reads in one layer."""
    memory_block: Literal["equation", "as-published"] = "equation"
    """The memory of the equations, or the shared Transformer block of the authors' code."""
    memory_heads: int = 1
    """Attention heads of the memory."""
    heads: int = 1
    """Attention heads of GAT."""
    norm: Literal["none", "batch", "layer", "transductive"] = "none"
    """Normalisation after each layer of the backbone; transductive: batch, by the statistics of the judged batch even
    in eval mode (an ablation)."""
    activate: bool = False
    """ReLU after the normalisation of each layer: GIN's perceptron ends in a linear map."""
    input_norm: bool = False
    """Batch normalisation of the node inputs."""
    bias: bool = False
    """A bias in the backbone's linear maps, which the equations do not have."""
    dropout: float = 0.0
    """Dropout after each layer of the backbone and inside the classifier."""
    edge_channels: int = 0
    """P, numbers made of each edge's inputs that multiply its message (GAT: that enter its attention); 0: none."""
    relative: bool = False
    """Whether edge channels also see the difference of the node inputs at an edge's two ends."""
    members: int = 1
    """Models of this config that learn side by side and vote (:class:`~sargnn.nn.ensemble.Ensemble`)."""

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "iterations", "memory_heads", "heads", "memory", "attention", "members"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"model.{name}: got {value}, expected at least 1")
        if self.edge_channels < 0:
            raise InputError(f"model.edge_channels: got {self.edge_channels}, expected 0 or more")
        if self.relative and not self.edge_channels:
            raise InputError("model.relative: got true with model.edge_channels = 0, expected 1 or more channels")
        if self.readout == "salient" and self.saliency == "none":
            raise InputError("model.readout: got salient with model.saliency = none, expected learned or another one")
        if self.gamma <= 0:
            raise InputError(f"model.gamma: got {self.gamma}, expected more than 0")
        if not 0 <= self.dropout < 1:
            raise InputError(f"model.dropout: got {self.dropout}, expected 0 up to (not including) 1")
        if self.backbone == "gat" and self.hidden % self.heads:
            raise InputError(f"model.heads: got {self.heads}, expected a divisor of model.hidden = {self.hidden}")
        if self.memory_block == "equation" and (self.attention or self.hidden) % self.memory_heads:
            width = self.attention or self.hidden
            raise InputError(
                f"model.memory_heads: got {self.memory_heads}, expected a divisor of model.attention = {width}"
            )


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
    One more memory read gives the graph's vector M^{L+1}; a perceptron gives the logits.

    With ``readout="salient"`` (not in the paper) the last memory only says which nodes matter, ``s = F_S(M^{L+1},
    H^L)``, and the vector is ``[p, p log n]`` with ``p = Σ_j s_j h_j`` over the n nodes: what is not salient is not
    classified.

    ``forward(x, edge_index, batch)`` has PyTorch Geometric's signature and returns logits alone. Edge inputs, of width
    ``edge_inputs``, enter by the edge channels of the config; inputs of whole graphs join the graph's vector.

    >>> model = SARGNN(ModelConfig(layers=2, hidden=16), inputs=4, classes=3)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])).shape
    torch.Size([2, 3])
    """

    layouts = ("compressed", "packed", "padded")

    def __init__(
        self, config: ModelConfig, inputs: int, classes: int, edge_inputs: int = 0, graph_inputs: int = 0
    ) -> None:
        super().__init__()
        self.config = config
        self.graph_inputs = graph_inputs
        c = config
        memory, attention = c.memory or c.hidden, c.attention or c.hidden
        widths = [inputs] + [c.hidden] * c.layers
        self.fusion = Fusion(c.fusion, c.beta, c.gamma, c.normalize)
        self.input_norm = make_norm("batch" if c.input_norm else "none", inputs)
        self.backbone = nn.ModuleList(
            BACKBONES[c.backbone](width, c.hidden, c.heads, c.bias, c.edge_channels) for width in widths[:-1]
        )
        self.norms = nn.ModuleList(make_norm(c.norm, c.hidden) for _ in range(c.layers))
        self.saliency_layers = _saliency_layers(c, widths[:-1], memory, attention)
        reads = _memory_reads(c)
        self.initial_memory = InitialMemory(memory) if reads else None
        self.memory_layers = _memory_layers(c, widths[:reads], memory, attention)
        last = _saliency_layers(c, [c.hidden], memory, attention) if c.readout == "salient" else [None]
        self.readout_saliency = last[0]
        self.edge_channels = _edge_channels(c, inputs, edge_inputs)
        out = {"memory": memory, "sum": c.hidden, "all": memory + 2 * c.hidden, "salient": 2 * c.hidden}[c.readout]
        hidden = (2 if c.memory_block == "as-published" else 1) * (memory if c.readout == "memory" else c.hidden)
        self.head = perceptron(out + graph_inputs, hidden, classes, c.dropout)

    def encode(self, batch: Batch) -> Encoding:
        """Graph vectors, node features and the saliency of every layer."""
        h = self.input_norm(batch.x, batch)
        channels = None if self.edge_channels is None else self.edge_channels(batch)
        memory = self.initial_memory(batch) if self.initial_memory is not None else None
        saliency: list[Tensor] = []
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
        vector, decisive = self._readout(h, memory, batch)
        return Encoding(self._with_graph_inputs(vector, batch), h, decisive or tuple(saliency))

    def _readout(
        self, h: Tensor, memory: Tensor | None, batch: Batch
    ) -> tuple[Float[Tensor, "B d"], tuple[Tensor, ...]]:
        """The vector that is classified and, where it is made by a saliency of its own, that."""
        if self.config.readout == "sum":
            return batch.sum(h), ()
        last = self.memory_layers[-1](h, memory, batch) if self.memory_layers else memory  # M^{L+1}
        if self.readout_saliency is not None:
            s = self.readout_saliency(last, h, batch)
            mean, nodes = batch.pool(s, h), batch.sum(torch.ones_like(h[..., :1]))
            return torch.cat([mean, mean * nodes.clamp(min=1).log()], dim=-1), (s,)
        assert last is not None
        if self.config.readout == "all":
            return torch.cat([last, batch.sum(h), batch.max(h)], dim=-1), ()
        return last, ()

    def _with_graph_inputs(self, vector: Float[Tensor, "B d"], batch: Batch) -> Float[Tensor, "B d_g"]:
        if not self.graph_inputs:
            return vector
        got = 0 if batch.graph_x is None else batch.graph_x.shape[-1]
        if batch.graph_x is None or got != self.graph_inputs:
            raise InputError(f"got {got} graph inputs, expected {self.graph_inputs} numbers a graph (graph_attr)")
        return torch.cat([vector, batch.graph_x], dim=-1)

    def blocks(self) -> list[list[nn.Parameter]]:
        """The two blocks of alternating training: the backbone, and the memory with saliency and classifier."""
        parts = (self.backbone, self.norms, self.input_norm, self.edge_channels)
        backbone = [p for part in parts if part is not None for p in part.parameters()]
        held = {id(p) for p in backbone}
        return [backbone, [p for p in self.parameters() if id(p) not in held]]


def _edge_channels(c: ModelConfig, inputs: int, edge_inputs: int) -> EdgeChannels | None:
    """The edge channels of the config; refuses channels of nothing, and edge inputs that nothing would read."""
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


def _memory_reads(c: ModelConfig) -> int:
    """Layers of memory: L for learned saliency, one more to classify by it or by the nodes that it finds salient, all
    L+1 if only that; none where nothing asks for it, as in the base model."""
    if c.readout in ("sum", "salient") and c.saliency in ("none", "uniform"):
        return 0
    return c.layers if c.readout == "sum" else c.layers + 1


def _memory_layers(c: ModelConfig, widths: list[int], memory: int, attention: int) -> nn.ModuleList:
    if c.memory_block == "as-published":
        shared = SharedBlock(memory, attention, c.memory_heads)
        return nn.ModuleList(PublishedMemory(width, attention, c.iterations, shared) for width in widths)
    return nn.ModuleList(GraphNeuralMemory(width, memory, attention, c.iterations, c.memory_heads) for width in widths)


def _saliency_layers(c: ModelConfig, widths: list[int], memory: int, attention: int) -> nn.ModuleList:
    if c.saliency == "none":
        return nn.ModuleList()
    if c.saliency == "uniform":
        return nn.ModuleList(UniformSaliency() for _ in widths)
    return nn.ModuleList(NodeSaliency(width, memory, attention, c.saliency) for width in widths)
