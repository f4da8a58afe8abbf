"""``sargnn calibrate``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import Command, WrongCalls, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "graphs trained on": (
        ["calibrate", "RUN", "DATA", "--part", "all"],
        "--part: got all, expected graphs that the model was not trained on, such as validation",
    ),
}


def test_it_finds_again_what_training_found_on_the_validation_graphs(sargnn: Command, run: Path, data: Path) -> None:
    shutil.copytree(run, "copy")
    Path("copy/calibration.json").unlink()
    answer = sargnn("calibrate", "copy", data, "--json").answer
    assert (answer["graphs"], answer["file"]) == (20, "copy/calibration.json")
    assert "test_coverage" in answer
    before, after = (json.loads((folder / "calibration.json").read_text()) for folder in (run, Path("copy")))
    assert after["temperature"] == answer["temperature"] == pytest.approx(before["temperature"], rel=1e-6)


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
