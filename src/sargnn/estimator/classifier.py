"""GraphClassifier: one class per graph, or several binary targets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sargnn.data.graphs import GraphSet
from sargnn.data.relabel import require_every_class
from sargnn.errors import InputError
from sargnn.estimator.base import GraphEstimator
from sargnn.estimator.inputs import columns_of, graphs_of, with_targets, with_weights
from sargnn.tasks import Classification, Multilabel, Task
from sargnn.training.settings import DEFAULT_MODEL, Settings

__all__ = ["GraphClassifier"]


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs, in scikit-learn's way: into one of several classes, or by several binary targets.

    ``X`` is whatever :func:`sargnn.load` takes: a :class:`GraphSet`, a list or object array of NetworkX graphs or
    PyTorch Geometric ``Data``, one of these, a path, a known name; or a list of single graphs of one ``GraphSet``,
    which is what scikit-learn's splitters make of it.

    ``y`` is one class per graph, or ``[graphs, targets]`` of 0 and 1, NaN where a target is missing. The names of the
    targets are the columns of a data frame, else 0, 1, 2, ...

    Args:
        model: a name that ``sargnn train --model`` knows.
        hidden: features per node after each layer; none, here and below: the model's own default.
        layers: layers of the model.
        epochs: passes over the training graphs at most.
        batch_size: graphs in one step; the default model's follows from the number of graphs.
        learning_rate: of Adam.
        class_weight: ``"balanced"`` lets a class count in inverse proportion to its graphs, and the positives of a
            target as much as its negatives.
        validation_fraction: fraction of the graphs held out to calibrate on and, unless the model keeps its last
            epoch as ``sargnn-plus`` does, to choose the best epoch and to stop early; with 0 the training graphs choose
            the epoch, and nothing can be calibrated.
        calibrated: whether :meth:`predict_proba` divides the logits by the temperature found on the held-out graphs.
        settings: any other setting by the name that ``--set`` gives it, as in ``{"model.fusion": "scaling"}``.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"auto"``.
        random_state: seed of the weights, the held-out graphs and the order of graphs.
        verbose: 1 shows the progress of training on standard error.

    Attributes:
        classes_: the classes, sorted, as they came in ``y``; texts where they came with the graphs. Of several targets
            a list with 0 and 1 for each, as scikit-learn's forests have it.
        target_names_: the names of the targets; none of one class per graph.
        trained_: the model with its encoder and settings, a :class:`TrainedModel`.
        calibration_: temperature and conformal scores of the held-out graphs; none without such graphs.
        history_: one dictionary per epoch: losses, validation score, learning rate, seconds.
        n_iter_: number of epochs trained; the weights are those of ``best_epoch_``.

    >>> import networkx as nx
    >>> graphs = [nx.cycle_graph(n) for n in range(3, 13)] + [nx.path_graph(n) for n in range(3, 13)]
    >>> shapes = ["ring"] * 10 + ["path"] * 10
    >>> classifier = GraphClassifier(hidden=16, epochs=20, learning_rate=0.01, random_state=0).fit(graphs, shapes)
    >>> classifier.predict([nx.cycle_graph(20), nx.path_graph(20)]).tolist()
    ['ring', 'path']
    """

    kinds = (Classification.kind, Multilabel.kind)

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        hidden: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        class_weight: Literal["balanced"] | None = None,
        validation_fraction: float = 0.1,
        calibrated: bool = False,
        settings: dict[str, Any] | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            model, hidden=hidden, layers=layers, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate,
            validation_fraction=validation_fraction, settings=settings, device=device, random_state=random_state,
            verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight
        self.calibrated = calibrated

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GraphClassifier:
        """Train on the graphs ``X`` of the classes or targets ``y``; without ``y``, of those that come with the graphs.
        ``sample_weight``: how much each graph counts in the loss."""
        graphs = with_weights(graphs_of(X, labelled=None if y is None else False), sample_weight)
        if y is None and graphs.y is None and graphs.targets is not None:
            return self._fit_targets(graphs)
        if y is not None and (shape := np.shape(y))[1:] and shape[1] > 1:
            return self._fit_targets(with_targets(graphs, _binary(y), y))
        if y is not None:  # before NumPy makes a text of a NaN among texts
            require_every_class(np.asarray(y, dtype=object).ravel(), "y")
        labels = _names(graphs) if y is None else column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_consistent_length(range(len(graphs)), labels)
        classes, codes = np.unique(labels, return_inverse=True)
        self.classes_: Any = classes
        self.target_names_: tuple[str, ...] | None = None
        if len(self.classes_) < 2:
            raise InputError(f"y: got one class only, {str(self.classes_[0])!r}, expected two or more")
        graphs = replace(graphs, y=codes.astype(np.int64), classes=tuple(map(str, self.classes_)), class_titles=())
        graphs = replace(graphs, targets=None, target_names=(), part=None)
        self._train(graphs, Classification.of(graphs))
        return self

    def _fit_targets(self, graphs: GraphSet) -> GraphClassifier:
        task = Multilabel.of(graphs)
        self._take_targets(task)
        self._train(replace(graphs, part=None), task)
        return self

    def _take_targets(self, task: Task) -> None:
        self.target_names_ = task.names
        self.classes_ = [np.array([0, 1]) for _ in task.names]

    def predict(self, X: Any) -> np.ndarray:
        """``[graphs]``: the most probable class of each graph, in the type of ``classes_``; of several targets int64
        ``[graphs, targets]``, 1 where the probability is above one half."""
        found = self._predicted(X).predicted
        return found.astype(np.int64) if self.target_names_ else np.asarray(self.classes_[found])

    def predict_proba(self, X: Any) -> Any:
        """float64 ``[graphs, classes]``: the probability of every class, in the order of ``classes_``; of several
        targets a list of ``[graphs, 2]``, the probabilities of 0 and 1 of each, as scikit-learn's forests have it."""
        found = self._predicted(X).values
        found = self._held_out().apply(found) if self.calibrated else found
        return [np.stack([1 - own, own], axis=1) for own in found.T] if self.target_names_ else found

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """bool ``[graphs, classes]``: sets of classes, each of which holds the true one with probability ``coverage``;
        of several targets ``[graphs, targets, 2]``, whether 0 and 1 are in the set of each.

        Split conformal prediction on the graphs that ``fit`` held out (:mod:`sargnn.tasks.calibration`,
        :mod:`sargnn.tasks.target_sets`); no set is empty.
        """
        regions: np.ndarray = self._held_out().regions(self._predicted(X).values, coverage)
        return regions

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; without ``y``, by what comes with the graphs. Of several targets, the fraction of graphs of which
        all known targets are right, as scikit-learn counts."""
        check_is_fitted(self)
        graphs, task = graphs_of(X), self.trained_.task
        if self.target_names_ is None:
            y = self.classes_[task.targets(graphs)] if y is None else y
            return float(super().score(graphs, y, sample_weight))
        targets = task.targets(graphs) if y is None else _binary(y)
        check_consistent_length(range(len(graphs)), targets)
        return float(np.average(task.right(targets, self._predicted(graphs).values), weights=sample_weight))

    def _words(self) -> dict[str, Any]:
        if self.target_names_:
            return {}
        return {"classes": self.classes_.tolist(), "type": self.classes_.dtype.str}

    def _read_words(self, words: Mapping[str, Any], task: Task) -> None:
        if task.kind == Multilabel.kind:
            self._take_targets(task)
            return
        self.classes_, self.target_names_ = np.array(words["classes"], dtype=_plain_type(words["type"])), None
        if tuple(map(str, self.classes_)) != task.names:
            raise InputError("got other classes than those of the model, expected the same")

    def _chosen_settings(self, **more: Any) -> Settings:
        if self.class_weight not in (None, "balanced"):
            raise InputError(f"class_weight: got {self.class_weight!r}, expected 'balanced' or None")
        return super()._chosen_settings(**({"training.class_weights": "balanced"} if self.class_weight else {}), **more)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _plain_type(name: str) -> np.dtype[Any]:
    """The type of class names: truth values, numbers, texts or Python's own texts."""
    if not re.fullmatch(r"[<>|]([biuf]\d|U\d{1,4}|O)", name):
        raise ValueError(f"type {name!r}")
    return np.dtype(name)


def _names(graphs: GraphSet) -> np.ndarray:
    """The class of each graph, as a text."""
    if graphs.y is None:
        raise InputError(f"{graphs.name}: got no classes, expected y, or graphs that come with their classes")
    return np.asarray(np.array(graphs.classes)[graphs.y])


def _binary(y: Any) -> np.ndarray:
    """float64 [G, T]: targets that are 0, 1 or NaN."""
    found = columns_of(y)
    wrong = ~np.isnan(found) & ~np.isin(found, (0, 1))
    if wrong.any():
        graph, target = np.argwhere(wrong)[0].tolist()
        raise InputError(f"y: got {found[graph, target]:g} in graph {graph}, target {target}, expected 0, 1 or nan")
    return found
