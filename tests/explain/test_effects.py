"""Effects of parts: against removing them one by one, in batches of any size, and where they are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sargnn.batching import PackedBatch
from sargnn.batching.layouts import AskedLayout
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack
from sargnn.explain import effects
from sargnn.explain.effects import outputs_of, outputs_without
from sargnn.explain.parts import KINDS, Kind, Parts, find_parts
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


X = np.arange(20, dtype=np.float32).reshape(-1, 2)


def without(graphs: GraphSet, parts: Parts, part: int) -> PackedBatch:
    """One graph without one part, built anew from its edges."""
    graph = int(parts.graph[part])
    x, one, members = X[graphs.nodes_of(graph)], graphs[graph], parts.of(part).tolist()
    removed = () if parts.kind == "edges" or len(members) == one.num_nodes else members
    kept = [v for v in range(one.num_nodes) if v not in removed]
    number = {v: i for i, v in enumerate(kept)}
    edges = [(number[a], number[b]) for a, b in one.edges.T.tolist() if a in number and b in number]
    if parts.kind == "edges":
        edges = [(a, b) for a, b in edges if sorted((a, b)) != members]
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return PackedBatch.from_edges(torch.from_numpy(x[kept]), pairs)


@pytest.fixture
def graphs() -> GraphSet:
    path, tie = [(0, 1), (1, 0), (1, 2), (2, 1)], [(0, 1), (1, 0)]
    return pack([(3, path), (1, []), (2, tie), (4, [(0, 3), (3, 0), (1, 2), (2, 2), (0, 1), (1, 0), (1, 3), (3, 1)])])


def test_effects_by_hand(graphs: GraphSet) -> None:
    data = TensorSet(graphs, X)
    effect = outputs_of(Sums(), data)[graphs.node_graph] - outputs_without(Sums(), data, find_parts(graphs))
    nodes = [0, 1, 2, 4, 5]  # without the graph of one node, of which nothing would be left
    assert np.array_equal(effect[nodes, :2].numpy(), X[nodes])
    # with the self-loop that every node has: an end of the path costs its loop and an edge in both directions
    assert effect[nodes, 2].tolist() == [3, 5, 3, 3, 3]
    assert effect[3].tolist() == [0, 0, 0]

    ties = find_parts(graphs, "edges")
    effect = outputs_of(Sums(), data)[ties.graph] - outputs_without(Sums(), data, ties)
    assert effect.tolist() == [[0, 0, 2], [0, 0, 2], [0, 0, 2], [0, 0, 2], [0, 0, 2], [0, 0, 1], [0, 0, 2]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at_once", [1, 7, 2**16])
@pytest.mark.parametrize("layout", ["auto", "packed"])
def test_they_are_those_of_removing_one_part_at_a_time(
    graphs: GraphSet, kind: Kind, at_once: int, layout: AskedLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "NODES_AT_ONCE", at_once)
    config = ModelConfig(layers=2, hidden=8, readout="salient", members=1)
    model = SARGNN(config, inputs=2, classes=3).eval()
    parts = find_parts(graphs, kind)
    found = outputs_without(model, TensorSet(graphs, X, layout=layout), parts)
    assert len(found) == len(parts) > 3
    with torch.no_grad():
        for part, outputs in enumerate(found):
            expected = model.head(model.encode(without(graphs, parts, part)).graph)[0]
            torch.testing.assert_close(outputs, expected, rtol=1e-4, atol=1e-5)


def test_edge_inputs_go_with_their_edges() -> None:
    graphs = labelled(shapes(count=6))
    values = {"data__edge_encodings": ("auto",), "model__edge_channels": 2}
    trained = train(labelled(shapes()), tiny(**values)).trained
    whole = trained.predict(graphs).values[:, 0]
    for kind in KINDS:
        parts = find_parts(graphs, kind)
        found = trained.effects(graphs, parts)[:, 0]
        for part in range(0, len(parts), 3):
            batch = trained.tensors(graphs.subset([int(parts.graph[part])])).packed(np.array([0]))
            members = torch.from_numpy(parts.of(part))
            node_stays = torch.ones(len(batch.x), dtype=torch.bool)
            node_stays[members if kind != "edges" else members[:0]] = False
            stays = node_stays[batch.source] & node_stays[batch.target]
            if kind == "edges":
                a, b = members.tolist()
                stays &= ~((batch.source == a) & (batch.target == b)) & ~((batch.source == b) & (batch.target == a))
            number = node_stays.cumsum(0) - 1
            left = PackedBatch(
                batch.x[node_stays], number[batch.source[stays]], number[batch.target[stays]], batch.graph[node_stays],
                1, edges=batch.edges[:, stays], graph_x=batch.graph_x,
            )  # fmt: skip
            with torch.no_grad():
                p = trained.model.eval().head(trained.model.encode(left).graph).double().softmax(1)[0, 0].item()
            before = whole[parts.graph[part]]
            expected = np.log(before / (1 - before)) - np.log(p / (1 - p))
            assert found[part] == pytest.approx(expected, abs=1e-4)


def test_a_set_without_such_parts_has_no_effects() -> None:
    lone = pack([(1, []), (2, [])])
    data = TensorSet(lone, X[:3])
    for kind in ("edges", "fragments"):
        parts = find_parts(lone, kind)
        assert tuple(outputs_without(Sums(), data, parts).shape) == (len(parts), 3)
    assert len(find_parts(lone, "edges")) == 0


def test_a_trained_model_gives_them_in_log_odds() -> None:
    graphs = labelled(shapes())
    values = {"data__edge_encodings": ("auto",), "model__edge_channels": 2, "data__graph_encodings": ("attributes",)}
    trained = train(graphs, tiny(model__members=2, **values)).trained
    found = trained.effects(graphs)
    assert found.shape == (graphs.num_nodes, 2)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1e-6)  # of two classes one gains what the other loses
    whole = trained.predict(graphs).values[:, 0]
    one = graphs.subset([5])
    left = outputs_without(trained.model, trained.tensors(one), find_parts(one))
    p = left.double().softmax(1)[:, 0].numpy()
    expected = np.log(whole[5] / (1 - whole[5])) - np.log(p / (1 - p))
    np.testing.assert_allclose(found[graphs.nodes_of(5), 0], expected, atol=1e-5)


@pytest.mark.parametrize("model", ["gin", "sagpool", "graph-unet", "topological-forest"])
def test_any_model_has_effects(model: str) -> None:
    run = train(shapes(), Settings.of(model, {"training.epochs": 1}))
    assert np.isfinite(run.trained.effects(shapes(count=4))).all()
