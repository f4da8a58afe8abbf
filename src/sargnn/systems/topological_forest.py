r"""Topological forest: histograms of simple node measures, classified by a random forest. No message passing, no
gradient: a baseline that is hard to beat under a strict protocol.

Reference: C. Cai, Y. Wang, "A simple yet effective baseline for non-attributed graph classification", 2018 (local
degree profile, LDP); J. Adamczyk, W. Czech, "Strengthening structural baselines for graph classification using Local
Topological Profile", ICCS 2023 (LTP), and the code published with it; L. Breiman, "Random Forests", 2001.

The node inputs are those of every system and the encoding ``topology`` (:mod:`sargnn.data.features.degree_profiles`):
degree, least, largest, mean and deviation of the neighbours' degrees, and betweenness, Jaccard index and local degree
score of the node's edges. With b bins between the least and the largest value l, h of an input on the training nodes,

.. math::
    g_{ck} = \big|\{ i : \min(\lfloor b\,(x_{ic} - l_c) / (h_c - l_c) \rfloor, b - 1) = k \}\big|, \qquad
    p = \frac{1}{T} \sum_{t=1}^{T} p_{\text{leaf}_t(g)}, \qquad \text{logits} = \log p

where each of the T trees is grown by scikit-learn on a sample of the training graphs drawn with replacement.

Choices:

- The published code has histograms over *edges* of the three measures of edges. Here a node has the mean over its
  edges, so that the profile is a node encoding for every model.
- The published code has bins per *graph*, so that a bin means different values in different graphs. Here bins are those
  of the training nodes; what lies outside counts in the first or last bin.
- Counts are not divided by the number of nodes, as in the published code: the size of a graph is seen.
- The published method sees the structure alone. Here labels and attributes are inputs too;
  ``data.encodings=topology`` leaves them out.
- Forests are fitted in one epoch: of the training config only ``class_weights``, ``sampling`` and ``seed`` matter.
- Trees are stored as arrays, like the weights of other models: nothing in a model folder is unpickled.
- No node scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch, PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import chunks
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding, Hyperparameters
from sargnn.systems.base import PackedModel

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

__all__ = ["Forest", "TopologicalForest", "TopologicalForestConfig"]

AT_ONCE = 512
"""Graphs in a batch while the training graphs are described."""
BORDER = 1e-4
"""Fraction of a bin by which a value counts as above its border: equal values may differ by rounding."""


@dataclass(frozen=True)
class TopologicalForestConfig(Hyperparameters):
    """Hyperparameters of the topological forest; the defaults are the published ones."""

    trees: int = 500
    """T, trees of the forest."""
    bins: int = 50
    """b, bins of the histogram of every node input."""
    leaf: int = 1
    """Training graphs in a leaf at least; more of them make smaller trees."""


class TopologicalForest(PackedModel):
    """Histograms of the node inputs and a forest on them; until it is fitted it finds all classes equally probable.

    >>> model = TopologicalForest(TopologicalForestConfig(), inputs=4, classes=2)
    >>> model(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]])).softmax(1).tolist()
    [[0.5, 0.5]]
    """

    fits_directly = True
    head: Forest
    low: Tensor
    high: Tensor

    def __init__(self, config: TopologicalForestConfig, inputs: int, classes: int) -> None:
        super().__init__()
        self.config = config
        self.head = Forest(inputs * config.bins, classes)
        self.register_buffer("low", torch.zeros(inputs))
        self.register_buffer("high", torch.ones(inputs))

    def encode(self, batch: Batch) -> Encoding:
        """The histograms [B, inputs * bins] as graph vectors."""
        assert isinstance(batch, PackedBatch)
        b, inputs = self.config.bins, batch.x.shape[1]
        spread = torch.where(self.high > self.low, self.high - self.low, 1)
        place = ((batch.x - self.low) / spread * b + BORDER).clamp(0, b - 1).long()
        cell = (batch.graph.unsqueeze(1) * inputs + torch.arange(inputs, device=place.device)) * b + place
        counts = torch.bincount(cell.flatten(), minlength=batch.num_graphs * inputs * b)
        return Encoding(counts.view(batch.num_graphs, inputs * b).to(batch.x.dtype), batch.x, ())

    @torch.no_grad()
    def fit_directly(self, data: TensorSet, graphs: np.ndarray, seed: int, balanced: bool) -> float:
        """Fit bins and trees."""
        from sklearn.ensemble import RandomForestClassifier

        assert data.y is not None
        parts = list(chunks(graphs, AT_ONCE))
        ends = [data.packed(part).x.aminmax(dim=0) for part in parts]
        self.low = torch.stack([low for low, _ in ends]).amin(0).to(self.low)
        self.high = torch.stack([high for _, high in ends]).amax(0).to(self.high)
        described = torch.cat([self.encode(data.packed(part)).graph for part in parts]).float()
        y = data.y[torch.as_tensor(graphs, device=data.device)]
        forest = RandomForestClassifier(
            self.config.trees,
            min_samples_leaf=self.config.leaf,
            class_weight="balanced" if balanced else None,
            random_state=seed % 2**32,
            n_jobs=torch.get_num_threads(),
        ).fit(described.cpu().numpy(), y.cpu().numpy())
        self.head.take(forest)
        parts_of = zip(described.split(AT_ONCE), y.split(AT_ONCE), strict=True)
        losses = [F.cross_entropy(self.head(vectors), own, reduction="sum") for vectors, own in parts_of]
        return float(torch.stack(losses).sum()) / len(graphs)

    def resize_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the size of the forest that ``tensors`` hold; refuse what is no forest."""
        self.head.resize_to({name.removeprefix("head."): value for name, value in tensors.items()})


