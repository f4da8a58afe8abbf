"""One row for every row of the input: those that have a prediction, and those that have a reason for none."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.origin import Origin, SourceRows
from sargnn.data.roles import Roles
from sargnn.errors import InputError
from sargnn.training.open_run import OpenRun
from sargnn.training.prediction_table import write_predictions
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings

DOTS = pack([(1, [])] * 3, name="dots")
VALUES = np.array([[0.75, 0.25], [0.125, 0.875]])
ROWS = SourceRows(
    {"key": ["a", "b", "c", "d"], "class": ["no", "", "yes", "no"]},
    np.array([0, -1, 1, 2]),
    {1: "got '?' (not SMILES), expected a molecule in SMILES"},
)


def opened(graphs: GraphSet, index: list[int], reasons: dict[int, str] | None = None, whole: bool = True) -> OpenRun:
    training = pack([(1, [])] * 20, y=[0, 1] * 10, classes=["no", "yes"])
    trained = TrainingRun.start(training, Settings.of("gcn", {"model.hidden": 4})).trained
    counts = {"left_out": len(reasons)} if reasons else {}
    return OpenRun(Path("run"), trained, graphs, np.array(index), reasons or {}, counts, whole)


def named() -> GraphSet:
    return replace(DOTS, graph_names=("a", "c", "d"), origin=Origin(Roles(id="key"), ROWS))


def test_without_rows_the_graphs_are_the_rows(tmp_path: Path) -> None:
    assert write_predictions(tmp_path / "out.csv", opened(DOTS, [0, 2], {1: "got 'x'"}), VALUES) == 3
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "graph,class,probability_no,probability_yes,status,reason",
        "0,no,0.75,0.25,predicted,",
        "1,,,,left out,got 'x'",
        "2,yes,0.125,0.875,predicted,",
    ]


def test_every_row_in_its_order_with_its_columns(tmp_path: Path) -> None:
    found = opened(named(), [0, 2], {1: "got labels"})
    assert write_predictions(tmp_path / "out.csv", found, VALUES, {"sure": [1, 0]}) == 4
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [row["key"] for row in rows] == ["a", "b", "c", "d"]
    assert [row["graph"] for row in rows] == ["0", "", "1", "2"]
    assert [row["graph_name"] for row in rows] == ["a", "b", "c", "d"]
    assert [row["class"] for row in rows] == ["no", "", "", "yes"]
    assert [row["input_class"] for row in rows] == ["no", "", "yes", "no"]
    assert [row["sure"] for row in rows] == ["1", "", "", "0"]
    assert [row["status"] for row in rows] == ["predicted", "left out", "left out", "predicted"]
    assert [row["reason"] for row in rows] == ["", ROWS.reasons[1], "got labels", ""]


def test_a_part_has_its_own_rows_alone(tmp_path: Path) -> None:
    assert write_predictions(tmp_path / "out.jsonl", opened(named(), [0, 2], whole=False), VALUES, keep=["key"]) == 2
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["key"] for row in rows] == ["a", "d"]
    assert "input_class" not in rows[0]


def test_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = opened(named(), [0, 1, 2])
    values = np.vstack([VALUES, VALUES[:1]])
    write_predictions(None, found, values, keep=["none"])
    assert capsys.readouterr().out.splitlines()[0].endswith("graph_name,status,reason")
    with pytest.raises(InputError, match="--keep: got no column 'kex', expected one of 'key', 'class'"):
        write_predictions(tmp_path / "out.csv", found, values, keep=["kex"])
    assert not (tmp_path / "out.csv").exists()


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow, the extra 'parquet'")
    found = opened(named(), [0, 2], {1: "got labels"})
    write_predictions(tmp_path / "out.parquet", found, VALUES)
    write_predictions(tmp_path / "out.jsonl", found, VALUES)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == rows
    assert rows[1]["graph"] is None
