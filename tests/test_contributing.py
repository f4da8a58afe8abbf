"""CONTRIBUTING says where things are: what it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sargnn"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = TEXT.split(f"## {heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in lines.group().splitlines()[2:]]


def test_the_way_of_one_graph_is_short() -> None:
    hops = [int(row[0]) for row in table("The way of one graph")]
    assert hops == list(range(1, len(hops) + 1))
    assert len(hops) <= 12


@pytest.mark.parametrize(("file", "name"), [row[1:3] for row in table("The way of one graph")])
def test_every_hop_exists(file: str, name: str) -> None:
    place = "sargnn." + file.strip("`").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    found = importlib.import_module(place)
    for part in name.strip("`").split("."):
        found = getattr(found, part)
    assert callable(found)


@pytest.mark.parametrize(("what", "files"), table("How to add something"))
def test_adding_touches_few_files_that_exist(what: str, files: str) -> None:
    named = re.findall(r"`([^`]+)`", files)
    assert 1 <= len(named) <= 3
    for file in named:
        path = PACKAGE / file
        assert path.parent.is_dir() if path.stem == "NAME" else path.is_file(), f"{what}: {file}"


def test_the_folders_are_all_named() -> None:
    named = {name for row in table("Where to find what") for name in re.findall(r"`([^`]+)`", row[0])}
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")} - {".", "batching/kernels"}
    assert named == folders
