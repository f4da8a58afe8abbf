"""Members of a stack are trained and watched as each alone, whatever the task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold
from sargnn.training.run import TrainingRun
from sargnn.training.vectorized.model_stack import Member, ModelStack
from tiny import FOLD, binary_shapes, measured_shapes, shapes, tiny

OTHER = Fold(np.arange(8, 24), np.arange(4, 8), np.arange(4))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("graphs", "metric"), [(shapes(), "auroc"), (binary_shapes(), "auroc"), (measured_shapes(), "rmse")]
)
def test_two_folds_at_once_are_as_each_alone(graphs: GraphSet, metric: str, weighted: bool) -> None:
    """The folds have other centres and scales, and other gaps."""
    if weighted:
        graphs = replace(graphs, weights=np.linspace(0, 2, len(graphs), dtype=np.float32))
    balanced = "balanced" if metric == "auroc" else "none"
    settings = tiny(training__epochs=3, training__monitor=metric, training__class_weights=balanced)
    members = [Member(fold, settings.training) for fold in (FOLD, OTHER)]
    stack = ModelStack(graphs, settings, members)
    together = list(stack)
    for number, fold in enumerate((FOLD, OTHER)):
        run = TrainingRun.start(graphs, settings, fold=fold)
        for ours, theirs in zip(together, run, strict=True):
            for key, value in theirs.items():
                if key != "seconds":
                    assert ours[number][key] == pytest.approx(value, rel=1e-3), key
        assert stack.results()[number].trained.task == run.trained.task


def test_weights_of_graphs_change_what_is_learned() -> None:
    graphs = shapes()
    weighted = replace(graphs, weights=np.linspace(0, 2, len(graphs), dtype=np.float32))
    losses = [list(TrainingRun.start(some, tiny(), fold=FOLD))[-1]["train_loss"] for some in (graphs, weighted)]
    assert losses[0] != losses[1]
    ones = replace(graphs, weights=np.ones(len(graphs), np.float32))
    assert list(TrainingRun.start(ones, tiny(), fold=FOLD))[-1]["train_loss"] == pytest.approx(losses[0])
