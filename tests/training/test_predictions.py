"""The table of predictions, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sargnn.data.graphs import pack
from sargnn.tasks import Classification
from sargnn.training.predictions import write_predictions

GRAPHS = pack([(1, []), (1, []), (1, [])])
TASK = Classification(("no", "yes"))
VALUES = np.array([[0.75, 0.25], [0.125, 0.875]])


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


def test_rows_are_of_the_chosen_graphs(tmp_path: Path) -> None:
    write_predictions(tmp_path / "out.csv", TASK, VALUES, GRAPHS, np.array([2, 0]))
    assert lines(tmp_path / "out.csv") == [
        "graph,class,probability_no,probability_yes", "2,no,0.75,0.25", "0,yes,0.125,0.875",
    ]  # fmt: skip


def test_sets_and_names_are_the_last_columns(tmp_path: Path) -> None:
    named = replace(GRAPHS, graph_names=("a", "b", "c, d"))
    sets = np.array([[True, True], [False, True]])
    write_predictions(tmp_path / "out.csv", TASK, VALUES, named, np.array([2, 0]), sets)
    header, first, second = lines(tmp_path / "out.csv")
    assert header.endswith(",graph_name")
    assert first == '2,no,0.75,0.25,1,1,"c, d"'
    assert second == "0,yes,0.125,0.875,0,1,a"
