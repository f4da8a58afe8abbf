"""The workflows: actions pinned to a commit, rights as few as possible, every file that they name is there."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
workflows = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job.get("steps", [])]


@workflows
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: (\S+)(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    for action, comment in used:
        if action.startswith("./"):
            assert (ROOT / action).exists()
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)


def test_an_action_is_one_version_everywhere() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    used = set(re.findall(r"uses: (\S+@.*)$", text, re.MULTILINE))
    assert len({line.partition("@")[0] for line in used}) == len(used)


@workflows
def test_a_workflow_may_only_read(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    wider = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    expected = {"publish": {"contents": "read", "id-token": "write", "attestations": "write"}}
    assert wider == (expected if path.stem == "publish" else {})
    assert "secrets." not in path.read_text(encoding="utf-8")


@workflows
def test_every_job_ends(path: Path) -> None:
    jobs = read(path)["jobs"]
    assert all("uses" in job or job["timeout-minutes"] <= 60 for job in jobs.values())
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= jobs.keys()


@workflows
def test_scripts_parse_and_their_files_exist(path: Path) -> None:
    for step in steps(path):
        if script := step.get("run"):
            plain = re.sub(r"\$\{\{.*?\}\}|\{\{.*?\}\}", "x", script)
            done = subprocess.run(["bash", "-n"], input=plain, text=True, capture_output=True)
            assert done.returncode == 0, done.stderr
            for file in re.findall(r"\.ci/\w+(?:\.py)?|requirements[\w-]*\.lock|constraints\.txt", script):
                assert (ROOT / file).exists(), file


def test_the_pythons_are_those_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = [found[1] for text in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", text))]
    matrix = read(FOLDER / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == known
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_every_extra_is_tried_at_its_newest_and_its_lowest() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    newest = re.search(r"\.\[([\w,]+)\]", (FOLDER / "newest.yml").read_text())
    assert newest is not None
    assert set(newest[1].split(",")) == extras
    lowest = re.search(r"lowest\.py ([\w ]+) >", (FOLDER / "tests.yml").read_text())
    assert lowest is not None
    assert extras - set(lowest[1].split()) <= {"docs", "ray"}  # which the smoke test does not use


def test_the_workflow_that_publishes_needs_the_check_and_the_build() -> None:
    jobs = read(FOLDER / "publish.yml")["jobs"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"], jobs["publish"]["environment"]) == (
        "check",
        "build",
        "pypi",
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("CITATION.cff", "version: 0.1.0", "version: 0.2.0", "got version 0.2.0 in CITATION.cff, expected 0.1.0"),
        ("CHANGELOG.md", "2026-11-20", "unreleased", "got no dated section [0.1.0] in CHANGELOG.md"),
        ("pyproject.toml", "[project.urls]", "[tool.urls]", "got no [project.urls] Repository and Issues"),
        ("src/sargnn/__init__.py", '"0.1.0"', '"0.3.0"', "got tag v0.1.0, expected v0.3.0"),
        ("README.md", "", "", ""),
    ],
)
def test_a_release_whose_parts_disagree_is_refused(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    files = {
        "CITATION.cff": "title: x\nversion: 0.1.0\n",
        "CHANGELOG.md": "## [0.1.0] - 2026-11-20\n",
        "pyproject.toml": '[project]\nname = "x"\n[project.urls]\nRepository = "a"\nIssues = "b"\n',
        "src/sargnn/__init__.py": '__version__ = "0.1.0"\n',
        "README.md": "x",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace(old, new) if name == file and old else text)
    told = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))["problems"]("v0.1.0", tmp_path)
    assert any(message in line for line in told) if message else told == []


def test_the_image_runs_as_a_user_and_takes_only_what_is_locked() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert text.index("\nUSER 10001") > text.rindex("useradd")
    assert "HEALTHCHECK" in text
    installs = re.findall(r"pip(?: --python \S+)? install (.*?)(?:&&|\n(?!  ))", text, re.DOTALL)
    assert len(installs) == 3
    assert all("--require-hashes" in options or "--no-index --no-deps" in options for options in installs)
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for name in line.split()}
    assert {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"} == copied


def test_the_hooks_before_a_commit_are_those_of_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"].split()[0] for hook in hooks] == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_issue_forms_are_whole(path: Path) -> None:
    form = read(path)
    if path.stem != "config":
        assert {"name", "description", "body"} <= set(form)
        assert len({field["id"] for field in form["body"]}) == len(form["body"])
