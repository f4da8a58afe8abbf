"""The program beside an ONNX file predicts what the package predicts, in a process that has neither it nor PyTorch."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sargnn
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.sources import load
from sargnn.standalone import Graph, inputs_of, read_graphs, text_of, unknown_encodings

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
pytest.importorskip("onnxscript", reason="onnxscript is not installed (extra: onnx)")

ALONE = """
import runpy, sys
sys.modules.update(dict.fromkeys(("sargnn", "torch", "torch_geometric", "scipy", "sklearn"), None))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def molecules(count: int = 40, seed: int = 0, directed: bool = False) -> list[dict[str, Any]]:
    """Rings and paths with labels, and attributes whose natural order is not the order of letters."""
    rng = np.random.default_rng(seed)
    graphs = []
    for g in range(count):
        size = int(rng.integers(1, 9))
        nodes = [
            {
                "id": f"n{i}",
                "label": "CNO"[int(rng.integers(3))],
                "q10": float(rng.normal()),
                "q2": float(rng.normal(3)),
            }
            for i in range(size)
        ]
        edges = [
            {"source": f"n{i}", "target": f"n{(i + 1) % size}", "label": ["single", "double"][i % 2], "length": i / 7}
            for i in range(size - g % 2)
        ]
        edges += [*edges[:1], {"source": "n0", "target": "n0", "label": "single", "length": 0.5}]  # again, and a loop
        own = {"label": f"class {g % 2}", "mass": g / 3}
        graphs.append({"directed": directed, "graph": own, "nodes": nodes, "edges": edges})
    return graphs


def write(path: Path, graphs: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(graph) + "\n" for graph in graphs))
    return path


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(sargnn.__file__).parents[1]), **variables}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module", params=["sar-gcn", "sargnn-plus"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its ONNX file and the program beside it."""
    folder = tmp_path_factory.mktemp("exported")
    data = write(folder / "graphs.jsonl", molecules())
    small = ["--set", "training.epochs=1", "--set", "model.hidden=8"]
    for command in (
        ["train", data, "--out", folder / "run", "--model", request.param, *small],
        ["export", folder / "run", "--to", "onnx", "--out", folder / "model.onnx"],
    ):
        done = run("-m", "sargnn", *command)
        assert done.returncode == 0, done.stderr
    return folder


def test_it_predicts_what_the_package_predicts(exported: Path) -> None:
    fresh = write(exported / "fresh.jsonl", molecules(count=300, seed=1))
    done = run("-m", "sargnn", "predict", exported / "run", fresh, "--out", exported / "expected.csv")
    assert done.returncode == 0, done.stderr
    alone = run("-I", "-c", ALONE, exported / "model.py", fresh)
    assert (alone.returncode, alone.stderr) == (0, "")
    found = list(csv.DictReader(alone.stdout.splitlines()))
    with (exported / "expected.csv").open(newline="") as file:
        expected = list(csv.DictReader(file))
    assert len(found) == len(expected) == 300
    numbers = [name for name in found[0] if name.startswith("probability_")]
    assert numbers == ["probability_class 0", "probability_class 1"]
    for own, theirs in zip(found, expected, strict=True):
        assert (own["graph"], own["class"]) == (theirs["graph"], theirs["class"])
        assert max(abs(float(own[name]) - float(theirs[name])) for name in numbers) < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [{"id": 0, "label": "Xe", "q10": 1, "q2": 1}]}, "got node label 'Xe', expected one of C, N, O"),
        ({"nodes": [{"id": 0, "label": "C", "q10": 1}]}, "got no node with 'q2', expected one for every node"),
        ({"nodes": [{"label": "C"}]}, "got no 'id' in graph 0, expected nodes with ids, and edges between them"),
    ],
)
def test_other_inputs_are_refused_in_one_line(change: dict[str, Any], message: str, exported: Path) -> None:
    path = write(exported / "other.jsonl", [{"edges": [], **change}])
    done = run("-I", "-c", ALONE, exported / "model.py", path)
    assert (done.returncode, done.stdout) == (1, "") or done.stdout.startswith("graph,")
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


