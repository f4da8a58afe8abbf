"""What is released: built twice to the same bytes, installed into an environment of its own, used far from the tree."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from sargnn import __version__

ROOT = Path(__file__).parents[1]
SMALL = """
import sys
import sargnn.cli.quickstart
from sargnn.cli import main
quickstart = sys.modules["sargnn.cli.quickstart"]
quickstart.SIZES = (60, 20, 20, 0)
quickstart.SETTINGS = {"model.members": 1, "model.hidden": 8, "model.layers": 2, "training.epochs": 1}
sys.argv = ["sargnn", "quickstart", "--out", "run", "--json"]
main()
"""
"""The README's main command on few graphs."""


def run(*command: object, where: Path, **variables: str) -> str:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], cwd=where, capture_output=True, text=True, env=kept | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(out: Path) -> dict[str, bytes]:
    """The source distribution, and the wheel that is built from it."""
    options = ["--no-isolation", "--outdir", out, ROOT]
    path = os.environ.get("PYTHONPATH", "")
    run(sys.executable, "-m", "build", *options, where=ROOT, SOURCE_DATE_EPOCH="1700000000", PYTHONPATH=path)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build(out)
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"sargnn-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; its dependencies are those of this one, the package is not."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, where=folder)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = Path(run(own, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", where=folder).strip())
    shared = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "shared.pth").write_text("".join(f"{path}\n" for path in sorted(shared)))
    options = ["--python", own, "install", "--quiet", "--no-index", "--no-deps", wheel]
    run(sys.executable, "-m", "pip", *options, where=folder)
    return own


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(f"sargnn-{__version__}.dist-info/METADATA"))


def test_two_builds_are_the_same_bytes(built: Path, tmp_path: Path) -> None:
    first = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built.iterdir()}
    second = {name: hashlib.sha256(content).hexdigest() for name, content in build(tmp_path).items()}
    assert first == second
    assert sorted(first) == [f"sargnn-{__version__}-py3-none-any.whl", f"sargnn-{__version__}.tar.gz"]


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == {line.removeprefix("src/") for line in tracked.splitlines()}


def test_the_metadata_is_that_of_the_project(wheel: Path) -> None:
    found = metadata(wheel)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert found["Version"] == __version__
    assert f"\nversion: {__version__}\n" in citation
    assert f"\n  - name: {found['Author']}\n" in citation
    assert (found["License-Expression"], found["Requires-Python"]) == ("MIT", ">=3.11")
    assert {"Programming Language :: Python :: 3.13", "Typing :: Typed"} <= set(found.get_all("Classifier", []))
    assert "\n# sargnn\n" in f"\n{found.get_payload()}"


def test_the_version_has_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    assert "version" not in project


def test_it_runs_far_from_the_tree(python: Path, tmp_path: Path) -> None:
    place = run(python, "-c", "import sargnn; print(sargnn.__file__)", where=tmp_path).strip()
    assert Path(place).is_relative_to(python.parents[1])
    assert run(python.with_name("sargnn"), "--version", where=tmp_path).startswith(f"sargnn {__version__} (Python 3.")
    answer = json.loads(run(python, "-c", SMALL, where=tmp_path))
    assert (tmp_path / answer["report"]).exists()
    command = [python.with_name("sargnn"), "data", "generate", "triangles", "--train", 10, "--validation", 0]
    run(*command, "--test", 0, "--test-large", 0, "--out", "set", where=tmp_path)
    rows = run(python.with_name("sargnn"), "predict", "demo:triangles", "set", "--out", "-", where=tmp_path)
    assert len(rows.splitlines()) == 11
