"""Node saliency F_S (eq. saliency): how much each node resembles the graph's own vector."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.nn.memory import absorbed

__all__ = ["NodeSaliency", "UniformSaliency"]


class NodeSaliency(nn.Module):
    r"""A distribution over the nodes of each graph.

    .. math::
        q_s = M^l W^q_s, \quad K_s = H^{l-1} W^K_s, \qquad s^{l-1} = \mathrm{softmax}(q_s K_s^\top / \sqrt{d_s})

    Args:
        width: d_H, features of a node.
        memory: d_M, features of the memory.
        attention: d_s, features of the common space.
        learned: whether the projections are trained (the paper); if not, they stay as they were drawn, an ablation.

    Shapes: memory ``[B, d_M]``, node features ``[*nodes, d_H]``; gives saliency ``[*nodes]``, a distribution over the
    nodes of each graph.

    >>> import torch
    >>> from sargnn.batching import PackedBatch
    >>> batch = PackedBatch.from_edges(torch.randn(5, 3), torch.tensor([[0, 1], [1, 0]]))
    >>> round(NodeSaliency(3, 8, 8)(torch.randn(1, 8), batch.x, batch).sum().item(), 4)
    1.0
    """

    def __init__(self, width: int, memory: int, attention: int, learned: bool = True) -> None:
        super().__init__()
        self.query = nn.Linear(memory, attention, bias=False)
        self.key = nn.Linear(width, attention, bias=False)
        if not learned:
            self.requires_grad_(False)

    def forward(
        self, memory: Float[Tensor, "B d_M"], h: Float[Tensor, "*nodes d_H"], batch: Batch
    ) -> Float[Tensor, "*nodes"]:
        # q_s K_sᵀ / √d_s = (M W^q_s W^K_sᵀ / √d_s) Hᵀ: K_s is never formed.
        return batch.resemblance(absorbed(memory, self.query, self.key), h)


class UniformSaliency(nn.Module):
    """Every node alike, s = 1/N: the ablation that takes the saliency away and leaves the fusion. Reads no memory."""

    def forward(
        self, memory: Float[Tensor, "B d_M"] | None, h: Float[Tensor, "*nodes d_H"], batch: Batch
    ) -> Float[Tensor, "*nodes"]:
        return batch.uniform
