"""Exported files give what the model gives, on graphs of any size, when run by others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

import sargnn
from command import error_of
from sargnn import export, standalone
from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.export import Exportable, export_model
from sargnn.training.model_folder import load_model
from sargnn.training.run import TrainingRun, train
from sargnn.training.trained_model import TrainedModel
from tiny import FOLD, binary_shapes, labelled, measured_shapes, shapes, tiny

ONNX = ["sar-gcn-weighted", "sar-gin-scaling", "sar-sage-weighted", "sar-gat-scaling", "edges-and-graphs", "multilabel"]
PROGRAMS = [
    "sar-gcn-scaling",
    "sar-gin-weighted",
    "sar-sage-scaling",
    "sar-gat-weighted",
    "gin",
    "edges-alone",
    "regression",
]
"""Every backbone with each fusion goes through the tracing, which takes seconds, in one format or the other."""
EDGES: dict[str, dict[str, Any]] = {
    "edges-and-graphs": {
        "data__edge_encodings": "auto",
        "model__edge_channels": 3,
        "data__graph_encodings": "attributes",
    },
    "edges-alone": {"data__edge_encodings": "labels", "model__edge_channels": 2, "model__relative": True},
}

TARGETS = {"multilabel": binary_shapes(), "regression": measured_shapes()}
"""Other tasks, each by an ensemble."""

SOME = [labelled(shapes(count=1)), labelled(shapes(count=30, seed=3)), labelled(shapes(count=7, seed=4))]
"""Sets of other sizes and numbers of graphs than the traced one."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(sargnn.__file__).parents[1])}

SCRIPT = """
import json, sys
from pathlib import Path
from sargnn.export import export_model
from sargnn.training.model_folder import load_model
folder = Path(sys.argv[1])
answers = {}
for to in ("onnx", "torch-export"):
    for run in sorted(folder.glob(f"{to}/*")):
        answers[run.name] = export_model(load_model(run), to, folder / f"{run.name}.{to}")
(folder / "answers.json").write_text(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models and what they were exported to, all in one process of its own: the checks of shapes that hold
    while tests run cannot be traced."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed (extra: onnx)")
    folder = tmp_path_factory.mktemp("exported")
    for kind in ONNX + PROGRAMS:
        if kind in TARGETS:
            place = folder / ("onnx" if kind in ONNX else "torch-export") / kind
            train(TARGETS[kind], tiny(training__epochs=1, model__members=2), place, fold=FOLD)
            continue
        if kind in EDGES:
            settings = tiny("sar-gin", training__epochs=1, **EDGES[kind])
            train(labelled(shapes()), settings, folder / ("onnx" if kind in ONNX else "torch-export") / kind, fold=FOLD)
            continue
        name, _, fusion = kind.rpartition("-")
        values = {"model__fusion": fusion} if name else {"model__norm": "batch", "model__dropout": 0.5}
        values |= {"model__readout": "sum"} if fusion == "scaling" else {}
        settings = tiny(name or kind, model__layers=1, training__epochs=1, **values)
        train(shapes(), settings, folder / ("onnx" if kind in ONNX else "torch-export") / kind, fold=FOLD)
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


def inputs_of(trained: TrainedModel, graphs: GraphSet) -> dict[str, np.ndarray]:
    """Several graphs as somebody without this package would join them."""
    ends = graphs.edges + graphs.node_ptr[graphs.edge_graph]
    encoder = trained.encoder
    inputs = {"x": encoder.encode(graphs), "edge_index": ends.astype(np.int64), "batch": graphs.node_graph}
    inputs |= {"edge_attr": encoder.encode_edges(graphs)} if encoder.edge_width else {}
    return inputs | ({"graph_attr": encoder.encode_graphs(graphs)} if encoder.graph_width else {})


def assert_agrees(trained: TrainedModel, graphs: GraphSet, outputs: list[np.ndarray]) -> None:
    expected = trained.predict(graphs)
    values, *saliency = outputs
    classes = trained.task.kind == "classification"
    values = torch.from_numpy(values).softmax(1).numpy() if classes else values
    assert np.allclose(values, expected.values, rtol=1e-5, atol=1e-5)
    assert len(saliency) == (len(expected.saliency) > 0)
    assert all(np.allclose(found, expected.saliency, atol=1e-5) for found in saliency)


@pytest.mark.parametrize("kind", ONNX)
def test_onnx_runs_elsewhere(kind: str, exported: Path) -> None:
    import onnxruntime

    trained = load_model(exported / "onnx" / kind)
    session = onnxruntime.InferenceSession(exported / f"{kind}.onnx", providers=["CPUExecutionProvider"])
    for graphs in SOME:
        assert_agrees(trained, graphs, session.run(None, inputs_of(trained, graphs)))
    words = json.loads(session.get_modelmeta().custom_metadata_map["sargnn"])
    assert words["features"] == ["attribute 0", "attribute 1"]
    assert {**words, **trained.task.to_json()} == words


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_of_torch_export_runs_elsewhere(kind: str, exported: Path) -> None:
    trained = load_model(exported / "torch-export" / kind)
    words = {"sargnn": ""}
    module = torch.export.load(exported / f"{kind}.torch-export", extra_files=words).module()
    for graphs in SOME:
        tensors = {name: torch.from_numpy(value) for name, value in inputs_of(trained, graphs).items()}
        always = [tensors.pop(name) for name in ("x", "edge_index", "batch")]
        assert_agrees(trained, graphs, [out.detach().numpy() for out in module(*always, **tensors)])
    described = json.loads(words["sargnn"])
    assert {**described, **trained.task.to_json()} == described


def test_what_is_told_of_a_file(exported: Path) -> None:
    answers = json.loads((exported / "answers.json").read_text())
    for name, answer in answers.items():
        first = {"multilabel": "probabilities", "regression": "values"}.get(name, "logits")
        assert answer["outputs"] == ([first] if name == "gin" else [first, "saliency"])
        assert answer["largest_difference"] < 1e-5
        assert answer["bytes"] == Path(answer["file"]).stat().st_size
        assert b"/sargnn/" not in Path(answer["file"]).read_bytes()  # nothing of the machine that wrote it


def untrained(name: str, **values: Any) -> TrainedModel:
    return TrainingRun.start(shapes(), tiny(name, **values), fold=FOLD).trained


@pytest.mark.parametrize("name", ["sar-gcn", "sar-gat", "gin", "as-published"])
def test_what_is_traced_is_the_model(name: str) -> None:
    trained = untrained(name, **({"model__saliency": "learned"} if name == "as-published" else {}))
    module = Exportable(trained.model.eval())
    tensors = [torch.from_numpy(value) for value in inputs_of(trained, SOME[1]).values()]
    with torch.no_grad():
        assert_agrees(trained, SOME[1], [out.numpy() for out in module(*tensors)])


def off_by(difference: float, monkeypatch: pytest.MonkeyPatch, output: int = 0) -> None:
    """From now on one output of a file is not that of the model."""

    def wrong(module: Exportable, *_: Any) -> tuple[bytes, export.Run]:
        def run(graphs: export.Graphs) -> list[np.ndarray]:
            outputs = [out.detach().numpy() for out in module(**graphs)]
            outputs[output] = outputs[output] + np.float32(difference)
            return outputs

        return b"...", run

    monkeypatch.setattr(export, "_traced", lambda module, graphs: module)
    monkeypatch.setitem(export.FORMATS, "onnx", wrong)


@pytest.mark.parametrize(("difference", "output"), [(0.1, 0), (0.1, 1), (np.nan, 0), (np.nan, 1)])
def test_a_file_that_differs_is_not_written(
    difference: float, output: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    off_by(difference, monkeypatch, output)
    line = f"^--to: got model 'sar-gcn', whose onnx file differs from it by {difference}, expected 0.0001 at most$"
    with pytest.raises(InputError, match=line):
        export_model(untrained("sar-gcn"), "onnx", tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_logits_are_compared_by_the_size_of_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 is as exact as the largest of its terms, also where they cancel: here in the first class."""
    off_by(0.1, monkeypatch)
    trained = untrained("gcn")
    last = [module for module in trained.model.modules() if isinstance(module, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.0, 5000.0]))
    answer = export_model(trained, "onnx", tmp_path / "model.onnx")
    assert answer["largest_difference"] == pytest.approx(0.1 / 5000, rel=0.01)


