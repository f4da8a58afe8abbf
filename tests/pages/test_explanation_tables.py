"""Tables of explanations: one row per part, per fragment, per graph."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import pack
from sargnn.pages.explanation import Explanation, Flip
from sargnn.pages.explanation_tables import write_flips, write_fragments, write_tables
from sargnn.tasks import Verdict

PATH = [(0, 1), (1, 0), (1, 2), (2, 1)]
GRAPHS = pack([(3, PATH), (1, [])], graph_names=["first", "dot"])
EFFECTS = {"toxic": np.array([0.5, -1.0])}
ITEM = Explanation(0, Verdict("toxic", 0.9), np.empty((0, 3)), "mean", np.zeros(3), effects=EFFECTS)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_edge_is_told_by_its_ends_and_a_fragment_by_its_name_and_nodes(tmp_path: Path) -> None:
    own: dict[str, Any] = {"parts": [[0, 1], [1, 2]]}
    write_tables(tmp_path / "a", GRAPHS, [replace(ITEM, kind="edges", **own)])
    assert rows(tmp_path / "a" / "effects.csv")[1] == {
        "graph": "0", "source": "1", "target": "2", "effect_toxic": "-1.0", "graph_name": "first",
    }  # fmt: skip
    write_tables(tmp_path / "b", GRAPHS, [replace(ITEM, kind="fragments", part_names=["nitro", "methyl"], **own)])
    assert rows(tmp_path / "b" / "effects.csv")[0] == {
        "graph": "0", "fragment": "nitro", "nodes": "0 1", "effect_toxic": "0.5", "graph_name": "first",
    }  # fmt: skip


def test_a_fragment_of_one_graph_has_no_interval(tmp_path: Path) -> None:
    row = {"name": "nitro", "graphs": 1, "count": 2, "mean": 0.5, "low": float("-inf"), "high": float("inf")}
    write_fragments(tmp_path / "fragments.csv", {"toxic": [row]})
    assert rows(tmp_path / "fragments.csv") == [
        {"for": "toxic", "fragment": "nitro", "graphs": "1", "count": "2", "mean_effect": "0.5", "low": "", "high": ""}
    ]


def test_a_graph_without_a_counterfactual_has_an_empty_one(tmp_path: Path) -> None:
    flip = Flip([1], [1, 2], Verdict("safe", 0.7), False)
    named = replace(ITEM, kind="fragments", parts=[[0, 1], [1, 2]], part_names=["nitro", "methyl"], flip=flip)
    write_flips(tmp_path / "flips.csv", GRAPHS, [named, replace(ITEM, graph=1)])
    first, second = rows(tmp_path / "flips.csv")
    assert first == {
        "graph": "0", "predicted": "toxic", "probability": "0.9", "removed": "1", "nodes": "1 2", "parts": "methyl",
        "left_predicted": "safe", "left_probability": "0.7", "holds": "no", "graph_name": "first",
    }  # fmt: skip
    assert (second["removed"], second["holds"], second["graph_name"]) == ("", "", "dot")
