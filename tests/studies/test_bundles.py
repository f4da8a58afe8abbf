"""A bundle says what made its rows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sargnn.studies import bundles as bundles_module
from sargnn.studies.bundles import made_by


def test_the_commit_is_that_of_the_package_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    package = tmp_path / "sargnn"
    (package / "experiments").mkdir(parents=True)
    monkeypatch.setattr(bundles_module, "__file__", str(package / "experiments" / "bundles.py"))
    try:
        git("init")
    except FileNotFoundError:
        pytest.skip("git is not installed")
    (tmp_path / "other").touch()
    git("add", "other")
    git("commit", "-m", "a project that has sargnn installed inside")
    (package / "code.py").touch()
    assert made_by.__wrapped__()["commit"] == ""
    git("add", ".")
    git("commit", "-m", "sargnn itself")
    commit = made_by.__wrapped__()["commit"]
    assert len(commit) == 40
    (package / "code.py").write_text("edited")
    assert made_by.__wrapped__()["commit"] == commit + "-edited"
