"""The scores of one target: their values from scikit-learn, and 95 % intervals from graphs drawn with replacement.

An interval needs a score of some hundred resampled sets of graphs. scikit-learn computes one set at a time; here a
resampled set is a row of ``counts [R, n]``, how often it has each graph, and a score is computed for all rows at once.
With every count 1 it is the score itself, which the tests hold against scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sargnn import metrics
from sargnn.tasks.task import Metric

__all__ = [
    "CLASS_METRICS",
    "LOWER",
    "METRICS",
    "NUMBER_METRICS",
    "class_scores",
    "defined_mean",
    "intervals",
    "number_scores",
    "resampled",
]

RESAMPLES = 300
CELLS = 2**21
"""Counts that are held at once."""

Values = dict[str, float | None]
Resampled = dict[str, np.ndarray]
"""By key, one value for each resampled set, NaN where it is not defined."""

CLASS_METRICS = (
    Metric("accuracy", "Accuracy", "{:.1%}"),
    Metric("balanced_accuracy", "Balanced accuracy", "{:.1%}", "mean over classes"),
    Metric("auroc", "AUROC", "{:.3f}"),
    Metric("average_precision", "Average precision", "{:.3f}"),
    Metric("f1", "F1", "{:.3f}"),
    Metric("mcc", "MCC", "{:.3f}", "chance is 0"),
    Metric("brier", "Brier score", "{:.3f}", "lower is better", lower=True),
    Metric("log_loss", "Log loss", "{:.3f}", "lower is better", lower=True),
)
"""Of classes; of two, average precision and F1 are those of the second."""
NUMBER_METRICS = (
    Metric("rmse", "RMSE", "{:.4g}", "root of the mean squared error", lower=True),
    Metric("mae", "MAE", "{:.4g}", "mean absolute error", lower=True),
    Metric("r2", "R²", "{:.3f}", "1 is perfect, the mean alone 0"),
    Metric("spearman", "Spearman", "{:.3f}", "correlation of ranks"),
)
METRICS = {metric.key: metric for metric in CLASS_METRICS + NUMBER_METRICS}
"""By key."""
LOWER = frozenset(key for key, metric in METRICS.items() if metric.lower)
"""Keys of metrics of which a lower value is better."""


def class_scores(true: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray) -> Values:
    """Of true and predicted classes ``[n]`` and probabilities ``[n, C]``; none where a score is not defined.

    >>> found = class_scores(np.array([0, 1]), np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]]))
    >>> found["f1"], round(found["brier"], 2)
    (1.0, 0.1)
    """
    from sklearn.metrics import f1_score, log_loss, matthews_corrcoef

    if not len(true):
        return dict.fromkeys(metric.key for metric in CLASS_METRICS)
    classes = probabilities.shape[1]
    scored = [c for c in _scored(classes) if (true == c).any()]
    several = len(np.unique(true)) > 1
    return {
        "accuracy": metrics.accuracy(true, predicted),
        "balanced_accuracy": metrics.balanced_accuracy(true, predicted),
        "auroc": metrics.auroc(true, probabilities),
        "average_precision": _average_precision(true, probabilities, scored) if several else None,
        "f1": float(f1_score(true, predicted, labels=scored, average="macro", zero_division=0)) if scored else None,
        "mcc": float(matthews_corrcoef(true, predicted)) if several else None,
        "brier": float(_squares(true, probabilities).mean()),
        "log_loss": float(log_loss(true, probabilities, labels=range(classes))),
    }


def number_scores(true: np.ndarray, predicted: np.ndarray) -> Values:
    """Of true and predicted numbers ``[n]``; none where a score is not defined.

    >>> number_scores(np.array([1.0, 2.0]), np.array([1.0, 4.0]))["mae"]
    1.0
    """
    from scipy.stats import spearmanr
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

    if not len(true):
        return dict.fromkeys(metric.key for metric in NUMBER_METRICS)
    spread = bool(np.ptp(true) > 0)
    return {
        "rmse": float(np.sqrt(mean_squared_error(true, predicted))),
        "mae": float(mean_absolute_error(true, predicted)),
        "r2": float(r2_score(true, predicted)) if spread else None,
        "spearman": float(spearmanr(true, predicted).statistic) if spread and np.ptp(predicted) > 0 else None,
    }


def resampled(graphs: int, score: Callable[[np.ndarray], Resampled]) -> Resampled:
    """The scores of :data:`RESAMPLES` sets of ``graphs`` drawn with replacement, always the same ones."""
    parts = [score(counts) for counts in _draws(graphs)]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def intervals(found: Mapping[str, np.ndarray]) -> dict[str, list[float] | None]:
    """The middle 95 % of the resampled values; none where fewer than half of them are defined.

    >>> intervals({"mae": np.arange(101.0)})
    {'mae': [2.5, 97.5]}
    """
    known = {key: values[np.isfinite(values)] for key, values in found.items()}
    return {
        key: np.percentile(values, (2.5, 97.5)).tolist() if 2 * len(values) > len(found[key]) else None
        for key, values in known.items()
    }


def resampled_classes(
    true: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray, counts: np.ndarray
) -> Resampled:
    """:func:`class_scores` of the sets that have each graph ``counts [R, n]`` times."""
    classes = probabilities.shape[1]
    is_true = _one_hot(true, classes)
    total, own, said = counts.sum(1), counts @ is_true, counts @ _one_hot(predicted, classes)
    hits = counts @ (is_true * (true == predicted)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt((total**2 - (said**2).sum(1)) * (total**2 - (own**2).sum(1)))
        mcc = (hits.sum(1) * total - (own * said).sum(1)) / spread
        scored = _scored(classes)
        f1 = np.where(own > 0, 2 * hits / (own + said), np.nan)[:, scored]
        truth = np.clip(probabilities[np.arange(len(true)), true], np.finfo(float).eps, 1)
        areas = [_areas(true == c, probabilities[:, c], counts) for c in scored]
        return {
            "accuracy": hits.sum(1) / total,
            "balanced_accuracy": defined_mean(hits / own),
            "auroc": defined_mean(np.stack([area for area, _ in areas], axis=1)),
            "average_precision": defined_mean(np.stack([area for _, area in areas], axis=1)),
            "f1": defined_mean(f1),
            "mcc": np.where((own > 0).sum(1) > 1, np.where(spread > 0, mcc, 0.0), np.nan),
            "brier": counts @ _squares(true, probabilities) / total,
            "log_loss": counts @ -np.log(truth) / total,
        }


def resampled_numbers(true: np.ndarray, predicted: np.ndarray, counts: np.ndarray) -> Resampled:
    """:func:`number_scores` of the sets that have each graph ``counts [R, n]`` times."""
    error, centred = predicted - true, true - (true.mean() if len(true) else 0.0)
    total = counts.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = counts @ error**2 / total
        spread = counts @ centred**2 / total - (counts @ centred / total) ** 2
        spread = np.where(spread > 1e-12 * np.square(centred).mean() if len(true) else False, spread, np.nan)
        ranks = _ranks(true, counts), _ranks(predicted, counts)
        return {
            "rmse": np.sqrt(square),
            "mae": counts @ np.abs(error) / total,
            "r2": 1 - square / spread,
            "spearman": _correlation(*ranks, counts),
        }


def _scored(classes: int) -> list[int]:
    """The classes whose scores against the rest are averaged: the second of two, or all."""
    return [1] if classes == 2 else list(range(classes))


def _average_precision(true: np.ndarray, probabilities: np.ndarray, scored: list[int]) -> float | None:
    from sklearn.metrics import average_precision_score

    return float(np.mean([average_precision_score(true == c, probabilities[:, c]) for c in scored]))


def _squares(true: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Of each graph; as in scikit-learn, of two classes those of the second alone."""
    squares = np.square(probabilities - _one_hot(true, probabilities.shape[1])).sum(axis=1)
    return np.asarray(squares / 2 if probabilities.shape[1] == 2 else squares)


