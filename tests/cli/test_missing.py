"""Gaps in attributes, from training to every answer, by real commands on a folder of tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from command import PLAIN, Command
from sargnn import load, load_model

EMPTY = ("", "NA", "nan")
"""How a gap may be written."""


def tables(folder: Path, gaps: tuple[str, ...], count: int = 40, seed: int = 0) -> Path:
    """Paths whose nodes have a mass and a charge, of which some are missing."""
    rng = np.random.default_rng(seed)
    lines = {"graphs": ["graph,label"], "nodes": ["graph,node,mass,charge"], "edges": ["graph,source,target"]}
    for g in range(count):
        lines["graphs"].append(f"g{g},{'ab'[g % 2]}")
        for node in range(size := 3 + g % 4):
            row = {"mass": f"{rng.normal(g % 2):.3f}", "charge": f"{rng.normal():.3f}"}
            row |= {name: EMPTY[node % 3] for name in gaps if (node + g) % 5 == 0}
            lines["nodes"].append(f"g{g},{node},{row['mass']},{row['charge']}")
        lines["edges"] += [f"g{g},{node},{node + 1}" for node in range(size - 1)]
    folder.mkdir()
    for name, text in lines.items():
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n")
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_gaps_from_training_to_every_answer(sargnn: Command, tmp_path: Path) -> None:
    data, new = tables(tmp_path / "data", ("charge",)), tables(tmp_path / "new", ("mass", "charge"), 12, seed=1)
    assert sargnn("data", "info", data, "--json").answer["gaps"] == {"node attribute 'charge'": 36}
    done = sargnn("train", data, "--out", "run", "--json", *PLAIN)
    told = "data has gaps in node attribute 'charge': they are read as the mean, each with a column that says where"
    assert [line for line in done.err.splitlines() if "gaps" in line] == [f"{told} (data.missing=flag)"]
    record = json.loads(Path("run/training.json").read_text())
    assert f"{told} (data.missing=flag)" in record["notes"]

    trained, graphs = load_model("run"), load(new)
    assert trained.settings.data.missing == "flag"
    assert trained.encoder.feature_names == ("attribute 0", "attribute 1", "attribute 0 missing")
    done = sargnn("predict", "run", new, "--out", "p.csv", "--trust", "--json")
    fresh = int(np.unique(graphs.node_graph[np.isnan(graphs.node_attributes[:, 1])]).size)
    assert (done.answer["graphs"], done.answer["new_gaps"]) == (12, fresh)
    which = "gaps in attributes that had none in training (node attribute 'mass')"
    assert f"{fresh} of 12 graphs have {which}, first in graph 0 'g0': they are read as the mean" in done.err
    predicted = rows(Path("p.csv"))
    assert {row["status"] for row in predicted} == {"predicted"}
    assert [row["reason"] for row in predicted].count(which) == fresh
    assert "UserWarning" not in done.err  # told once
    with pytest.warns(UserWarning, match=f"{fresh} graphs have gaps in node attribute 'mass', which had none"):
        expected = trained.predict(str(new)).values
    np.testing.assert_allclose([float(row["probability_b"]) for row in predicted], expected[:, 1], rtol=1e-6)

    found = sargnn("evaluate", "run", new, "--json").answer
    assert found["accuracy"] == pytest.approx(np.mean(expected.argmax(axis=1) == graphs.y))


def test_gaps_are_refused_or_left_out_with_their_place(sargnn: Command, tmp_path: Path) -> None:
    data, full = tables(tmp_path / "data", ("charge",)), tables(tmp_path / "full", (), 12)
    first = "got no value of node attribute 'charge' in graph 0 'g0' (node 0) of data, expected one for every node"
    for command in (["train", data, "--out", "run"], ["cv", data, "--folds", 3]):
        assert sargnn(*command, "--missing", "refuse", *PLAIN).error.startswith(f"{first} (data.missing=refuse)")
    done = sargnn("data", "check", data, "--missing", "refuse", "--json")
    assert (done.status, len(json.loads(done.out)["problems"])) == (2, 36)
    assert sargnn("data", "check", data, "--json").answer["problems"] == []
    assert "data.missing: got 'drop'" in sargnn("train", data, "--missing", "drop").error

    assert sargnn("train", full, "--out", "strict", "--missing", "refuse", *PLAIN).status == 0
    done = sargnn("predict", "strict", data, "--out", "q.csv", "--json")
    graphs = load(data)
    lacking = {f"{graph}" for graph in np.unique(graphs.node_graph[np.isnan(graphs.node_attributes).any(axis=1)])}
    assert done.answer["left_out"] == len(lacking)
    left_out = [row for row in rows(Path("q.csv")) if row["status"] == "left out"]
    assert {row["graph"] for row in left_out} == lacking
    assert {row["reason"] for row in left_out} == {
        "got gaps in attributes, which the model refuses (node attribute 'charge')"
    }


def test_a_graph_that_is_left_out_counts_once_and_one_with_two_oddities_says_both(
    sargnn: Command, tmp_path: Path
) -> None:
    for name, gaps in (("data", ()), ("new", ("mass",))):
        nodes = tables(tmp_path / name, gaps, 12) / "nodes.csv"
        head, *lines = nodes.read_text().splitlines()
        symbols = ["Xe" if name == "new" and i == 0 else "CN"[i % 2] for i in range(len(lines))]
        nodes.write_text(
            "\n".join([f"{head},symbol", *(f"{a},{b}" for a, b in zip(lines, symbols, strict=True))]) + "\n"
        )
    graphs = load(tmp_path / "new")
    lacking = len(np.unique(graphs.node_graph[np.isnan(graphs.node_attributes).any(axis=1)]))
    unknown = "labels that the model was not trained on ('Xe')"
    gaps = "gaps in attributes that had none in training (node attribute 'mass')"
    for rare, counts, reason in (
        (0, {"graphs": 11, "left_out": 1, "new_gaps": lacking - 1}, f"got {unknown}"),
        (1, {"graphs": 12, "unknown_labels": 1, "new_gaps": lacking}, f"{unknown}; {gaps}"),
    ):
        run = f"run{rare}"
        assert sargnn("train", "data", "--out", run, *PLAIN, "--set", f"data.rare_labels={rare}").status == 0
        answer = sargnn("predict", run, "new", "--out", "p.csv", "--json").answer
        assert {name: answer[name] for name in counts} == counts
        assert rows(Path("p.csv"))[0]["reason"] == reason
