"""Models behind scikit-learn's contract, for graphs instead of tables of numbers.

They work inside ``GridSearchCV``, ``cross_val_score``, ``Pipeline`` and ``CalibratedClassifierCV``, which pick graphs
out of a list, an object array or a :class:`GraphSet`.
"""

from sargnn.estimator.classifier import GraphClassifier
from sargnn.estimator.regressor import GraphRegressor

__all__ = ["GraphClassifier", "GraphRegressor"]
