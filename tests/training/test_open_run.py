"""A saved model opened on graphs: parts of its split, graphs by number, graphs it cannot read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.data.roles import Roles
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.tasks import Multilabel
from sargnn.training.model_folder import read_training
from sargnn.training.open_run import OpenRun, open_run
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from tiny import shapes

FAST = Settings.of("sar-gcn", {"model.layers": 1, "model.hidden": 4, "training.epochs": 1})


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    plain = shapes(count=30)
    return replace(plain, node_labels=np.arange(plain.num_nodes) % 2, node_label_names=("even", "odd"))


@pytest.fixture(scope="module")
def run(graphs: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> TrainingRun:
    return train(graphs, FAST, tmp_path_factory.mktemp("run") / "run")


def opened(run: TrainingRun, graphs: GraphSet, part: str = "all", only: list[int] | None = None) -> OpenRun:
    assert run.folder is not None
    return open_run(run.folder, graphs, part, only=only)


def test_parts_are_those_of_the_run(run: TrainingRun, graphs: GraphSet) -> None:
    whole = opened(run, graphs)
    assert whole.index.tolist() == list(range(30))
    assert whole.counts == {"graphs": 30}
    for part, index in whole.parts.items():
        assert opened(run, graphs, part).index.tolist() == index.tolist()
    test = opened(run, graphs, "test")
    assert test.chosen.fingerprint == graphs.subset(run.fold.test).fingerprint
    assert run.prediction is not None
    assert np.allclose(test.trained.predict(test.chosen).values, run.prediction.values[run.fold.test], atol=1e-6)


def test_other_graphs_have_no_parts(run: TrainingRun, graphs: GraphSet) -> None:
    few = graphs.subset([0, 1])
    assert opened(run, few).parts == {}
    with pytest.raises(InputError, match=r"--part: got 'test', expected all: shapes is not the set that .* trained on"):
        opened(run, few, "test")


def test_a_note_is_told_at_the_training_and_not_again(
    graphs: GraphSet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    noted = replace(graphs, notes=("merged 2 edges", "merged 2 edges"))
    made = train(noted, FAST, tmp_path / "run")
    assert read_training(tmp_path / "run")["notes"].count("merged 2 edges") == 1
    capfd.readouterr()
    opened(made, noted)
    assert capfd.readouterr().err == ""
    opened(made, replace(graphs, notes=("left out 3 graphs",)))
    assert capfd.readouterr().err == "shapes: left out 3 graphs\n"


def test_a_run_of_an_earlier_version_has_no_notes(
    graphs: GraphSet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = train(graphs, FAST, tmp_path / "run")
    record = {key: value for key, value in read_training(tmp_path / "run").items() if key != "notes"}
    (tmp_path / "run" / "training.json").write_text(json.dumps(record))
    opened(made, replace(graphs, notes=("merged 2 edges",)))
    assert capfd.readouterr().err == "shapes: merged 2 edges\n"


def test_graphs_by_number_keep_their_order(run: TrainingRun, graphs: GraphSet) -> None:
    assert opened(run, graphs, only=[7, 3, 7]).index.tolist() == [7, 3]
    with pytest.raises(InputError, match=r"--graphs: got 30, expected 0\.\.29, in shapes"):
        opened(run, graphs, only=[30])
    with pytest.raises(InputError, match="which is not in --part"):
        opened(run, graphs, "test", only=[int(run.fold.train[0])])


def test_graphs_with_unknown_labels_are_left_out_and_counted(
    run: TrainingRun, graphs: GraphSet, capfd: pytest.CaptureFixture[str]
) -> None:
    assert graphs.node_labels is not None
    strange = graphs.node_labels.copy()
    strange[graphs.nodes_of(4)] = len(graphs.node_label_names)
    names = (*graphs.node_label_names, "new")
    found = opened(run, replace(graphs, node_labels=strange, node_label_names=names))
    assert found.counts == {"graphs": 29, "left_out": 1}
    assert 4 not in found.index
    assert found.reasons == {4: "got labels that the model was not trained on ('new')"}
    assert "left out 1 of 30 graphs: labels that the model was not trained on ('new'), first in graph 4" in (
        capfd.readouterr().err
    )
    with pytest.raises(InputError, match="got no graph without labels that the model was not trained on"):
        opened(run, replace(graphs, node_labels=strange, node_label_names=names), only=[4])


def test_a_path_reads_as_a_set_does(run: TrainingRun, graphs: GraphSet, tmp_path: Path) -> None:
    graphs.save(tmp_path / "set")
    assert run.folder is not None
    assert open_run(run.folder, str(tmp_path / "set"), "test").index.tolist() == run.fold.test.tolist()


def test_a_column_that_is_named_again_keeps_the_task_of_the_model(tmp_path: Path) -> None:
    """0 and 1 in one column would be taken for classes."""
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    path = tmp_path / "assay.csv"
    path.write_text("smiles,active\n" + "".join(f"{'C' * n},{n % 2}\n" for n in range(1, 21)))
    own = load(path, labels="active", task="multilabel")
    train(own, FAST, tmp_path / "run", task=Multilabel.of(own))
    found = open_run(tmp_path / "run", str(path), roles=Roles(labels=("active",)), labelled=True)
    assert found.graphs.target_names == ("active",)
