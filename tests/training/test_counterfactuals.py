"""Counterfactuals of trained models: checked on what is left, and against every removal there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.explain.effects import outputs_without
from sargnn.explain.parts import KINDS, find_parts
from sargnn.training.run import train
from sargnn.training.trained_model import TrainedModel
from tiny import binary_shapes, labelled, measured_shapes, shapes, tiny


@pytest.fixture(scope="module")
def trained() -> TrainedModel:
    """Rings and paths told apart well: only then does a removal change what is decided."""
    settings = tiny(training__epochs=25, model__hidden=16, data__encodings=("attributes", "random-walk"))
    return train(shapes(count=80), settings).trained


@pytest.mark.parametrize("kind", KINDS)
def test_the_decision_changes_and_none_of_the_removed_parts_is_idle(trained: TrainedModel, kind: str) -> None:
    graphs = shapes(count=30, seed=5)
    parts, before = find_parts(graphs, kind), trained.predict(graphs).predicted
    data, found = trained.tensors(graphs), trained.counterfactuals(graphs, find_parts(graphs, kind))
    assert found

    def changes(graph: int, removed: tuple[int, ...]) -> bool:
        outputs = outputs_without(trained.model, data, parts.joined([removed]))
        return bool(trained.task.decide(trained.task.predict(outputs))[0] != before[graph])

    smallest = 0
    for one in found:
        assert {int(parts.graph[part]) for part in one.parts} == {one.graph}
        assert changes(one.graph, one.parts)
        assert not any(changes(one.graph, fewer) for fewer in combinations(one.parts, len(one.parts) - 1) if len(fewer))
        own = np.flatnonzero(parts.graph == one.graph).tolist()
        fewer = (some for size in range(1, len(one.parts)) for some in combinations(own, size))
        smallest += not any(changes(one.graph, some) for some in fewer)
        if len(one.parts) <= 2:  # all single parts are tried
            assert not any(changes(one.graph, (part,)) for part in own if len(one.parts) == 2)
    assert smallest >= 0.8 * len(found)  # greedy is not exact


def test_what_is_left_is_predicted_as_a_graph_of_its_own(trained: TrainedModel) -> None:
    graphs = shapes(count=30, seed=5)
    before = trained.predict(graphs).predicted
    for kind in ("nodes", "edges"):
        parts = find_parts(graphs, kind)
        for one in trained.counterfactuals(graphs, parts):
            graph, removed = graphs[one.graph], [parts.of(part).tolist() for part in one.parts]
            assert graph.node_attributes is not None
            gone = {node for part in removed for node in part} if kind == "nodes" else set()
            pairs = set() if kind == "nodes" else {frozenset(part) for part in removed}
            kept = [v for v in range(graph.num_nodes) if v not in gone]
            edges = [
                (kept.index(a), kept.index(b))
                for a, b in graph.edges.T.tolist()
                if not {a, b} & gone and frozenset((a, b)) not in pairs
            ]
            left = pack([(len(kept), edges)], node_attributes=graph.node_attributes[kept])
            found = trained.predict(left)
            np.testing.assert_allclose(one.values, found.values[0], atol=1e-5)
            assert one.holds == (found.predicted[0] != before[one.graph])


def test_each_target_has_its_own_and_numbers_have_none() -> None:
    graphs = binary_shapes(count=40)
    trained = train(graphs, tiny(training__epochs=10)).trained
    decided = trained.predict(graphs).predicted
    for one in trained.counterfactuals(graphs, output="large"):
        assert one.holds == (trained.task.decide(one.values[None])[0, 1] != decided[one.graph, 1])
    with pytest.raises(InputError, match="counterfactual: got 'huge', expected one of the targets path, large"):
        trained.counterfactuals(graphs, output="huge")
    numbers = measured_shapes(count=40)
    with pytest.raises(InputError, match="counterfactual: got a model of regression, expected one that decides"):
        train(numbers, tiny(training__epochs=1)).trained.counterfactuals(numbers)


def test_a_graph_of_one_node_and_one_in_pieces(trained: TrainedModel) -> None:
    pieces = [(0, 1), (1, 0), (2, 3), (3, 2)]
    graphs = pack([(1, []), (4, pieces)], node_attributes=np.zeros((5, 2)))
    assert {one.graph for one in trained.counterfactuals(graphs)} <= {1}


def test_nothing_changes_a_model_that_always_says_the_same() -> None:
    graphs = labelled(shapes())
    trained = train(graphs, tiny(training__epochs=1)).trained
    for parameter in trained.model.parameters():
        parameter.data.zero_()
    assert trained.counterfactuals(graphs) == []