def test_what_cannot_be_exported_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--to: got 'tflite', expected one of onnx, torch-export"):
        export_model(untrained("gcn"), "tflite", tmp_path / "x")
    with pytest.raises(InputError, match="got model 'as-published', which draws numbers at every call"):
        export_model(untrained("as-published"), "onnx", tmp_path / "x")

    def unknown(*_: Any) -> Any:
        raise NotImplementedError("no rule for sort\nand much more")

    monkeypatch.setattr(export, "_traced", unknown)
    with pytest.raises(InputError, match=r"got model 'gcn', which onnx cannot express \(no rule for sort\)"):
        export_model(untrained("gcn"), "onnx", tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_program_of_the_user_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_traced", lambda *_: pytest.fail("it was refused too late"))
    script = tmp_path / "train.py"
    script.write_text("print('mine')\n")
    told = rf"--out: {script} exists and is no program of sargnn export, expected another name"
    with pytest.raises(InputError, match=told):
        export_model(untrained("gcn"), "onnx", tmp_path / "train.onnx")
    assert script.read_text() == "print('mine')\n"
    script.write_text(Path(standalone.__file__).read_text() + "# of an earlier version\n")
    with pytest.raises(pytest.fail.Exception, match="too late"):
        export_model(untrained("gcn"), "onnx", tmp_path / "train.onnx")


def test_without_its_packages_onnx_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    monkeypatch.setattr(export, "_traced", lambda module, graphs: None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"got onnx without onnxruntime, expected: pip install 'sargnn\[onnx\]'"):
        export_model(untrained("gcn"), "onnx", tmp_path / "x")


def test_the_command_refuses_other_formats(tmp_path: Path) -> None:
    train(shapes(), tiny("gcn", training__epochs=1), tmp_path / "run", fold=FOLD)
    assert "--to: got 'pickle'" in error_of("export", tmp_path / "run", "--to", "pickle", "--out", tmp_path / "x")
