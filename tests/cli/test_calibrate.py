"""``sargnn calibrate``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import FAST, Command, WrongCalls, refuse_one_call, rows_of
from tiny import binary_shapes, measured_shapes

WRONG_CALLS: WrongCalls = {
    "graphs trained on": (
        ["calibrate", "RUN", "DATA", "--part", "all"],
        "--part: got all, expected graphs that the model was not trained on, such as validation",
    ),
}


def test_it_finds_again_what_training_found_on_the_validation_graphs(sargnn: Command, run: Path, data: Path) -> None:
    shutil.copytree(run, "copy")
    Path("copy/calibration.json").unlink()
    Path("copy/trust.safetensors").unlink()
    answer = sargnn("calibrate", "copy", data, "--json").answer
    assert (answer["graphs"], answer["file"]) == (20, "copy/calibration.json")
    assert "test_coverage" in answer
    assert Path("copy/trust.safetensors").read_bytes() == (run / "trust.safetensors").read_bytes()
    before, after = (json.loads((folder / "calibration.json").read_text()) for folder in (run, Path("copy")))
    assert after["temperature"] == answer["temperature"] == pytest.approx(before["temperature"], rel=1e-6)


def test_intervals_of_numbers(sargnn: Command) -> None:
    measured_shapes(count=80).save("numbers")
    sargnn("train", "numbers", "--out", "run", "--model", "gin", "--set", "model.members=2", *FAST)
    again = sargnn("calibrate", "run", "numbers", "--coverage", 0.5, "--json").answer
    assert set(again["median_error"]) == set(again["test_coverage"]) == {"nodes", "edges"}
    words = ("calibration_error", "coverage", "width")
    assert {f"test_{word}{end}" for word in words for end in ("", "_normalised")} <= again.keys()
    scores = sargnn("evaluate", "run", "numbers", "--part", "test", "--coverage", 0.5, "--json").answer
    assert all(scores[word] == again[f"test_{word}"] for word in words)
    assert "coverage" not in sargnn("evaluate", "run", "numbers", "--part", "test", "--json").answer

    told = sargnn("predict", "run", "numbers", "--out", "plain.csv", "--coverage", 0.5, "--json").answer
    sargnn("predict", "run", "numbers", "--out", "wide.csv", "--coverage", 0.5, "--normalised")
    plain, wide = rows_of(Path("plain.csv")), rows_of(Path("wide.csv"))
    assert list(plain[0])[:9] == [
        "graph", "predicted_nodes", "predicted_edges", "spread_nodes", "spread_edges",
        "low_nodes", "high_nodes", "low_edges", "high_edges",
    ]  # fmt: skip
    widths = [[float(row["high_edges"]) - float(row["low_edges"]) for row in rows] for rows in (plain, wide)]
    assert max(widths[0]) == pytest.approx(min(widths[0])) == pytest.approx(told["mean_width"]["edges"])
    spreads = [float(row["spread_edges"]) for row in wide]
    assert max(widths[1]) == widths[1][spreads.index(max(spreads))]
    assert sargnn("predict", "run", "numbers", "--out", "x.csv", "--normalised").error.startswith(
        "--normalised: got no"
    )
    refused = sargnn("predict", "run", "numbers", "--out", "x.csv", "--calibrated").error
    assert refused == "calibrated: got measured numbers, expected probabilities; a coverage gives intervals"
    assert not Path("x.csv").exists()


def test_sets_of_targets(sargnn: Command) -> None:
    binary_shapes(count=80).save("targets")
    sargnn("train", "targets", "--out", "run", "--model", "gin", *FAST)
    again = sargnn("calibrate", "run", "targets", "--coverage", 0.5, "--json").answer
    assert set(again["temperature"]) == {"path", "large", "large-path"}
    assert {"test_ece", "test_ece_calibrated", "test_coverage_positives", "test_set_size"} <= again.keys()
    told = sargnn("predict", "run", "targets", "--out", "p.csv", "--coverage", 0.5, "--calibrated", "--json").answer
    rows = rows_of(Path("p.csv"))
    assert {row["set_large"] for row in rows} <= {"0", "1", "0 or 1"}
    sizes = [len(row[f"set_{name}"].split(" or ")) for row in rows for name in again["temperature"]]
    assert told["mean_set_size"] == pytest.approx(sum(sizes) / len(sizes))
    refused = sargnn("predict", "run", "targets", "--out", "x.csv", "--coverage", 0.5, "--normalised").error
    assert refused == "normalised: got a model of multilabel, expected regression: sets have no width"


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
