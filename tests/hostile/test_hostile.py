"""Hostile inputs and faults, each with its line and its status: no traceback, no signal, nothing without an end.

``python -m pytest tests/hostile`` runs all of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hostile import inputs, models
from hostile.attack import kit, run

CASES = {**inputs.CASES, **models.CASES}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit")
    kit(folder)
    assert run(folder, ["--version"], None, {}).status == 0  # starts the process that the others are forked from
    return folder


@pytest.mark.parametrize("name", CASES)
def test_an_attack_is_met_by_one_line(name: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    folder = Path(shutil.copytree(made, tmp_path / "case"))
    monkeypatch.chdir(folder)
    case.make()
    variables = {"SARGNN_DATA": str(tmp_path / "cache"), "SARGNN_MIRROR": str(tmp_path / "nowhere"), **case.variables}
    result = run(folder, case.command.split(" "), case.stdout, variables)
    assert result.status == case.status, f"{result.status} after {result.seconds:.0f} s: {result.err[-2000:]}"
    assert "Traceback" not in result.err
    assert "unexpected " not in result.err
    assert not any(sign in result.out + result.err for sign in ("\x1b[2J", "\u202e"))
    told = result.out + result.err if case.status == 0 else result.err
    assert case.words in told
    assert max(map(len, told.splitlines()), default=0) < 6000
    if case.status == 2:
        *_, last = result.err.splitlines()
        assert last.startswith(("error: ", "problem: ", "left out: "))
        assert result.out == "" or "data check" in case.command


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 250
