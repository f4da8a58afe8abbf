"""The Graph Neural Memory F_M (eq. memory): a compact vector of the whole graph, distilled by cross-attention."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch

__all__ = ["GraphNeuralMemory", "InitialMemory", "absorbed", "perceptron"]


class GraphNeuralMemory(nn.Module):
    r"""One layer of the memory: reads the nodes into the graph's vector, ``k`` times over.

    .. math::
        q_m &= M^{l-1} W^q, \quad K = H^{l-1} W^K, \quad V = H^{l-1} W^V \\
        M' &= \mathrm{softmax}(q_m K^\top / \sqrt{d}) V, \qquad M^l = M^{l-1} + F_{MLP}(M')

    The residual joins adjacent *layers*: with ``k > 1`` iterations it is added once, after the last.
    K and V are never formed, by the identities q_m Kᵀ = (q_m W^Kᵀ) Hᵀ and (a V) = (a H) W^V: two products of size N x
    d x d become B x d x d.

    Args:
        width: d_H, features of a node.
        memory: d_M, features of the memory.
        attention: d, features of queries, keys and values.
        iterations: k.
        heads: attention heads, each with d / heads features; 1 is the paper's equation.

    Shapes: node features ``[*nodes, d_H]``, memory ``[B, d_M]``; gives memory ``[B, d_M]``.

    >>> from sargnn.batching import PackedBatch
    >>> batch = PackedBatch.from_edges(torch.randn(5, 3), torch.tensor([[0, 1], [1, 0]]))
    >>> GraphNeuralMemory(3, 8, 8)(batch.x, torch.zeros(1, 8), batch).shape
    torch.Size([1, 8])
    """

    def __init__(self, width: int, memory: int, attention: int, iterations: int = 1, heads: int = 1) -> None:
        super().__init__()
        self.iterations = iterations
        self.heads = heads
        self.query = nn.Linear(memory, attention, bias=False)
        self.key = nn.Linear(width, attention, bias=False)
        self.value = nn.Linear(width, attention, bias=False)
        self.mlp = perceptron(attention, attention, memory)

    def forward(
        self, h: Float[Tensor, "*nodes d_H"], memory: Float[Tensor, "B d_M"], batch: Batch
    ) -> Float[Tensor, "B d_M"]:
        read = memory
        for _ in range(self.iterations):
            read = self.mlp(self.attend(h, read, batch)) if self.heads > 1 else self._refine(self._read(h, read, batch))
        return memory + read

    def attend(
        self, h: Float[Tensor, "*nodes d_H"], memory: Float[Tensor, "B d_M"], batch: Batch
    ) -> Float[Tensor, "B d"]:
        """M' = softmax(q_m Kᵀ / √d) V, head by head (eq. memory)."""
        if self.heads > 1:
            return self._attend_by_heads(h, memory, batch)
        values: Tensor = self.value(self._read(h, memory, batch))  # (a H) W^V
        return values

    def _read(self, h: Tensor, memory: Tensor, batch: Batch) -> Tensor:
        """a H with a = softmax(q_m Kᵀ / √d)  [B, d_H]"""
        return batch.read(absorbed(memory, self.query, self.key), h)

    def _refine(self, read: Tensor) -> Tensor:
        """F_MLP((a H) W^V), where W^V and the first map of F_MLP are one chain of matrices."""
        first, activation, second = self.mlp
        assert isinstance(first, nn.Linear)
        refined: Tensor = second(activation(chained(read, self.value.weight.mT, first.weight.mT) + first.bias))
        return refined

    def _attend_by_heads(self, h: Tensor, memory: Tensor, batch: Batch) -> Tensor:
        per_head = self.query.out_features // self.heads
        key = self.key.weight.view(self.heads, per_head, -1)
        value = self.value.weight.view(self.heads, per_head, -1)
        q = self.query(memory).view(-1, self.heads, per_head).transpose(0, 1)
        scores = batch.compare(q @ key, h) * per_head**-0.5  # q_m Kᵀ  [heads, *nodes]
        read = batch.pool(batch.softmax_nodes(scores), h)  # a H  [heads, B, d_H]
        return (read @ value.mT).transpose(0, 1).flatten(1)  # (a H) W^V  [B, d]


class InitialMemory(nn.Module):
    """M⁰: one learnable vector, the same for every graph, drawn from N(0, 1)."""

    def __init__(self, memory: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(memory))

    def forward(self, batch: Batch) -> Float[Tensor, "B d_M"]:
        return self.vector.expand(batch.num_graphs, -1)


def absorbed(memory: Float[Tensor, "B d_M"], query: nn.Linear, key: nn.Linear) -> Float[Tensor, "B d_H"]:
    """M W^q W^Kᵀ / √d: what to compare node features with, instead of queries with keys."""
    scale: float = query.out_features**-0.5
    return chained(memory, query.weight.mT, key.weight) * scale


def chained(x: Float[Tensor, "B a"], first: Float[Tensor, "a b"], second: Float[Tensor, "b c"]) -> Float[Tensor, "B c"]:
    """x first second, in the cheaper order: the matrices first where there are more graphs than features, and where the
    code is traced, which must leave the number of graphs open.

    ``torch.linalg.multi_dot`` does the same, but takes longer to decide than to multiply.
    """
    (rows, a), (b, c) = x.shape, second.shape
    matrices_first = torch.compiler.is_compiling() or a * c * (b + rows) < rows * b * (a + c)
    return x @ (first @ second) if matrices_first else x @ first @ second


def perceptron(width: int, hidden: int, out: int, dropout: float = 0.0) -> nn.Sequential:
    """F_MLP: two fully connected layers with ReLU between them."""
    middle = [nn.ReLU(), nn.Dropout(dropout)] if dropout else [nn.ReLU()]
    return nn.Sequential(nn.Linear(width, hidden), *middle, nn.Linear(hidden, out))
