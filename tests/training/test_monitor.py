"""What is watched: any metric of the task, and none of another."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.training.run import train
from tiny import FOLD, binary_shapes, measured_shapes, shapes, tiny


@pytest.mark.parametrize(
    ("graphs", "metric", "lower"),
    [(shapes(), "auroc", False), (shapes(), "log_loss", True), (binary_shapes(), "average_precision", False),
     (measured_shapes(), "rmse", True), (measured_shapes(), "mae", True)],
)  # fmt: skip
def test_the_best_epoch_is_that_of_the_metric(graphs: GraphSet, metric: str, lower: bool) -> None:
    settings = tiny(training__epochs=12, training__monitor=metric, training__learning_rate=0.05)
    run = train(graphs, settings, fold=FOLD)
    seen = np.array(
        [np.nan if row[f"validation_{metric}"] is None else row[f"validation_{metric}"] for row in run.state.history]
    )
    best = int(np.nanargmin(seen) if lower else np.nanargmax(seen))
    assert run.state.best_epoch == best + 1
    assert run.scores["validation"][metric] == pytest.approx(seen[best], rel=1e-5)


def test_a_metric_of_another_task_is_refused() -> None:
    expected = "training.monitor: got rmse, expected one of loss, last, accuracy, .* for classification"
    with pytest.raises(InputError, match=expected):
        train(shapes(), tiny(training__monitor="rmse"))
    with pytest.raises(
        InputError, match="got accuracy, expected one of loss, last, rmse, mae, r2, spearman for regression"
    ):
        train(measured_shapes(), tiny(training__monitor="accuracy"))
