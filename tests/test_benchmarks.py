"""The scripts of ``benchmarks/`` run and give whole rows; what they measure is not tested, because machines differ."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.data.splits import Fold
from sargnn.data.synthetic import triangles
from sargnn.explain.parts import find_parts
from sargnn.training.run import train
from tiny import shapes, tiny

FOLDER = Path(__file__).parents[1] / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_readers() -> None:
    readers = script("readers")
    row = readers.measure_networkx(60)
    assert row["graphs_per_second"] > 0
    assert row["ratio"] > 0
    row = readers.measure_tables(1)
    assert row["graphs"] > 1000
    assert row["bytes"] == pytest.approx(1_000_000, rel=0.01)
    assert row["peak_bytes"] >= row["baseline_bytes"] > 0


def test_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    calibration = script("calibration")
    shapes(count=60).save(tmp_path / "shapes")
    out = tmp_path / "rows.jsonl"
    arguments = ["calibration.py", "--data", str(tmp_path / "shapes"), "--splits", "2", "--epochs", "1"]
    arguments += ["--out", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    calibration.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["seed"], row["model"], row["stopping"]) for row in rows[:4]] == [
        (0, "sar-gcn", False), (0, "sar-gcn", True), (0, "gin", False), (0, "gin", True),
    ]  # fmt: skip
    assert all({"ece", "ece_calibrated", "ece_likelihood", "coverage"} <= row.keys() for row in rows)
    table = capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*arguments, "--table"])
    calibration.main()
    assert capsys.readouterr().out == table
    assert table.count("\n") == 6


def test_costs(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    out = tmp_path / "rows.jsonl"
    arguments = ["costs.py", "--data", "MUTAG", "--systems", "gin", "topological-forest", "--rounds", "2"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--out", str(out)])
    script("costs").main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["system"] for row in rows] == ["gin", "topological-forest"]
    for row in rows:
        assert row["parameters"] > 0
        assert row["epoch"]["seconds"] > row["prediction"]["seconds"] > 0, "an epoch is of all graphs, the other of one"
        assert row["forward"]["seconds"] > 0
        assert row["settings"]["name"] == row["system"]
        assert row["training_graphs"] == 152


def test_readouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rows.jsonl"
    readouts = script("readouts")
    monkeypatch.setitem(readouts.SETS, "motifs", (lambda seed: readouts.motifs(30, seed=seed), 1))
    monkeypatch.setattr(
        sys, "argv", ["readouts.py", "--data", "motifs", "--seeds", "1", "--epochs", "2", "--out", str(out)]
    )
    readouts.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["readout"], row["members"]) for row in rows] == [
        ("salient", 1), ("salient", 3), ("all", 1), ("memory", 1), ("sum", 1),
    ]  # fmt: skip
    assert all(0 <= row["node_auc"] <= 1 and 0 <= row["accuracy"] <= 1 for row in rows)


def test_large_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rows.jsonl"
    large = script("large_graphs")
    monkeypatch.setattr(large, "triangles", lambda *_, seed: large_triangles(seed))
    monkeypatch.setattr(
        sys, "argv", ["large_graphs.py", "--graphs", "40", "--seeds", "1", "--epochs", "1", "--out", str(out)]
    )
    large.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["model"], row["inputs"]) for row in rows] == [(m, i) for m in large.MODELS for i in large.INPUTS]
    assert all(0 <= row[part] <= 1 for row in rows for part in ("train", "test", "test-large"))


def large_triangles(seed: int) -> GraphSet:
    return triangles(40, 10, 10, 10, seed=seed)


def test_memory_training(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    memory = script("memory_training")
    out, fold = tmp_path / "rows.jsonl", Fold(np.arange(20), np.arange(20, 30), np.arange(30, 40))
    memory.write_rows(out, memory.measure(shapes(count=40), fold, ["gin"], seeds=1, epochs=2, hidden=8))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["learning_rate"], row["training"]) for row in rows] == list(product(memory.RATES, memory.TRAININGS))
    for row in rows:
        assert np.shape(row["entropy"]) == np.shape(row["memory_norm"]) == (2, 4)  # by epoch and read of the memory
        assert (np.array(row["entropy"]) <= 1 + 1e-6).all()
    picture = tmp_path / "picture.png"
    arguments = ["memory_training.py", "--out", str(out), "--picture", str(picture), "--table"]
    monkeypatch.setattr(sys, "argv", arguments)
    memory.main()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("\n") == 2 + len(memory.RATES)


def test_the_page_has_the_kept_rows_of_memory_training() -> None:
    memory = script("memory_training")
    rows = [json.loads(line) for line in (FOLDER.parent / "results" / "memory-training.jsonl").read_text().splitlines()]
    assert memory.table(rows) in (FOLDER.parent / "docs" / "protocol.md").read_text()


def test_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    intervals, out = script("intervals"), tmp_path / "rows.jsonl"
    rows = "\n".join(f"{'C' * n}{end},{n + 0.5}" for n in range(1, 21) for end in ("", "O"))
    (tmp_path / "alkanes.csv").write_text(f"smiles,size\n{rows}\n")
    arguments = [str(tmp_path / "alkanes.csv"), "--target", "size", "--epochs", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["intervals.py", *arguments])
    intervals.main()
    made = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["fold"] for row in made] == list(range(10))
    assert all(0 <= row[f"{name}_0.9"]["redealt"] <= 1 for row in made for name in ("alike", "normalised"))
    assert "over 10 trainings" in capsys.readouterr().out


def test_target_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    maps, out = script("target_maps"), tmp_path / "rows.jsonl"
    graphs, truth = maps.planted(8, seed=0)
    assert graphs.targets.tolist() == 2 * [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert set(graphs.sizes.tolist()) == {30}
    assert (truth.sum(axis=0) == 4 * 5).all()
    inside = np.isin(graphs.edges + graphs.node_ptr[graphs.edge_graph], np.flatnonzero(truth[:, 0])).all(axis=0)
    assert inside.sum() == 4 * 2 * len(maps.HOUSE)
    arguments = ["motifs", "--graphs", "40", "--set", "training.epochs=1", "model.members=1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["target_maps.py", *arguments])
    maps.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 2 * 2 * 4
    assert {row["model"] for row in rows} == {"shared", "slots"}
    assert all({"auroc", "auc", "auc_other", "drop_random"} <= row.keys() for row in rows)
    assert "gradient x input" in capsys.readouterr().out


def test_fragments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fragments, out = script("fragments"), tmp_path / "rows.jsonl"
    shapes(count=60).save(tmp_path / "shapes")
    graphs = load(str(tmp_path / "shapes"))
    train(graphs, tiny(training__epochs=1), tmp_path / "run")
    monkeypatch.setattr(fragments, "FEWEST", 1)
    arguments = [str(tmp_path / "run"), str(tmp_path / "shapes"), "--for", "ring", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["fragments.py", *arguments])
    fragments.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["of"] for row in rows if row["kind"] == "cost"] == ["nodes", "edges", "fragments"]
    (flips,) = (row for row in rows if row["kind"] == "flips")
    assert flips["molecules"] > 0
    assert flips["molecules"] >= flips["changed"] >= max(flips["hold"], flips["of_one_fragment"])
    names = {row["name"] for row in rows if row["kind"] == "fragment" and row["part"] == "all"}
    assert names == set(find_parts(graphs, "fragments").names)
    told = capsys.readouterr().out
    assert "| fragment | molecules |" in told
