"""Random forests of scikit-learn as models: vectors of graphs in, trees as tensors, for every kind of task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import chunks
from sargnn.errors import InputError
from sargnn.nn.graph_model import Hyperparameters, Link
from sargnn.systems.base import PackedModel

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

__all__ = ["Forest", "ForestConfig", "ForestModel"]

AT_ONCE = 512
"""Graphs in a batch while the training graphs are described."""
NUMBER_FEATURES = 1 / 3
"""Fraction of the features that a split of a tree for numbers chooses from, as Breiman recommends."""


@dataclass(frozen=True)
class ForestConfig(Hyperparameters):
    """Hyperparameters of a forest."""

    trees: int = 500
    """T, trees of the forest; of several targets or numbers, of the forest of each."""
    leaf: int = 1
    """Training graphs in a leaf at least; more of them make smaller trees."""


class ForestModel(PackedModel):
    """A model whose graph vectors need no gradient, and a forest on them; until it is fitted it finds all classes
    equally probable. One forest for all classes; several targets, and numbers, have one each, grown on the graphs that
    have the target."""

    fits_directly = True
    head: Forest
    config: Any

    def prepare(self, data: TensorSet, parts: Sequence[np.ndarray]) -> None:
        """Learn what :meth:`encode` needs from the training graphs, part by part."""

    @torch.no_grad()
    def fit_directly(self, data: TensorSet, graphs: np.ndarray, seed: int, balanced: bool) -> float:
        """Grow the trees."""
        assert data.y is not None
        parts = list(chunks(graphs, AT_ONCE))
        self.prepare(data, parts)
        described = torch.cat([self.encode(data.packed(part)).graph for part in parts]).float()
        index = torch.as_tensor(graphs, device=data.device)
        y, x = data.y[index], described.cpu().numpy()
        weights = None if data.weights is None else data.weights[index].cpu().numpy()
        options: dict[str, Any] = {
            "n_estimators": self.config.trees, "min_samples_leaf": self.config.leaf, "random_state": seed % 2**32,
            "n_jobs": torch.get_num_threads(),
        }  # fmt: skip
        if self.link == "softmax":
            self.head.take(_grown(x, y.cpu().numpy(), weights, balanced, options))
        else:
            numbers = self.link == "identity"
            columns = y.cpu().numpy().astype(np.float64).T
            self.head.take_each([_of_target(x, own, weights, balanced, options, numbers) for own in columns])
        return self._loss(described, y) / len(graphs)

    def _loss(self, described: Tensor, y: Tensor) -> float:
        """The sum of the losses of the training graphs; of a graph with several targets, their mean."""
        parts_of = zip(described.split(AT_ONCE), y.split(AT_ONCE), strict=True)
        return float(torch.stack([_loss_of(self.head(vectors), own, self.link) for vectors, own in parts_of]).sum())

    def resize_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the size of the forest that ``tensors`` hold; refuse what is no forest."""
        self.head.resize_to({name.removeprefix("head."): value for name, value in tensors.items()})


def _loss_of(outputs: Tensor, y: Tensor, link: Link) -> Tensor:
    if link == "softmax":
        return F.cross_entropy(outputs, y, reduction="sum")
    there, wanted = ~y.isnan(), y.nan_to_num(0.0)
    if link == "sigmoid":
        losses = F.binary_cross_entropy_with_logits(outputs.to(wanted), wanted, reduction="none")
    else:
        losses = (outputs - wanted).square()
    return ((losses * there).sum(1) / there.sum(1).clamp(min=1)).sum()


def _of_target(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray | None, balanced: bool, options: dict[str, Any], numbers: bool
) -> RandomForestClassifier | RandomForestRegressor:
    """The forest of one target, grown on the graphs that have it."""
    there = ~np.isnan(y)
    if not there.any():  # nothing to learn: as likely as not, or the mean
        x, y, weights, there = (
            np.zeros((2, x.shape[1])),
            np.array([0.0, 0.0 if numbers else 1.0]),
            None,
            np.ones(2, bool),
        )
    own = None if weights is None else weights[there]
    if numbers:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(max_features=NUMBER_FEATURES, **options).fit(x[there], y[there], own)
    return _grown(x[there], y[there].astype(np.int64), own, balanced, options)


