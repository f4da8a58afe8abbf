r"""SLIM: structural landmarks shared by all graphs; a graph is how much of each it has and how they are joined in it.

Reference: Y. Zhu, K. Zhang, J. Wang, H. Ling, J. Zhang, H. Zha, "Structural Landmarking and Interaction Modelling: A
SLIM Network for Graph Classification", AAAI 2022 (arXiv 2006.15763), and the code of the arXiv version.

.. math::
    z_i &= \tanh(W\,\mathrm{BN}([x_i \| (A x)_i \| \dots \| (A^k x)_i]) + b), \qquad
    q_{ik} \propto \frac{1}{1 + \|z_i - \mu_k\|^2}, \quad \textstyle\sum_k q_{ik} = 1 \\
    p &= q^T 1, \qquad C = \frac{q^T A\, q}{p\, p^T}

Each node's surroundings become a point z, softly assigned to K landmarks μ; p is how much of each landmark a graph has
and C the density of edges between them. The upper triangle of C and p are classified by a perceptron. The landmarks are
also drawn together as in deep clustering: 0.1 times

.. math::
    \frac{1}{N K} \sum_{ik} t_{ik} \log \frac{t_{ik}}{q_{ik}}, \qquad t_{ik} \propto \frac{q_{ik}^2}{\sum_i q_{ik}}

joins the loss in training, with t held fixed.

Choices:

- The code has a fixed z = ReLU([x, 90 A³ x]); the papers learn one layer. Sums over walks reach thousands on dense
  graphs, which would make q uniform or one-hot: they are batch-normalised.
- The code initialises landmarks by K-means over all nodes, test nodes included; here they are normal random numbers.
- The code's head is five linear maps in a row; here a perceptron.
- Dividing by p pᵀ loses the size of a graph, so p is an input too (as in the code for PROTEINS alone).
- t is computed over the batch, not once per epoch over the whole set, and without the gradient that the code leaves in.
- The further loss of the AAAI version, which keeps near nodes near, is not here.
- No node scores; q says which landmark a node belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sargnn.batching import Batch
from sargnn.nn.graph_model import Encoding, GraphModel, Hyperparameters
from sargnn.nn.memory import perceptron
from sargnn.nn.norm import BatchNorm
from sargnn.systems.base import real_nodes

__all__ = ["SLIM", "SLIMConfig", "assignment", "clustering_loss", "interactions"]


@dataclass(frozen=True)
class SLIMConfig(Hyperparameters):
    """Hyperparameters of SLIM."""

    AT_LEAST = (("hops", 0), ("clustering", 0))
    landmarks: int = 20
    """K; published: 100."""
    hops: int = 3
    """k, how far a node's surroundings reach."""
    hidden: int = 32
    """Features of z."""
    classifier: int = 64
    """Features of the classifier's hidden layer."""
    clustering: float = 0.1
    """Weight of the clustering loss."""
    dropout: float = 0.0
    """Dropout inside the classifier."""


class SLIM(GraphModel):
    """Landmarks, their masses and their interactions."""

    def __init__(self, config: SLIMConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        width, k = (config.hops + 1) * inputs, config.landmarks
        self.norm = BatchNorm(width)
        self.transform = nn.Linear(width, config.hidden)
        self.landmarks = nn.Parameter(torch.randn(k, config.hidden) / 2)
        self.head = perceptron(k * (k + 1) // 2 + k, config.classifier, classes, config.dropout)

    def encode(self, batch: Batch) -> Encoding:
        walks = [batch.x]
        for _ in range(self.config.hops):
            walks.append(batch.aggregate(batch.between, walks[-1]))
        z = self.transform(self.norm(torch.cat(walks, dim=-1), batch)).tanh()
        q = assignment(z, self.landmarks) * real_nodes(batch).unsqueeze(-1)
        mass, density = interactions(q, batch)
        row, column = torch.triu_indices(self.config.landmarks, self.config.landmarks, device=z.device)
        vector = torch.cat([density[..., row, column], mass], dim=-1)
        clusters = self.training and self.config.clustering
        return Encoding(vector, z, loss=self.config.clustering * clustering_loss(q) if clusters else None)


def assignment(z: Float[Tensor, "*nodes d"], landmarks: Float[Tensor, "K d"]) -> Float[Tensor, "*nodes K"]:
    """q: how much each node belongs to each landmark.

    >>> assignment(torch.tensor([[0.0], [1.0]]).double(), torch.tensor([[0.0], [3.0]])).round(decimals=4).tolist()
    [[0.9091, 0.0909], [0.7143, 0.2857]]
    """
    kernel = 1 / (1 + (z.unsqueeze(-2) - landmarks).square().sum(-1))
    return kernel / kernel.sum(-1, keepdim=True)


def interactions(q: Float[Tensor, "*nodes K"], batch: Batch) -> tuple[Float[Tensor, "B K"], Float[Tensor, "B K K"]]:
    """p = qᵀ 1 and C = qᵀ A q / p pᵀ of every graph."""
    mass = batch.sum(q)
    pairs = q.unsqueeze(-1) * batch.aggregate(batch.between, q).unsqueeze(-2)
    joined = batch.sum(pairs.flatten(-2)).unflatten(-1, (q.shape[-1], -1))
    return mass, joined / (mass.unsqueeze(-1) * mass.unsqueeze(-2)).clamp(min=1e-6)


def clustering_loss(q: Float[Tensor, "*nodes K"]) -> Float[Tensor, ""]:
    """The mean over nodes and landmarks of t log(t / q), t ∝ q² / Σ_i q held fixed; rows of zeros are padding."""
    q = q.flatten(0, -2)
    with torch.no_grad():
        target = q.square() / q.sum(0).clamp(min=1e-12)
        target = target / target.sum(1, keepdim=True).clamp(min=1e-12)
    tiny = torch.finfo(q.dtype).tiny
    real = (q.sum(1) > 0).sum().clamp(min=1)
    terms = torch.xlogy(target, target.clamp(min=tiny)) - target * q.clamp(min=tiny).log()
    return terms.sum() / (real * q.shape[1])
