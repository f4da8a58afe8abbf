"""The index of equations names files, classes and functions that exist, and quotes lines that the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "equations.md"
PACKAGE = ROOT / "src" / "sargnn"

ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").partition("## Index")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| equation")
]
"""Equation, file, where in it, and the line in words."""


def names_in(file: Path) -> set[str]:
    """What a module defines: ``Class``, ``function``, ``Class.method``, ``CONSTANT``."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_file_and_what_is_named_in_it_exist(row: list[str]) -> None:
    (path,) = quoted(row[1])
    known = {name for file in (PACKAGE / "nn").glob("*.py") for name in names_in(file)}
    first, *others = [name for name in quoted(row[2]) if not name.isalpha() or not name.islower()]  # not of a kind
    assert first in names_in(PACKAGE / path)
    assert set(others) <= known | names_in(PACKAGE / path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_quoted_is_in_the_file(row: list[str]) -> None:
    (path,) = quoted(row[1])
    code = (PACKAGE / path).read_text(encoding="utf-8")
    for piece in quoted(row[3]):
        assert piece in code