def _grown(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray | None, balanced: bool, options: dict[str, Any]
) -> RandomForestClassifier:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(class_weight="balanced" if balanced else None, **options).fit(x, y, weights)


class Forest(nn.Module):
    """Trees of scikit-learn as tensors, all nodes of all trees in a row.

    From node v a graph goes to ``left[v]`` if its number ``feature[v]`` is at most ``threshold[v]``, else to
    ``right[v]``; a leaf goes to itself. Children come after their parents. Classes have one forest, ``root [trees]``,
    and in a leaf the ``shares`` of all classes. Of several targets each has a forest, ``root [T, trees]``, and in a
    leaf the shares of no and yes, or the mean number.
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
        """Logits: the logarithm of the mean shares, where 0 is 1e-15; of targets, that of yes less that of no; of
        numbers, their means."""
        found = self.probabilities(x)
        if found.shape[-1] == 1:
            return found.squeeze(-1)
        logits = found.clamp(min=1e-15).log()
        return logits if self.root.dim() == 1 else logits[..., 1] - logits[..., 0]

    def probabilities(self, x: Float[Tensor, "B width"]) -> Float[Tensor, "B *targets shares"]:
        """float64: the mean over the trees of what stands in the leaf that is reached."""
        x = x.float()  # as scikit-learn compares
        at = self.root.flatten().expand(len(x), -1)
        while True:
            low = x.gather(1, self.feature[at]) <= self.threshold[at]
            following = torch.where(low, self.left[at], self.right[at])
            if torch.equal(following, at):
                return self.shares[at.view(len(x), *self.root.shape)].mean(-2)
            at = following

    def take(self, forest: RandomForestClassifier) -> None:
        """Become the fitted ``forest``; a class that it never saw has probability 0."""
        self._take([forest], self.classes)

    def take_each(self, forests: Sequence[RandomForestClassifier | RandomForestRegressor]) -> None:
        """Become the fitted ``forests``, one for each target."""
        self._take(forests, 2 if hasattr(forests[0], "classes_") else 1)
        self.root = self.root.view(len(forests), -1)

    def _take(self, forests: Sequence[Any], columns: int) -> None:
        trees = [estimator.tree_ for forest in forests for estimator in forest.estimators_]
        of_numbers = np.zeros(1, np.int64)
        classes = [of_numbers if columns == 1 else forest.classes_ for forest in forests for _ in forest.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        start = np.cumsum(sizes) - sizes
        own = np.arange(sizes.sum())

        def joined(field: str) -> np.ndarray:
            return np.concatenate([getattr(tree, field) for tree in trees])

        def children(side: str) -> Tensor:
            return torch.from_numpy(np.where(leaf, own, joined(f"children_{side}") + np.repeat(start, sizes)))

        leaf = joined("children_left") < 0
        shares = np.zeros((len(own), columns))
        for tree, first, seen in zip(trees, start.tolist(), classes, strict=True):
            shares[first : first + tree.node_count, seen] = tree.value[:, 0]
        if columns > 1:
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
            nodes, columns = len(tensors["threshold"]), tensors["shares"].shape[1]
            own = torch.arange(nodes)
            sound = (
                all(part.dtype == torch.long for part in (root, left, right, feature))
                and (columns == self.classes if root.dim() == 1 else len(root) == self.classes and columns in (1, 2))
                and len(left) == len(right) == len(feature) == nodes
                and bool(((left > own) & (right > own) | (left == own) & (right == own)).all())
                and 0 <= int(root.min()) <= int(torch.cat([root.flatten(), left, right]).max()) < nodes
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
        self._hold(self.threshold.new_empty(nodes), self.shares.new_empty(nodes, columns))
