"""What is said of one graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.serving import answers
from sargnn.serving.answers import answer_of, drawing_of, refusal, saliency_of
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of
from served import graph


def outcome_of(run: LoadedRun) -> Outcome:
    (outcome,) = outcomes_of(run.trained, run.trust, Wanted(), [GraphInput.of(graph(5), {})])
    assert isinstance(outcome, Outcome)
    return outcome


def test_an_answer_has_the_columns_of_the_command(run: Path) -> None:
    one = LoadedRun.load("run", run)
    outcome = outcome_of(one)
    said = answer_of(one, outcome)
    assert list(said["values"]) == one.task.columns()
    assert list(said["values"].values()) == one.task.cells(outcome.values)
    assert said["prediction"] == said["values"]["class"]
    assert said["confidence"] == max(outcome.values)


def test_calibrated_and_covered_as_the_command_says(run: Path) -> None:
    one = LoadedRun.load("run", run)
    outcome = outcome_of(one)
    assert one.calibration is not None
    (expected,) = one.calibration.apply(outcome.values[None])
    said = answer_of(one, outcome, calibrated=True, coverage=0.9)
    assert said["confidence"] == max(expected)
    (inside,) = one.calibration.regions(outcome.values[None], 0.9)
    assert said["region"] == {f"in_set_{name}": int(there) for name, there in zip(one.task.names, inside, strict=True)}


def test_a_run_without_calibration_says_so(run: Path) -> None:
    one = LoadedRun.load("run", run)
    bare = replace(one, calibration=None)
    with pytest.raises(InputError, match="expected: sargnn calibrate shapes DATA"):
        answer_of(bare, outcome_of(one), calibrated=True)


def test_saliency_sums_to_one_in_every_layer(run: Path) -> None:
    one = LoadedRun.load("run", run)
    said = saliency_of(one, outcome_of(one))
    for layer in [said["saliency"], *said["layers"]]:
        assert sum(layer) == pytest.approx(1)


def test_a_drawing_has_a_place_for_every_node_and_a_line_for_every_edge() -> None:
    one = pack([(3, [(0, 1), (1, 0), (1, 2), (2, 1)])])
    drawn = drawing_of(one)
    assert len(drawn["x"]) == len(drawn["y"]) == len(drawn["names"]) == len(drawn["texts"]) == 3
    assert [tuple(bond[:2]) for bond in drawn["bonds"]] == [(0, 1), (1, 2)]


def test_a_graph_too_large_to_draw_is_not_drawn() -> None:
    with pytest.raises(InputError, match="expected at most 2000 to draw"):
        drawing_of(pack([(answers.MOST_DRAWN + 1, [])]))


def test_a_refusal_is_one_line() -> None:
    assert refusal(3, InputError("a\nb")) == {"graph": 3, "status": 422, "error": "a b"}
