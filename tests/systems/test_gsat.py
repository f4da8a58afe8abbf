"""GSAT: averaging, rate and divergence by hand, a second form of it, and what training adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from expressive import PAIRS, gap, randomised
from literal import CLASSES, EXAMPLES, INPUTS, batch_of, graph, random_graph
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.systems.gsat import GSAT, Edges, GSATConfig, information, node_scores, rate_of
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.run import train
from sargnn.training.settings import Settings
from tiny import FOLD, shapes

TASK = Classification(("a", "b", "c"))


def small(**values: Any) -> GSATConfig:
    return GSATConfig(**{"hidden": 6, "dropout": 0.0, "attention_dropout": 0.0} | values)


def test_attention_is_averaged_with_that_of_the_same_edge_backwards() -> None:
    """Whatever the order of the edges; 0 -> 3 has no edge back and keeps its own."""
    pairs = torch.tensor([[2, 0, 1, 1, 0], [1, 1, 0, 2, 3]])
    batch = PackedBatch.from_edges(torch.ones(4, 1), pairs)
    edges = Edges.of(batch)
    assert torch.stack([edges.source, edges.target]).tolist() == pairs.tolist()
    own = torch.tensor([0.2, 0.4, 0.6, 0.8, 0.9])
    torch.testing.assert_close((own + own[edges.reverse]) / 2, torch.tensor([0.5, 0.5, 0.5, 0.5, 0.9]))


def test_edges_of_several_graphs_and_of_none() -> None:
    batch = batch_of([random_graph(8, 12, seed=1), graph(1, []), random_graph(5, 6, seed=2)], "packed")
    edges = Edges.of(batch)
    assert torch.equal(edges.source[edges.reverse], edges.target)
    assert torch.equal(edges.target[edges.reverse], edges.source)
    assert len(Edges.of(batch_of([graph(3, [])], "packed")).reverse) == 0


def test_the_score_of_a_node_is_the_mean_attention_of_its_edges() -> None:
    """A path 0 - 1 - 2 and a node alone."""
    batch = PackedBatch.from_edges(torch.ones(4, 1), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    scores = node_scores(torch.tensor([0.5, 0.5, 0.9, 0.9]), Edges.of(batch), 4)
    torch.testing.assert_close(scores, torch.tensor([0.5, 0.7, 0.9, 0.0]))


def test_information_is_the_divergence_of_two_coins() -> None:
    p, r = torch.tensor([0.9, 0.6, 0.7], dtype=torch.float64), 0.7
    coins = torch.distributions.kl_divergence(torch.distributions.Bernoulli(p), torch.distributions.Bernoulli(r))
    assert information(p, r).item() == pytest.approx(coins.mean().item(), abs=1e-5)
    assert information(torch.full((4,), r), r).item() == pytest.approx(0, abs=1e-5)
    assert information(torch.zeros(0), r).item() == 0
    assert torch.isfinite(information(torch.tensor([0.0, 1.0]), 0.9))


def test_the_rate_falls_by_a_tenth_every_ten_epochs_to_its_end() -> None:
    assert [rate_of(epoch, 0.5, 10) for epoch in (1, 10, 11, 41, 42, 99)] == pytest.approx([0.9, 0.9, 0.8, *[0.5] * 3])


def test_training_tells_the_model_the_epoch() -> None:
    run = train(shapes(), Settings.of("gsat", {"model.rate_epochs": 1, "training.epochs": 2}), fold=FOLD)
    assert run.trained.model.rate == pytest.approx(0.8)


# --- a second form ---------------------------------------------------------------------------------------------------


def literally(model: GSAT, x: Tensor, pairs: list[tuple[int, int]], features: Tensor | None) -> tuple[Tensor, Tensor]:
    """The vector of one graph and its scores, node after node and edge after edge, in eval mode."""

    def embed(attention: dict[tuple[int, int], Tensor | float]) -> Tensor:
        h = model.of_nodes(x)
        for layer in model.layers:
            rows = []
            for i in range(len(x)):
                total = h[i]
                for number, (u, v) in enumerate(pairs):
                    if v == i:
                        message = h[u] if features is None else (h[u] + model.of_edges(features[number])).relu()
                        total = total + attention[u, v] * message
                z = layer.into(total)
                norm = layer.norm
                z = (z - norm.running_mean) / (norm.running_variance + 1e-5).sqrt() * norm.weight + norm.bias
                rows.append(layer.out(z.relu()).relu())
            h = torch.stack(rows)
        return h

    def perceptron(rows: Tensor) -> Tensor:
        for linear in model.attention.linear:
            rows = linear(rows)
            rows = ((rows - rows.mean(0)) / (rows.var(0, unbiased=False) + 1e-5).sqrt()).relu()
        return model.attention.out(rows).squeeze(1).sigmoid()

    h = embed(dict.fromkeys(pairs, 1.0))
    if model.config.attention == "nodes":
        scores = perceptron(h)
        attention = {(u, v): scores[u] * scores[v] for u, v in pairs}
    else:
        p = dict(zip(pairs, perceptron(torch.stack([torch.cat([h[u], h[v]]) for u, v in pairs])), strict=True))
        attention = {(u, v): (p[u, v] + p.get((v, u), p[u, v])) / 2 for u, v in pairs}
        touching = [[a for ends, a in attention.items() if i in ends] for i in range(len(x))]
        scores = torch.stack([torch.stack(own).mean() if own else x.new_zeros(()) for own in touching])
    return embed(attention).sum(0), scores / scores.sum()


@pytest.mark.parametrize("attention", ["edges", "nodes"])
@pytest.mark.parametrize("edge_inputs", [0, 2])
def test_it_is_what_its_equations_say(attention: str, edge_inputs: int) -> None:
    model = randomised(GSAT(small(attention=attention), INPUTS, CLASSES, edge_inputs), 0)
    g = EXAMPLES[1]
    x = torch.from_numpy(g.x).double()
    pairs = list(dict.fromkeys((u, v) for u, v in g.edges if u != v))
    torch.manual_seed(1)
    features = torch.randn(len(pairs), edge_inputs).double() if edge_inputs else None
    out = model.encode(PackedBatch.from_edges(x, torch.tensor(pairs).T, edge_attr=features))
    vector, scores = literally(model, x, pairs, features)
    torch.testing.assert_close(out.graph[0], vector)
    torch.testing.assert_close(out.saliency[0], scores)


# --- training --------------------------------------------------------------------------------------------------------


def test_attention_is_drawn_and_paid_for_in_training_alone() -> None:
    batch = batch_of(EXAMPLES, "packed")
    model = GSAT(small(), INPUTS, CLASSES).double()
    torch.manual_seed(0)
    one, other = model.train().encode(batch), model.encode(batch)
    assert not torch.equal(one.graph, other.graph)
    assert one.loss is not None
    assert one.loss > 0
    model.eval()
    assert torch.equal(model.encode(batch).graph, model.encode(batch).graph)
    assert model.encode(batch).loss is None


def test_the_divergence_has_its_weight() -> None:
    batch = replace(batch_of(EXAMPLES, "packed"), y=torch.arange(len(EXAMPLES)) % CLASSES)
    models = [GSAT(small(information=weight), INPUTS, CLASSES).double() for weight in (0.0, 3.0)]
    models[1].load_state_dict(models[0].state_dict())
    losses = []
    for model in models:
        torch.manual_seed(0)
        losses.append(loss_of(model.train(), TASK, batch, TrainingConfig()).item())
    torch.manual_seed(0)
    assert losses[1] - losses[0] == pytest.approx(models[1].encode(batch).loss.item())


def test_attention_follows_the_rate_where_nothing_else_counts() -> None:
    batch, means = batch_of(EXAMPLES, "packed"), []
    for rate in (0.2, 0.9):
        torch.manual_seed(0)
        model = GSAT(small(), INPUTS, CLASSES).double().train()
        model.rate = rate
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(60):
            optimizer.zero_grad()
            model.encode(batch).loss.backward()
            optimizer.step()
        with torch.no_grad():
            pairs = torch.rand(50, 12).double()
            means.append(model.attention(pairs, torch.zeros(50, dtype=torch.long), 1).sigmoid().mean().item())
    assert means[0] < 0.35
    assert means[1] > 0.75


# --- what it tells apart, and what it refuses ------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_is_told_apart(pair: str) -> None:
    assert gap(GSAT(small(), 1, 2), pair) < 1e-6


@pytest.mark.parametrize("rate", [0.0, 0.95])
def test_nonsense_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match=rf"model.rate: got {rate}, expected more than 0, at most 0.9"):
        GSATConfig(rate=rate)
    with pytest.raises(InputError, match=r"model.information: got -1.0, expected 0 or more"):
        GSATConfig(information=-1.0)
