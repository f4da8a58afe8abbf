"""Who may import whom: the arrows that CONTRIBUTING draws, held against every import of the package.

Imports inside functions and under ``TYPE_CHECKING`` count too: what is imported late is imported all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "sargnn"

GROUND = {"errors", "limits", "processes", "reading", "files", "console", "metrics", "allocator", "startup"}
"""What every room may use."""
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "allocator": set(),
    "startup": set(),
    "standalone": set(),
    "limits": {"errors"},
    "processes": {"errors"},
    "reading": {"errors", "limits"},
    "files": {"errors", "processes"},
    "console": {"errors"},
    "metrics": {"errors"},
    "data": GROUND,
    "batching": {*GROUND, "data"},
    "nn": {*GROUND, "data", "batching"},
    "systems": {*GROUND, "data", "batching", "nn"},
    "explain": {*GROUND, "data", "batching", "nn"},
    "viz": {*GROUND, "data"},
    "tasks": {*GROUND, "data", "viz"},
    "pages": {*GROUND, "data", "viz", "tasks"},
}
"""By room, the rooms that it may import; the following stand on these."""
ROOMS["training"] = {*ROOMS}
ROOMS["studies"] = {*ROOMS}
ROOMS["estimator"] = {*ROOMS} - {"studies"}
ROOMS["export"] = {*ROOMS} - {"studies", "estimator"}
ROOMS["serving"] = {*ROOMS} - {"studies", "estimator"}
ROOMS["reproduction"] = {*ROOMS}
ROOMS["bench"] = {*ROOMS} - {"reproduction"}
ROOMS["cli"] = ROOMS["__main__"] = {*ROOMS, "cli"}

KNOWN = {("batching/stacks.py", "sargnn.training.trained_model")}
"""Arrows that are still to be turned round: file and module."""
LAZY = {"__init__"}
"""The package's own door: it names every room and imports none before it is asked to."""


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """The line and the module of every import of the package in a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names if name.name.split(".")[0] == "sargnn")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: got a relative import, expected sargnn..."
            if node.module == "sargnn":
                yield from ((node.lineno, f"sargnn.{name.name}") for name in node.names)
            elif (node.module or "").startswith("sargnn."):
                yield node.lineno, str(node.module)


def room_of(module: str) -> str:
    """
    >>> room_of("sargnn.data.io.tu"), room_of("sargnn")
    ('data', '')
    """
    return f"{module}.".split(".")[1]


def wrong_imports(root: Path) -> Iterator[str]:
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        room = path.parts[0].removesuffix(".py")
        for line, module in imports(file) if room not in LAZY else ():
            there = room_of(module)
            wrong = there in ROOMS and there != room and there not in ROOMS[room]
            if wrong and (str(path), module) not in KNOWN:
                yield f"{path}:{line}: {module}"


def test_every_room_is_on_the_plan() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert rooms - {"__init__", "__pycache__", "py"} - ROOMS.keys() == set()


def test_no_arrow_goes_back() -> None:
    assert list(wrong_imports(PACKAGE)) == []


@pytest.mark.parametrize(
    ("room", "text"),
    [
        ("data", "from sargnn.training.run import train"),
        ("training", "def late():\n    import sargnn.studies.store"),
        ("pages", "if TYPE_CHECKING:\n    from sargnn.studies.protocol import CellResult"),
        ("studies", "from sargnn import reproduction"),
        ("reproduction", "import sargnn.bench"),
    ],
)
def test_a_wrong_import_is_named(tmp_path: Path, room: str, text: str) -> None:
    (tmp_path / room).mkdir()
    (tmp_path / room / "new.py").write_text(text)
    (found,) = wrong_imports(tmp_path)
    assert found.startswith(f"{room}/new.py:")
    assert found.split(": ")[1].startswith("sargnn.")