CONFIGS = {
    "given": DataConfig(edge_encodings=("auto",), graph_encodings=("attributes",)),
    "rare labels": DataConfig(rare_labels=15),
    "structure": DataConfig(
        encodings=("degree", "degree-scalar", "constant", "random-walk"), walk_steps=6, max_degree=2
    ),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("config", CONFIGS)
def test_inputs_are_those_of_the_encoder(config: str, directed: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "graphs.jsonl", molecules(directed=directed))
    graphs = load(path)
    encoder = Encoder.fit(CONFIGS[config], graphs, np.arange(20))
    found = inputs_of(list(read_graphs(path)), json.loads(json.dumps(encoder.to_json())))
    assert np.allclose(found["x"], encoder.encode(graphs), atol=1e-5)
    loop = graphs.edges[0] == graphs.edges[1]
    ends = (graphs.edges + graphs.node_ptr[graphs.edge_graph])[:, ~loop]
    assert np.array_equal(found["edge_index"], ends)
    assert np.array_equal(found["batch"], graphs.node_graph)
    if config == "given":
        assert np.allclose(found["edge_attr"], encoder.encode_edges(graphs)[~loop], atol=1e-5)
        assert np.allclose(found["graph_attr"], encoder.encode_graphs(graphs), atol=1e-5)


def test_labels_and_attributes_that_the_training_had_not_are_as_in_the_package(tmp_path: Path) -> None:
    encoder = Encoder.fit(CONFIGS["rare labels"], load(write(tmp_path / "graphs.jsonl", molecules())), np.arange(20))
    others = molecules(seed=1)
    for node in (node for graph in others for node in graph["nodes"]):
        node |= {"a": 1.0, "label": node["label"].replace("O", "Xe")}
    path = write(tmp_path / "others.jsonl", others)
    found = inputs_of(list(read_graphs(path)), json.loads(json.dumps(encoder.to_json())))
    assert np.allclose(found["x"], encoder.encode(load(path)), atol=1e-5)


@pytest.mark.parametrize("missing", ["flag", "mean"])
def test_gaps_are_as_in_the_package(missing: str, tmp_path: Path) -> None:
    """Null, NaN and nothing at all; also where the training had no gaps."""
    config = DataConfig(edge_encodings=("auto",), graph_encodings=("attributes",), missing=missing)
    training = molecules()
    for g, graph in enumerate(training):
        graph["nodes"][0] |= {"q2": None}
        graph["graph"] |= {} if g % 3 else {"mass": None}
    encoder = Encoder.fit(config, load(write(tmp_path / "graphs.jsonl", training)))
    others = molecules(seed=1)
    for g, graph in enumerate(others):
        graph["nodes"][-1] |= {"q2": float("nan"), "q10": None}
        graph["graph"] |= {"mass": None} if g % 2 else {}
        if graph["edges"]:
            del graph["edges"][0]["length"]
    path = write(tmp_path / "others.jsonl", others)
    graphs, found = load(path), inputs_of(list(read_graphs(path)), json.loads(json.dumps(encoder.to_json())))
    loop = graphs.edges[0] == graphs.edges[1]
    assert np.allclose(found["x"], encoder.encode(graphs), atol=1e-5)
    assert np.allclose(found["edge_attr"], encoder.encode_edges(graphs)[~loop], atol=1e-5)
    assert np.allclose(found["graph_attr"], encoder.encode_graphs(graphs), atol=1e-5)
    assert found["x"].shape[1] == 3 + 2 + (missing == "flag")
    assert found["graph_attr"].shape[1] == 1 + (missing == "flag")


def test_gaps_are_refused_where_the_model_refuses_them(tmp_path: Path) -> None:
    path = write(tmp_path / "graphs.jsonl", molecules())
    encoder = Encoder.fit(DataConfig(missing="refuse"), load(path)).to_json()
    others = molecules()
    others[5]["nodes"][0]["q2"] = None
    with pytest.raises(SystemExit, match="got a node without 'q2', expected one for every node"):
        inputs_of(list(read_graphs(write(tmp_path / "others.jsonl", others))), encoder)
    others[5]["nodes"][0]["q2"] = "heavy"
    with pytest.raises(SystemExit, match="got 'heavy' in 'q2' of a node, expected a number"):
        inputs_of(list(read_graphs(write(tmp_path / "others.jsonl", others))), encoder)


def test_a_json_list_and_one_object_are_read_too(tmp_path: Path) -> None:
    graphs = molecules(count=3)
    for content, count in ((graphs, 3), (graphs[0], 1)):
        (tmp_path / "graphs.json").write_text(json.dumps(content))
        assert [len(g.nodes) for g in read_graphs(tmp_path / "graphs.json")] == [
            len(g["nodes"]) for g in graphs[:count]
        ]


def test_labels_are_named_as_in_the_package() -> None:
    assert [text_of(value) for value in (7, 7.0, "007", 0.5, " C ")] == ["7", "7", "7", "0.5", "C"]


def test_a_walk_on_a_path_is_back_by_hand() -> None:
    path = {"nodes": [{"id": i} for i in range(3)], "edges": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]}
    assert Graph(path, 0).returns(3).tolist() == [[0.5, 0, 0.5], [1, 0, 1], [0.5, 0, 0.5]]


def test_inputs_that_only_the_package_computes_leave_no_program_and_say_so(tmp_path: Path) -> None:
    assert unknown_encodings({"encodings": [{"encoding": "labels"}, {"encoding": "topology"}]}) == ["topology"]
    data = write(tmp_path / "graphs.jsonl", molecules())
    settings = ["--set", "training.epochs=1", "--set", "model.hidden=8", "--set", "data.encodings=degree,substructures"]
    done = run("-m", "sargnn", "train", data, "--out", tmp_path / "run", "--model", "sar-gcn", *settings)
    assert done.returncode == 0, done.stderr
    done = run("-m", "sargnn", "export", tmp_path / "run", "--to", "onnx", "--out", tmp_path / "m.onnx", "--json")
    answer = json.loads(done.stdout)
    assert answer["script"] == "none"
    assert answer["needs"] == "sargnn itself, for the inputs substructures"
    assert (tmp_path / "m.onnx").exists()
    assert not (tmp_path / "m.py").exists()
