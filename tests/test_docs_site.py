"""The pages that `make docs` builds: no warning, each public name in the reference, each name in the glossary true."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import sargnn

ROOT = Path(__file__).parents[1]


def test_the_reference_lists_exactly_the_public_names() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("api-*.md")))
    assert sorted(re.findall(r"^::: sargnn\.(\w+)$", pages, re.MULTILINE)) == sargnn.__all__


SECTIONS: dict[str, Any] = {
    "data": sargnn.DataConfig,
    "model": sargnn.ModelConfig,
    "training": sargnn.TrainingConfig,
}
SETTINGS = {f"{section}.{field.name}" for section, config in SECTIONS.items() for field in fields(config)}
GLOSSARY = sorted(
    {
        name
        for row in re.findall(r"^\| .* \| (.*) \|$", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
)


def is_code(path: str) -> bool:
    """Whether ``path``, below ``sargnn``, is a module or a name in one: ``nn.fusion.Fusion.weights``."""
    found: Any = sargnn
    for name in path.split("."):
        if name in getattr(found, "__annotations__", {}):
            return path.endswith(f".{name}")
        try:
            found = (
                getattr(found, name) if hasattr(found, name) else importlib.import_module(f"{found.__name__}.{name}")
            )
        except ImportError:
            return False
    return True


def test_every_row_of_the_glossary_says_where_it_is() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.endswith("| code |")]
    assert len(rows) > 60
    assert all(re.search(r"\| `[\w.]+`(?:, `[\w.]+`)* \|$", row) for row in rows)


@pytest.mark.parametrize("name", GLOSSARY)
def test_names_of_the_glossary_exist(name: str) -> None:
    assert name in SETTINGS or is_code(name)


@pytest.mark.parametrize("name", ["nn.fusion.Fusion.sums", "nn.nothing", "data.graphs.GraphSet.z", "model.delta"])
def test_names_that_do_not_exist_are_found_out(name: str) -> None:
    assert name not in SETTINGS
    assert not is_code(name)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for package in ("mkdocs", "mkdocstrings"):
        pytest.importorskip(package, reason="pages are built with the extra 'docs'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "api-data" / "index.html").read_text(encoding="utf-8")
    assert ":class:" not in page
    assert "&gt;&gt;&gt;" in page
    assert not re.findall(r'<(?:script|link)[^>]*(?:src|href)="https?://', page)
