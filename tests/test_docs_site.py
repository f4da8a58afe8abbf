"""The pages that `make docs` builds: no warning, and every public name in the reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sargnn

ROOT = Path(__file__).parents[1]


def test_the_reference_lists_exactly_the_public_names() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("api-*.md")))
    assert sorted(re.findall(r"^::: sargnn\.(\w+)$", pages, re.MULTILINE)) == sargnn.__all__


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
