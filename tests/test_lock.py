"""The pins: what pyproject.toml allows, constraints.txt chooses and the lock files hold, hashes included."""

from __future__ import annotations

import re
import runpy
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
PINS = {
    canonicalize_name(name): version
    for name, _, version in (line.partition("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
}


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each project of a lock file; nothing else may stand in it."""
    lines = (ROOT / name).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace(" \\\n", " ")
    entries = [re.fullmatch(r"([\w-]+)==(\S+)((?: +--hash=sha256:[0-9a-f]{64})+)", line) for line in text.splitlines()]
    assert None not in entries
    return {found[1]: (found[2], re.findall(r"[0-9a-f]{64}", found[3])) for found in entries if found}


def needed(requirements: list[str]) -> dict[str, list[Requirement]]:
    """All that these requirements need here, and what each asks of it; of what is not installed, nothing further."""
    found: dict[str, list[Requirement]] = {}
    todo = [(Requirement(text), frozenset[str]()) for text in requirements]
    seen = set()
    while todo:
        requirement, extras = todo.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in (extras or {""})):
            continue
        name = canonicalize_name(requirement.name)
        found.setdefault(name, []).append(requirement)
        if (name, frozenset(requirement.extras)) in seen:
            continue
        seen.add((name, frozenset(requirement.extras)))
        try:
            inside = distribution(name).requires or []
        except PackageNotFoundError:
            inside = []
        todo += [(Requirement(text), frozenset(requirement.extras)) for text in inside]
    return found


def test_the_lock_has_every_pin_and_its_hashes() -> None:
    found = locked("requirements.lock")
    assert {name: version.removesuffix("+cpu") for name, (version, _) in found.items()} == PINS
    assert all(hashes for _, hashes in found.values())
    for part in ("image", "build"):
        assert locked(f"requirements-{part}.lock").items() <= found.items()


def test_pytorch_is_the_build_without_cuda() -> None:
    """For two machines and three Pythons."""
    version, hashes = locked("requirements.lock")["torch"]
    assert (version, len(hashes)) == (f"{PINS['torch']}+cpu", 6)


@pytest.mark.parametrize("extra", [*EXTRAS, "", "dev"])
def test_every_extra_is_pinned(extra: str) -> None:
    own = PROJECT["dependency-groups"]["dev"] if extra == "dev" else EXTRAS.get(extra, [])
    for name, asked in needed([*PROJECT["project"]["dependencies"], *own]).items():
        for requirement in asked:
            assert name in PINS, f"{requirement} of {extra}: expected a pin in constraints.txt"
            assert requirement.specifier.contains(PINS[name], prereleases=True), f"{requirement}: got {PINS[name]}"


def test_the_image_has_all_it_needs() -> None:
    image = locked("requirements-image.lock")
    assert set(needed([*PROJECT["project"]["dependencies"], *EXTRAS["serve"], *EXTRAS["chem"]])) <= set(image)
    assert set(needed(["build", "hatchling"])) <= set(locked("requirements-build.lock"))


def test_the_build_is_pinned() -> None:
    (backend,) = PROJECT["build-system"]["requires"]
    assert backend == f"hatchling=={PINS['hatchling']}"


def test_the_lowest_versions_are_those_of_the_bounds() -> None:
    lowest = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"]
    every = [*PROJECT["project"]["dependencies"], *(text for own in EXTRAS.values() for text in own)]
    pinned = [Requirement(text) for text in lowest(every)]
    assert all(len(own.specifier) == 1 and next(iter(own.specifier)).operator == "==" for own in pinned)
    for text, own in zip(every, pinned, strict=True):
        assert Requirement(text).specifier.contains(next(iter(own.specifier)).version)


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ("numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", True),
        ("numpy-2.4.6-cp313-cp313-manylinux_2_28_aarch64.whl", True),
        ("safetensors-2.4.6-cp38-abi3-manylinux2014_x86_64.whl", True),
        ("rich-2.4.6-py3-none-any.whl", True),
        ("torch-2.4.6+cpu-cp313-cp313-manylinux_2_28_aarch64.whl", False),
        ("numpy-2.4.5-cp311-cp311-manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4.6-cp310-cp310-manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4.6-cp313-cp313t-manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4.6-cp311-cp311-win_amd64.whl", False),
        ("numpy-2.4.6.tar.gz", False),
    ],
)
def test_hashes_are_of_files_that_can_be_installed(file: str, fits: bool) -> None:
    assert runpy.run_path(str(ROOT / ".ci" / "make_lock.py"))["fits"](file, "2.4.6") is fits
