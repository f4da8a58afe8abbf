"""Effects of nodes: against removing them one by one, in every layout of batches, and where they are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack
from sargnn.explain import effects
from sargnn.explain.effects import outputs_without_each_node
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import labelled, shapes, tiny


class Sums(GraphModel):
    """Outputs that are known: the sums of the two inputs of the nodes, and the number of edges."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Identity()

    def encode(self, batch: PackedBatch) -> Encoding:
        edges = batch.sum(torch.zeros(len(batch.x)).index_add(0, batch.target, batch.ones).unsqueeze(1))
        return Encoding(torch.cat([batch.sum(batch.x), edges], dim=1), batch.x)


def without(graphs: GraphSet, graph: int, node: int) -> PackedBatch:
    """One graph without one node, built anew from its edges."""
    x = np.arange(2 * graphs.num_nodes, dtype=np.float32).reshape(-1, 2)[graphs.nodes_of(graph)]
    one = graphs[graph]
    kept = [v for v in range(one.num_nodes) if v != node]
    number = {v: i for i, v in enumerate(kept)}
    edges = [(number[a], number[b]) for a, b in one.edges.T.tolist() if node not in (a, b)]
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return PackedBatch.from_edges(torch.from_numpy(x[kept]), pairs)


@pytest.fixture
def graphs() -> GraphSet:
    return pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)]), (1, []), (2, [(0, 1), (1, 0)]), (4, [(0, 3), (3, 0)])])


def test_effects_by_hand(graphs: GraphSet) -> None:
    x = np.arange(2 * graphs.num_nodes, dtype=np.float32).reshape(-1, 2)
    whole, left = outputs_without_each_node(Sums(), TensorSet(graphs, x), np.array([0, 2]))
    nodes = np.array([0, 1, 2, 4, 5])
    effect = whole[[0, 0, 0, 1, 1]] - left
    assert np.array_equal(effect[:, :2].numpy(), x[nodes])
    # with the self-loop that every node has: an end of the path costs its loop and an edge in both directions
    assert effect[:, 2].tolist() == [3, 5, 3, 3, 3]


@pytest.mark.parametrize("at_once", [1, 7, 2**16])
def test_they_are_those_of_removing_one_node_at_a_time(
    graphs: GraphSet, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "NODES_AT_ONCE", at_once)
    x = np.arange(2 * graphs.num_nodes, dtype=np.float32).reshape(-1, 2)
    model = SARGNN(ModelConfig(layers=2, hidden=8, readout="salient", members=1), inputs=2, classes=3).eval()
    order = np.array([3, 0, 1])
    whole, left = outputs_without_each_node(model, TensorSet(graphs, x), order)
    rows = [(g, v) for g in order.tolist() for v in range(int(graphs.sizes[g]))]
    assert len(left) == len(rows) == 8
    with torch.no_grad():
        for (g, v), found in zip(rows, left, strict=True):
            expected = whole[2] if g == 1 else model.head(model.encode(without(graphs, g, v)).graph)[0]
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_trained_model_gives_them_in_log_odds() -> None:
    graphs = labelled(shapes())
    values = {"data__edge_encodings": ("auto",), "model__edge_channels": 2, "data__graph_inputs": True}
    trained = train(graphs, tiny(model__members=2, **values)).trained
    found = trained.effects(graphs)
    assert found.shape == (graphs.num_nodes, 2)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1e-6)  # of two classes one gains what the other loses
    whole = trained.predict(graphs).values[:, 0]
    data = trained.tensors(graphs)
    _, left = outputs_without_each_node(trained.model, data, np.array([5]))
    p = left.double().softmax(1)[:, 0].numpy()
    expected = np.log(whole[5] / (1 - whole[5])) - np.log(p / (1 - p))
    np.testing.assert_allclose(found[graphs.nodes_of(5), 0], expected, atol=1e-5)


@pytest.mark.parametrize("model", ["gin", "sagpool", "graph-unet", "topological-forest"])
def test_any_model_has_effects(model: str) -> None:
    run = train(shapes(), Settings.of(model, {"training.epochs": 1}))
    assert np.isfinite(run.trained.effects(shapes(count=4))).all()
