"""Fine-tuning: weights go where their inputs are, by name; what does not fit is told; what is frozen stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sargnn.data.features.encoder import Encoder
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.systems import SYSTEMS
from sargnn.tasks import Classification, Task, task_of
from sargnn.training.model_folder import read_training
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel
from sargnn.training.transfer import transfer
from tiny import labelled, shapes, tiny

PLUS: dict[str, Any] = {"model.hidden": 8, "model.layers": 2, "model.members": 1, "training.epochs": 2}


def coloured(names: tuple[str, ...], seed: int = 0) -> GraphSet:
    """Rings and paths whose nodes have these labels, all of them in the first graphs."""
    graphs = shapes(seed=seed)
    labels = np.arange(graphs.num_nodes) % len(names)
    return replace(graphs, node_labels=labels, node_label_names=names, node_attributes=None)


def model(graphs: GraphSet, seed: int = 0, task: Task | None = None, name: str = "sargnn-plus") -> TrainedModel:
    """A model of the graphs as it is initialised."""
    settings = Settings.of(name, {**(PLUS if name == "sargnn-plus" else {}), "training.seed": seed})
    return TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs), task or task_of(graphs))


def weights(trained: TrainedModel) -> dict[str, torch.Tensor]:
    named = [*trained.model.named_parameters(), *trained.model.named_buffers()]
    return {name: value.detach().clone() for name, value in named}


def test_an_equal_model_gets_every_weight() -> None:
    graphs = labelled(shapes())
    source, fresh = model(graphs), model(graphs, seed=1)
    assert transfer(fresh, source) == ([], [])
    for name, value in weights(source).items():
        torch.testing.assert_close(weights(fresh)[name], value, rtol=0, atol=0)


def test_columns_follow_their_names() -> None:
    source, fresh = model(coloured(("C", "N", "O"))), model(coloured(("O", "S", "C", "P")), seed=1)
    before, given = weights(fresh), weights(source)
    notes, anew = transfer(fresh, source)
    after = weights(fresh)
    ours, theirs = fresh.encoder.feature_names, source.encoder.feature_names
    shared = [name for name in ours if name in theirs]
    assert len(shared) == 2 + 16  # C, O and the random walk
    for weight in ("backbone.0.mlp.0.weight", "gates.0.mlp.0.weight", "edge_channels.of_nodes.weight"):
        for i, name in enumerate(ours):
            expected = given[weight][:, theirs.index(name)] if name in theirs else before[weight][:, i]
            torch.testing.assert_close(after[weight][:, i], expected, rtol=0, atol=0)
    torch.testing.assert_close(after["backbone.1.mlp.0.weight"], given["backbone.1.mlp.0.weight"], rtol=0, atol=0)
    assert {"backbone.0.mlp.0.weight", "edge_channels.of_nodes.weight", "input_norm.weight"} <= set(anew)
    assert {"gates.0.mlp.0.weight"} == {name for name in anew if name.startswith(("backbone.1.", "head.", "gates."))}
    assert any("2 of " in note and "node inputs are new" in note for note in notes)
    assert any("1 of " in note and "node inputs are not there any more" in note for note in notes)


UNSTEADY = {"as-published", "dgcnn"}
"""The first draws in prediction too; in the second, rounding decides the order of equal nodes."""
BLOCKS = {"chebygin", "ecc", "slim", "dss-gnn"}
"""Systems that read each input in several columns, or behind other numbers."""
LEARNED = sorted({name for name, system in SYSTEMS.items() if not system.model.fits_directly} - UNSTEADY)


@pytest.mark.parametrize("name", LEARNED)
def test_inputs_in_another_order_change_no_answer_or_are_told(name: str) -> None:
    graphs = coloured(("C", "N", "O"))
    source = model(graphs, name=name)
    turned = replace(graphs, node_labels=2 - graphs.node_labels, node_label_names=("O", "N", "C"))
    fresh = model(turned, seed=1, name=name)
    assert fresh.encoder.feature_names != source.encoder.feature_names
    notes, anew = transfer(fresh, source)
    if name in BLOCKS:
        assert "do not fit and are trained anew" in notes[-1]
        assert anew
    else:
        assert (notes, anew) == ([], [])
        expected = source.predict(graphs).values
        np.testing.assert_allclose(fresh.predict(turned).values, expected, rtol=1e-5, atol=1e-6)


def test_outputs_are_kept_only_where_the_task_is_the_same() -> None:
    graphs = shapes()
    source = model(graphs)
    other = model(graphs, seed=1, task=Classification(("active", "inactive", "unknown")))
    before = weights(other)
    notes, _ = transfer(other, source)
    assert "3 of 3 outputs are new: 'active', 'inactive', 'unknown'" in notes
    last = max(name for name in before if name.startswith("head.") and name.endswith("weight"))
    torch.testing.assert_close(weights(other)[last], before[last], rtol=0, atol=0)
    assert not torch.equal(weights(other)["backbone.1.mlp.0.weight"], before["backbone.1.mlp.0.weight"])


def test_an_ensemble_of_more_members_keeps_those_it_has() -> None:
    graphs = shapes()
    settings = Settings.of("sargnn-plus", {**PLUS, "model.members": 2})
    two = TrainedModel.untrained(settings, Encoder.fit(settings.data, graphs), task_of(graphs))
    three = TrainedModel.untrained(
        Settings.of("sargnn-plus", {**PLUS, "model.members": 3, "training.seed": 1}), two.encoder, two.task
    )
    (note,), anew = transfer(three, two)
    assert {name.split(".")[1] for name in anew} == {"2"}
    assert "weights do not fit and are trained anew: 'members.2." in note


def test_what_cannot_start_from_weights_is_refused() -> None:
    graphs = shapes()
    with pytest.raises(InputError, match="got a run of sar-gcn, expected one of deepsets"):
        transfer(model(graphs, name="deepsets"), model(graphs, name="sar-gcn"))
    with pytest.raises(InputError, match="fitted without gradients"):
        transfer(model(graphs, name="topological-forest"), model(graphs, name="topological-forest"))


def test_training_starts_where_the_run_ended_and_says_so(tmp_path: Path) -> None:
    settings = Settings.of("sargnn-plus", PLUS)
    train(shapes(), settings, tmp_path / "first")
    run = TrainingRun.start(shapes(seed=1), settings, tmp_path / "second", start_from=tmp_path / "first")
    started = TrainingRun.start(shapes(), settings, start_from=tmp_path / "first")
    for name, value in weights(started.trained).items():
        torch.testing.assert_close(value, weights(run.trained)[name], rtol=0, atol=0)
    assert not run.notes
    assert read_training(tmp_path / "second")["from"] == str(tmp_path / "first")


def test_a_frozen_backbone_stays_as_it_is(tmp_path: Path) -> None:
    settings = Settings.of("sargnn-plus", {**PLUS, "model.members": 2})
    train(shapes(), settings, tmp_path / "first")
    run = TrainingRun.start(
        shapes(seed=1), settings, tmp_path / "second", start_from=tmp_path / "first", freeze="backbone"
    )
    before = weights(run.trained)
    for _ in run:
        pass
    after = weights(run.finish().trained)
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    frozen = ("backbone.", "norms.", "input_norm.", "edge_channels.")
    assert not [name for name in changed if name.partition(".")[2].partition(".")[2].startswith(frozen)]
    assert any(".head." in name for name in changed)
    assert read_training(tmp_path / "second")["freeze"] == "backbone"


def test_of_a_frozen_backbone_what_is_new_learns(tmp_path: Path) -> None:
    settings = Settings.of("sargnn-plus", PLUS)
    train(coloured(("C", "N", "O")), settings, tmp_path / "first")
    graphs = coloured(("O", "S", "C", "P"), seed=1)
    run = TrainingRun.start(graphs, settings, tmp_path / "second", start_from=tmp_path / "first", freeze="backbone")
    before = weights(run.trained)
    for _ in run:
        pass
    after = weights(run.finish().trained)
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    assert {"backbone.0.mlp.0.weight", "edge_channels.of_nodes.weight"} <= changed
    assert not [name for name in changed if name.startswith(("backbone.1.", "norms."))]
    assert set(read_training(tmp_path / "second")["anew"]) & changed


def test_an_interrupted_fine_tuning_ends_with_the_same_weights(tmp_path: Path) -> None:
    settings = tiny("sargnn-plus", model__members=1, training__epochs=4, model__dropout=0.0)
    train(shapes(), settings, tmp_path / "first")
    how: dict[str, Any] = {"start_from": tmp_path / "first", "freeze": "backbone"}
    whole = train(shapes(seed=1), settings, tmp_path / "whole", **how)
    broken = TrainingRun.start(shapes(seed=1), settings, tmp_path / "broken", **how)
    next(iter(broken))
    with pytest.raises(InputError, match="got --freeze None, expected backbone as it was started with"):
        TrainingRun.start(shapes(seed=1), settings, tmp_path / "broken", resume=True, start_from=tmp_path / "first")
    rest = train(shapes(seed=1), settings, tmp_path / "broken", resume=True, **how)
    for name, value in weights(whole.trained).items():
        torch.testing.assert_close(value, weights(rest.trained)[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "values", "freeze", "message"),
    [
        ("sargnn-plus", PLUS, "head", "--freeze: got 'head', expected backbone"),
        ("deepsets", {}, "backbone", "--freeze: got DeepSets, expected a model whose backbone stands apart"),
        ("sargnn-plus", {**PLUS, "training.policy": "alternating"}, "backbone", "expected joint"),
    ],
)
def test_what_cannot_be_frozen_is_said(name: str, values: dict[str, Any], freeze: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainingRun.start(shapes(), Settings.of(name, values), freeze=freeze)
