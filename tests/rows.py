"""What scikit-learn's checks can feed to an estimator of graphs: tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sargnn.data.graphs import GraphSet, pack
from sargnn.estimator.base import GraphEstimator

SAMPLES = "batches and the held-out part are drawn from the rows, so a row twice is not a row of weight two"
"""Why ``check_sample_weight_equivalence_on_dense_data`` does not pass."""


class OneNodeEach(GraphEstimator):
    """Every row of a table is a graph of one node with that row as its inputs."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=False)
        return super().fit(self._one_node_each(X), y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(self._table(X))

    def transform(self, X: Any) -> np.ndarray:
        return super().transform(self._table(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return super().score(self._table(X), y, sample_weight)

    def _table(self, X: Any) -> GraphSet:
        check_is_fitted(self)
        return X if isinstance(X, GraphSet) else self._one_node_each(validate_data(self, X, reset=False))

    def _one_node_each(self, X: np.ndarray) -> GraphSet:
        return pack([(1, [])] * len(X), name="rows", node_attributes=X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.target_tags.required = True
        return tags