class Forest(nn.Module):
    """Trees of scikit-learn as tensors, all nodes of all trees in a row.

    From node v a graph goes to ``left[v]`` if its number ``feature[v]`` is at most ``threshold[v]``, else to
    ``right[v]``; a leaf goes to itself. Children come after their parents.
    """

    root: Tensor
    left: Tensor
    right: Tensor
    feature: Tensor

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.width = width
        self.classes = classes
        one_leaf = torch.zeros(1, dtype=torch.long)
        for name in ("root", "left", "right", "feature"):
            self.register_buffer(name, one_leaf.clone())
        self._hold(torch.zeros(1).double(), torch.full((1, classes), 1 / classes).double())

    def _hold(self, threshold: Tensor, shares: Tensor) -> None:
        """What was learnt is a parameter, as in other models, though no gradient reaches it."""
        self.threshold = nn.Parameter(threshold, requires_grad=False)
        self.shares = nn.Parameter(shares, requires_grad=False)

    def forward(self, x: Float[Tensor, "B width"]) -> Float[Tensor, "B classes"]:
        """Logits: the logarithm of :meth:`probabilities`, where 0 is 1e-15."""
        return self.probabilities(x).clamp(min=1e-15).log()

    def probabilities(self, x: Float[Tensor, "B width"]) -> Float[Tensor, "B classes"]:
        """float64: the mean over the trees of the fractions of the classes in the leaf that is reached."""
        x = x.float()  # as scikit-learn compares
        at = self.root.expand(len(x), -1)
        while True:
            low = x.gather(1, self.feature[at]) <= self.threshold[at]
            following = torch.where(low, self.left[at], self.right[at])
            if torch.equal(following, at):
                return self.shares[at].mean(1)
            at = following

    def take(self, forest: RandomForestClassifier) -> None:
        """Become the fitted ``forest``; a class that it never saw has probability 0."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        start = np.cumsum(sizes) - sizes
        own = np.arange(sizes.sum())

        def joined(field: str) -> np.ndarray:
            return np.concatenate([getattr(tree, field) for tree in trees])

        def children(side: str) -> Tensor:
            return torch.from_numpy(np.where(leaf, own, joined(f"children_{side}") + np.repeat(start, sizes)))

        leaf = joined("children_left") < 0
        shares = np.zeros((len(own), self.classes))
        shares[:, forest.classes_] = joined("value")[:, 0]
        shares /= shares.sum(1, keepdims=True)
        device = self.root.device
        self.root = torch.from_numpy(start).to(device)
        self.left, self.right = children("left").to(device), children("right").to(device)
        self.feature = torch.from_numpy(np.where(leaf, 0, joined("feature"))).to(device)
        self._hold(torch.from_numpy(joined("threshold")).to(device), torch.from_numpy(shares).to(device))

    def resize_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the sizes of a stored forest; one that leads out of itself or in a circle is refused."""
        try:
            root, left, right, feature = (tensors[name] for name in ("root", "left", "right", "feature"))
            nodes = len(tensors["threshold"])
            own = torch.arange(nodes)
            sound = (
                all(part.dtype == torch.long for part in (root, left, right, feature))
                and len(left) == len(right) == len(feature) == nodes
                and bool(((left > own) & (right > own) | (left == own) & (right == own)).all())
                and 0 <= int(root.min()) <= int(torch.cat([root, left, right]).max()) < nodes
                and 0 <= int(feature.min()) <= int(feature.max()) < self.width
            )
        except (KeyError, RuntimeError, TypeError):
            sound = False
        if not sound:
            raise InputError("got no sound forest, expected trees whose branches lead on to their leaves")
        device = self.root.device
        self.root, self.left, self.right, self.feature = (
            torch.empty_like(part, device=device) for part in (root, left, right, feature)
        )
        self._hold(self.threshold.new_empty(nodes), self.shares.new_empty(nodes, self.classes))
