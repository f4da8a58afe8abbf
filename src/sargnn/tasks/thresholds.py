"""From which probability on to say yes: where balanced accuracy is highest on graphs that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Ranked", "Threshold", "best_threshold", "thresholds"]

USUAL = 0.5

Ranked = tuple[str, np.ndarray, np.ndarray]
"""What is asked, bool [K] whether it is true of each graph, and its probability [K]; both answers are there."""


@dataclass(frozen=True)
class Threshold:
    """One question, and what its threshold does on other graphs than those that it was chosen on."""

    name: str
    at: float
    usual: float
    """Balanced accuracy from one half on."""
    balanced: float
    """The same from the threshold on."""
    found: float
    """Fraction of the graphs for which yes is right that get a yes."""
    spared: float
    """Fraction of the others that get a no."""


def thresholds(held_out: Sequence[Ranked], others: Sequence[Ranked]) -> list[Threshold]:
    """Chosen on the graphs ``held_out`` and measured on the ``others``, for every question that both can answer."""
    chosen = {name: best_threshold(truth, probability) for name, truth, probability in held_out}
    measured = []
    for name, truth, probability in others:
        if name in chosen:
            (_, _, usual), (found, spared, balanced) = (
                (float(values[0]) for values in _rates(truth, probability, np.array([at])))
                for at in (USUAL, chosen[name])
            )
            measured.append(Threshold(name, chosen[name], usual, balanced, found, spared))
    return measured


def best_threshold(truth: np.ndarray, probability: np.ndarray) -> float:
    """The threshold of highest balanced accuracy: one half, or halfway between two probabilities. Of several that are
    as good it is the one nearest to one half.

    >>> best_threshold(np.array([False, False, True, True]), np.array([0.1, 0.2, 0.3, 0.9]))
    0.25
    """
    distinct = np.unique(np.asarray(probability, np.float64))
    candidates = np.append((distinct[1:] + distinct[:-1]) / 2, USUAL)
    balanced = _rates(truth, probability, candidates)[2]
    best = candidates[balanced > balanced.max() - 1e-12]
    return float(best[np.abs(best - USUAL).argmin()])


def _rates(truth: np.ndarray, probability: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every threshold: the fraction of yes that is found, of no that is spared, and their mean."""
    yes, no = np.sort(probability[truth]), np.sort(probability[~truth])
    found = 1 - np.searchsorted(yes, at) / len(yes)
    spared = np.searchsorted(no, at) / len(no)
    return found, spared, (found + spared) / 2
