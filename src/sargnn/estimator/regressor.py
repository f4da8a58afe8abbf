"""GraphRegressor: one or several measured numbers per graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sargnn.errors import InputError
from sargnn.estimator.base import GraphEstimator
from sargnn.estimator.inputs import columns_of, graphs_of, with_targets, with_weights
from sargnn.tasks import Regression, Task
from sargnn.training.trained_model import spread_of

__all__ = ["GraphRegressor"]


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Predict measured numbers of graphs, in scikit-learn's way.

    ``X`` is what :class:`GraphClassifier` takes. ``y`` is one number per graph, or ``[graphs, targets]``, NaN where one
    is missing. The model learns them scaled by the training graphs; whatever comes out is in the unit of ``y``.

    Args:
        model: a name that ``sargnn train --model`` knows.
        hidden: features per node after each layer; none, here and below: the model's own default.
        layers: layers of the model.
        epochs: passes over the training graphs at most.
        batch_size: graphs in one step; the default model's follows from the number of graphs.
        learning_rate: of Adam.
        validation_fraction: fraction of the graphs held out for the intervals and, unless the model keeps its last
            epoch as ``sargnn-plus`` does, to choose the best epoch and to stop early; with 0 the training graphs choose
            the epoch, and there are no intervals.
        settings: any other setting by the name that ``--set`` gives it, as in ``{"model.members": 5}``.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"auto"``.
        random_state: seed of the weights, the held-out graphs and the order of graphs.
        verbose: 1 shows the progress of training on standard error.

    Attributes:
        target_names_: the names of the targets: the columns of a data frame, else 0, 1, 2, ...
        trained_: the model with its encoder and settings, a :class:`TrainedModel`.
        calibration_: errors and spreads of the held-out graphs; none without such graphs.
        history_: one dictionary per epoch: losses, validation error, learning rate, seconds.
        n_iter_: number of epochs trained; the weights are those of ``best_epoch_``.

    >>> import networkx as nx
    >>> graphs = [nx.path_graph(n) for n in range(2, 32)]
    >>> regressor = GraphRegressor("gin", hidden=16, layers=2, epochs=80, learning_rate=0.01, random_state=0)
    >>> edges = [graph.number_of_edges() for graph in graphs]
    >>> regressor.fit(graphs, edges).score(graphs, edges) > 0.9
    True
    >>> low, high = regressor.predict_interval(graphs[:1], coverage=0.5)[0]
    >>> bool(low <= regressor.predict(graphs[:1])[0] <= high)
    True
    """

    kinds = (Regression.kind,)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GraphRegressor:
        """Train on the graphs ``X`` and the numbers ``y``; without ``y``, on those that come with the graphs.
        ``sample_weight``: how much each graph counts in the loss."""
        graphs = with_weights(graphs_of(X, labelled=None if y is None else False), sample_weight)
        if len(graphs) < 2:
            raise InputError(f"X: got {len(graphs)} sample, expected two graphs or more")
        self._one_column = False
        if y is not None:
            targets = columns_of(y)
            self._one_column = targets.ndim == 1
            graphs = with_targets(graphs, targets.reshape(len(targets), -1), y)
        elif graphs.targets is None:
            raise InputError(f"{graphs.name}: got no numbers, expected y, or graphs that come with their targets")
        task = Regression.of(graphs)
        self.target_names_ = task.names
        self._train(replace(graphs, part=None), task)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """float64 ``[graphs]`` or ``[graphs, targets]``, as ``y`` was."""
        return self._shaped(self._predicted(X).values)

    def predict_spread(self, X: Any) -> np.ndarray:
        """The standard deviation of the predictions over the members of an ensemble, in the shape of :meth:`predict`.

        It says where the members disagree; :meth:`predict_interval` says how far from the truth that is.
        """
        return self._shaped(spread_of(self._predicted(X)))

    def predict_interval(self, X: Any, coverage: float = 0.9, normalised: bool = False) -> np.ndarray:
        """float64 ``[graphs, 2]`` or ``[graphs, targets, 2]``: intervals that hold the truth with probability
        ``coverage``, all equally wide; ``normalised``: wider where the members of an ensemble disagree.

        Split conformal prediction on the graphs that ``fit`` held out (:mod:`sargnn.tasks.intervals`); infinite where
        these are too few for the coverage.
        """
        held_out, found = self._held_out(), self._predicted(X)
        return self._shaped(held_out.regions(found.values, coverage, spread_of(found) if normalised else None))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the mean over the targets, each over the graphs that have it; without ``y``, by the numbers that come
        with the graphs."""
        check_is_fitted(self)
        graphs = graphs_of(X)
        true = self.trained_.task.targets(graphs) if y is None else columns_of(y)
        check_consistent_length(range(len(graphs)), true)
        weights, found = None if sample_weight is None else np.asarray(sample_weight), []
        for own, predicted in zip(true.reshape(len(true), -1).T, self._predicted(graphs).values.T, strict=True):
            known = ~np.isnan(own)
            found.append(
                r2_score(own[known], predicted[known], sample_weight=None if weights is None else weights[known])
            )
        return float(np.mean(found))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._one_column else values

    def _words(self) -> dict[str, Any]:
        return {"one_column": self._one_column}

    def _read_words(self, words: Mapping[str, Any], task: Task) -> None:
        self._one_column, self.target_names_ = bool(words["one_column"]), task.names
