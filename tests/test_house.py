"""The house stays in order: rooms of a size one can read, tests where their module is, nothing probed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "sargnn"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))
SOURCE = {path: (PACKAGE / path).read_text(encoding="utf-8") for path in MODULES}


def test_no_room_is_crowded() -> None:
    rooms = Counter(module.parent for module in MODULES)
    assert {str(room): count for room, count in rooms.items() if count > 25} == {}


def test_no_module_is_long() -> None:
    assert {str(module): len(text.splitlines()) for module, text in SOURCE.items() if text.count("\n") > 400} == {}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_tests(module: Path) -> None:
    assert (TESTS / module.parent / f"test_{module.name}").exists()


def test_every_folder_of_tests_is_a_room() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    others = {str(folder) for folder in folders if not (PACKAGE / folder).is_dir()}
    assert others == {"hostile"}  # which attacks all of them


def test_types_are_seldom_ignored() -> None:
    ignored = [
        f"{module}: {line.strip()}"
        for module, text in SOURCE.items()
        for line in text.splitlines()
        if "type: ignore" in line
    ]
    assert len(ignored) <= 5, "\n".join(ignored)


def test_no_device_travels_through_the_environment() -> None:
    assert [str(module) for module, text in SOURCE.items() if "SARGNN_DEVICE" in text] == []


def test_no_model_is_probed() -> None:
    probe = re.compile(r"\b(?:hasattr|getattr)\((?:self\.)?(?:\w+\.)*(?:model|models\[0\]|member|system)\b")
    assert [str(module) for module, text in SOURCE.items() if probe.search(text)] == []
