r"""How good an explanation is: pure functions of arrays, each with its formula.

Scores are numbers of 0 or more, one per node; ``node_graph`` is the graph of each node, in order. ``p`` are class
probabilities [G, C] of whole graphs, ``p_kept`` of explanations alone, ``p_removed`` of graphs without them, and ŷ is
the class predicted for the whole graph. Functions give one number per graph, NaN where it is undefined;
:func:`interval` gives their mean and its confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from sargnn.data.graphs import EDGE_ARRAYS, NODE_ARRAYS, GraphSet, sort_edges
from sargnn.explain.masking import check_nodes
from sargnn.metrics import node_auc

__all__ = [
    "Interval", "agreement", "changed", "characterization", "interval", "node_aucs", "precision_at_k",
    "probability_drop", "random_scores", "relabelled", "relabelling_error", "stability", "unfaithfulness",
]  # fmt: skip

RESAMPLES = 1000


class Interval(NamedTuple):
    """A mean over graphs and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def interval(values: np.ndarray, seed: int = 0) -> Interval | None:
    """Mean over the graphs where the value is defined, with the percentiles 2.5 and 97.5 of means of graphs drawn with
    replacement; none where no graph has a value.

    >>> interval(np.array([1.0, 1.0, np.nan]))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    drawn = np.random.default_rng(seed).integers(len(known), size=(RESAMPLES, len(known)))
    low, high = np.percentile(known[drawn].mean(axis=1), [2.5, 97.5])
    return Interval(float(known.mean()), float(low), float(high))


# By the predictions of the model


def changed(p: np.ndarray, p_masked: np.ndarray) -> np.ndarray:
    r"""[G]: 1 where another class is predicted, :math:`1 - \mathbb 1(\hat y^{masked} = \hat y)`.

    Its mean is fidelity+ for ``p_removed`` (high: what was removed was needed) and fidelity- for ``p_kept`` (low: what
    was kept suffices), both of GraphFramEx for explanations of the model.

    >>> changed(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[0.2, 0.8], [0.3, 0.7]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(p.argmax(axis=1) != p_masked.argmax(axis=1), float)


def probability_drop(p: np.ndarray, p_masked: np.ndarray) -> np.ndarray:
    r"""[G]: :math:`p_{\hat y} - p^{masked}_{\hat y}`, fidelity+ and fidelity- by probability; may be negative.

    >>> probability_drop(np.array([[0.75, 0.25]]), np.array([[0.5, 0.5]])).tolist()
    [0.25]
    """
    rows, predicted = np.arange(len(p)), p.argmax(axis=1)
    return np.asarray(p[rows, predicted] - p_masked[rows, predicted])


def characterization(plus: float, minus: float, weight: float = 0.5) -> float:
    r"""The weighted harmonic mean of fidelity+ and 1 - fidelity-, 0 where either is 0 (GraphFramEx):

    .. math:: \left(\frac{w}{fid_+} + \frac{1 - w}{1 - fid_-}\right)^{-1}

    >>> round(characterization(0.5, 0.5), 6), characterization(0.0, 0.1)
    (0.5, 0.0)
    """
    if plus <= 0 or minus >= 1:
        return 0.0
    return 1 / (weight / plus + (1 - weight) / (1 - minus))


def unfaithfulness(p: np.ndarray, p_kept: np.ndarray) -> np.ndarray:
    r"""[G]: :math:`1 - \exp(-KL(p \| p_{kept}))`, 0 (faithful) to 1 (GraphXAI).

    PyTorch Geometric documents this formula and computes the divergence the other way round, KL(p_kept ‖ p).

    >>> unfaithfulness(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])).tolist()
    [0.0]
    """
    tiny = np.finfo(float).tiny
    terms = p * (np.log(np.maximum(p, tiny)) - np.log(np.maximum(p_kept, tiny)))
    return np.asarray(1 - np.exp(-np.maximum(terms.sum(axis=1), 0)))


# Against a known truth


def node_aucs(scores: np.ndarray, truth: np.ndarray, node_graph: np.ndarray) -> np.ndarray:
    """[G]: the area under the ROC curve of each graph's own nodes, which is the chance that a node that matters
    (``truth > 0``) scores above one that does not; NaN where all nodes matter or none.

    >>> node_aucs(np.array([0.7, 0.2, 0.1, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 0, 0, 1])).tolist()
    [1.0, nan]
    """
    areas = [node_auc(s, t, np.zeros(len(s), np.int64)) for s, t in _by_graph(node_graph, scores=scores, truth=truth)]
    return np.array([np.nan if area is None else area for area in areas])


def precision_at_k(scores: np.ndarray, truth: np.ndarray, node_graph: np.ndarray, k: int | None = None) -> np.ndarray:
    r"""[G]: the fraction of the k nodes of highest score that matter, :math:`|top_k \cap T| / k`.

    By default k is the number of nodes that matter in each graph, so that 1 can be reached and a random ranking reaches
    their fraction. Ties count by their expectation over all ways to break them. NaN where all nodes matter or none.

    >>> precision_at_k(np.array([0.9, 0.5, 0.5]), np.array([1, 1, 0]), np.zeros(3, int)).tolist()
    [0.75]
    """
    return np.array([_precision(s, t > 0, k) for s, t in _by_graph(node_graph, scores=scores, truth=truth)])


def _precision(scores: np.ndarray, matters: np.ndarray, k: int | None) -> float:
    true = int(matters.sum())
    if true in (0, len(scores)):
        return float("nan")
    top = min(k or true, len(scores))
    last = np.sort(scores)[-top]
    above, tied = scores > last, scores == last
    chance = (top - above.sum()) / tied.sum()
    return float((matters & above).sum() + chance * (matters & tied).sum()) / top


# Against other explanations


def agreement(one: np.ndarray, other: np.ndarray, node_graph: np.ndarray) -> np.ndarray:
    """[G]: Spearman's rank correlation of two explanations over the nodes of each graph, ties with their mean rank; NaN
    where one of them does not distinguish any nodes.

    >>> agreement(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]), np.zeros(3, int)).tolist()
    [-1.0]
    """
    return np.array([_spearman(a, b) for a, b in _by_graph(node_graph, scores=one, others=other)])


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    a, b = rankdata(a), rankdata(b)
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / norm) if norm > 0 else float("nan")


