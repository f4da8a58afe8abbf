"""The command line, called in this process or in one of its own."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import pytest

from sargnn import cli
from tiny import shapes

FAST = ["--set", "model.layers=2", "--set", "model.hidden=8", "--set", "training.epochs=3"]
PLAIN = ["--model", "gcn", *FAST]
PAPER = ["--model", "sar-gcn", *FAST]
"""Without saliency there is no gallery to draw for the report, which takes longer than such training."""

RUN_FILES = {
    "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors", "history.csv", "calibration.json",
    "report.html", "trust.safetensors",
}  # fmt: skip


@dataclass
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.status == 0, self.err
        assert len(self.out.splitlines()) == 1
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer

    @property
    def error(self) -> str:
        """The one line on standard error, of a command that says nothing else."""
        assert self.status == 2
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


class Command(Protocol):
    def __call__(self, *arguments: object) -> Done: ...


def process(*arguments: object, **variables: str) -> Done:
    """The installed command in a process of its own, with variables of the environment."""
    script = Path(sys.executable).parent / "sargnn"
    command = [script] if script.exists() else [sys.executable, "-c", "from sargnn.cli import main; main()"]
    environment = {**os.environ, **variables}
    done = subprocess.run([*map(str, [*command, *arguments])], capture_output=True, text=True, env=environment)
    return Done(done.returncode, done.stdout, done.stderr)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


WrongCalls = dict[str, tuple[list[object], str]]
"""By name, the arguments of a call that is refused, and a part of what it is told; RUN and DATA stand for paths."""


def refuse_one_call(sargnn: Command, call: tuple[list[object], str], there: dict[str, Path]) -> None:
    """The call gets one line and status 2, and leaves nothing half-written."""
    Path("empty").mkdir()
    Path("file").write_text("x")
    shapes().save("shapes")
    arguments, message = call
    assert message in sargnn(*(there.get(a, a) if isinstance(a, str) else a for a in arguments)).error
    assert sorted(path.name for path in Path().iterdir()) == ["empty", "file", "shapes"]


def answer_of(*arguments: object) -> dict[str, Any]:
    """The JSON object that a command answers with."""
    status, out, err = _call(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def text_of(*arguments: object) -> str:
    """What a command tells people."""
    status, out, err = _call(*arguments)
    assert status == 0, err
    return out


def notes_of(*arguments: object) -> str:
    """What a command that succeeds tells on standard error."""
    status, _, err = _call(*arguments)
    assert status == 0, err
    return err


def error_of(*arguments: object) -> str:
    """The line by which a command refuses its input."""
    status, out, err = _call(*arguments)
    assert (status, out) == (2, ""), err
    return err.splitlines()[-1].removeprefix("error: ")


def _call(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["sargnn", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as caught,
    ):
        cli.main()
    return int(caught.value.code or 0), out.getvalue(), err.getvalue()
