"""Runs in memory: names, what they read, folders that change while they are served."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.serving import loaded
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.loaded import LoadedRun, Runs
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of
from sargnn.training.run import train
from served import Client, graph
from tiny import labelled, shapes, tiny


@pytest.mark.parametrize("encodings", [(), ("auto",)], ids=["nodes", "nodes and edges"])
def test_the_example_is_a_graph_that_the_model_reads(tmp_path: Path, encodings: tuple[str, ...]) -> None:
    folder = tmp_path / "run"
    train(labelled(shapes()), tiny("sargnn-plus", model__members=1, data__edge_encodings=encodings), folder)
    one = LoadedRun.load("run", folder)
    (outcome,) = outcomes_of(one.trained, None, Wanted(), [GraphInput.of(one.example, {})])
    assert isinstance(outcome, Outcome), outcome
    assert one.inputs()["node_attributes"] == 2
    assert ("edge_labels" in one.inputs()) is bool(encodings)


def test_the_example_of_a_model_that_knows_no_atoms_is_no_molecule(tmp_path: Path, molecules: Path) -> None:
    """SMILES can be read as graphs with labels that it has never seen: its answer would mean nothing."""
    graphs = replace(shapes(), node_labels=shapes().edges[0][: shapes().num_nodes] % 2, node_label_names=("0", "1"))
    train(replace(graphs, node_attributes=None), tiny(), tmp_path / "run")
    example = LoadedRun.load("run", tmp_path / "run").example
    assert isinstance(example, dict)
    assert [node["label"] for node in example["nodes"]] == ["0", "1", "0"]
    assert LoadedRun.load("drugs", molecules).example == "CCO"


def test_runs_have_names_that_fit_into_an_address(run: Path, tmp_path: Path) -> None:
    for name in ("my run", "../odd", "<b>"):
        shutil.copytree(run, tmp_path / "in" / name if not name.startswith("..") else tmp_path / "odd")
    runs = Runs([tmp_path / "in" / "my run", tmp_path / "odd", tmp_path / "in" / "<b>", run, run])
    assert list(runs) == ["my-run", "odd", "b", "shapes", "shapes-2"]


def test_a_model_that_draws_when_it_predicts_is_not_served(tmp_path: Path) -> None:
    train(shapes(), tiny("ugformer", model__feed_forward=8), tmp_path / "run")
    with pytest.raises(InputError, match="draws random numbers when it predicts"):
        Runs([tmp_path / "run"])


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a model folder"):
        Runs([tmp_path])


def test_a_folder_that_changes_is_read_again_and_a_broken_one_is_not(
    run: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loaded, "LOOK_AGAIN", 0.0)
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    one = client(folder)

    def predicted() -> float:
        answer = one.post("/v1/models/run/predict", json={"graphs": [graph(5)]})
        assert answer.status_code == 200
        return float(answer.json()["results"][0]["confidence"])

    before = predicted()
    whole = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(whole[:-40])  # half a copy
    assert predicted() == before
    assert "serving what was read before" in capsys.readouterr().err
    shutil.rmtree(folder)
    assert predicted() == before
    train(shapes(count=60), tiny(training__epochs=2, training__seed=3), folder)
    assert predicted() != before
    assert "was read again" in capsys.readouterr().err
    assert one.get("/v1/models/run").json()["history"][-1]["epoch"] == 2
