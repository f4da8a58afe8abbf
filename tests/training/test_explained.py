"""What a model says of chosen graphs: the same as of the whole set, for every kind of parts."""

from __future__ import annotations

import numpy as np
import pytest

from sargnn.data.graphs import pack
from sargnn.data.synthetic import motifs
from sargnn.errors import InputError
from sargnn.explain.parts import KINDS, find_parts
from sargnn.training.explained import Wanted, explain_graphs
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import tiny

MOTIFS = motifs(12)


@pytest.mark.parametrize("rule", ["mean", "last", "rollout"])
def test_chosen_graphs_are_explained_as_in_the_whole_set(rule: str) -> None:
    trained = train(
        MOTIFS, Settings.of("sar-gcn", {"model.layers": 2, "model.hidden": 4, "training.epochs": 1})
    ).trained
    whole, mapped = trained.predict(MOTIFS), trained.saliency(MOTIFS, rule)
    explained = explain_graphs(trained, MOTIFS, np.array([7, 2]), rule).items
    assert [item.graph for item in explained] == [7, 2]
    for item in explained:
        nodes = MOTIFS.nodes_of(item.graph)
        assert item.rule == rule
        assert np.allclose(item.layers, whole.saliency[:, nodes], atol=1e-6)
        assert np.allclose(item.map, mapped[nodes], atol=1e-6)
        assert item.verdict.text == MOTIFS.classes[whole.predicted[item.graph]]


def test_a_model_without_saliency_has_no_layers() -> None:
    trained = train(MOTIFS, Settings.of("gcn", {"model.layers": 1, "model.hidden": 4, "training.epochs": 1})).trained
    (item,) = explain_graphs(trained, MOTIFS, np.array([3])).items
    assert item.layers.shape == (0, MOTIFS.sizes[3])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signed", [True, False])
def test_effects_of_parts_are_those_of_the_whole_set(kind: str, signed: bool) -> None:
    trained = train(MOTIFS, tiny(training__epochs=1)).trained
    name = MOTIFS.classes[1]
    found = explain_graphs(trained, MOTIFS, np.array([7, 2]), wanted=Wanted([name], kind, signed))
    parts = find_parts(MOTIFS, kind)
    effects = trained.effects(MOTIFS, parts)[:, 1]
    for item in found.items:
        own = np.flatnonzero(parts.graph == item.graph)
        expected = effects[own] if signed else np.abs(effects[own])
        np.testing.assert_allclose(item.effects[name], expected, atol=1e-5)
        if kind != "nodes":
            assert [list(part) for part in item.parts] == [parts.of(int(p)).tolist() for p in own]
    assert bool(found.fragments) == (kind == "fragments")
    for row in found.fragments.get(name, []):
        each = [np.array(item.part_names) == row["name"] for item in found.items]
        assert row["count"] == sum(has.sum() for has in each)
        assert row["graphs"] == sum(has.any() for has in each)


def test_a_counterfactual_is_in_the_numbers_of_its_own_graph() -> None:
    trained = train(MOTIFS, tiny(training__epochs=1)).trained
    found = explain_graphs(trained, MOTIFS, np.array([7, 2]), wanted=Wanted(parts="edges", counterfactual=True))
    for item in found.items:
        if item.flip is not None:
            ends = sorted({node for part in item.flip.parts for node in item.parts[part]})
            assert ends == list(item.flip.nodes)
            assert (item.flip.verdict.text != item.verdict.text) == item.flip.holds
    assert found.fragments == {}


def test_graphs_without_edges_have_no_edges_to_explain() -> None:
    trained = train(MOTIFS, tiny(training__epochs=1)).trained
    lone = pack([(1, []), (3, [])], name="lone")
    with pytest.raises(InputError, match="parts: got edges, of which the graphs of lone have none, expected nodes"):
        explain_graphs(trained, lone, np.arange(2), wanted=Wanted(list(MOTIFS.classes), "edges"))
    whole = explain_graphs(trained, lone, np.arange(2), wanted=Wanted(list(MOTIFS.classes), "nodes"))
    assert whole.items[0].effects[MOTIFS.classes[0]].tolist() == [0.0]  # nothing would be left to compare with
