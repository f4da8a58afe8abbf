"""The documentation says what is so: its examples run, its links lead somewhere, its lists are complete."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer.main

import sargnn
from command import answer_of
from sargnn import cli
from tiny import shapes

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIALS = [README, ROOT / "docs" / "quickstart.md"]
SMALL = {
    "train": ["--set", "training.epochs=2", "--set", "model.hidden=8"],
    "explain": ["--drawings", "1"],
}
"""What is added to a documented command so that it takes no time."""
SLOW = {"bench", "cv", "explain-compare", "quickstart", "reproduce", "search", "serve"}
"""Commands that train many times, measure time or do not end: their calls are checked, but not run here."""

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
tutorials = pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of that language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def calls(page: Path, program: str) -> list[list[str]]:
    """The arguments of every call of ``program`` in the bash blocks."""
    lines = "\n".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line and line[0] == program]


def commands(group: Any, before: str = "") -> Iterator[str]:
    """The full names of all commands of the app."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name


def known_commands() -> list[str]:
    return sorted(commands(typer.main.get_command(cli.app)))


def command_of(words: list[str]) -> str:
    """Which command a call names, longest name first: ``data info MUTAG`` is ``data info``."""
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in known_commands()), "")


def test_the_readme_is_short_and_begins_with_a_picture() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert any(line.startswith("![") for line in lines[:10])


def test_the_readme_lists_exactly_the_commands() -> None:
    listed = re.findall(r"^\| `sargnn ([^`]+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    names = [" ".join(word for word in row.split() if not word.isupper()) for row in listed]
    assert sorted(names) == known_commands()


@pytest.mark.parametrize("words", [w for page in PAGES for w in calls(page, "sargnn")], ids=" ".join)
def test_every_documented_call_names_a_command_and_its_options(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_of(words), words
    with patch.object(sys, "argv", ["sargnn", *words, "--help"]), pytest.raises(SystemExit) as left:
        cli.main()  # an unknown option is refused before help is given
    assert left.value.code == 0, capsys.readouterr().err


@pytest.mark.parametrize("words", [w for page in PAGES for w in calls(page, "make")], ids=" ".join)
def test_every_documented_make_target_exists(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in words)


@tutorials
def test_documented_commands_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documented = calls(page, "sargnn")
    if any("molecules.csv" in words for words in documented):
        pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    monkeypatch.chdir(tmp_path)
    shapes().save(tmp_path / "my-graphs")
    rows = [f"{end}{'C' * n},{label}\n" for n in range(1, 11) for end, label in (("O", "alcohol"), ("Cl", "chloride"))]
    (tmp_path / "molecules.csv").write_text("smiles,label\n" + "".join(rows))
    for words in documented:
        command = command_of(words)
        if command not in SLOW:
            small = ["my-graphs" if word == "MUTAG" else word for word in words]
            assert answer_of(*small, *SMALL.get(command, []))


@pytest.mark.parametrize(
    "code",
    [pytest.param(code, id=f"{page.stem}-{i}") for page in TUTORIALS for i, code in enumerate(blocks(page, "python"))],
)
def test_python_examples_run(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load, settings_of = sargnn.load, sargnn.Settings.of

    def small_load(source: Any, **options: Any) -> sargnn.GraphSet:
        return shapes() if source == "MUTAG" else load(source, **options)

    def short_settings(name: str, values: dict[str, Any] | None = None) -> sargnn.Settings:
        return settings_of(name, {**(values or {}), "training.epochs": 2})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sargnn, "load", small_load, raising=False)
    monkeypatch.setattr(sargnn.Settings, "of", short_settings)
    exec(compile(code, "<example>", "exec"), {"__name__": "example"})
    assert "print(" not in code or capsys.readouterr().out


@pages
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    for link in links:
        if not re.match(r"https?://|mailto:|#", link):
            assert (page.parent / link.partition("#")[0]).exists(), f"{page.name}: {link}"


def test_files_named_by_the_index_of_equations_exist() -> None:
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| .* \| `([\w/]+\.py)` \| (.*?) \|", text, re.MULTILINE):
        code = (ROOT / "src" / "sargnn" / row[0]).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w.]+)`", row[1]):
            assert re.search(rf"\b{name.rpartition('.')[2]}\b", code), f"{name} in {row[0]}"


@pytest.mark.parametrize("name", ["saliency.png", "molecules.png"])
def test_the_pictures_are_small(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).stat().st_size < 150_000


def test_the_page_of_settings_is_current() -> None:
    spec = importlib.util.spec_from_file_location("make_settings", ROOT / "docs" / "make_settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: python docs/make_settings.py"
