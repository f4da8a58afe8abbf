"""What people read."""

from __future__ import annotations

import pytest

from sargnn.cli.answers import answer


def test_people_get_the_cells_of_a_table_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    cells = {f"model {m} / MUTAG": [0.9, 0.05] for m in range(7)}
    answer({"cells": 7, "accuracy": cells}, as_json=False, title="table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == ["  cells     7", "  accuracy  ", "    model 0 / MUTAG 90.0%, 5.0%"]
    assert len(lines) == 3 + 7


def test_the_answer_of_a_program_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    answer({"accuracy": 0.5, "parts": {"test": None}}, as_json=True, title="unseen")
    assert capsys.readouterr().out == '{"accuracy": 0.5, "parts": {"test": null}}\n'


def test_accuracies_are_percentages_and_other_numbers_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    answer({"test_accuracy": 0.25, "train_seconds": 0.25, "test_interval": [0.1, 0.2], "auroc": None}, False, "run")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["run"], ["test", "accuracy", "25.0%"], ["train", "seconds", "0.25"], ["test", "interval", "10.0%,", "20.0%"],
        ["auroc", "none"],
    ]  # fmt: skip


@pytest.mark.parametrize("headline", ["test_rmse", "test_auroc"])
def test_an_interval_is_written_as_its_headline_is(headline: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer({headline: 0.74, "test_interval": [0.65, 0.84], "test_balanced_accuracy": 0.5}, False, "run")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["test", "interval", "0.65,", "0.84"]
    assert lines[3].split() == (["test", "balanced", "accuracy", "50.0%"])
