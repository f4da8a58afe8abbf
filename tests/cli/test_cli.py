"""The command line as a whole: help, wrong calls, threads, disks that fail."""

from __future__ import annotations

import json
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from command import FAST, Command, WrongCalls, process, refuse_one_call
from disks import full_disk, read_only
from sargnn import __version__
from tiny import shapes

WRONG_CALLS: WrongCalls = {
    "no command": (["trian", "DATA"], "No such command 'trian'"),
    "a setting": (
        ["train", "DATA", "--epochs", "5"],
        "No such option: --epochs; it is a setting: --set training.epochs=5",
    ),
    "a setting =": (["cv", "DATA", "--batch-size=8"], "it is a setting: --set training.batch_size=8"),
    "a setting without a value": (["train", "DATA", "--model.hidden"], "a setting: --set model.hidden=VALUE"),
    "no setting": (["train", "DATA", "--nope", "5"], "No such option: --nope"),
    "a setting elsewhere": (
        ["predict", "RUN", "DATA", "--epochs", "5"],
        "No such option: --epochs",
    ),
}


@pytest.mark.parametrize(("asked", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_one_thread_unless_more_are_asked_for(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], threads: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    done = process("train", data, "--out", tmp_path / "run", "--set", "training.epochs=1", **asked)
    assert done.status == 0, done.err
    hardware = json.loads((tmp_path / "run" / "training.json").read_text())["hardware"]
    assert hardware.endswith(f"cores, {threads} threads")


def test_a_name_that_the_terminal_cannot_show_does_not_cost_the_answer(tmp_path: Path) -> None:
    shapes(name="größe 図").save(tmp_path / "größe 図")
    done = process("data", "info", tmp_path / "größe 図", PYTHONIOENCODING="ascii")
    assert (done.status, done.err) == (0, "")
    assert r"gr\xf6\xdfe \u56f3" in done.out


def test_no_arguments_are_answered_with_help(sargnn: Command) -> None:
    done = sargnn()
    assert "Commands" in done.out
    assert done.err == ""
    assert sargnn("--help").status == 0
    assert sargnn("train", "--help").status == 0


def test_the_version_is_that_of_the_package_and_of_what_results_depend_on(sargnn: Command) -> None:
    (line,) = sargnn("--version").out.splitlines()
    assert line.startswith(f"sargnn {__version__} (Python {platform.python_version()}, torch {version('torch')}, ")
    assert f"numpy {version('numpy')}" in line


def test_a_full_disk_for_every_other_command(sargnn: Command, run: Path, data: Path) -> None:
    with full_disk(Path("disk"), pages=1) as disk:
        written: list[list[object]] = [
            ["predict", run, data, "--out", disk / "predicted.csv"],
            ["explain", run, data, "--out", disk / "why"],
            ["data", "generate", "motifs", "--graphs", 20, "--out", disk / "motifs"],
            ["train", data, "--out", disk / "run", *FAST],
        ]
        for command in written:
            done = sargnn(*command)
            assert done.status == 2
            assert "cannot write (No space left on device)" in done.err.splitlines()[-1]
            assert not [path for path in disk.rglob("*") if path.is_file() and path.stat().st_size == 0]
            assert not list(disk.rglob(".*"))
            for path in disk.iterdir():
                shutil.rmtree(path)


def test_a_folder_that_cannot_be_written(sargnn: Command, run: Path, data: Path) -> None:
    with read_only(Path("disk")) as disk:
        commands_of: list[list[object]] = [
            ["train", data, "--out", disk / "run", *FAST],
            ["predict", run, data, "--out", disk / "predicted.csv"],
            ["explain", run, data, "--out", disk / "why"],
            ["data", "generate", "motifs", "--graphs", 2, "--out", disk / "motifs"],
        ]
        for command in commands_of:
            assert "cannot write" in sargnn(*command).error
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("sargnn tr", {"train"}), ("sargnn data c", {"check", "convert"}), ("sargnn cv --wor", {"--workers"})],
)
def test_a_shell_completes_commands_and_options(typed: str, expected: set[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = process(_SARGNN_COMPLETE="complete_bash", **words)
    assert (done.status, set(done.out.split())) == (0, expected), done.err
