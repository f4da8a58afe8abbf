"""What took long is computed once; a cache that is damaged or cannot be written costs time alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sargnn.data.features import kept as module
from sargnn.data.features.kept import kept

VALUES = np.arange(6.0).reshape(3, 2)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))


def test_what_was_quick_is_not_kept(tmp_path: Path) -> None:
    assert kept("kind", "name", (3, 2), lambda: VALUES) is VALUES
    assert not (tmp_path / "cache").exists()


def test_what_took_long_is_read_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", -1.0)
    kept("kind", "name", (3, 2), lambda: VALUES)
    np.testing.assert_array_equal(kept("kind", "name", (3, 2), lambda: pytest.fail("computed again")), VALUES)
    assert kept("kind", "name", (2, 2), lambda: VALUES[:2]).shape == (2, 2)  # of another shape: not the same thing
    (tmp_path / "cache" / "kind" / "name.npy").write_bytes(b"nonsense")
    np.testing.assert_array_equal(kept("kind", "name", (3, 2), lambda: VALUES + 1), VALUES + 1)


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", -1.0)
    (tmp_path / "cache").write_text("a file, not a folder")
    assert kept("kind", "name", (3, 2), lambda: VALUES) is VALUES
