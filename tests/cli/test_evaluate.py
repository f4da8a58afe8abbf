"""``sargnn evaluate``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from command import Command, Done, WrongCalls, process, refuse_one_call

WRONG_CALLS: WrongCalls = {
    "no run": (["evaluate", "new", "DATA"], "config.json: no such file, expected a model folder"),
    "run is a file": (["evaluate", "file", "DATA"], "file/config.json"),
    "unknown part": (
        ["evaluate", "RUN", "DATA", "--part", "tset"],
        "--part: got 'tset', expected one of all, train, validation, test, test-large",
    ),
    "other classes in evaluate": (
        ["evaluate", "RUN", "shapes"],
        "got class 'ring' in graph 0 of shapes, expected one of those trained on: 1, 2,",
    ),
}


def test_a_run_is_evaluated_in_a_new_process(trained: tuple[Path, Done], data: Path) -> None:
    run, done = trained
    answer = process("evaluate", run, data, "--part", "test", "--json").answer
    assert answer["graphs"] == 20
    assert answer["accuracy"] == done.answer["test_accuracy"]
    assert answer["saliency_auc"] == done.answer["saliency_auc"]


def test_people_get_names_and_values(sargnn: Command, run: Path, data: Path) -> None:
    done = sargnn("evaluate", run, data)
    assert done.status == 0
    assert f"{run} on {data}" in done.out
    assert "accuracy" in done.out
    assert "%" in done.out
    assert "these graphs were trained on" in done.err
    assert "MUTAG" in sargnn("data", "list").out


@pytest.mark.parametrize("file", ["config.json", "weights.safetensors", "training.json"])
@pytest.mark.parametrize("fault", ["missing", "cut short", "foreign"])
def test_a_spoiled_model_folder(file: str, fault: str, sargnn: Command, run: Path, data: Path) -> None:
    path = Path(shutil.copytree(run, "spoiled")) / file
    content = path.read_bytes()
    path.unlink()
    if fault != "missing":
        path.write_bytes(content[: len(content) // 2] if fault == "cut short" else b'{"model_type": "llama"}')
    for command in (["evaluate"], ["predict", "--out", "new"], ["explain", "--out", "new"]):
        assert sargnn(command[0], "spoiled", data, *command[1:]).error.startswith(f"spoiled/{file}: ")
    assert not Path("new").exists()


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
