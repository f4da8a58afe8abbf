"""Every explainer under one roof: shapes, seeds, and gradients against captum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.explain import CaptumExplainer, Explainer

import literal
from sargnn.explain.masking import masked_probabilities
from sargnn.nn import ModelConfig
from sargnn.nn.ensemble import Ensemble
from sargnn.studies import explainers
from sargnn.studies.explainers import CLASSIFIER, EXPLAINERS, Subject, explain

INDEX = np.array([1, 3, 5])
NODES = sum(literal.EXAMPLES[g].nodes for g in INDEX)


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.setattr(explainers, "GNN_EPOCHS", 3)
    monkeypatch.setattr(explainers, "PG_EPOCHS", 2)
    model = literal.make_model(ModelConfig(hidden=8, layers=2), dtype=torch.float32)
    return Subject(model, literal.tensor_set(literal.EXAMPLES, np.float32), INDEX, np.arange(3))


@pytest.mark.parametrize("name", EXPLAINERS)
def test_one_score_a_node_the_same_for_the_same_seed(name: str, subject: Subject) -> None:
    state = torch.get_rng_state()
    first, second = explain(name, subject), explain(name, subject)
    assert first.scores.shape == (NODES,)
    assert first.scores.dtype == np.float64
    assert np.isfinite(first.scores).all()
    assert (first.scores >= 0).all()
    assert np.array_equal(first.scores, second.scores)
    assert first.seconds > 0
    assert torch.equal(state, torch.get_rng_state())


@pytest.fixture
def rich(monkeypatch: pytest.MonkeyPatch) -> Subject:
    """An ensemble that reads inputs of edges and of whole graphs."""
    monkeypatch.setattr(explainers, "GNN_EPOCHS", 3)
    monkeypatch.setattr(explainers, "PG_EPOCHS", 2)
    rng = np.random.default_rng(0)
    graphs = [replace(g, e=rng.normal(size=(g.nodes, g.nodes, 2)), u=rng.normal(size=3)) for g in literal.EXAMPLES]
    config = ModelConfig(hidden=8, layers=2, readout="salient", edge_channels=2, relative=True)
    members = [literal.make_model(config, seed, torch.float32, edge_inputs=2, graph_inputs=3) for seed in range(2)]
    return Subject(Ensemble(members).eval(), literal.tensor_set(graphs, np.float32), INDEX, np.arange(3))


@pytest.mark.parametrize("name", EXPLAINERS)
def test_inputs_of_edges_and_graphs_are_handed_on(name: str, rich: Subject) -> None:
    scores = explain(name, rich).scores
    assert scores.shape == (NODES,)
    assert np.isfinite(scores).all()


def test_a_class_is_predicted_of_all_inputs(rich: Subject) -> None:
    expected = masked_probabilities(rich.model, rich.data, rich.index).argmax(1)
    found = [explainers._predicted(rich.model, batch).item() for batch in rich.batches(rich.index)]
    assert found == expected.tolist()
    called = [
        rich.model(batch.x, explainers._edges(batch), **explainers._further_inputs(batch)).argmax(1).item()
        for batch in rich.batches(rich.index)
    ]
    assert called == found


@pytest.mark.parametrize("name", ["random", "gnn-explainer", "pg-explainer"])
def test_other_seeds_give_other_scores_where_anything_is_drawn(name: str, subject: Subject) -> None:
    other = Subject(subject.model, subject.data, subject.index, subject.train, seed=1)
    assert not np.array_equal(explain(name, subject).scores, explain(name, other).scores)


@pytest.mark.filterwarnings("ignore:Input Tensor .* did not already require gradients")
def test_batched_gradients_are_those_of_captum_graph_by_graph(subject: Subject) -> None:
    pytest.importorskip("captum", reason="needs captum (dev group)")
    for name, method in (("gradient", "Saliency"), ("integrated-gradients", "IntegratedGradients")):
        options = {"n_steps": explainers.INTEGRATION_STEPS, "method": "riemann_middle"} if "integrated" in name else {}
        algorithm = CaptumExplainer(method, **options)
        explainer = Explainer(subject.model, algorithm, "model", CLASSIFIER, node_mask_type="attributes")
        expected = []
        for g in INDEX:
            x, edge_index, _ = literal.edge_arguments([literal.EXAMPLES[g]], torch.float32)
            expected.append(explainer(x, edge_index).node_mask.abs().sum(1).detach().numpy())
        np.testing.assert_allclose(explain(name, subject).scores, np.concatenate(expected), rtol=1e-4, atol=1e-6)


def test_the_score_of_a_node_is_the_mean_over_its_edges() -> None:
    batch = literal.tensor_set([literal.graph(4, literal.both_ways((0, 1), (1, 2)))]).packed(np.arange(1))
    edges = explainers._edges(batch).T.tolist()
    mask = torch.tensor([{(0, 1): 1.0, (1, 0): 0.0, (1, 2): 0.4, (2, 1): 0.2}[(a, b)] for a, b in edges])
    assert explainers._of_nodes(mask, batch).tolist() == pytest.approx([0.5, 0.4, 0.3, 0.0])
