"""One suite for every model that ``--model`` can name: what must hold of any of them on any graph."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from expressive import randomised
from literal import (
    COMMON,
    EXAMPLES,
    INPUTS,
    Graph,
    batch_of,
    both_ways,
    edge_arguments,
    graph,
    node_rows,
    random_graph,
    tensor_set,
)
from sargnn.batching import Batch
from sargnn.batching.kernels import library
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold
from sargnn.systems import SYSTEMS
from sargnn.tasks import Classification
from sargnn.training.loop import TrainingConfig, loss_of
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
from sargnn.training.settings import Settings
from sargnn.training.vectorized.model_stack import Member, ModelStack
from tiny import FOLD, binary_shapes, measured_shapes, shapes

TASK = Classification(("a", "b", "c"))

CLASSES = 3
SMALL: dict[str, Any] = {"hidden": 8, "dropout": 0.0, "layers": 2}
OWN: dict[str, dict[str, Any]] = {
    "as-published": {"saliency": "learned", "attention": 8, "memory_heads": 2},  # random saliency has no right answer
    "graph-unet": {"classifier": 16},
    "slim": {"landmarks": 5},
    "dgm": {"clusters": (4, 2)},
    "ugformer": {"neighbours": None, "feed_forward": 16},  # drawn neighbours have no right answer
    "dgcnn": {"nodes": 10, "classifier": 16},
    "topological-forest": {"trees": 60, "bins": 8},
}
"""What to set so that a system is small and, in eval mode, a function of its input."""
TIES = {"graph-unet"}
"""Systems that join nodes two steps apart: a small graph becomes complete, its nodes alike, and their order decides
which stay. They are shown a long graph. SAGPool and ECC, where ties come with equal inputs and equal eigenvalues, are
shown graphs without."""

OF_MOLECULES = {"fingerprint-forest"}
"""Systems that do not see the graph: tests/systems has their tests, on molecules."""
NAMES = [name for name in SYSTEMS if name not in OF_MOLECULES]
systems = pytest.mark.parametrize("name", NAMES)
FITTED_AT_ONCE = {"topological-forest"}
"""Systems that no gradient trains: trees are steps, flat almost everywhere."""
by_gradient = pytest.mark.parametrize("name", [name for name in NAMES if name not in FITTED_AT_ONCE])

GRAPHS = [
    random_graph(12, 20, seed=1), graph(1, []), graph(4, []), EXAMPLES[3], EXAMPLES[5], random_graph(7, 9, seed=2),
]  # fmt: skip
"""Connected and disconnected, without edges, of one node."""
LONG = graph(40, both_ways(*((i, i + 1) for i in range(39)), (3, 6), (20, 24), (30, 33)))
"""A path with three chords."""


def values_of(name: str, **more: Any) -> dict[str, Any]:
    known = {field.name for field in fields(SYSTEMS[name].config)}
    small = {key: value for key, value in (SMALL | more).items() if key in known}
    return SYSTEMS[name].values | small | OWN.get(name, {})


def new_model(name: str, classes: int = CLASSES, **more: Any) -> Any:
    torch.manual_seed(0)
    return SYSTEMS[name].model.build(SYSTEMS[name].config(**values_of(name, **more)), INPUTS, classes)


def some_model(name: str, seed: int, classes: int = CLASSES) -> Any:
    """With random weights or, where they are not drawn but fitted, fitted to random graphs."""
    model = new_model(name, classes)
    if name not in FITTED_AT_ONCE:
        return randomised(model, seed)
    data = tensor_set([random_graph(n % 9 + 4, 2 * n % 13 + 3, seed=seed + n) for n in range(30)], np.float32)
    data.y = torch.arange(len(data)) % classes
    model.fit_directly(data, np.arange(len(data)), seed, balanced=False)
    return model.eval()


def layouts(model: Any) -> list[str]:
    if model.layouts == ("packed",):
        return ["packed"]
    return [*COMMON, "compressed"] if "compressed" in model.layouts and library(torch.float64) else [*COMMON]


def outputs(model: Any, batch: Batch) -> list[Tensor]:
    """Graph vectors, logits, node scores ``[N]``."""
    with torch.no_grad():
        out = model.encode(batch)
        return [out.graph, model.head(out.graph), *map(batch.per_node, out.saliency)]


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-7, atol=1e-7)


@systems
def test_the_order_of_nodes_does_not_matter(name: str) -> None:
    model = some_model(name, 0)
    for g in (LONG,) if name in TIES else (LONG, random_graph(12, 20, seed=1)):
        order = np.random.default_rng(0).permutation(g.nodes)
        place = np.argsort(order)
        turned = Graph(g.nodes, tuple((int(place[u]), int(place[v])) for u, v in g.edges), g.x[order])
        for layout in layouts(model):
            vector, logits, *scores = outputs(model, batch_of([g], layout))
            vector_, logits_, *scores_ = outputs(model, batch_of([turned], layout))
            close(vector_, vector)
            close(logits_, logits)
            for before, after in zip(scores, scores_, strict=True):
                close(after, before[torch.from_numpy(order)])


@systems
def test_alone_is_in_a_batch_and_all_layouts_agree(name: str) -> None:
    """One node, no edges and several components among them."""
    model = some_model(name, 1)
    for layout in layouts(model):
        together = outputs(model, batch_of(GRAPHS, layout))
        alone = [outputs(model, batch_of([g], "packed")) for g in GRAPHS]
        for position, got in enumerate(together):
            assert got.isfinite().all()
            close(got, torch.cat([one[position] for one in alone]))


@systems
def test_hundreds_of_nodes(name: str) -> None:
    model = some_model(name, 0)
    big = random_graph(600, 900)
    for got, alone in zip(
        outputs(model, batch_of([big, GRAPHS[0]], "packed")), outputs(model, batch_of([big], "packed")), strict=True
    ):
        assert got.isfinite().all()
        close(got[: len(alone)], alone)


@systems
def test_forward_and_encode_agree_and_shapes_are_right(name: str) -> None:
    model = some_model(name, 2)
    batch = batch_of(GRAPHS, "packed")
    with torch.no_grad():
        out = model.encode(batch)
        close(model(*edge_arguments(GRAPHS)), model.head(out.graph))
    nodes = sum(g.nodes for g in GRAPHS)
    assert model.head(out.graph).shape == (len(GRAPHS), CLASSES)
    assert len(node_rows(batch, out.nodes)) == nodes
    for scores in out.saliency:
        assert batch.per_node(scores).shape == (nodes,)
        assert (scores >= 0).all()
        close(batch.sum(scores.unsqueeze(-1)), torch.ones(len(GRAPHS), 1).double())


@systems
@pytest.mark.parametrize("classes", [2, 10])
def test_as_many_logits_as_classes(name: str, classes: int) -> None:
    model = some_model(name, 0, classes)
    logits = model(*edge_arguments(GRAPHS))
    assert logits.shape == (len(GRAPHS), classes)
    assert logits.isfinite().all()


@by_gradient
def test_every_parameter_is_trained(name: str) -> None:
    model = new_model(name).train()
    graphs = [random_graph(n, 2 * n, seed=n) for n in range(10, 22)]
    for layout in layouts(model):
        model.zero_grad()
        batch = replace(batch_of(graphs, layout, np.float32), y=torch.arange(len(graphs)) % CLASSES)
        loss_of(model, TASK, batch, TrainingConfig()).backward()
        trained = [(key, p) for key, p in model.named_parameters() if p.requires_grad]
        assert [key for key, p in trained if p.grad is None or not p.grad.any()] == []


TWENTY = [random_graph(n % 7 + 3, 2 * n % 11 + 3, seed=n) for n in range(20)]


@pytest.mark.parametrize("name", sorted(FITTED_AT_ONCE))
def test_twenty_graphs_are_fitted_at_once(name: str) -> None:
    model, data = new_model(name), tensor_set(TWENTY, np.float32)
    data.y = torch.arange(20) % CLASSES
    model.fit_directly(data, np.arange(20), 0, balanced=False)
    assert torch.equal(model.head(model.encode(data.packed(np.arange(20))).graph).argmax(1), data.y)


@by_gradient
def test_twenty_graphs_are_learnt_by_heart(name: str) -> None:
    model = new_model(name, hidden=32)
    batch = batch_of(TWENTY, layouts(model)[-1], np.float32)
    y = torch.arange(20) % CLASSES
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(400):
        optimizer.zero_grad()
        loss_of(model.train(), TASK, replace(batch, y=y), TrainingConfig()).backward()
        optimizer.step()
        if step % 20 == 19:
            with torch.no_grad():
                if torch.equal(model.eval().head(model.encode(batch).graph).argmax(1), y):
                    return
    pytest.fail("not learnt after 400 steps")


def settings_of(name: str, **more: Any) -> Settings:
    values = {f"model.{key}": value for key, value in values_of(name).items()}
    return Settings.of(name, values | {"training.epochs": 1, "training.batch_size": 8} | more)


@systems
def test_saved_and_loaded_it_says_the_same_and_so_does_the_same_seed(name: str, tmp_path: Path) -> None:
    graphs = shapes()
    run = train(graphs, settings_of(name), tmp_path / "run", fold=FOLD)
    again = train(graphs, settings_of(name), fold=FOLD)
    expected = run.trained.predict(graphs)
    for got in (load_model(tmp_path / "run").predict(graphs), again.trained.predict(graphs)):
        assert np.array_equal(got.probabilities, expected.probabilities)
        assert np.array_equal(got.saliency, expected.saliency)


@systems
def test_several_at_once_are_as_each_alone(name: str) -> None:
    if layouts(new_model(name)) == ["packed"]:
        pytest.skip("works on packed batches alone")
    if name == "as-published":
        pytest.skip("has dropout that is never off, and several at once draw other numbers")
    graphs, settings = shapes(), settings_of(name)
    fitted = ModelStack(graphs, settings, [Member(FOLD, settings.training)] * 2)
    rows = [row for rows in fitted for row in rows]
    alone = train(graphs, settings, fold=FOLD).state.history
    for row in rows:
        assert row["train_loss"] == pytest.approx(alone[row["epoch"] - 1]["train_loss"], rel=1e-3)


@systems
def test_graphs_without_any_label_can_be_judged(name: str) -> None:
    graphs = shapes()
    trained = train(graphs, settings_of(name), fold=FOLD).trained
    bare = pack([(2, [(0, 1), (1, 0)]), (1, [])], node_attributes=np.zeros((3, 2)))
    assert trained.predict(bare).probabilities.shape == (2, 2)


BY_TARGETS = pytest.mark.parametrize("graphs", [binary_shapes(), measured_shapes()], ids=["multilabel", "regression"])
"""Sets of several binary targets and of several numbers, both with gaps."""


@systems
@BY_TARGETS
def test_targets_with_gaps_are_learnt_saved_and_loaded(name: str, graphs: GraphSet, tmp_path: Path) -> None:
    more = {"model.hidden": 16} if "hidden" in {field.name for field in fields(SYSTEMS[name].config)} else {}
    long = settings_of(
        name, **more, **{"training.epochs": 25, "training.learning_rate": 0.01, "training.monitor": "last"}
    )
    run = train(graphs, long, tmp_path / "run", fold=FOLD)
    expected = run.trained.predict(graphs)
    assert expected.values.shape == graphs.targets.shape
    assert np.isfinite(expected.values).all()
    found = load_model(tmp_path / "run").predict(graphs)
    assert np.array_equal(found.values, expected.values)
    first, last = run.state.history[0]["train_loss"], run.state.history[-1]["train_loss"]
    assert name in FITTED_AT_ONCE or last < 0.95 * first
    _, alone = run.trained.task.baseline(run.trained.task.targets(graphs)[FOLD.train])
    headline = run.scores["train"][run.trained.task.metrics[0].key]
    assert headline < alone if run.trained.task.metrics[0].lower else headline > alone


@systems
@BY_TARGETS
def test_several_at_once_learn_targets_as_each_alone(name: str, graphs: GraphSet) -> None:
    if layouts(new_model(name)) == ["packed"]:
        pytest.skip("works on packed batches alone")
    if name == "as-published":
        pytest.skip("has dropout that is never off, and several at once draw other numbers")
    settings = settings_of(name)
    other = Fold(np.arange(8, 24), np.arange(4, 8), np.arange(4))
    rows = list(ModelStack(graphs, settings, [Member(fold, settings.training) for fold in (FOLD, other)]))
    for number, fold in enumerate((FOLD, other)):
        alone = train(graphs, settings, fold=fold).state.history
        assert rows[0][number]["train_loss"] == pytest.approx(alone[0]["train_loss"], rel=1e-3)
