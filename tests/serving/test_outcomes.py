"""What a model says of graphs that came together, and of the bad ones among them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
from sargnn.training.trained_model import TrainedModel
from sargnn.training.trust import load_trust
from served import graph
from tiny import shapes, tiny


def inputs(*items: object, sets: dict[str, GraphSet] | None = None) -> list[GraphInput]:
    return [GraphInput.of(item, sets or {}) for item in items]


def test_in_company_as_alone(run: Path) -> None:
    trained = load_model(run)
    asked = inputs(
        graph(3), graph(7, ring=False), graph(3, graph={"mass": 1}), {"set": "s", "graph": 4}, sets={"s": shapes()}
    )
    together = outcomes_of(trained, None, Wanted(), asked)
    for one, outcome in zip(asked, together, strict=True):
        (alone,) = outcomes_of(trained, None, Wanted(), [one])
        assert isinstance(alone, Outcome)
        assert isinstance(outcome, Outcome)
        assert outcome.values == pytest.approx(alone.values, abs=1e-6)
        assert outcome.layers == pytest.approx(alone.layers, abs=1e-6)
        assert outcome.graph.fingerprint == alone.graph.fingerprint


def test_one_bad_graph_costs_no_other(run: Path) -> None:
    trained = load_model(run)
    infinite = graph(3)
    infinite["nodes"][1]["attribute_0"] = float("inf")
    wide = graph(3)
    for node in wide["nodes"]:
        node["attribute_2"] = 1.0
    good, *bad, last = outcomes_of(
        trained, None, Wanted(), inputs(graph(3), infinite, wide, {"nodes": [], "edges": []}, graph(4))
    )
    (expected,) = outcomes_of(trained, None, Wanted(), inputs(graph(3)))
    assert isinstance(good, Outcome)
    assert isinstance(last, Outcome)
    assert isinstance(expected, Outcome)
    assert np.array_equal(good.values, expected.values)
    assert all(isinstance(error, InputError) for error in bad)
    assert "attribute_0" in str(bad[0])
    assert str(bad[1]) == "got 3 node attributes, expected 2"
    assert str(bad[2]) == "got no nodes, expected at least one"
    assert not any("request" in str(error) or "graph 0" in str(error) for error in bad)


def test_a_bad_graph_among_many_is_found_by_halves(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were each predicted alone, one bad graph would keep everybody waiting."""
    trained, sizes = load_model(run), []
    predict = TrainedModel.predict_tensors

    def counted(self: TrainedModel, data: Any) -> Any:
        sizes.append(len(data))
        return predict(self, data)

    monkeypatch.setattr(TrainedModel, "predict_tensors", counted)
    bad = graph(3)
    bad["nodes"][0]["attribute_0"] = float("inf")
    found = outcomes_of(trained, None, Wanted(), inputs(*[graph(4)] * 37, bad, *[graph(5)] * 90))
    assert [isinstance(one, Outcome) for one in found] == [True] * 37 + [False] + [True] * 90
    assert sorted(sizes) == [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize("known", [True, False], ids=["unknown labels have a column", "they have none"])
def test_labels_that_the_model_was_not_trained_on_are_refused_as_by_the_command(known: bool, tmp_path: Path) -> None:
    graphs = shapes()
    labels = np.arange(graphs.num_nodes) % 3 % 2
    graphs = replace(graphs, node_labels=labels, node_label_names=("a", "b"), node_attributes=None)
    train(graphs, tiny(training__epochs=1, data__rare_labels=2 if known else 0), tmp_path / "run")
    asked = inputs(*({"nodes": [{"id": 0, "label": name}], "edges": []} for name in ("a", "c", "b")))
    first, strange, last = outcomes_of(load_model(tmp_path / "run"), None, Wanted(), asked)
    assert isinstance(first, Outcome)
    assert isinstance(last, Outcome)
    if known:
        assert isinstance(strange, Outcome)
    else:
        expected = "got labels that the model was not trained on ('c'), expected ones that it knows ('a', 'b')"
        assert str(strange) == expected


@pytest.mark.parametrize("rule", ["first", "last", "mean", "rollout"])
def test_maps_are_those_of_the_model(run: Path, rule: str) -> None:
    trained, graphs = load_model(run), shapes()
    expected = trained.saliency(graphs, rule)
    asked = inputs(*({"set": "s", "graph": g} for g in range(len(graphs))), sets={"s": graphs})
    for g, outcome in enumerate(outcomes_of(trained, None, Wanted(rule), asked)):
        assert isinstance(outcome, Outcome)
        assert outcome.map == pytest.approx(expected[graphs.nodes_of(g)], abs=1e-6)


def test_a_model_without_saliency_has_no_map(other_run: Path) -> None:
    (outcome,) = outcomes_of(load_model(other_run), None, Wanted(), inputs(graph()))
    assert isinstance(outcome, Outcome)
    assert outcome.map is None


def test_effects_and_trust_are_those_of_the_library(run: Path) -> None:
    trained, graphs = load_model(run), shapes()
    reference = load_trust(run, trained)
    asked = inputs({"set": "s", "graph": 2}, {"set": "s", "graph": 5}, sets={"s": graphs})
    expected, columns = trained.effects(graphs.subset([2, 5])), reference.trust(graphs.subset([2, 5])).columns()
    start = 0
    for row, outcome in enumerate(outcomes_of(trained, reference, Wanted(effects=True, trust=True), asked)):
        assert isinstance(outcome, Outcome)
        assert outcome.effects is not None
        assert outcome.effects == pytest.approx(expected[start : start + outcome.graph.num_nodes], abs=1e-5)
        assert outcome.trust == {name: values[row] for name, values in columns.items()}
        start += outcome.graph.num_nodes
    (without,) = outcomes_of(trained, None, Wanted(trust=True), asked[:1])
    assert isinstance(without, Outcome)
    assert without.trust is not None
    assert "expected: sargnn calibrate" in without.trust["error"]