def _one_hot(codes: np.ndarray, classes: int) -> np.ndarray:
    """float64 [n, C]."""
    return np.asarray(codes[:, None] == np.arange(classes), np.float64)


def _draws(graphs: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    rows = max(1, min(RESAMPLES, CELLS // max(graphs, 1)))
    for start in range(0, RESAMPLES, rows):
        some = min(rows, RESAMPLES - start)
        drawn = rng.integers(0, max(graphs, 1), (some, graphs)) + np.arange(some)[:, None] * graphs
        yield np.bincount(drawn.ravel(), minlength=some * graphs).reshape(some, graphs).astype(np.float64)


def _areas(positive: np.ndarray, score: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The area under the ROC curve and the average precision ``[R]``."""
    order = np.argsort(-score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=np.nan) != 0)
    ups = np.add.reduceat(counts[:, order] * positive[order], starts, axis=1)  # equal scores together
    downs = np.add.reduceat(counts[:, order] * ~positive[order], starts, axis=1)
    above, below = ups.cumsum(1), downs.cumsum(1)
    total, others = above[:, -1], below[:, -1]
    both = np.where((total > 0) & (others > 0), total, np.nan)
    area = 1 - (ups * (below - downs / 2)).sum(1) / (both * others)
    precision = above / np.maximum(above + below, 1)
    return area, (ups * precision).sum(1) / both


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean rank ``[R, n]`` of each value among those drawn."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)
    group = np.cumsum(np.isin(np.arange(len(values)), starts)) - 1
    tied = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.empty_like(counts)
    ranks[:, order] = (tied.cumsum(1) - tied / 2)[:, group]
    return ranks


def _correlation(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    total = counts.sum(1, keepdims=True)
    x, y = (values - (counts * values).sum(1, keepdims=True) / total for values in (x, y))
    spread = np.sqrt((counts * x**2).sum(1) * (counts * y**2).sum(1))
    return np.asarray((counts * x * y).sum(1) / np.where(spread > 0, spread, np.nan))


def defined_mean(values: np.ndarray) -> np.ndarray:
    """The mean over the columns that are defined."""
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0).sum(1) / np.where(known.any(1), known.sum(1), np.nan))
