"""Exported files give what the model gives, on graphs of any size, when run by others."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

from command import answer_of, error_of
from sargnn import export
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.export import Exportable, export_model
from sargnn.training.run import TrainingRun, train
from sargnn.training.trained import TrainedModel
from tiny import FOLD, shapes, tiny


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """Without the checks of shapes while a test runs: what is traced has none."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def untrained(name: str, **values: Any) -> TrainedModel:
    return TrainingRun.start(shapes(), tiny(name, **values), fold=FOLD).trained


def inputs_of(trained: TrainedModel, graphs: GraphSet) -> dict[str, np.ndarray]:
    """Several graphs as somebody without this package would join them."""
    ends = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    return {
        "x": trained.encoder.encode(graphs).astype(np.float32),
        "edge_index": ends.astype(np.int64),
        "batch": graphs.node_graph,
    }


def assert_agrees(trained: TrainedModel, graphs: GraphSet, logits: np.ndarray, saliency: np.ndarray | None) -> None:
    expected = trained.predict(graphs)
    assert np.allclose(torch.from_numpy(logits).softmax(1).numpy(), expected.probabilities, atol=1e-5)
    assert (saliency is None) == (len(expected.saliency) == 0)
    if saliency is not None:
        assert np.allclose(saliency, expected.saliency, atol=1e-5)


SOME = [shapes(count=1), shapes(count=30, seed=3), shapes(count=7, seed=4)]
"""Sets of other sizes and numbers of graphs than the traced one."""


@pytest.mark.parametrize("backbone", ["gcn", "gin", "sage", "gat"])
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
def test_onnx_runs_elsewhere(backbone: str, fusion: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    trained = untrained(f"sar-{backbone}", model__fusion=fusion, model__layers=1)
    answer = export_model(trained, "onnx", tmp_path / "model.onnx")
    assert answer["outputs"] == ["logits", "saliency"]
    assert answer["largest_difference"] < 1e-5
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    for graphs in SOME:
        assert_agrees(trained, graphs, *session.run(["logits", "saliency"], inputs_of(trained, graphs)))
    words = json.loads(session.get_modelmeta().custom_metadata_map["sargnn"])
    assert words["classes"] == ["ring", "path"]
    assert words["features"] == ["attribute 0", "attribute 1"]


@pytest.mark.parametrize("backbone", ["gcn", "gin", "sage", "gat"])
@pytest.mark.parametrize("fusion", ["weighted", "scaling"])
def test_a_program_of_torch_export_runs_elsewhere(backbone: str, fusion: str, tmp_path: Path) -> None:
    trained = untrained(f"sar-{backbone}", model__fusion=fusion, model__layers=2)
    export_model(trained, "torch-export", tmp_path / "model.pt2")
    words = {"sargnn": ""}
    module = torch.export.load(io.BytesIO((tmp_path / "model.pt2").read_bytes()), extra_files=words).module()
    for graphs in SOME:
        tensors = [torch.from_numpy(value) for value in inputs_of(trained, graphs).values()]
        assert_agrees(trained, graphs, *(out.detach().numpy() for out in module(*tensors)))
    assert json.loads(words["sargnn"])["model"] == f"sar-{backbone}"


def test_a_model_without_saliency_gives_logits_alone(tmp_path: Path) -> None:
    trained = untrained("gin", model__norm="batch", model__dropout=0.5)
    assert export_model(trained, "torch-export", tmp_path / "model.pt2")["outputs"] == ["logits"]
    tensors = [torch.from_numpy(value) for value in inputs_of(trained, SOME[1]).values()]
    module = torch.export.load(tmp_path / "model.pt2").module()
    assert_agrees(trained, SOME[1], module(*tensors)[0].detach().numpy(), None)


def test_nothing_of_this_machine_is_in_a_file(tmp_path: Path) -> None:
    export_model(untrained("gcn"), "torch-export", tmp_path / "model.pt2")
    assert str(Path(export.__file__).parent).encode() not in (tmp_path / "model.pt2").read_bytes()


def test_a_file_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = export._traced

    def wrong(module: Exportable, graphs: Any) -> Any:
        program = traced(module, graphs)
        with torch.no_grad():
            next(module.parameters()).add_(1.0)  # the model goes on, the program stays behind
        return program

    monkeypatch.setattr(export, "_traced", wrong)
    monkeypatch.setitem(export.FORMATS, "torch-export", lambda *a: export._to_torch_export(*a))
    trained = untrained("gcn")
    with pytest.raises(RuntimeError, match="the exported file differs from the model by"):
        export_model(trained, "torch-export", tmp_path / "model.pt2")
    assert not (tmp_path / "model.pt2").exists()


def test_what_cannot_be_exported_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--to: got 'tflite', expected one of onnx, torch-export"):
        export_model(untrained("gcn"), "tflite", tmp_path / "x")
    with pytest.raises(InputError, match=r"got model\.saliency = redrawn, which draws numbers at every call"):
        export_model(untrained("sar-gcn", model__saliency="redrawn"), "onnx", tmp_path / "x")

    def unknown(*_: Any) -> Any:
        raise NotImplementedError("no rule for sort\nand much more")

    monkeypatch.setitem(export.FORMATS, "onnx", unknown)
    with pytest.raises(InputError, match=r"got model 'gcn', which onnx cannot express \(no rule for sort\)"):
        export_model(untrained("gcn"), "onnx", tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_without_its_packages_onnx_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"got onnx without onnxruntime, expected: pip install 'sargnn\[onnx\]'"):
        export_model(untrained("gcn"), "onnx", tmp_path / "x")


def test_the_command(tmp_path: Path) -> None:
    train(shapes(), tiny("gcn", training__epochs=1), tmp_path / "run", fold=FOLD)
    answer = answer_of("export", tmp_path / "run", "--to", "torch-export", "--out", tmp_path / "model.pt2")
    assert (tmp_path / "model.pt2").stat().st_size == answer["bytes"]
    assert "--to: got 'pickle'" in error_of("export", tmp_path / "run", "--to", "pickle", "--out", tmp_path / "x")
