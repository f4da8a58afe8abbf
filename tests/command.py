"""The command line, called in this process."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any
from unittest.mock import patch

import pytest

from sargnn import cli


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
