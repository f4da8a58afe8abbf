"""The options that commands share."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from command import Command
from sargnn.cli.options import Data, Seed, check_choice, command_line, load_noted, new_folder, takes_roles
from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError
from sargnn.systems import SYSTEMS
from tiny import shapes


def test_help_names_every_model(sargnn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    words = sargnn("train", "--help").out.replace(",", " ").replace(";", " ").replace(".", " ").split()
    assert set(SYSTEMS) <= set(words)


def test_a_choice_is_one_of_the_known_words() -> None:
    check_choice("--format", "svg", ("png", "svg"))
    with pytest.raises(InputError, match=r"^--format: got 'gif', expected one of png, svg$"):
        check_choice("--format", "gif", ("png", "svg"))


def test_a_new_folder_is_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for expected in ("runs/a-b", "runs/a-b-2", "runs/a-b-3"):
        folder = new_folder("a / b")
        assert str(folder) == expected
        folder.mkdir(parents=True)


def test_the_command_line_can_be_pasted_into_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/sargnn", "train", "a b"])
    assert command_line() == "sargnn train 'a b'"


def test_the_options_that_say_what_columns_are_for() -> None:
    seen: list[tuple[str, Roles]] = []

    @takes_roles
    def command(data: Data, roles: Roles, seed: Seed = None) -> None:
        seen.append((data, roles))

    app = typer.Typer()
    app.command()(command)
    words = ["x.csv", "--labels", "a", "--labels", "b c", "--task", "multilabel", "--smiles", "mol"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, ["y.csv"]).exit_code == 0
    assert seen == [("x.csv", Roles(("a", "b c"), "multilabel", "mol")), ("y.csv", USUAL)]


def test_notes_of_reading_go_to_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    replace(shapes(), notes=("something odd",)).save(tmp_path / "set")
    notes = load_noted(str(tmp_path / "set"), USUAL).notes
    assert capfd.readouterr() == ("", "".join(f"shapes: {text}\n" for text in notes))
