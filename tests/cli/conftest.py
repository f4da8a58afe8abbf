"""The command line in this process, a small data set, and a run trained on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command import PAPER, Command, Done, process
from sargnn import cli
from sargnn.data.graphs import GraphSet
from sargnn.data.synthetic import triangles


@pytest.fixture
def sargnn(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command in this process, inside an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["sargnn", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Done(int(caught.value.code or 0), *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def made() -> GraphSet:
    return triangles(train=60, validation=20, test=20, test_large=10)


@pytest.fixture(scope="session")
def data(made: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "triangles"
    made.save(folder)
    return folder


@pytest.fixture(scope="session")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A run made by the installed command, and what it said."""
    run = tmp_path_factory.mktemp("run") / "run"
    return run, process("train", data, "--out", run, "--seed", 5, "--json", *PAPER)


@pytest.fixture(scope="session")
def run(trained: tuple[Path, Done]) -> Path:
    return trained[0]
