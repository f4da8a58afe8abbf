"""Fixtures of the tests that run jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sargnn.studies.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


@pytest.fixture
def side(tmp_path: Path) -> Path:
    """Where the jobs of ``fake_study`` leave their traces."""
    return tmp_path / "side"
