"""Scores of predictions and of saliency: pure functions of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import sqrt

import numpy as np

__all__ = ["accuracy", "auroc", "balanced_accuracy", "confusion", "mean_found", "node_auc", "wilson_interval"]


def accuracy(true: np.ndarray, predicted: np.ndarray) -> float:
    """Fraction of graphs whose predicted class is the true one.

    >>> accuracy(np.array([0, 1, 1]), np.array([0, 1, 0]))
    0.6666666666666666
    """
    return float(np.mean(true == predicted))


def wilson_interval(fraction: float, graphs: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a fraction of ``graphs`` independent trials, always inside 0..1.

    >>> low, high = wilson_interval(1.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    from scipy.stats import norm  # which loads for a second, and predictions need no scores

    z = float(norm.ppf((1 + confidence) / 2))
    centre = fraction + z * z / (2 * graphs)
    spread = z * sqrt(fraction * (1 - fraction) / graphs + z * z / (4 * graphs * graphs))
    scale = 1 + z * z / graphs
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def confusion(true: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """int64 [C, C]: the number of graphs of true class (row) predicted as class (column).

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), 2).tolist()
    [[1, 0], [1, 1]]
    """
    return np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def balanced_accuracy(true: np.ndarray, predicted: np.ndarray) -> float:
    """Mean over the classes present of the fraction of their graphs that were found.

    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    return mean_found(confusion(true, predicted, int(max(true.max(), predicted.max())) + 1))


def mean_found(counts: np.ndarray) -> float:
    """The balanced accuracy of a confusion matrix, which may be the sum of several.

    >>> mean_found(np.array([[35, 0], [5, 0]]))
    0.5
    """
    graphs = counts.sum(axis=1)
    return float(np.mean((counts.diagonal() / np.maximum(graphs, 1))[graphs > 0]))


def auroc(true: np.ndarray, probabilities: np.ndarray) -> float | None:
    """Area under the ROC curve: of class 1 for two classes, else the mean of each class against the rest.

    None where it is undefined: a class has no graph, or all.

    >>> auroc(np.array([0, 1]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    1.0
    """
    classes = range(1, 2) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    return _mean_known(_rank_auc(true == c, probabilities[:, c]) for c in classes)


def node_auc(saliency: np.ndarray, truth: np.ndarray, node_graph: np.ndarray) -> float | None:
    """How well saliency ranks the nodes that matter (``truth > 0``) above the others, inside each graph.

    The mean over graphs of the area under the ROC curve of the graph's own nodes; graphs in which all nodes matter or
    none does are left out. Pooling the nodes of all graphs would mostly compare graph sizes, since saliency sums to 1.

    >>> node_auc(np.array([0.7, 0.2, 0.1]), np.array([3.0, 0.0, 0.0]), np.array([0, 0, 0]))
    1.0
    """
    bounds = [0, *(np.flatnonzero(node_graph[1:] != node_graph[:-1]) + 1).tolist(), len(node_graph)]
    return _mean_known(_rank_auc(truth[start:end] > 0, saliency[start:end]) for start, end in pairwise(bounds))


def _mean_known(areas: Iterable[float | None]) -> float | None:
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


def _rank_auc(positive: np.ndarray, score: np.ndarray) -> float | None:
    """Mann-Whitney: the probability that a positive scores above a negative, ties counting half. It equals
    scikit-learn's ``roc_auc_score``, which takes thirty times as long for one small graph."""
    from scipy.stats import rankdata

    ups = int(positive.sum())
    downs = len(positive) - ups
    if not ups or not downs:
        return None
    ranks = rankdata(score)[positive].sum()
    return float((ranks - ups * (ups + 1) / 2) / (ups * downs))