def stability(maps: Sequence[np.ndarray], node_graph: np.ndarray) -> np.ndarray:
    """[G]: the mean agreement of all pairs of maps, of one explainer with different seeds."""
    pairs = [agreement(a, b, node_graph) for a, b in combinations(maps, 2)]
    return np.mean(pairs, axis=0) if pairs else np.full(int(node_graph.max()) + 1, np.nan)


def relabelled(graphs: GraphSet, seed: int = 0) -> tuple[GraphSet, np.ndarray]:
    """The same graphs with their nodes in another order, and for each of their nodes [N] the row it had before."""
    order = np.lexsort((np.random.default_rng(seed).random(graphs.num_nodes), graphs.node_graph))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    starts = graphs.node_ptr[graphs.edge_graph]
    source, target = place[graphs.edges + starts] - starts
    edges, _ = sort_edges(graphs.edge_graph, source, target, len(graphs))
    moved: dict[str, Any] = {"edges": np.stack([source, target])[:, edges].astype(np.int32)}
    for names, rows in ((NODE_ARRAYS, order), (EDGE_ARRAYS, edges)):
        for name in names:
            value = getattr(graphs, name)
            moved[name] = None if value is None else value[rows]
    return replace(graphs, **moved), order


def relabelling_error(scores: np.ndarray, scores_relabelled: np.ndarray, order: np.ndarray) -> float:
    """The largest difference between a node's score and its score after :func:`relabelled`, relative to the largest
    score: 0 for an explainer that does not depend on the order of nodes.

    >>> relabelling_error(np.array([0.1, 0.9]), np.array([0.9, 0.1]), np.array([1, 0]))
    0.0
    """
    check_nodes(scores_relabelled, scores, "scores")
    largest = np.abs(scores).max(initial=np.finfo(float).tiny)
    return float(np.abs(scores[order] - scores_relabelled).max(initial=0) / largest)


def random_scores(nodes: int, seed: int = 0) -> np.ndarray:
    """The baseline of explainers: a random number from [0, 1) for every node."""
    return np.random.default_rng(seed).random(nodes)


def _by_graph(node_graph: np.ndarray, **values: np.ndarray) -> zip[tuple[np.ndarray, ...]]:
    """The named values of the nodes of each graph."""
    for name, value in values.items():
        check_nodes(value, node_graph, name)
    starts = np.flatnonzero(np.diff(node_graph)) + 1
    return zip(*(np.split(value, starts) for value in values.values()), strict=True)
